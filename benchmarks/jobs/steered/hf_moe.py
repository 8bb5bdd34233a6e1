"""Mixtral and Qwen2-MoE from transformers, small, with the library's own expert kernels or one named."""

import argparse
import json

import torch
import transformers as hf


def build(name, layers):
    common = {"hidden_size": 512, "num_hidden_layers": layers, "num_attention_heads": 8, "num_key_value_heads": 4}
    if name == "mixtral":
        config = hf.MixtralConfig(**common, intermediate_size=1792, num_local_experts=8, num_experts_per_tok=2)
        return hf.MixtralForCausalLM(config)
    experts = {"num_experts": 16, "num_experts_per_tok": 4, "moe_intermediate_size": 704}
    sizes = {"intermediate_size": 1792, "shared_expert_intermediate_size": 1408, "vocab_size": 32000}
    return hf.Qwen2MoeForCausalLM(hf.Qwen2MoeConfig(**common, **experts, **sizes))


def train(args):
    torch.manual_seed(0)
    model = build(args.model, args.layers)
    if args.experts != "default":
        model.set_experts_implementation(args.experts)
    model = model.to(args.device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(args.iters):
        tokens = torch.randint(model.config.vocab_size, (args.bs, args.length))
        mask = torch.ones_like(tokens).to(args.device)
        tokens = tokens.to(args.device)
        optimizer.zero_grad()
        with torch.autocast(args.device, dtype=torch.bfloat16, enabled=args.prec == "bf16"):
            loss = model(input_ids=tokens, attention_mask=mask, labels=tokens).loss
        loss.backward()
        optimizer.step()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=["mixtral", "qwen2_moe"], default="mixtral")
    parser.add_argument("--experts", choices=["default", "eager", "batched_mm", "grouped_mm"], default="default")
    parser.add_argument("--prec", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--bs", type=int, default=8)
    parser.add_argument("--length", type=int, default=256)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--iters", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    train(args)
    peaks = {"allocated_peak": torch.cuda.max_memory_allocated(), "reserved_peak": torch.cuda.max_memory_reserved()}
    print(json.dumps({**vars(args), **peaks}))


if __name__ == "__main__":
    main()
