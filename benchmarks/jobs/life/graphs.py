"""A step that is captured as a CUDA graph once it has run some times as usual, and replayed from then on."""

import argparse

import torch
import torch.nn.functional as F
from parts import GPT, classifier
from torch import nn


def build(args):
    if args.model == "gpt":
        model = GPT(16000, 256, 512, 6, 8)
        text = torch.randint(16000, (args.batch_size, 257))
        return model, text[:, :-1].cuda(), text[:, 1:].contiguous().cuda()
    if args.model == "mlp":
        model = nn.Sequential(nn.Linear(4096, 8192), nn.ReLU(), nn.Linear(8192, 8192), nn.ReLU(), nn.Linear(8192, 10))
        return model, torch.rand(args.batch_size, 4096).cuda(), torch.randint(10, (args.batch_size,)).cuda()
    images, labels = torch.rand(args.batch_size, 3, 128, 128).cuda(), torch.randint(10, (args.batch_size,)).cuda()
    return classifier(args.model), images, labels


def main():  # noqa: C901
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="resnet18", help="gpt, mlp or a model of torchvision")
    parser.add_argument("--way", choices=["graph", "callables", "overhead"], default="graph")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--usual", type=int, default=5, help="steps before the capture")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--evaluate", type=int, default=0, help="batch of an evaluation at the end")
    args = parser.parse_args()
    torch.manual_seed(0)
    model, data, target = build(args)
    model = model.cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, capturable=args.way == "graph")

    def loss_of(network, x, y):
        return network(x, y)[1] if args.model == "gpt" else F.cross_entropy(network(x), y)

    def step(network):
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(network, data, target)
        loss.backward()
        optimizer.step()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(args.usual):
            step(model)
    torch.cuda.current_stream().wait_stream(side)
    if args.way == "graph":
        graph = torch.cuda.CUDAGraph()
        optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph):
            loss = step(model)
        for number in range(args.steps):
            data.copy_(torch.rand(data.shape) if data.is_floating_point() else torch.randint(16000, data.shape))
            graph.replay()
            if number % 10 == 0:
                print(f"{number}: {loss.item():.3f}")
    else:
        network = model
        if args.way == "overhead":
            network = torch.compile(model, mode="reduce-overhead")
        else:
            sample = (data, target) if args.model == "gpt" else (data.clone(),)
            network = torch.cuda.make_graphed_callables(model, sample)
        for number in range(args.steps):
            loss = step(network)
            if number % 10 == 0:
                print(f"{number}: {loss.item():.3f}")
    if args.evaluate:
        model.eval()
        with torch.no_grad():
            more = data[:1].expand(args.evaluate, *data.shape[1:]).contiguous()
            labels = target[:1].expand(args.evaluate, *target.shape[1:]).contiguous()
            print(f"evaluation {loss_of(model, more, labels).item():.3f}")


if __name__ == "__main__":
    main()
