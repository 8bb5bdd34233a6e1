"""Training epochs with validation, the best state kept, until the validation loss no longer falls."""

import argparse
import copy
import json

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def build():
    layers = []
    for i, o in [(3, 64), (64, 128), (128, 256)]:
        layers += [nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(), nn.MaxPool2d(2)]
    head = [nn.Flatten(), nn.Linear(256 * 4 * 4, 1024), nn.ReLU(), nn.Dropout(0.5), nn.Linear(1024, 10)]
    return nn.Sequential(*layers, *head)


def train_epoch(model, optimizer, loader, device):
    model.train()
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()


@torch.no_grad()
def validate(model, loader, device):
    model.eval()
    total, correct = 0.0, 0
    for x, y in loader:
        x, y = x.to(device), y.to(device)
        scores = model(x)
        total += F.cross_entropy(scores, y, reduction="sum").item()
        correct += (scores.argmax(1) == y).sum().item()
    return total / len(loader.dataset), correct / len(loader.dataset)


def make_data(samples):
    return TensorDataset(torch.randn(samples, 3, 32, 32), torch.randint(10, (samples,)))


def train(args):
    torch.manual_seed(0)
    training = DataLoader(make_data(4 * args.bs), batch_size=args.bs, shuffle=True)
    validation = DataLoader(make_data(2 * args.bs), batch_size=2 * args.bs)
    model = build().to(args.device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    best, best_state, waited, epoch = float("inf"), None, 0, 0
    while waited < args.patience and epoch < args.epochs:
        train_epoch(model, optimizer, training, args.device)
        loss, accuracy = validate(model, validation, args.device)
        if loss < best:
            best, best_state, waited = loss, copy.deepcopy(model.state_dict()), 0
        else:
            waited += 1
        epoch += 1
        if accuracy > 0.99:
            break
    if best_state is not None:
        model.load_state_dict(best_state)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bs", type=int, default=512)
    parser.add_argument("--patience", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=6, help="at most")
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    train(args)
    peaks = {"allocated_peak": torch.cuda.max_memory_allocated(), "reserved_peak": torch.cuda.max_memory_reserved()}
    print(json.dumps({**vars(args), **peaks}))


if __name__ == "__main__":
    main()
