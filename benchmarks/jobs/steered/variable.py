"""One epoch over texts of different lengths, in batches of similar length; the last batch is a partial one."""

import argparse
import json

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

VOCABULARY, CLASSES, LONGEST = 30000, 20, 400


class Texts(Dataset):
    def __init__(self, number):
        self.lengths = torch.randint(10, LONGEST + 1, (number,)).tolist()
        self.texts = [torch.randint(1, VOCABULARY, (n,)) for n in self.lengths]
        self.labels = torch.randint(CLASSES, (number,)).tolist()

    def __len__(self):
        return len(self.texts)

    def __getitem__(self, index):
        return self.texts[index], self.labels[index]


def make_batches(lengths, bs, order):
    """Lists of indices: shortest texts first, or batches of similar length in random order."""
    by_length = sorted(range(len(lengths)), key=lengths.__getitem__)
    batches = [by_length[start : start + bs] for start in range(0, len(by_length), bs)]
    if order == "sorted":
        return batches
    if order == "bucketed":
        return [batches[i] for i in torch.randperm(len(batches)).tolist()]
    shuffled = torch.randperm(len(lengths)).tolist()
    return [shuffled[start : start + bs] for start in range(0, len(shuffled), bs)]


def collate(samples):
    texts, labels = zip(*samples, strict=True)
    return pad_sequence(texts, batch_first=True), torch.tensor(labels)


class Classifier(nn.Module):
    def __init__(self, width=384, layers=6, heads=6):
        super().__init__()
        self.words, self.positions = nn.Embedding(VOCABULARY, width, padding_idx=0), nn.Embedding(LONGEST, width)
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, CLASSES)

    def forward(self, words):
        padding = words == 0
        hidden = self.words(words) + self.positions(torch.arange(words.shape[1], device=words.device))
        hidden = self.layers(hidden, src_key_padding_mask=padding)
        hidden = hidden.masked_fill(padding[..., None], 0).sum(1) / (~padding).sum(1, keepdim=True)
        return self.head(hidden)


def train(args):
    torch.manual_seed(0)
    texts = Texts(args.texts)
    loader = DataLoader(texts, batch_sampler=make_batches(texts.lengths, args.bs, args.order), collate_fn=collate)
    model = Classifier().to(args.device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for words, labels in loader:
        words, labels = words.to(args.device), labels.to(args.device)
        loss = F.cross_entropy(model(words), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--order", choices=["sorted", "bucketed", "shuffled"], default="sorted")
    parser.add_argument("--bs", type=int, default=32)
    parser.add_argument("--texts", type=int, default=620)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    train(args)
    peaks = {"allocated_peak": torch.cuda.max_memory_allocated(), "reserved_peak": torch.cuda.max_memory_reserved()}
    print(json.dumps({**vars(args), **peaks}))


if __name__ == "__main__":
    main()
