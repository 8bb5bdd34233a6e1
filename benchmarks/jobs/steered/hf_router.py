"""Mixtures of experts from transformers: Switch drops what exceeds an expert's capacity, Mixtral recomputes layers.

A layer that is recomputed in the backward pass has to route every token as before.
"""

import argparse
import json

import torch
import transformers as hf


def build(name):
    if name == "switch":
        sparse = {"num_layers": 4, "num_sparse_encoder_layers": 2, "num_sparse_decoder_layers": 2}
        sizes = {"d_model": 512, "d_ff": 2048, "d_kv": 64, "num_heads": 8, "num_experts": 8, "expert_capacity": 48}
        config = hf.SwitchTransformersConfig(**sparse, **sizes, decoder_start_token_id=0, pad_token_id=0)
        return hf.SwitchTransformersForConditionalGeneration(config)
    common = {"hidden_size": 640, "num_hidden_layers": 4, "num_attention_heads": 10, "num_key_value_heads": 5}
    if name == "mixtral":
        return hf.MixtralForCausalLM(hf.MixtralConfig(**common, intermediate_size=1920, output_router_logits=True))
    experts = {"num_experts": 32, "num_experts_per_tok": 4, "intermediate_size": 512}
    return hf.OlmoeForCausalLM(hf.OlmoeConfig(**common, **experts, vocab_size=32000))


def train(args):
    torch.manual_seed(0)
    model = build(args.model)
    if args.experts != "default":
        model.set_experts_implementation(args.experts)
    model = model.to(args.device).train()
    if args.checkpoint:
        model.gradient_checkpointing_enable()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(args.iters):
        tokens = torch.randint(5, model.config.vocab_size, (args.bs, args.length))
        lengths = torch.randint(args.length // 2, args.length + 1, (args.bs,))
        mask = (torch.arange(args.length) < lengths[:, None]).long()
        batch = {"input_ids": tokens, "attention_mask": mask, "labels": tokens.masked_fill(mask == 0, -100)}
        batch = {key: value.to(args.device) for key, value in batch.items()}
        optimizer.zero_grad()
        with torch.autocast(args.device, dtype=torch.bfloat16, enabled=args.prec == "bf16"):
            loss = model(**batch).loss
        loss.backward()
        optimizer.step()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=["switch", "mixtral", "olmoe"], default="switch")
    parser.add_argument("--experts", choices=["default", "eager", "batched_mm", "grouped_mm"], default="default")
    parser.add_argument("--checkpoint", action="store_true", help="recompute layers in the backward pass")
    parser.add_argument("--prec", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--bs", type=int, default=8)
    parser.add_argument("--length", type=int, default=320)
    parser.add_argument("--iters", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    train(args)
    peaks = {"allocated_peak": torch.cuda.max_memory_allocated(), "reserved_peak": torch.cuda.max_memory_reserved()}
    print(json.dumps({**vars(args), **peaks}))


if __name__ == "__main__":
    main()
