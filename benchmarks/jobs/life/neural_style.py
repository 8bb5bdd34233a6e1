"""Fast style transfer: an image network learns against features of VGG, then paints one large picture."""

import argparse

import torch
import torch.nn.functional as F
import torchvision
from parts import Amp, Images, add_options, make_optimizer
from torch import nn
from torch.utils.data import DataLoader

LAYERS = (3, 8, 15, 22)


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(width, width, 3, 1, 1), nn.InstanceNorm2d(width, affine=True)
        self.conv2, self.norm2 = nn.Conv2d(width, width, 3, 1, 1), nn.InstanceNorm2d(width, affine=True)

    def forward(self, x):
        return x + self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)))))


def painter(width):
    def stage(inputs, outputs, kernel, stride=1, grow=False):
        layers = [nn.Upsample(scale_factor=2)] if grow else []
        layers += [nn.ReflectionPad2d(kernel // 2), nn.Conv2d(inputs, outputs, kernel, stride)]
        return [*layers, nn.InstanceNorm2d(outputs, affine=True), nn.ReLU()]

    down = [*stage(3, width, 9), *stage(width, 2 * width, 3, 2), *stage(2 * width, 4 * width, 3, 2)]
    up = [*stage(4 * width, 2 * width, 3, grow=True), *stage(2 * width, width, 3, grow=True)]
    last = [nn.ReflectionPad2d(4), nn.Conv2d(width, 3, 9)]
    return nn.Sequential(*down, *[Residual(4 * width) for _ in range(5)], *up, *last)


def features(vgg, images):
    found = []
    for number, layer in enumerate(vgg):
        images = layer(images)
        if number in LAYERS:
            found.append(images)
    return found


def gram(x):
    flat = x.flatten(2)
    return flat @ flat.transpose(1, 2) / (x.shape[1] * flat.shape[2])


def main():
    parser = add_options(argparse.ArgumentParser(), batch_size=4, epochs=1, optimizer="adam")
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--batches", type=int, default=12)
    parser.add_argument("--final-size", type=int, default=1080)
    args = parser.parse_args()
    torch.manual_seed(0)
    model = painter(args.width).cuda()
    vgg = torchvision.models.vgg16(weights=None).features[: LAYERS[-1] + 1].cuda().requires_grad_(False)
    vgg = nn.Sequential(*[nn.ReLU() if isinstance(layer, nn.ReLU) else layer for layer in vgg])
    optimizer, amp = make_optimizer(args.optimizer, model.parameters()), Amp(args.precision)
    style = [gram(y) for y in features(vgg, torch.rand(1, 3, args.size, args.size).cuda())]
    loader = DataLoader(Images(args.batches * args.batch_size, args.size), args.batch_size, shuffle=True)
    for epoch in range(args.epochs):
        for images, _ in loader:
            images = images.cuda()
            optimizer.zero_grad()
            with amp.autocast():
                painted, wanted = features(vgg, model(images)), features(vgg, images)
                loss = F.mse_loss(painted[1], wanted[1])
                loss = loss + sum(
                    F.mse_loss(gram(a), b.expand(len(a), -1, -1)) for a, b in zip(painted, style, strict=True)
                )
            amp.backward(loss)
            amp.step(optimizer)
        print(f"epoch {epoch}: {loss.item():.3f}")
    model.eval().cpu()
    torch.cuda.empty_cache()
    with torch.no_grad():
        picture = model.cuda()(torch.rand(1, 3, args.final_size, args.final_size).cuda()).cpu()
    print(tuple(picture.shape))


if __name__ == "__main__":
    main()
