"""Train a speech recogniser on noise of the shape of log-mel features: recurrent or Conformer with CTC, or Whisper."""

import argparse

import torch
import torch.nn.functional as F
import transformers as hf
from common import Precision, add_training_options, make_optimizers
from torch import nn

MELS = 80
SYMBOLS = 1000  # number 0 is the blank
WHISPER = {"whisper-tiny": (384, 4, 6), "whisper-base": (512, 6, 8), "whisper-small": (768, 12, 12)}
RECURRENT = {"deepspeech-lstm": (nn.LSTM, 768, 5), "deepspeech-gru": (nn.GRU, 800, 7)}
CONFORMER = {"conformer-s": (256, 8), "conformer-m": (384, 16)}


class DeepSpeech(nn.Module):
    """Convolutions that halve the frames twice, bidirectional recurrent layers and a projection to the symbols."""

    def __init__(self, cell, width, layers):
        super().__init__()
        self.front = nn.Sequential(
            nn.Conv2d(1, 32, (11, 41), stride=(2, 2), padding=(5, 20), bias=False),
            nn.BatchNorm2d(32),
            nn.Hardtanh(0, 20),
            nn.Conv2d(32, 32, (11, 21), stride=(2, 2), padding=(5, 10), bias=False),
            nn.BatchNorm2d(32),
            nn.Hardtanh(0, 20),
        )
        self.recurrent = cell(32 * MELS // 4, width, layers, batch_first=True, bidirectional=True, dropout=0.1)
        self.head = nn.Sequential(nn.LayerNorm(2 * width), nn.Linear(2 * width, SYMBOLS))

    def forward(self, features, lengths=None):
        x = self.front(features.unsqueeze(1)).permute(0, 2, 1, 3).flatten(2)
        if lengths is None:
            x, _ = self.recurrent(x)
        else:
            frames = x.shape[1]
            x = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
            x, _ = nn.utils.rnn.pad_packed_sequence(self.recurrent(x)[0], batch_first=True, total_length=frames)
        return self.head(x)


class FeedForward(nn.Sequential):
    def __init__(self, width):
        inner = nn.Linear(width, 4 * width), nn.SiLU(), nn.Dropout(0.1), nn.Linear(4 * width, width), nn.Dropout(0.1)
        super().__init__(nn.LayerNorm(width), *inner)


class ConformerBlock(nn.Module):
    """Attention and a depthwise convolution between two half steps of a feed-forward layer."""

    def __init__(self, width):
        super().__init__()
        self.before, self.after = FeedForward(width), FeedForward(width)
        self.attention_norm, self.last_norm = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, width // 64, dropout=0.1, batch_first=True)
        self.convolution_norm = nn.LayerNorm(width)
        self.convolution = nn.Sequential(
            nn.Conv1d(width, 2 * width, 1),
            nn.GLU(dim=1),
            nn.Conv1d(width, width, 31, padding=15, groups=width),
            nn.BatchNorm1d(width),
            nn.SiLU(),
            nn.Conv1d(width, width, 1),
        )

    def forward(self, x):
        x = x + 0.5 * self.before(x)
        y = self.attention_norm(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        x = x + self.convolution(self.convolution_norm(x).transpose(1, 2)).transpose(1, 2)
        return self.last_norm(x + 0.5 * self.after(x))


class Conformer(nn.Module):
    def __init__(self, width, layers):
        super().__init__()
        halve, again = (nn.Conv2d(inputs, width, 3, stride=2, padding=1) for inputs in (1, width))
        self.front = nn.Sequential(halve, nn.ReLU(), again, nn.ReLU())
        self.project = nn.Linear(width * MELS // 4, width)
        self.blocks = nn.ModuleList(ConformerBlock(width) for _ in range(layers))
        self.head = nn.Linear(width, SYMBOLS)

    def forward(self, features):
        x = self.project(self.front(features.unsqueeze(1)).permute(0, 2, 1, 3).flatten(2))
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def whisper(width, layers, heads):
    shape = {"encoder_layers": layers, "decoder_layers": layers, "encoder_attention_heads": heads}
    shape |= {"decoder_attention_heads": heads, "encoder_ffn_dim": 4 * width, "decoder_ffn_dim": 4 * width}
    return hf.WhisperForConditionalGeneration(hf.WhisperConfig(d_model=width, **shape))


def parse(words=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=[*RECURRENT, *CONFORMER, *WHISPER], default="deepspeech-lstm")
    parser.add_argument("--frames", type=int, default=800, help="of 10 ms each; Whisper always takes 3000")
    parser.add_argument("--symbols", type=int, default=60, help="in a transcript")
    parser.add_argument("--packed", action="store_true", help="recordings of several lengths, packed (recurrent only)")
    parser.add_argument("--targets", choices=["host", "gpu"], default="gpu", help="where the transcripts lie")
    add_training_options(parser, batch_size=16)
    return parser.parse_args(words)


def build(options):
    if options.model in WHISPER:
        return whisper(*WHISPER[options.model])
    if options.model in CONFORMER:
        return Conformer(*CONFORMER[options.model])
    return DeepSpeech(*RECURRENT[options.model])


def frames_heard(options):
    """After two strides of 2, for each recording; the longest one fills the batch."""
    longest = (options.frames + 3) // 4
    if not options.packed:
        return torch.full((options.batch_size,), longest)
    return torch.linspace(longest, longest // 2, options.batch_size).long()


def batch(options):
    """The inputs of the model: by position, but for Whisper, which takes its labels by keyword."""
    if options.model in WHISPER:
        features = torch.randn(options.batch_size, MELS, 3000)
        return {"input_features": features, "labels": torch.randint(1, 50000, (options.batch_size, options.symbols))}
    features = torch.randn(options.batch_size, options.frames, MELS)
    return (features, frames_heard(options)) if options.packed else (features,)


def ctc(model, options, dtype):
    features, *lengths = batch(options)  # the lengths stay on the host, where packing wants them
    heard, said = frames_heard(options).tolist(), [options.symbols] * options.batch_size
    transcripts = torch.randint(1, SYMBOLS, (options.batch_size, options.symbols))
    # On the host in one row of short integers, as cuDNN's CTC wants them; on the GPU as most people write it.
    transcripts = transcripts.cuda() if options.targets == "gpu" else transcripts.int().flatten()
    scores = model(features.to("cuda", dtype), *lengths).float().log_softmax(-1).transpose(0, 1)
    return F.ctc_loss(scores, transcripts, heard, said, zero_infinity=True)


def whisper_loss(model, options, dtype):
    inputs = batch(options)
    return model(inputs["input_features"].to("cuda", dtype), labels=inputs["labels"].cuda()).loss


def main():
    options = parse()
    torch.manual_seed(0)
    precision = Precision(options.precision)
    model = build(options).to("cuda", precision.dtype).train()
    optimizers = make_optimizers(options.optimizer, model.parameters())
    for _ in range(options.iterations):
        with precision.autocast():
            if options.model in WHISPER:
                loss = whisper_loss(model, options, precision.dtype)
            else:
                loss = ctc(model, options, precision.dtype)
        for optimizer in optimizers:
            optimizer.zero_grad()
        precision.scaler.scale(loss).backward()
        for optimizer in optimizers:
            precision.scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        precision.step(optimizers)
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
