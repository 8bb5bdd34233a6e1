"""Two images through one ResNet, same or different; tested after each epoch."""

import argparse

import torch
from parts import Amp, add_options, classifier, make_optimizer
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Pairs(Dataset):
    def __init__(self, count, size, channels):
        self.count, self.shape = count, (2, channels, size, size)

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        first, second = torch.rand(self.shape)
        return first, second, torch.tensor(index % 2, dtype=torch.float)


class Siamese(nn.Module):
    def __init__(self, name, channels):
        super().__init__()
        resnet = classifier(name)
        resnet.conv1 = nn.Conv2d(channels, 64, 7, 2, 3, bias=False)
        self.features, inputs = nn.Sequential(*list(resnet.children())[:-1]), resnet.fc.in_features
        self.head = nn.Sequential(nn.Linear(2 * inputs, 256), nn.ReLU(), nn.Linear(256, 1))

    def forward(self, first, second):
        found = [self.features(image).flatten(1) for image in (first, second)]
        return self.head(torch.cat(found, 1)).squeeze(1)


def main():
    parser = add_options(argparse.ArgumentParser(), batch_size=64, optimizer="adadelta")
    parser.add_argument("--model", default="resnet18")
    parser.add_argument("--size", type=int, default=28)
    parser.add_argument("--channels", type=int, default=1)
    parser.add_argument("--test-batch-size", type=int, default=1000)
    parser.add_argument("--samples", type=int, default=640)
    args = parser.parse_args()
    torch.manual_seed(0)
    model = Siamese(args.model, args.channels).cuda()
    optimizer, amp = make_optimizer(args.optimizer, model.parameters()), Amp(args.precision)
    criterion = nn.BCEWithLogitsLoss()
    train = DataLoader(Pairs(args.samples, args.size, args.channels), args.batch_size, shuffle=True)
    test = DataLoader(Pairs(args.test_batch_size * 2, args.size, args.channels), args.test_batch_size)
    for epoch in range(args.epochs):
        model.train()
        for first, second, target in train:
            optimizer.zero_grad()
            with amp.autocast():
                loss = criterion(model(first.cuda(), second.cuda()), target.cuda())
            amp.backward(loss)
            amp.step(optimizer)
        model.eval()
        with torch.no_grad():
            total = sum(criterion(model(a.cuda(), b.cuda()), target.cuda()).item() for a, b, target in test)
        print(f"epoch {epoch}: loss {loss.item():.3f}, test {total:.3f}")


if __name__ == "__main__":
    main()
