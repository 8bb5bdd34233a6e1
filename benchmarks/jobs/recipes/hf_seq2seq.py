"""Summaries with T5 or BART and Seq2SeqTrainer, which generates at every evaluation."""

import argparse
import tempfile

import torch
import transformers
from torch.utils.data import Dataset
from transformers import GenerationConfig, Seq2SeqTrainer, Seq2SeqTrainingArguments

VOCABULARY = 12000


class Pairs(Dataset):
    def __init__(self, count, source, target):
        self.count, self.source, self.target = count, source, target

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        texts = torch.randint(4, VOCABULARY, (self.source + self.target,))
        ones = torch.ones(self.source, dtype=torch.long)
        return {"input_ids": texts[: self.source], "attention_mask": ones, "labels": texts[self.source :]}


def build(name):
    if name == "t5":
        config = transformers.T5Config(
            vocab_size=VOCABULARY, d_model=512, d_kv=64, d_ff=2048, num_layers=4, num_heads=8, decoder_start_token_id=0
        )
        return transformers.T5ForConditionalGeneration(config)
    config = transformers.BartConfig(
        vocab_size=VOCABULARY, d_model=512, encoder_layers=4, decoder_layers=4, encoder_attention_heads=8,
        decoder_attention_heads=8, encoder_ffn_dim=2048, decoder_ffn_dim=2048, max_position_embeddings=1024,
    )  # fmt: skip
    return transformers.BartForConditionalGeneration(config)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=["t5", "bart"], default="t5")
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--eval-batch-size", type=int, default=16)
    parser.add_argument("--source", type=int, default=256)
    parser.add_argument("--target", type=int, default=48)
    parser.add_argument("--beams", type=int, default=1)
    parser.add_argument("--samples", type=int, default=120)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--evaluate", choices=["epoch", "no"], default="epoch")
    parser.add_argument("--predict", action="store_true")
    parser.add_argument("--precision", choices=["fp32", "bf16", "fp16"], default="fp32")
    args = parser.parse_args()
    transformers.set_seed(0)
    model = build(args.model)
    generation = GenerationConfig(
        max_new_tokens=20, min_new_tokens=20, num_beams=args.beams,
        decoder_start_token_id=model.config.decoder_start_token_id, pad_token_id=model.config.pad_token_id,
        eos_token_id=model.config.eos_token_id,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        settings = Seq2SeqTrainingArguments(
            output_dir=folder,
            per_device_train_batch_size=args.batch_size,
            per_device_eval_batch_size=args.eval_batch_size,
            num_train_epochs=args.epochs,
            predict_with_generate=True,
            generation_config=generation,
            eval_strategy=args.evaluate,
            save_strategy="no",
            bf16=args.precision == "bf16",
            fp16=args.precision == "fp16",
            report_to="none",
            disable_tqdm=True,
        )
        held = Pairs(2 * args.eval_batch_size, args.source, args.target)
        data = Pairs(args.samples, args.source, args.target)
        trainer = Seq2SeqTrainer(model=model, args=settings, train_dataset=data, eval_dataset=held)
        trainer.train()
        if args.predict:
            print(trainer.predict(held).predictions.shape)


if __name__ == "__main__":
    main()
