"""Gradient accumulation that grows by a schedule, with the micro-batch shrinking or growing along."""

import argparse

import torch
from parts import GPT, Amp, make_optimizer


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--schedule", type=int, nargs="+", default=[1, 2, 4], help="micro-batches of a step, by phase")
    parser.add_argument("--micro", type=int, nargs="+", default=[8, 8, 8], help="texts of a micro-batch, by phase")
    parser.add_argument("--steps", type=int, default=8, help="in each phase")
    parser.add_argument("--length", type=int, default=256)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--vocabulary", type=int, default=16000)
    parser.add_argument("--keep-losses", action="store_true", help="add up the losses and go back once")
    parser.add_argument("--validate", type=int, default=0, help="texts of a validation batch after each phase")
    parser.add_argument("--optimizer", default="adamw")
    parser.add_argument("--precision", choices=["fp32", "bf16", "fp16"], default="bf16")
    args = parser.parse_args()
    torch.manual_seed(0)
    model = GPT(args.vocabulary, args.length, args.width, args.layers, args.width // 64).cuda()
    optimizer, amp = make_optimizer(args.optimizer, model.parameters()), Amp(args.precision)

    def loss_of(count):
        text = torch.randint(args.vocabulary, (count, args.length + 1)).cuda()
        with amp.autocast():
            return model(text[:, :-1], text[:, 1:])[1]

    for phase, (parts, micro) in enumerate(zip(args.schedule, args.micro, strict=True)):
        for _ in range(args.steps):
            if args.keep_losses:
                loss = sum(loss_of(micro) for _ in range(parts)) / parts
                amp.backward(loss)
            else:
                for _ in range(parts):
                    loss = loss_of(micro) / parts
                    amp.backward(loss)
            amp.step(optimizer)
            optimizer.zero_grad()
        print(f"phase {phase}: {loss.item():.3f}")
        if args.validate:
            with torch.no_grad():
                print(f"validation {loss_of(args.validate).item():.3f}")


if __name__ == "__main__":
    main()
