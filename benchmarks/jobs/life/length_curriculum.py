"""A GPT whose texts grow longer every few steps, in a plain loop without a loader."""

import argparse

import torch
from parts import GPT, Amp, make_optimizer


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--start", type=int, default=64)
    parser.add_argument("--longest", type=int, default=512)
    parser.add_argument("--grow-every", type=int, default=10)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--vocabulary", type=int, default=16000)
    parser.add_argument("--linear", action="store_true", help="grow by as much each time instead of doubling")
    parser.add_argument("--same-tokens", action="store_true", help="fewer texts as they get longer")
    parser.add_argument("--optimizer", default="adamw")
    parser.add_argument("--precision", choices=["fp32", "bf16", "fp16"], default="fp32")
    args = parser.parse_args()
    torch.manual_seed(0)
    model = GPT(args.vocabulary, args.longest, args.width, args.layers, args.width // 64).cuda()
    optimizer, amp = make_optimizer(args.optimizer, model.parameters()), Amp(args.precision)
    length = args.start
    for step in range(args.steps):
        if step and step % args.grow_every == 0:
            length = min(length + args.start if args.linear else 2 * length, args.longest)
        count = args.batch_size * args.longest // length if args.same_tokens else args.batch_size
        text = torch.randint(args.vocabulary, (count, length + 1)).cuda()
        with amp.autocast():
            _, loss = model(text[:, :-1], text[:, 1:])
        optimizer.zero_grad()
        amp.backward(loss)
        amp.step(optimizer)
        if step % 10 == 0:
            print(f"step {step}: {count} texts of {length} tokens, loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
