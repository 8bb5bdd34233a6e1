"""Point clouds: farthest points are kept one by one, and edges join nearest neighbours, or all within a radius."""

import argparse
import json

import torch
import torch.nn.functional as F
from torch import nn

CLASSES = 40


@torch.no_grad()
def farthest_points(points, count):
    """Indices of points, each as far as possible from those before it; one `argmax` a point."""
    chosen = torch.zeros(len(points), count, dtype=torch.long, device=points.device)
    nearest = torch.full(points.shape[:2], float("inf"), device=points.device)
    last = torch.randint(points.shape[1], (len(points),), device=points.device)
    for number in range(count):
        chosen[:, number] = last
        centre = points.gather(1, last[:, None, None].expand(-1, 1, 3))
        nearest = torch.minimum(nearest, (points - centre).pow(2).sum(-1))
        last = nearest.argmax(1)
    return chosen


class EdgeLayer(nn.Module):
    """Features of edges from both their ends, the maximum of them per point."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 * inputs, outputs), nn.BatchNorm1d(outputs), nn.LeakyReLU(0.2))

    def forward(self, x, source, target):
        edges = self.net(torch.cat([x[target], x[source] - x[target]], 1))
        out = edges.new_full((len(x), edges.shape[1]), float("-inf"))
        out = out.scatter_reduce(0, target[:, None].expand_as(edges), edges, "amax")
        return out.masked_fill(out.isinf(), 0)


@torch.no_grad()
def join(x, batch, args):
    """Source and target of every edge, points numbered through the batch."""
    x = x.view(batch, -1, x.shape[-1])
    distances = torch.cdist(x, x)
    if args.graph == "radius":
        cloud, target, source = (distances < args.radius).nonzero(as_tuple=True)
        return cloud * x.shape[1] + source, cloud * x.shape[1] + target
    source = distances.topk(args.neighbours, largest=False).indices
    source = source + x.shape[1] * torch.arange(batch, device=x.device)[:, None, None]
    target = torch.arange(x.shape[0] * x.shape[1], device=x.device).repeat_interleave(args.neighbours)
    return source.flatten(), target


class Network(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.args = args
        self.layers = nn.ModuleList([EdgeLayer(3, 64), EdgeLayer(64, 128), EdgeLayer(128, 256)])
        self.head = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Dropout(0.5), nn.Linear(512, CLASSES))

    def forward(self, points):
        batch = len(points)
        kept = farthest_points(points, self.args.kept)
        points = points.gather(1, kept[..., None].expand(-1, -1, 3))
        x = points.flatten(0, 1)
        source, target = join(x, batch, self.args)
        for layer in self.layers:
            if self.args.graph == "nearest" and layer is not self.layers[0]:
                source, target = join(x, batch, self.args)  # neighbours among features, not in space
            x = layer(x, source, target)
        return self.head(x.view(batch, -1, x.shape[1]).amax(1))


def train(args):
    torch.manual_seed(0)
    model = Network(args).to(args.device).train()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(args.iters):
        points = torch.rand(args.bs, args.points, 3).to(args.device)
        labels = torch.randint(CLASSES, (args.bs,)).to(args.device)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(points), labels)
        loss.backward()
        optimizer.step()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graph", choices=["nearest", "radius"], default="nearest")
    parser.add_argument("--neighbours", type=int, default=20)
    parser.add_argument("--radius", type=float, default=0.2, help="the clouds fill a cube of side 1")
    parser.add_argument("--points", type=int, default=2048)
    parser.add_argument("--kept", type=int, default=512, help="of the points")
    parser.add_argument("--bs", type=int, default=16)
    parser.add_argument("--iters", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    train(args)
    peaks = {"allocated_peak": torch.cuda.max_memory_allocated(), "reserved_peak": torch.cuda.max_memory_reserved()}
    print(json.dumps({**vars(args), **peaks}))


if __name__ == "__main__":
    main()
