"""Segmentation trained on crops and validated on whole images, with the cache emptied between the two."""

import argparse

import torch
import torch.nn.functional as F
import torchvision
from parts import Amp, UNet, add_options, make_optimizer
from torch.utils.data import DataLoader, Dataset


class Scenes(Dataset):
    def __init__(self, count, height, width):
        self.count, self.size = count, (height, width)

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return torch.rand(3, *self.size), torch.randint(21, self.size)


def main():
    parser = add_options(argparse.ArgumentParser(), batch_size=8, optimizer="sgdm")
    parser.add_argument("--model", default="unet")
    parser.add_argument("--crop", type=int, default=256)
    parser.add_argument("--whole", type=int, nargs=2, default=[512, 1024])
    parser.add_argument("--whole-batch", type=int, default=1)
    parser.add_argument("--batches", type=int, default=8)
    parser.add_argument("--empty-cache", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    if args.model == "unet":
        model = UNet(outputs=21).cuda()
    else:
        make = torchvision.models.get_model
        model = make(args.model, weights=None, weights_backbone=None, num_classes=21).cuda()
    optimizer, amp = make_optimizer(args.optimizer, model.parameters()), Amp(args.precision)
    train = DataLoader(Scenes(args.batches * args.batch_size, args.crop, args.crop), args.batch_size, shuffle=True)
    test = DataLoader(Scenes(3 * args.whole_batch, *args.whole), args.whole_batch)

    def scores(images):
        found = model(images)
        return found["out"] if isinstance(found, dict) else found

    for epoch in range(args.epochs):
        model.train()
        for images, labels in train:
            with amp.autocast():
                loss = F.cross_entropy(scores(images.cuda()), labels.cuda())
            optimizer.zero_grad()
            amp.backward(loss)
            amp.step(optimizer)
        if args.empty_cache:
            torch.cuda.empty_cache()
        model.eval()
        counts = torch.zeros(21, 21, dtype=torch.long, device="cuda")
        with torch.inference_mode(), amp.autocast():
            for images, labels in test:
                pairs = 21 * labels.cuda() + scores(images.cuda()).argmax(1)
                counts += torch.bincount(pairs.flatten(), minlength=441).view(21, 21)
        if args.empty_cache:
            torch.cuda.empty_cache()
        print(f"epoch {epoch}: {loss.item():.3f}, {counts.diagonal().sum().item()}")


if __name__ == "__main__":
    main()
