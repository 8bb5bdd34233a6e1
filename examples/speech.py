"""Speech recognition: convolutions over a spectrogram, bidirectional GRUs, CTC loss; random sound, Adam."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

FREQUENCIES, FRAMES, LETTERS, WIDTH, LAYERS = 80, 800, 29, 512, 4
LABEL = 60  # letters in an utterance; class 0 is the blank between them


class Recognizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolutions = nn.Sequential(
            nn.Conv2d(1, 32, (11, 11), stride=(2, 2), padding=(5, 5)),
            nn.BatchNorm2d(32),
            nn.Hardtanh(0, 20),
            nn.Conv2d(32, 32, (11, 11), stride=(2, 1), padding=(5, 5)),
            nn.BatchNorm2d(32),
            nn.Hardtanh(0, 20),
        )
        self.gru = nn.GRU(32 * FREQUENCIES // 4, WIDTH, num_layers=LAYERS, bidirectional=True, dropout=0.1)
        self.head = nn.Linear(2 * WIDTH, LETTERS)

    def forward(self, spectrograms):
        features = self.convolutions(spectrograms).flatten(1, 2)  # batch, channels x frequencies, frames
        output, _ = self.gru(features.permute(2, 0, 1))
        return self.head(output).log_softmax(dim=2)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--steps", type=int, default=100)
    args = parser.parse_args()

    model = Recognizer().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)
    for step in range(args.steps):
        spectrograms = torch.randn(args.batch_size, 1, FREQUENCIES, FRAMES).cuda()
        # cuDNN's CTC loss takes 32-bit labels, one after the other, on the host.
        labels = torch.randint(1, LETTERS, (args.batch_size * LABEL,), dtype=torch.int32)
        log_probabilities = model(spectrograms)
        frames, batch = log_probabilities.shape[:2]
        loss = F.ctc_loss(log_probabilities, labels, (frames,) * batch, (LABEL,) * batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step}: loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
