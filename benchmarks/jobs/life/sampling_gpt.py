"""A GPT that shows samples of its text every few steps of its training."""

import argparse

import torch
from parts import GPT, Amp, Tokens, add_options, make_optimizer
from torch.utils.data import DataLoader


def main():
    parser = add_options(argparse.ArgumentParser(), batch_size=8, epochs=1)
    parser.add_argument("--length", type=int, default=256)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--vocabulary", type=int, default=32000)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--sample-every", type=int, default=50)
    parser.add_argument("--texts", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=40)
    parser.add_argument("--prompt", type=int, default=200)
    args = parser.parse_args()
    torch.manual_seed(0)
    model = GPT(args.vocabulary, args.length, args.width, args.layers, args.width // 64).cuda()
    optimizer, amp = make_optimizer(args.optimizer, model.parameters()), Amp(args.precision)
    loader = DataLoader(Tokens(args.steps * args.batch_size, args.length, args.vocabulary), args.batch_size)
    step = 0
    for _ in range(args.epochs):
        for text, targets in loader:
            with amp.autocast():
                _, loss = model(text.cuda(), targets.cuda())
            optimizer.zero_grad()
            amp.backward(loss)
            amp.step(optimizer)
            step += 1
            if step % args.sample_every == 0:
                model.eval()
                with amp.autocast():
                    prompts = torch.randint(args.vocabulary, (args.texts, args.prompt), device="cuda")
                    sampled = model.generate(prompts, args.tokens).cpu()
                print(f"step {step}: {loss.item():.3f} {sampled[0, -5:].tolist()}")
                model.train()


if __name__ == "__main__":
    main()
