"""A GAN in Lightning with manual optimization, and pictures drawn when an epoch ends."""

import argparse
import itertools
import tempfile

import lightning
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __init__(self, count, size):
        self.count, self.size = count, size

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return torch.rand(3, self.size, self.size)


def maker(width):
    layers, widths = [], [100, 8 * width, 4 * width, 2 * width, width]
    for place, (inputs, outputs) in enumerate(itertools.pairwise(widths)):
        step = (1, 0) if place == 0 else (2, 1)
        layers += [nn.ConvTranspose2d(inputs, outputs, 4, *step), nn.BatchNorm2d(outputs), nn.ReLU()]
    return nn.Sequential(*layers, nn.ConvTranspose2d(width, 3, 4, 2, 1), nn.Tanh())


def judge(width):
    layers, widths = [], [3, width, 2 * width, 4 * width, 8 * width]
    for inputs, outputs in itertools.pairwise(widths):
        layers += [nn.Conv2d(inputs, outputs, 4, 2, 1), nn.LeakyReLU(0.2)]
    return nn.Sequential(*layers, nn.Conv2d(8 * width, 1, 4), nn.Flatten(0))


class Gan(lightning.LightningModule):
    def __init__(self, width, draw):
        super().__init__()
        self.automatic_optimization = False
        self.maker, self.judge, self.draw = maker(width), judge(width), draw

    def training_step(self, real, _):
        for_maker, for_judge = self.optimizers()
        fake = self.maker(torch.randn(len(real), 100, 1, 1, device=self.device))
        loss = F.softplus(-self.judge(real)).mean() + F.softplus(self.judge(fake.detach())).mean()
        for_judge.zero_grad()
        self.manual_backward(loss)
        for_judge.step()
        loss = F.softplus(-self.judge(fake)).mean()
        for_maker.zero_grad()
        self.manual_backward(loss)
        for_maker.step()
        self.log("loss", loss)

    def on_train_epoch_end(self):
        with torch.no_grad():
            drawn = self.maker(torch.randn(self.draw, 100, 1, 1, device=self.device)).cpu()
        print(tuple(drawn.shape))

    def configure_optimizers(self):
        return [torch.optim.Adam(part.parameters(), lr=2e-4, betas=(0.5, 0.999)) for part in (self.maker, self.judge)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--samples", type=int, default=640)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--draw", type=int, default=512)
    parser.add_argument("--precision", choices=["fp32", "bf16"], default="fp32")
    args = parser.parse_args()
    lightning.seed_everything(0)
    with tempfile.TemporaryDirectory() as folder:
        trainer = lightning.Trainer(
            accelerator="gpu",
            devices=1,
            max_epochs=args.epochs,
            precision={"fp32": "32-true", "bf16": "bf16-mixed"}[args.precision],
            default_root_dir=folder,
            logger=False,
            enable_progress_bar=False,
        )
        trainer.fit(Gan(args.width, args.draw), DataLoader(Images(args.samples, 64), args.batch_size, shuffle=True))


if __name__ == "__main__":
    main()
