"""Contrastive pre-training, then a linear probe on frozen features, then nearest neighbours over all of them."""

import argparse

import torch
import torch.nn.functional as F
from parts import Amp, Images, add_options, classifier, make_optimizer
from torch import nn
from torch.utils.data import DataLoader


def contrast(first, second, temperature=0.1):
    found = F.normalize(torch.cat([first, second]).float(), dim=1)
    likeness = found @ found.T / temperature
    likeness = likeness.masked_fill(torch.eye(len(found), dtype=torch.bool, device=found.device), -1e9)
    partners = torch.arange(len(found), device=found.device).roll(len(first))
    return F.cross_entropy(likeness, partners)


def main():
    parser = add_options(argparse.ArgumentParser(), batch_size=64, epochs=1, optimizer="sgdm")
    parser.add_argument("--model", default="resnet18")
    parser.add_argument("--size", type=int, default=96)
    parser.add_argument("--batches", type=int, default=6)
    parser.add_argument("--probe-batch-size", type=int, default=128)
    parser.add_argument("--neighbours", type=int, default=8192, help="features compared at the end")
    args = parser.parse_args()
    torch.manual_seed(0)
    backbone = classifier(args.model)
    width, backbone.fc = backbone.fc.in_features, nn.Identity()
    backbone, head = backbone.cuda(), nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 128)).cuda()
    amp = Amp(args.precision)
    optimizer = make_optimizer(args.optimizer, [*backbone.parameters(), *head.parameters()])
    for epoch in range(args.epochs):
        for images, _ in DataLoader(Images(args.batches * args.batch_size, args.size), args.batch_size, shuffle=True):
            images = images.cuda()
            views = torch.cat([images.flip(-1), images + 0.1 * torch.randn_like(images)])
            with amp.autocast():
                found = head(backbone(views))
            loss = contrast(*found.chunk(2))
            optimizer.zero_grad()
            amp.backward(loss)
            amp.step(optimizer)
        print(f"epoch {epoch}: {loss.item():.3f}")
    backbone.eval().requires_grad_(False)
    probe = nn.Linear(width, 10).cuda()
    optimizer = torch.optim.SGD(probe.parameters(), lr=0.1)
    bank = []
    for images, labels in DataLoader(Images(4 * args.probe_batch_size, args.size), args.probe_batch_size):
        features = backbone(images.cuda())
        loss = F.cross_entropy(probe(features), labels.cuda())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        bank.append(features)
    bank = F.normalize(torch.cat(bank)[torch.arange(args.neighbours) % (4 * args.probe_batch_size)], dim=1)
    nearest = (bank @ bank.T).topk(20, dim=1).indices
    print(f"probe {loss.item():.3f}, {tuple(nearest.shape)}")


if __name__ == "__main__":
    main()
