"""A Llama with accelerate, or as large a batch as goes by `find_executable_batch_size`; perplexity after each epoch."""

import argparse
import math

import torch
import transformers
from accelerate import Accelerator
from accelerate.utils import find_executable_batch_size, set_seed
from torch.utils.data import DataLoader, Dataset


class Texts(Dataset):
    def __init__(self, count, length):
        self.count, self.length = count, length

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return torch.randint(8000, (self.length,))


def build(length):
    config = transformers.LlamaConfig(
        vocab_size=8000, hidden_size=512, intermediate_size=1376, num_hidden_layers=6, num_attention_heads=8,
        num_key_value_heads=2, max_position_embeddings=length,
    )  # fmt: skip
    return transformers.LlamaForCausalLM(config)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--eval-batch-size", type=int, default=16)
    parser.add_argument("--length", type=int, default=256)
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--generate", type=int, default=0, help="texts generated after each epoch")
    parser.add_argument("--find", type=float, default=0, metavar="GB", help="start too large under this limit")
    parser.add_argument("--precision", choices=["fp32", "bf16", "fp16"], default="bf16")
    args = parser.parse_args()
    set_seed(0)
    if args.find:
        torch.cuda.set_per_process_memory_fraction(args.find * 1e9 / torch.cuda.get_device_properties(0).total_memory)
    accelerator = Accelerator(mixed_precision="no" if args.precision == "fp32" else args.precision)

    def train(batch_size):
        accelerator.free_memory()
        model = build(args.length)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
        loader = DataLoader(Texts(args.steps * batch_size, args.length), batch_size)
        held = DataLoader(Texts(2 * args.eval_batch_size, args.length), args.eval_batch_size)
        model, optimizer, loader, held = accelerator.prepare(model, optimizer, loader, held)
        for epoch in range(args.epochs):
            model.train()
            for text in loader:
                loss = model(input_ids=text, labels=text).loss
                accelerator.backward(loss)
                optimizer.step()
                optimizer.zero_grad()
            model.eval()
            losses = []
            for text in held:
                with torch.no_grad():
                    losses.append(accelerator.gather(model(input_ids=text, labels=text).loss.repeat(len(text))))
            print(f"epoch {epoch}: {loss.item():.3f}, {math.exp(min(torch.cat(losses).mean().item(), 20)):.1f}")
            if args.generate:
                prompts = torch.randint(3, 8000, (args.generate, args.length // 2), device=accelerator.device)
                made = accelerator.unwrap_model(model).generate(
                    prompts, max_new_tokens=24, min_new_tokens=24, pad_token_id=0
                )
                print(tuple(made.shape))

    if args.find:
        find_executable_batch_size(train, starting_batch_size=args.batch_size)()
    else:
        train(args.batch_size)


if __name__ == "__main__":
    main()
