"""A word-level language model: embedding, two LSTM layers with dropout, trained on random tokens with SGD."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

VOCABULARY, CONTEXT, WIDTH, LAYERS = 10000, 70, 650, 2


class LanguageModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.dropout = nn.Dropout(0.5)
        self.lstm = nn.LSTM(WIDTH, WIDTH, num_layers=LAYERS, dropout=0.5)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens, state):
        output, state = self.lstm(self.dropout(self.tokens(tokens)), state)
        return self.head(self.dropout(output)), state


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--steps", type=int, default=100)
    args = parser.parse_args()

    model = LanguageModel().cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.9)
    state = None
    for step in range(args.steps):
        tokens = torch.randint(VOCABULARY, (CONTEXT + 1, args.batch_size)).cuda()
        if state is not None:  # the text goes on where the last step ended, the gradients do not
            state = tuple(part.detach() for part in state)
        logits, state = model(tokens[:-1], state)
        loss = F.cross_entropy(logits.flatten(0, 1), tokens[1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.25)
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step}: loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
