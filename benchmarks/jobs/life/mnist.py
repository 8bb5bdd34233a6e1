"""Digits: a small convolutional network, trained and tested in turns, and saved at the end."""

import argparse
import tempfile
from pathlib import Path

import torch
import torch.nn.functional as F
from parts import Amp, Images, add_options, make_optimizer
from torch import nn
from torch.utils.data import DataLoader


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, width, 3), nn.Conv2d(width, 2 * width, 3)
        self.drop1, self.drop2 = nn.Dropout(0.25), nn.Dropout(0.5)
        self.fc1, self.fc2 = nn.Linear(2 * width * 144, 128), nn.Linear(128, 10)

    def forward(self, x):
        x = F.relu(self.conv2(F.relu(self.conv1(x))))
        x = self.drop1(F.max_pool2d(x, 2)).flatten(1)
        return F.log_softmax(self.fc2(self.drop2(F.relu(self.fc1(x)))), dim=1)


def train(args, model, device, loader, optimizer, amp, epoch):
    model.train()
    for number, (data, target) in enumerate(loader):
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        with amp.autocast():
            loss = F.nll_loss(model(data), target)
        amp.backward(loss)
        amp.step(optimizer)
        if number % args.log_interval == 0:
            print(f"epoch {epoch} batch {number}: loss {loss.item():.4f}")


def test(model, device, loader):
    model.eval()
    loss, correct = 0.0, 0
    with torch.no_grad():
        for data, target in loader:
            data, target = data.to(device), target.to(device)
            output = model(data)
            loss += F.nll_loss(output, target, reduction="sum").item()
            correct += output.argmax(1).eq(target).sum().item()
    print(f"test: loss {loss / len(loader.dataset):.4f}, {correct} of {len(loader.dataset)}")


def main():
    parser = add_options(argparse.ArgumentParser(), batch_size=64, optimizer="adadelta")
    parser.add_argument("--test-batch-size", type=int, default=1000)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--log-interval", type=int, default=10)
    parser.add_argument("--samples", type=int, default=3000)
    args = parser.parse_args()
    torch.manual_seed(0)
    device = torch.device("cuda")
    train_loader = DataLoader(
        Images(args.samples, 28, 1), args.batch_size, shuffle=True, num_workers=1, pin_memory=True
    )
    test_loader = DataLoader(Images(2500, 28, 1), args.test_batch_size, num_workers=1, pin_memory=True)
    model = Net(args.width).to(device)
    optimizer = make_optimizer(args.optimizer, model.parameters())
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.7)
    amp = Amp(args.precision)
    for epoch in range(1, args.epochs + 1):
        train(args, model, device, train_loader, optimizer, amp, epoch)
        test(model, device, test_loader)
        scheduler.step()
    with tempfile.TemporaryDirectory() as folder:
        torch.save(model.state_dict(), Path(folder) / "mnist.pt")


if __name__ == "__main__":
    main()
