"""Image classification with a model of Transformers, its Trainer, metrics and a final prediction."""

import argparse
import tempfile

import torch
import transformers
from torch.utils.data import Dataset
from transformers import EarlyStoppingCallback, Trainer, TrainingArguments


class Images(Dataset):
    def __init__(self, count, size):
        self.count, self.size = count, size

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return {"pixel_values": torch.rand(3, self.size, self.size), "labels": index % 10}


def build(name, size):
    if name == "vit":
        return transformers.ViTForImageClassification(transformers.ViTConfig(image_size=size, num_labels=10))
    if name == "convnext":
        return transformers.ConvNextForImageClassification(transformers.ConvNextConfig(num_labels=10))
    return transformers.ResNetForImageClassification(transformers.ResNetConfig(num_labels=10))


def metrics(found):
    return {"accuracy": float((found.predictions.argmax(-1) == found.label_ids).mean())}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=["vit", "convnext", "resnet"], default="vit")
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--eval-batch-size", type=int, default=64)
    parser.add_argument("--samples", type=int, default=128)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--best", action="store_true")
    parser.add_argument("--freeze", action="store_true", help="train the head only")
    parser.add_argument("--empty-every", type=int, default=0, help="steps after which the cache is emptied")
    parser.add_argument("--precision", choices=["fp32", "bf16", "fp16"], default="fp32")
    args = parser.parse_args()
    transformers.set_seed(0)
    model = build(args.model, args.size)
    if args.freeze:
        model.base_model.requires_grad_(False)
    with tempfile.TemporaryDirectory() as folder:
        settings = TrainingArguments(
            output_dir=folder,
            per_device_train_batch_size=args.batch_size,
            per_device_eval_batch_size=args.eval_batch_size,
            num_train_epochs=args.epochs,
            eval_strategy="epoch",
            save_strategy="epoch" if args.best else "no",
            load_best_model_at_end=args.best,
            metric_for_best_model="accuracy" if args.best else None,
            torch_empty_cache_steps=args.empty_every or None,
            remove_unused_columns=False,
            bf16=args.precision == "bf16",
            fp16=args.precision == "fp16",
            report_to="none",
            disable_tqdm=True,
        )
        trainer = Trainer(
            model=model,
            args=settings,
            train_dataset=Images(args.samples, args.size),
            eval_dataset=Images(args.eval_batch_size + 9, args.size),
            compute_metrics=metrics,
            callbacks=[EarlyStoppingCallback(early_stopping_patience=10)] if args.best else None,
        )
        trainer.train()
        print(trainer.predict(Images(2 * args.eval_batch_size, args.size)).metrics)


if __name__ == "__main__":
    main()
