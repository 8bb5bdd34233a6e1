"""Speech recognition: convolutions, a recurrent network and the CTC loss, its lengths on the host or on the GPU."""

import argparse
import json

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pad_sequence

MELS, CHARACTERS = 80, 64  # character 0 is CTC's blank


class Recogniser(nn.Module):
    def __init__(self, rnn="lstm", channels=64, hidden=384):
        super().__init__()
        self.convolutions = nn.Sequential(
            nn.Conv2d(1, channels, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(channels, channels, 3, stride=2, padding=1),
            nn.ReLU(),
        )
        recurrent = {"lstm": nn.LSTM, "gru": nn.GRU}[rnn]
        self.rnn = recurrent(channels * MELS // 4, hidden, num_layers=3, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * hidden, CHARACTERS)

    def forward(self, sound):
        features = self.convolutions(sound[:, None]).transpose(1, 2).flatten(2)
        return self.head(self.rnn(features)[0]).log_softmax(-1)


def make_batch(bs, longest):
    """Spectrograms of different lengths with about one character for 12 frames, both padded."""
    frames = torch.randint(longest // 2, longest + 1, (bs,))
    frames[0] = longest
    sound = pad_sequence([torch.randn(n, MELS) for n in frames.tolist()], batch_first=True)
    texts = [torch.randint(1, CHARACTERS, (n // 12,)) for n in frames.tolist()]
    text_lengths = torch.tensor([len(text) for text in texts])
    return sound, pad_sequence(texts, batch_first=True), (frames + 3) // 4, text_lengths


def train(args):
    torch.manual_seed(0)
    model = Recogniser(args.rnn).to(args.device).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    for _ in range(args.iters):
        sound, text, sound_lengths, text_lengths = make_batch(args.bs, args.frames)
        sound, text = sound.to(args.device), text.to(args.device)
        if args.lengths == "cuda":
            sound_lengths, text_lengths = sound_lengths.to(args.device), text_lengths.to(args.device)
        optimizer.zero_grad()
        scores = model(sound).transpose(0, 1)
        loss = F.ctc_loss(scores, text, sound_lengths, text_lengths, zero_infinity=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rnn", choices=["lstm", "gru"], default="lstm")
    parser.add_argument("--lengths", choices=["cpu", "cuda"], default="cpu", help="where the lengths are")
    parser.add_argument("--bs", type=int, default=16)
    parser.add_argument("--frames", type=int, default=800, help="of the longest sound")
    parser.add_argument("--iters", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    train(args)
    peaks = {"allocated_peak": torch.cuda.max_memory_allocated(), "reserved_peak": torch.cuda.max_memory_reserved()}
    print(json.dumps({**vars(args), **peaks}))


if __name__ == "__main__":
    main()
