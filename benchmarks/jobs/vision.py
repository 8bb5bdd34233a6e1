"""One training run of a vision model: classification or segmentation of torchvision, a U-Net, or a DETR.

The images are noise: memory does not depend on what they show.
"""

import argparse
import itertools

import torch
import torch.nn.functional as F
import torchvision
from common import Precision, add_training_options, make_optimizers
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

SEGMENTATION_CLASSES = 21
OBJECT_CLASSES = 91
OBJECTS = 10
QUERIES = 100


def double_convolution(inputs, outputs):
    layers = []
    for channels in (inputs, outputs):
        layers += [nn.Conv2d(channels, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(True)]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    def __init__(self, widths=(64, 128, 256, 512, 1024), classes=SEGMENTATION_CLASSES):
        super().__init__()
        pairs = list(itertools.pairwise(widths))
        self.stem = double_convolution(3, widths[0])
        self.down = nn.ModuleList(nn.Sequential(nn.MaxPool2d(2), double_convolution(*pair)) for pair in pairs)
        self.up = nn.ModuleList(nn.ConvTranspose2d(wide, narrow, 2, 2) for narrow, wide in reversed(pairs))
        self.merge = nn.ModuleList(double_convolution(2 * narrow, narrow) for narrow, _ in reversed(pairs))
        self.head = nn.Conv2d(widths[0], classes, 1)

    def forward(self, images):
        x = self.stem(images)
        skips = []
        for down in self.down:
            skips.append(x)
            x = down(x)
        for up, merge in zip(self.up, self.merge, strict=True):
            x = merge(torch.cat([skips.pop(), up(x)], dim=1))
        return self.head(x)


class Detr(nn.Module):
    """A ResNet without its head, a transformer over its cells, and learned queries that become classes and boxes."""

    def __init__(self, backbone, width=256, side=64):
        super().__init__()
        resnet = torchvision.models.get_model(backbone, weights=None)
        self.backbone = nn.Sequential(*list(resnet.children())[:-2])
        self.project = nn.Conv2d(resnet.fc.in_features, width, 1)
        self.transformer = nn.Transformer(width, 8, 6, 6, 2048, batch_first=True)
        self.rows = nn.Parameter(torch.rand(side, width // 2))
        self.columns = nn.Parameter(torch.rand(side, width // 2))
        self.queries = nn.Parameter(torch.rand(QUERIES, width))
        self.classes = nn.Linear(width, OBJECT_CLASSES + 1)
        self.boxes = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
        self.corners = nn.Linear(width, 4)

    def positions(self, height, width):
        rows = self.rows[:height, None].expand(-1, width, -1)
        columns = self.columns[None, :width].expand(height, -1, -1)
        return torch.cat([rows, columns], dim=-1).flatten(0, 1)

    def forward(self, images):
        cells = self.project(self.backbone(images))
        positions = self.positions(*cells.shape[-2:])
        queries = self.queries.expand(len(images), -1, -1)
        found = self.transformer(cells.flatten(2).transpose(1, 2) + positions, queries)
        return self.classes(found), self.corners(self.boxes(found)).sigmoid()


WRITTEN = {"unet": UNet, "detr": lambda: Detr("resnet50"), "detr_resnet18": lambda: Detr("resnet18")}


def task(model):
    if model.startswith("detr"):
        return "detection"
    return "segmentation" if model.startswith(("deeplab", "fcn", "lraspp", "unet")) else "classification"


def side(options):
    usual = {"detection": 512, "segmentation": 256, "classification": 299 if "inception" in options.model else 224}
    return options.size or usual[task(options.model)]


def parse(words=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="vit_b_16", help=f"a model of torchvision, or {', '.join(WRITTEN)}")
    parser.add_argument("--size", type=int, help="side of the images in pixels; by default what the model is used with")
    places = ["start", "backward", "end", "zero"]
    parser.add_argument("--zero-grad", choices=places, default="start", help="where; zero: at the start, kept as zeros")
    parser.add_argument("--accumulate", type=int, default=1, help="batches of an optimizer step")
    parser.add_argument("--clip", action="store_true", help="clip the norm of the gradients")
    parser.add_argument("--ema", action="store_true", help="keep a moving average of the model")
    parser.add_argument("--evaluate", action="store_true", help="two epochs, and an evaluation between them")
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--cudnn-benchmark", action="store_true")
    add_training_options(parser)
    return parser.parse_args(words)


def build(options):
    if options.model in WRITTEN:
        return WRITTEN[options.model]()
    if task(options.model) == "segmentation":
        pretrained = {"weights": None, "weights_backbone": None}
        return torchvision.models.get_model(options.model, **pretrained, num_classes=SEGMENTATION_CLASSES)
    shape = {"image_size": side(options)} if options.model.startswith("vit") else {}
    return torchvision.models.get_model(options.model, weights=None, **shape)


def batch(options):
    """The positional inputs of the model."""
    return (torch.rand(options.batch_size, 3, side(options), side(options)),)


def answers(options, number):
    """What the model should say about a batch of images."""
    if task(options.model) == "detection":
        return torch.randint(OBJECT_CLASSES, (number, OBJECTS)), torch.rand(number, OBJECTS, 4) / 4 + 0.25
    if task(options.model) == "segmentation":
        return (torch.randint(SEGMENTATION_CLASSES, (number, side(options), side(options))),)
    return (torch.randint(1000, (number,)),)


def detection_loss(classes, boxes, true_classes, true_boxes):
    """Query i is assigned to object i, and the other queries to none: nothing that is computed decides it."""
    none = true_classes.new_full((len(true_classes), QUERIES - OBJECTS), OBJECT_CLASSES)
    class_loss = F.cross_entropy(classes.transpose(1, 2), torch.cat([true_classes, none], dim=1))
    boxes = boxes[:, :OBJECTS].float()
    corners = [torchvision.ops.box_convert(b, "cxcywh", "xyxy") for b in (boxes, true_boxes)]
    overlap_loss = torchvision.ops.generalized_box_iou_loss(*corners, reduction="mean")
    return class_loss + 5 * F.l1_loss(boxes, true_boxes) + 2 * overlap_loss


def loss_of(output, truth):
    if len(truth) == 2:
        return detection_loss(*output, *truth)
    if isinstance(output, dict):
        output = output["out"]
    if isinstance(output, tuple):  # Inception's and GoogLeNet's auxiliary heads
        losses = [F.cross_entropy(head, *truth) for head in output]
        return losses[0] + 0.4 * sum(losses[1:])
    return F.cross_entropy(output, *truth)


class Training:
    def __init__(self, options):
        self.options = options
        self.precision = Precision(options.precision)
        self.layout = torch.channels_last if options.channels_last else torch.contiguous_format
        model = build(options).to("cuda", self.precision.dtype, memory_format=self.layout)
        self.model = model.train()
        self.average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.999)) if options.ema else None
        self.optimizers = make_optimizers(options.optimizer, model.parameters())

    def zero_grad(self, place):
        wanted = self.options.zero_grad
        if wanted == place or (wanted == "zero" and place == "start"):
            for optimizer in self.optimizers:
                optimizer.zero_grad(set_to_none=wanted != "zero")

    def to_device(self, images, truth):
        images = images.to("cuda", self.precision.dtype, memory_format=self.layout)
        return images, [tensor.cuda() for tensor in truth]

    def step(self):
        self.zero_grad("start")
        for part in range(self.options.accumulate):
            images, truth = self.to_device(*batch(self.options), answers(self.options, self.options.batch_size))
            with self.precision.autocast():
                loss = loss_of(self.model(images), truth) / self.options.accumulate
            if part == 0:
                self.zero_grad("backward")
            self.precision.scaler.scale(loss).backward()
        if self.options.clip:
            for optimizer in self.optimizers:
                self.precision.scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.precision.step(self.optimizers)
        if self.average:
            self.average.update_parameters(self.model)
        self.zero_grad("end")
        return loss.detach()

    @torch.no_grad()
    def evaluate(self, batches=2):
        model = (self.average or self.model).eval()
        size = argparse.Namespace(**{**vars(self.options), "batch_size": 2 * self.options.batch_size})
        for _ in range(batches):
            images, truth = self.to_device(*batch(size), answers(size, size.batch_size))
            with self.precision.autocast():
                loss = loss_of(model(images), truth)
        self.model.train()
        return loss


def main():
    options = parse()
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = options.cudnn_benchmark
    training = Training(options)
    for epoch in range(2 if options.evaluate else 1):
        if epoch:
            print(f"evaluation: loss {training.evaluate().item():.3f}")
        for _ in range(options.iterations):
            loss = training.step()
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
