"""Hugging Face language models with an attention mask of ones, or one that is padded on the right.

Whether a model builds a four-dimensional mask, and with it leaves the flash kernels, hangs on the values of the mask.
"""

import argparse
import json

import torch
import transformers as hf

IGNORED = -100


def build(name):
    """A model of small or base shape, 14 to 170 million parameters, with random weights."""
    if name == "opt":
        return hf.OPTForCausalLM(hf.OPTConfig())
    if name == "t5":
        return hf.T5ForConditionalGeneration(hf.T5Config(pad_token_id=0, decoder_start_token_id=0))
    if name == "mistral":
        shape = {"hidden_size": 768, "intermediate_size": 2688, "num_hidden_layers": 10}
        return hf.MistralForCausalLM(hf.MistralConfig(**shape, num_attention_heads=12, num_key_value_heads=4))
    if name == "roberta":
        return hf.RobertaForMaskedLM(hf.RobertaConfig(vocab_size=50265, max_position_embeddings=514))
    if name == "electra":
        return hf.ElectraForMaskedLM(hf.ElectraConfig())
    if name == "qwen3":
        shape = {"hidden_size": 768, "intermediate_size": 2304, "num_hidden_layers": 8, "head_dim": 64}
        heads = {"num_attention_heads": 12, "num_key_value_heads": 4}
        return hf.Qwen3ForCausalLM(hf.Qwen3Config(**shape, **heads, tie_word_embeddings=True))
    if name == "gpt_neo":
        shape = {"hidden_size": 768, "num_layers": 12, "num_heads": 12}
        return hf.GPTNeoForCausalLM(hf.GPTNeoConfig(**shape, attention_types=[[["global", "local"], 6]]))
    if name == "bloom":
        return hf.BloomForCausalLM(hf.BloomConfig(hidden_size=512, n_layer=8, n_head=8))
    return hf.DistilBertForMaskedLM(hf.DistilBertConfig())


MODELS = ["opt", "t5", "mistral", "roberta", "electra", "qwen3", "gpt_neo", "bloom", "distilbert"]
OPTIMIZERS = {
    "adamw": lambda p: torch.optim.AdamW(p, lr=5e-5),
    "adam": lambda p: torch.optim.Adam(p, lr=5e-5),
    "sgd": lambda p: torch.optim.SGD(p, lr=0.01),
}


def make_batch(config, args, generator):
    """Token ids, mask and labels; padding has the model's padding token, mask 0 and no loss."""
    shape = (args.bs, args.length)
    tokens = torch.randint(5, config.vocab_size, shape, generator=generator)
    lengths = torch.full((args.bs,), args.length)
    if args.mask == "padded":
        lengths = torch.randint(args.length // 4, args.length, (args.bs,), generator=generator)
    mask = (torch.arange(args.length) < lengths[:, None]).long()
    padding = getattr(config, "pad_token_id", None) or 0
    tokens = tokens.masked_fill(mask == 0, padding)
    return {"input_ids": tokens, "attention_mask": mask, "labels": tokens.masked_fill(mask == 0, IGNORED)}


def train(args):
    torch.manual_seed(0)
    model = build(args.model).to(args.device).train()
    optimizer = OPTIMIZERS[args.opt](model.parameters())
    generator = torch.Generator().manual_seed(1)
    for _ in range(args.iters):
        batch = {key: value.to(args.device) for key, value in make_batch(model.config, args, generator).items()}
        optimizer.zero_grad()
        with torch.autocast(args.device, dtype=torch.bfloat16, enabled=args.prec == "bf16"):
            loss = model(**batch).loss
        loss.backward()
        optimizer.step()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=MODELS, default="opt")
    parser.add_argument("--mask", choices=["ones", "padded"], default="ones")
    parser.add_argument("--prec", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--bs", type=int, default=8)
    parser.add_argument("--length", type=int, default=256)
    parser.add_argument("--opt", choices=OPTIMIZERS, default="adamw")
    parser.add_argument("--iters", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    train(args)
    peaks = {"allocated_peak": torch.cuda.max_memory_allocated(), "reserved_peak": torch.cuda.max_memory_reserved()}
    print(json.dumps({**vars(args), **peaks}))


if __name__ == "__main__":
    main()
