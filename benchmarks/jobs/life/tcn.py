"""A temporal convolutional network on the adding problem: all data on the GPU, sliced by hand, tested in one piece."""

import argparse
import itertools

import torch
import torch.nn.functional as F
from parts import Amp, add_options, make_optimizer
from torch import nn
from torch.nn.utils.parametrizations import weight_norm


class Temporal(nn.Module):
    def __init__(self, inputs, outputs, dilation, kernel=7):
        super().__init__()
        self.pad = (kernel - 1) * dilation
        self.conv1 = weight_norm(nn.Conv1d(inputs, outputs, kernel, dilation=dilation))
        self.conv2 = weight_norm(nn.Conv1d(outputs, outputs, kernel, dilation=dilation))
        self.short = nn.Conv1d(inputs, outputs, 1) if inputs != outputs else nn.Identity()

    def forward(self, x):
        y = F.dropout(F.relu(self.conv1(F.pad(x, (self.pad, 0)))), 0.1, self.training)
        y = F.dropout(F.relu(self.conv2(F.pad(y, (self.pad, 0)))), 0.1, self.training)
        return F.relu(y + self.short(x))


def make_data(count, length):
    marks = torch.zeros(count, length)
    marks[:, [length // 4, length // 2]] = 1
    values = torch.rand(count, length)
    return torch.stack([values, marks], 1), (values * marks).sum(1, keepdim=True)


def main():
    parser = add_options(argparse.ArgumentParser(), batch_size=32, optimizer="adam")
    parser.add_argument("--length", type=int, default=400)
    parser.add_argument("--width", type=int, default=30)
    parser.add_argument("--levels", type=int, default=8)
    parser.add_argument("--train", type=int, default=800)
    parser.add_argument("--test", type=int, default=1000)
    args = parser.parse_args()
    torch.manual_seed(0)
    widths = [2, *[args.width] * args.levels]
    layers = [Temporal(a, b, 2**level) for level, (a, b) in enumerate(itertools.pairwise(widths))]
    model, head = nn.Sequential(*layers).cuda(), nn.Linear(args.width, 1).cuda()
    optimizer = make_optimizer(args.optimizer, [*model.parameters(), *head.parameters()])
    amp = Amp(args.precision)
    x_train, y_train = (part.cuda() for part in make_data(args.train, args.length))
    x_test, y_test = (part.cuda() for part in make_data(args.test, args.length))

    def forward(x):
        return head(model(x)[:, :, -1])

    for epoch in range(args.epochs):
        model.train()
        for start in range(0, len(x_train), args.batch_size):
            stop = min(start + args.batch_size, len(x_train))
            optimizer.zero_grad()
            with amp.autocast():
                loss = F.mse_loss(forward(x_train[start:stop]).float(), y_train[start:stop])
            amp.backward(loss)
            amp.step(optimizer)
        model.eval()
        with torch.no_grad():
            score = F.mse_loss(forward(x_test), y_test)
        print(f"epoch {epoch}: test {score.item():.4f}")


if __name__ == "__main__":
    main()
