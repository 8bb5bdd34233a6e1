"""Two LSTM cells learn waves with L-BFGS on the whole data set, and predict the future after each step."""

import argparse

import torch
from torch import nn


class Sequence(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.first, self.second = nn.LSTMCell(1, width), nn.LSTMCell(width, width)
        self.linear = nn.Linear(width, 1)

    def forward(self, waves, future=0):
        h1, c1, h2, c2 = (waves.new_zeros(len(waves), self.width) for _ in range(4))
        outputs = []
        for step in range(waves.shape[1] + future):
            value = waves[:, [step]] if step < waves.shape[1] else outputs[-1]
            h1, c1 = self.first(value, (h1, c1))
            h2, c2 = self.second(h1, (h2, c2))
            outputs.append(self.linear(h2))
        return torch.cat(outputs, dim=1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--waves", type=int, default=97)
    parser.add_argument("--tests", type=int, default=3)
    parser.add_argument("--length", type=int, default=200)
    parser.add_argument("--future", type=int, default=200)
    parser.add_argument("--width", type=int, default=51)
    parser.add_argument("--max-iter", type=int, default=5)
    parser.add_argument("--double", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    dtype = torch.double if args.double else torch.float
    shifts = torch.randint(-80, 80, (args.waves + args.tests, 1))
    waves = torch.sin((torch.arange(args.length + 1) + shifts) / 20).to("cuda", dtype)
    test, train = waves[: args.tests], waves[args.tests :]
    model = Sequence(args.width).to("cuda", dtype)
    criterion = nn.MSELoss()
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.8, max_iter=args.max_iter)
    for step in range(args.steps):

        def closure():
            optimizer.zero_grad()
            loss = criterion(model(train[:, :-1]), train[:, 1:])
            loss.backward()
            return loss

        optimizer.step(closure)
        with torch.no_grad():
            predicted = model(test[:, :-1], future=args.future)
            loss = criterion(predicted[:, : -args.future], test[:, 1:])
            print(f"step {step}: test {loss.item():.4f}, future {predicted[0, -1].item():.3f}")


if __name__ == "__main__":
    main()
