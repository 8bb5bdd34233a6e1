"""One training run of the CNN protocol of the VeritasEst and xMem papers: a torchvision model on CIFAR-10 at 86x86.

The images are noise of CIFAR's shape: memory does not depend on what they show.
"""

import argparse

import torch
import torch.nn.functional as F
import torchvision
from common import OPTIMIZERS
from torch.utils.data import DataLoader, Dataset

TEN_CLASSES = ("mobilenet_v3_small", "mobilenet_v3_large", "mnasnet1_0")


class Noise(Dataset):
    """CIFAR's 32x32 pixels, enlarged as the papers do."""

    def __init__(self, length, classes):
        self.length = length
        self.classes = classes

    def __len__(self):
        return self.length

    def __getitem__(self, index):
        image = torch.rand(1, 3, 32, 32)
        return F.interpolate(image, size=(86, 86), mode="bilinear")[0], index % self.classes


def parse(words=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="resnet50", help="a model of torchvision")
    parser.add_argument("--batch-size", type=int, default=50)
    parser.add_argument("--optimizer", choices=OPTIMIZERS, default="sgd")
    parser.add_argument("--zero-grad", choices=["start", "backward", "end"], default="start", help="where it stands")
    parser.add_argument("--iterations", type=int, default=3)
    return parser.parse_args(words)


def build(options):
    classes = 10 if options.model in TEN_CLASSES else 1000
    return torchvision.models.get_model(options.model, weights=None, num_classes=classes)


def batch(options):
    """The positional inputs of the model."""
    return (torch.rand(options.batch_size, 3, 86, 86),)


def main():
    options = parse()
    torch.manual_seed(0)
    model = build(options).cuda().train()
    optimizer = OPTIMIZERS[options.optimizer](model.parameters())
    loader = DataLoader(Noise(options.iterations * options.batch_size, 10), options.batch_size, shuffle=True)
    for images, labels in loader:
        images, labels = images.cuda(), labels.cuda()
        if options.zero_grad == "start":
            optimizer.zero_grad()
        loss = F.cross_entropy(model(images), labels)
        if options.zero_grad == "backward":
            optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if options.zero_grad == "end":
            optimizer.zero_grad()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
