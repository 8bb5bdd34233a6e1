"""BERT from transformers, masked language modelling on random tokens."""

import argparse

import torch
from transformers import BertConfig, BertForMaskedLM, get_linear_schedule_with_warmup

MASK_TOKEN, IGNORED = 103, -100


def random_batch(batch_size, length, vocabulary):
    """Tokens of which 15 % are masked, and labels that count only there."""
    labels = torch.randint(vocabulary, (batch_size, length))
    masked = torch.rand(batch_size, length) < 0.15
    tokens = labels.masked_fill(masked, MASK_TOKEN)
    return tokens, labels.masked_fill(~masked, IGNORED), torch.ones_like(tokens)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--length", type=int, default=256)
    args = parser.parse_args()

    config = BertConfig()
    model = BertForMaskedLM(config).to("cuda")
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
    schedule = get_linear_schedule_with_warmup(optimizer, num_warmup_steps=10, num_training_steps=args.steps)

    model.train()
    for step in range(args.steps):
        tokens, labels, mask = random_batch(args.batch_size, args.length, config.vocab_size)
        loss = model(input_ids=tokens.cuda(), attention_mask=mask.cuda(), labels=labels.cuda()).loss
        loss.backward()
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        if step % 10 == 0:
            print(f"step {step}: loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
