"""A language model with the Trainer of Transformers: evaluation, saving and the best model by its own schedules."""

import argparse
import tempfile

import torch
import transformers
from torch.utils.data import Dataset
from transformers import Trainer, TrainerCallback, TrainingArguments


class Texts(Dataset):
    def __init__(self, count, length, vocabulary, labels):
        self.count, self.length, self.vocabulary, self.labels = count, length, vocabulary, labels

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        text = torch.randint(3, self.vocabulary, (self.length,))
        return {"input_ids": text, "labels": text if self.labels == "text" else torch.tensor(index % 2)}


def build(name, length):
    width, layers, vocabulary = 512, 6, 20000
    if name == "gpt2":
        config = transformers.GPT2Config(
            vocab_size=vocabulary,
            n_embd=width,
            n_layer=layers,
            n_head=8,
            n_positions=length,
            bos_token_id=0,
            eos_token_id=0,
        )
        return transformers.GPT2LMHeadModel(config)
    if name == "llama":
        config = transformers.LlamaConfig(
            vocab_size=vocabulary, hidden_size=width, num_hidden_layers=layers, num_attention_heads=8,
            num_key_value_heads=4, intermediate_size=1376, max_position_embeddings=length,
        )  # fmt: skip
        return transformers.LlamaForCausalLM(config)
    config = transformers.BertConfig(
        vocab_size=vocabulary, hidden_size=width, num_hidden_layers=layers, num_attention_heads=8,
        intermediate_size=4 * width, max_position_embeddings=length,
    )  # fmt: skip
    return transformers.BertForSequenceClassification(config)


class Samples(TrainerCallback):
    """Shows a few generated texts every so many steps."""

    def __init__(self, every, texts, prompt):
        self.every, self.texts, self.prompt = every, texts, prompt

    def on_step_end(self, args, state, control, model=None, **_):  # noqa: ARG002
        if state.global_step % self.every == 0:
            model.eval()
            prompts = torch.randint(3, 20000, (self.texts, self.prompt), device=model.device)
            with torch.no_grad():
                made = model.generate(prompts, max_new_tokens=16, min_new_tokens=16, do_sample=True, pad_token_id=0)
            print(f"step {state.global_step}: {made[0, -4:].tolist()}")
            model.train()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", choices=["gpt2", "llama", "bert"], default="gpt2")
    parser.add_argument("--length", type=int, default=256)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--eval-batch-size", type=int, default=8)
    parser.add_argument("--samples", type=int, default=160)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--evaluate", choices=["no", "epoch", "steps"], default="epoch")
    parser.add_argument("--save", choices=["no", "epoch", "steps"], default="epoch")
    parser.add_argument("--every", type=int, default=15, help="steps between evaluations and between checkpoints")
    parser.add_argument("--best", action="store_true", help="load the best model at the end")
    parser.add_argument("--predict", type=int, default=0, help="texts to predict at the end")
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--checkpointing", action="store_true", help="recompute activations")
    parser.add_argument("--sample-every", type=int, default=0)
    parser.add_argument("--optimizer", default="adamw_torch_fused")
    parser.add_argument("--precision", choices=["fp32", "bf16", "fp16"], default="fp32")
    args = parser.parse_args()
    transformers.set_seed(0)
    labels = "class" if args.model == "bert" else "text"
    model = build(args.model, args.length)
    with tempfile.TemporaryDirectory() as folder:
        settings = TrainingArguments(
            output_dir=folder,
            per_device_train_batch_size=args.batch_size,
            per_device_eval_batch_size=args.eval_batch_size,
            num_train_epochs=args.epochs,
            gradient_accumulation_steps=args.accumulate,
            gradient_checkpointing=args.checkpointing,
            eval_strategy=args.evaluate,
            eval_steps=args.every,
            save_strategy=args.save,
            save_steps=args.every,
            save_total_limit=2,
            load_best_model_at_end=args.best,
            prediction_loss_only=labels == "text",
            logging_steps=10,
            optim=args.optimizer,
            bf16=args.precision == "bf16",
            fp16=args.precision == "fp16",
            report_to="none",
            disable_tqdm=True,
        )
        trainer = Trainer(
            model=model,
            args=settings,
            train_dataset=Texts(args.samples, args.length, 20000, labels),
            eval_dataset=Texts(2 * args.eval_batch_size + 3, args.length, 20000, labels),
            callbacks=[Samples(args.sample_every, 32, args.length // 2)] if args.sample_every else None,
        )
        trainer.train()
        if args.predict:
            found = trainer.predict(Texts(args.predict, args.length, 20000, labels))
            print(found.metrics)
        trainer.save_model()


if __name__ == "__main__":
    main()
