"""Training with a warm-up of the learning rate and of the GPU, then some steps under the profiler, then the rest."""

import argparse

import torch
import torch.nn.functional as F
from parts import Amp, add_options, classifier, make_optimizer
from torch.profiler import ProfilerActivity, profile, record_function, schedule


def main():
    parser = add_options(argparse.ArgumentParser(), batch_size=32)
    parser.add_argument("--model", default="vit_b_32")
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--warm-up", type=int, default=3, help="steps with an eighth of the batch")
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--profile-memory", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    model = classifier(args.model).cuda()
    optimizer, amp = make_optimizer(args.optimizer, model.parameters()), Amp(args.precision)
    rates = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=args.warm_up)

    def step(size):
        images, labels = torch.rand(size, 3, args.size, args.size), torch.randint(10, (size,))
        with record_function("forward"), amp.autocast():
            loss = F.cross_entropy(model(images.cuda()), labels.cuda())
        with record_function("backward"):
            optimizer.zero_grad()
            amp.backward(loss)
        amp.step(optimizer)
        rates.step()
        return loss

    for _ in range(args.warm_up):
        step(max(args.batch_size // 8, 1))
    torch.cuda.synchronize()
    plan = schedule(wait=2, warmup=1, active=3, repeat=1)
    with profile(activities=[ProfilerActivity.CPU], schedule=plan, profile_memory=args.profile_memory) as profiler:
        for number in range(args.steps):
            loss = step(args.batch_size)
            profiler.step()
            if number == args.steps // 2:
                print(f"half-way: {loss.item():.3f}")
    print(len(profiler.key_averages()))


if __name__ == "__main__":
    main()
