"""A GPT trained in an endless loop, its loss estimated and a checkpoint written every so many steps."""

import argparse
import math
import tempfile
from pathlib import Path

import numpy as np
import torch
from parts import GPT, Amp, make_optimizer


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=12)
    parser.add_argument("--eval-batch-size", type=int)
    parser.add_argument("--block", type=int, default=256)
    parser.add_argument("--width", type=int, default=384)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--heads", type=int, default=6)
    parser.add_argument("--vocabulary", type=int, default=50304)
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--max-iters", type=int, default=60)
    parser.add_argument("--eval-interval", type=int, default=25)
    parser.add_argument("--eval-iters", type=int, default=5)
    parser.add_argument("--eval-at-start", action="store_true")
    parser.add_argument("--sample", type=int, default=0, help="tokens to sample at the end")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--optimizer", default="adamw_fused")
    parser.add_argument("--precision", choices=["fp32", "bf16", "fp16"], default="bf16")
    return parser.parse_args()


def main():  # noqa: C901
    args = parse()
    torch.manual_seed(0)
    data = np.random.default_rng(0).integers(args.vocabulary, size=200_000, dtype=np.uint16)
    amp = Amp(args.precision)
    model = GPT(args.vocabulary, args.block, args.width, args.layers, args.heads).cuda()
    optimizer = make_optimizer(args.optimizer, model.parameters())
    plain = model
    if args.compile:
        model = torch.compile(model)

    def get_batch(size):
        starts = torch.randint(len(data) - args.block - 1, (size,))
        x = torch.stack([torch.from_numpy(data[i : i + args.block].astype(np.int64)) for i in starts])
        y = torch.stack([torch.from_numpy(data[i + 1 : i + 1 + args.block].astype(np.int64)) for i in starts])
        return x.pin_memory().to("cuda", non_blocking=True), y.pin_memory().to("cuda", non_blocking=True)

    @torch.no_grad()
    def estimate_loss():
        out = {}
        model.eval()
        for split in ("train", "val"):
            losses = torch.zeros(args.eval_iters)
            for k in range(args.eval_iters):
                x, y = get_batch(args.eval_batch_size or args.batch_size)
                with amp.autocast():
                    _, loss = model(x, y)
                losses[k] = loss.item()
            out[split] = losses.mean()
        model.train()
        return out

    iteration, best = 0, 1e9
    x, y = get_batch(args.batch_size)
    folder = tempfile.TemporaryDirectory()
    while True:
        rate = 6e-4 * (0.5 + 0.5 * math.cos(math.pi * iteration / args.max_iters))
        for group in optimizer.param_groups:
            group["lr"] = rate
        if iteration % args.eval_interval == 0 and (iteration > 0 or args.eval_at_start):
            losses = estimate_loss()
            print(f"step {iteration}: train {losses['train']:.4f}, val {losses['val']:.4f}")
            if losses["val"] < best:
                best = losses["val"]
                checkpoint = {"model": plain.state_dict(), "optimizer": optimizer.state_dict(), "iteration": iteration}
                torch.save(checkpoint, Path(folder.name) / "ckpt.pt")
        for _ in range(args.accumulate):
            with amp.autocast():
                _, loss = model(x, y)
                loss = loss / args.accumulate
            x, y = get_batch(args.batch_size)
            amp.backward(loss)
        amp.scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        amp.step(optimizer)
        optimizer.zero_grad(set_to_none=True)
        iteration += 1
        if iteration > args.max_iters:
            break
    folder.cleanup()
    if args.sample:
        plain.eval()
        with torch.no_grad(), amp.autocast():
            text = plain.generate(torch.zeros(8, 1, dtype=torch.long, device="cuda"), args.sample)
        print(text[0, :10].tolist())


if __name__ == "__main__":
    main()
