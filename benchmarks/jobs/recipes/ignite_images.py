"""Supervised training with Ignite: evaluators on events of their own, a moving average, checkpoints."""

import argparse
import tempfile

import torch
import torchvision
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import Checkpoint, DiskSaver, EarlyStopping, EMAHandler, global_step_from_engine
from ignite.metrics import Accuracy, ConfusionMatrix, Loss
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __init__(self, count, size):
        self.count, self.size = count, size

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return torch.rand(3, self.size, self.size), index % 10


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="resnet18")
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--eval-batch-size", type=int, default=128)
    parser.add_argument("--samples", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--evaluate-every", type=int, default=0, help="steps; 0: after each epoch")
    parser.add_argument("--average", action="store_true")
    parser.add_argument("--amp", action="store_true")
    parser.add_argument("--test", type=int, default=0, help="batch size of a test when all is done")
    args = parser.parse_args()
    torch.manual_seed(0)
    device = torch.device("cuda")
    model = torchvision.models.get_model(args.model, weights=None, num_classes=10).to(device)
    optimizer, criterion = torch.optim.Adam(model.parameters(), lr=1e-4), nn.CrossEntropyLoss()
    amp = {"amp_mode": "amp", "scaler": True} if args.amp else {}
    trainer = create_supervised_trainer(model, optimizer, criterion, device=device, **amp)
    metrics = {"accuracy": Accuracy(), "loss": Loss(criterion), "confusion": ConfusionMatrix(10)}
    evaluator = create_supervised_evaluator(model, metrics=metrics, device=device)
    train = DataLoader(Images(args.samples, args.size), args.batch_size, shuffle=True)
    held = DataLoader(Images(args.eval_batch_size + 20, args.size), args.eval_batch_size)
    if args.average:
        EMAHandler(model, momentum=0.01).attach(trainer, event=Events.ITERATION_COMPLETED(every=2))
    when = Events.ITERATION_COMPLETED(every=args.evaluate_every) if args.evaluate_every else Events.EPOCH_COMPLETED

    @trainer.on(when)
    def evaluate(engine):
        evaluator.run(held)
        print(
            f"{engine.state.iteration}: {engine.state.output:.3f}, accuracy {evaluator.state.metrics['accuracy']:.3f}"
        )

    with tempfile.TemporaryDirectory() as folder:
        saver = Checkpoint(
            {"model": model, "optimizer": optimizer},
            DiskSaver(folder, require_empty=False),
            n_saved=2,
            global_step_transform=global_step_from_engine(trainer),
        )
        trainer.add_event_handler(Events.EPOCH_COMPLETED, saver)
        stopper = EarlyStopping(
            patience=20, score_function=lambda engine: -engine.state.metrics["loss"], trainer=trainer
        )
        evaluator.add_event_handler(Events.COMPLETED, stopper)
        trainer.run(train, max_epochs=args.epochs)
    if args.test:
        evaluator.run(DataLoader(Images(2 * args.test, args.size), args.test))
        print(evaluator.state.metrics["accuracy"])


if __name__ == "__main__":
    main()
