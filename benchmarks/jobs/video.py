"""One training run of a video model of torchvision: 3d convolutions or attention over space and time, on noise."""

import argparse

import torch
import torch.nn.functional as F
import torchvision
from common import Precision, add_training_options, make_optimizers

CLASSES = 400
SIDES = {"r3d_18": 112, "mc3_18": 112, "r2plus1d_18": 112, "s3d": 224, "mvit_v2_s": 224, "swin3d_t": 224}


def parse(words=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=SIDES, default="r3d_18")
    parser.add_argument("--frames", type=int, default=16, help="frames of a clip; mvit_v2_s and s3d want 16")
    parser.add_argument("--size", type=int, help="side of a frame in pixels; by default 112 or 224, as the model wants")
    add_training_options(parser, batch_size=4)
    return parser.parse_args(words)


def side(options):
    return options.size or SIDES[options.model]


def build(options):
    return torchvision.models.get_model(options.model, weights=None, num_classes=CLASSES)


def batch(options):
    """The positional inputs of the model."""
    return (torch.rand(options.batch_size, 3, options.frames, side(options), side(options)),)


def main():
    options = parse()
    torch.manual_seed(0)
    precision = Precision(options.precision)
    model = build(options).to("cuda", precision.dtype).train()
    optimizers = make_optimizers(options.optimizer, model.parameters())
    for _ in range(options.iterations):
        (clips,) = batch(options)
        clips = clips.to("cuda", precision.dtype)
        labels = torch.randint(CLASSES, (options.batch_size,)).cuda()
        for optimizer in optimizers:
            optimizer.zero_grad()
        with precision.autocast():
            loss = F.cross_entropy(model(clips), labels)
        precision.scaler.scale(loss).backward()
        precision.step(optimizers)
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
