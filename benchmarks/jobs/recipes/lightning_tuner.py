"""Lightning's tuner before training: the largest batch that goes under a set limit, the learning rate, or both."""

import argparse
import tempfile

import lightning
import torch
import torch.nn.functional as F
import torchvision
from lightning.pytorch.tuner import Tuner
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __init__(self, count, size):
        self.count, self.size = count, size

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return torch.rand(3, self.size, self.size), index % 10


class Tuned(lightning.LightningModule):
    def __init__(self, args):
        super().__init__()
        self.args, self.batch_size, self.lr = args, args.batch_size, 1e-4
        self.net = torchvision.models.get_model(args.model, weights=None, num_classes=10)

    def training_step(self, batch, _):
        return F.cross_entropy(self.net(batch[0]), batch[1])

    def validation_step(self, batch, _):
        self.log("val_loss", F.cross_entropy(self.net(batch[0]), batch[1]))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=self.lr)

    def train_dataloader(self):
        return DataLoader(Images(self.args.samples, self.args.size), self.batch_size, shuffle=True)

    def val_dataloader(self):
        return DataLoader(Images(2 * self.batch_size, self.args.size), self.batch_size)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--find", choices=["batch", "rate", "both"], default="batch")
    parser.add_argument("--mode", choices=["power", "binsearch"], default="power")
    parser.add_argument("--trials", type=int, default=8)
    parser.add_argument("--limit-gb", type=float, default=6)
    parser.add_argument("--model", default="resnet18")
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--samples", type=int, default=2048)
    parser.add_argument("--train-batches", type=int, default=6)
    parser.add_argument("--precision", choices=["fp32", "bf16", "fp16"], default="fp32")
    args = parser.parse_args()
    lightning.seed_everything(0)
    torch.cuda.set_per_process_memory_fraction(args.limit_gb * 1e9 / torch.cuda.get_device_properties(0).total_memory)
    with tempfile.TemporaryDirectory() as folder:
        trainer = lightning.Trainer(
            accelerator="gpu",
            devices=1,
            max_epochs=1,
            limit_train_batches=args.train_batches,
            precision={"fp32": "32-true", "bf16": "bf16-mixed", "fp16": "16-mixed"}[args.precision],
            default_root_dir=folder,
            logger=False,
            enable_progress_bar=False,
        )
        model, tuner = Tuned(args), None
        tuner = Tuner(trainer)
        if args.find in ("batch", "both"):
            tuner.scale_batch_size(model, mode=args.mode, max_trials=args.trials, steps_per_trial=2)
            print(f"batch size {model.batch_size}")
            if args.find == "both":
                model.batch_size = max(model.batch_size // 2, 1)
        if args.find in ("rate", "both"):
            tuner.lr_find(model, num_training=12)
        trainer.fit(model)


if __name__ == "__main__":
    main()
