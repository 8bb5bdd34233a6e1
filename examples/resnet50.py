"""ResNet-50 on random images, SGD with momentum, batches from a DataLoader with two workers."""

import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torchvision.models import resnet50


class RandomImages(Dataset):
    """Stands in for ImageNet: a picture and its class, made up on the spot."""

    def __init__(self, length):
        self.length = length

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        return torch.randn(3, 224, 224), index % 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--steps", type=int, default=100)
    args = parser.parse_args()

    loader = DataLoader(RandomImages(args.steps * args.batch_size), args.batch_size, num_workers=2, pin_memory=True)
    model = resnet50(weights=None).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    criterion = nn.CrossEntropyLoss()

    model.train()
    for step, (images, labels) in enumerate(loader):
        images = images.cuda(non_blocking=True)
        labels = labels.cuda(non_blocking=True)
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step}: loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
