"""Digits read row by row by an LSTM; the test set comes in larger batches."""

import argparse

import torch
import torch.nn.functional as F
from parts import Images, add_options, make_optimizer
from torch import nn
from torch.utils.data import DataLoader


class Reader(nn.Module):
    def __init__(self, kind, width, layers):
        super().__init__()
        self.rnn = getattr(nn, kind)(28, width, layers, batch_first=True)
        self.norm, self.drop = nn.BatchNorm1d(width), nn.Dropout(0.25)
        self.fc1, self.fc2 = nn.Linear(width, 32), nn.Linear(32, 10)

    def forward(self, images):
        hidden, _ = self.rnn(images.reshape(-1, 28, 28))
        x = self.drop(self.norm(hidden[:, -1]))
        return F.log_softmax(self.fc2(F.relu(self.fc1(x))), dim=1)


def main():
    parser = add_options(argparse.ArgumentParser(), batch_size=64, optimizer="adadelta")
    parser.add_argument("--kind", choices=["LSTM", "GRU", "RNN"], default="LSTM")
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--layers", type=int, default=1)
    parser.add_argument("--test-batch-size", type=int, default=1000)
    args = parser.parse_args()
    torch.manual_seed(0)
    model = Reader(args.kind, args.width, args.layers).to("cuda")
    optimizer = make_optimizer(args.optimizer, model.parameters())
    train = DataLoader(Images(3000, 28, 1), args.batch_size, shuffle=True)
    test = DataLoader(Images(5000, 28, 1), args.test_batch_size, shuffle=True)
    for epoch in range(args.epochs):
        model.train()
        for data, target in train:
            optimizer.zero_grad()
            loss = F.nll_loss(model(data.to("cuda")), target.to("cuda"))
            loss.backward()
            optimizer.step()
        model.eval()
        correct = 0
        with torch.no_grad():
            for data, target in test:
                correct += model(data.to("cuda")).argmax(1).eq(target.to("cuda")).sum().item()
        print(f"epoch {epoch}: loss {loss.item():.3f}, {correct} correct")


if __name__ == "__main__":
    main()
