"""A LightningModule with training, validation, test and prediction; checkpoints, weight averaging, early stopping."""

import argparse
import tempfile

import lightning
import torch
import torch.nn.functional as F
import torchvision
from lightning.pytorch.callbacks import EarlyStopping, ModelCheckpoint, StochasticWeightAveraging
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __init__(self, count, size):
        self.count, self.size = count, size

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return torch.rand(3, self.size, self.size), index % 10


class Classifier(lightning.LightningModule):
    def __init__(self, model, optimizer):
        super().__init__()
        self.net, self.choice = torchvision.models.get_model(model, weights=None, num_classes=10), optimizer

    def training_step(self, batch, _):
        loss = F.cross_entropy(self.net(batch[0]), batch[1])
        self.log("loss", loss)
        return loss

    def validation_step(self, batch, _):
        self.log("val_loss", F.cross_entropy(self.net(batch[0]), batch[1]), prog_bar=True)

    def test_step(self, batch, index):  # noqa: ARG002
        self.log("test_right", (self.net(batch[0]).argmax(1) == batch[1]).float().mean())

    def predict_step(self, batch, _):
        return self.net(batch[0]).argmax(1)

    def configure_optimizers(self):
        if self.choice == "sgd":
            return torch.optim.SGD(self.parameters(), lr=0.01, momentum=0.9)
        optimizer = torch.optim.AdamW(self.parameters(), lr=1e-4)
        return [optimizer], [torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--eval-batch-size", type=int, default=64)
    parser.add_argument("--samples", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--check-every", type=float, default=1.0, help="validations in an epoch")
    parser.add_argument("--sanity", type=int, default=2, help="batches of validation before training")
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--average", action="store_true", help="SWA in the second half")
    parser.add_argument("--stop-early", action="store_true")
    parser.add_argument("--test", type=int, default=0, help="batch size of a test at the end")
    parser.add_argument("--predict", type=int, default=0, help="batch size of a prediction at the end")
    parser.add_argument("--optimizer", choices=["adamw", "sgd"], default="adamw")
    parser.add_argument("--precision", choices=["fp32", "bf16", "fp16"], default="fp32")
    args = parser.parse_args()
    lightning.seed_everything(0)
    with tempfile.TemporaryDirectory() as folder:
        callbacks = [ModelCheckpoint(monitor="val_loss", save_last=True)]
        if args.average:
            callbacks.append(StochasticWeightAveraging(swa_lrs=1e-3, swa_epoch_start=0.5))
        if args.stop_early:
            callbacks.append(EarlyStopping("val_loss", patience=5))
        trainer = lightning.Trainer(
            accelerator="gpu",
            devices=1,
            max_epochs=args.epochs,
            val_check_interval=args.check_every,
            num_sanity_val_steps=args.sanity,
            accumulate_grad_batches=args.accumulate,
            precision={"fp32": "32-true", "bf16": "bf16-mixed", "fp16": "16-mixed"}[args.precision],
            callbacks=callbacks,
            default_root_dir=folder,
            logger=False,
            enable_progress_bar=False,
        )
        model = Classifier(args.model, args.optimizer)
        train = DataLoader(Images(args.samples, args.size), args.batch_size, shuffle=True)
        trainer.fit(model, train, DataLoader(Images(2 * args.eval_batch_size, args.size), args.eval_batch_size))
        if args.test:
            trainer.test(model, DataLoader(Images(2 * args.test, args.size), args.test), ckpt_path="best")
        if args.predict:
            print(len(trainer.predict(model, DataLoader(Images(2 * args.predict, args.size), args.predict))))


if __name__ == "__main__":
    main()
