"""Train a physics-informed network: it learns a field from its differential equation, by derivatives of itself.

Every step evaluates the equation at random points inside and the conditions at the rim.
"""

import argparse

import torch
from common import OPTIMIZERS
from torch import nn


class Sine(nn.Module):
    def forward(self, x):
        return torch.sin(x)


class Fourier(nn.Module):
    """Fixed random waves of the coordinates, for fields with fine detail."""

    def __init__(self, inputs, waves):
        super().__init__()
        self.register_buffer("directions", torch.randn(inputs, waves))

    def forward(self, x):
        phase = x @ self.directions
        return torch.cat([phase.sin(), phase.cos()], dim=-1)


def derivative(field, x):
    return torch.autograd.grad(field, x, torch.ones_like(field), create_graph=True)[0]


def burgers(model, x):
    """u_t + u u_x = 0.003 u_xx over position and time."""
    u = model(x)
    first = derivative(u, x)
    along, in_time = first[:, :1], first[:, 1:2]
    return in_time + u * along - 0.003 * derivative(along, x)[:, :1]


def laplacian(field, x):
    first = derivative(field, x)
    return sum(derivative(first[:, i : i + 1], x)[:, i : i + 1] for i in range(x.shape[1]))


def poisson(model, x):
    """The Laplacian is given, over three coordinates."""
    return laplacian(model(x), x) + x.sin().prod(1, keepdim=True)


def helmholtz(model, x):
    """Waves of one frequency in the plane."""
    u = model(x)
    return laplacian(u, x) + 16 * u


def beam(model, x):
    """A vibrating beam: fourth derivatives."""
    first = derivative(model(x), x)
    along, in_time = first[:, :1], first[:, 1:2]
    second = derivative(along, x)[:, :1]
    third = derivative(second, x)[:, :1]
    return derivative(in_time, x)[:, 1:2] + derivative(third, x)[:, :1]


EQUATIONS = {"burgers": (burgers, 2), "poisson": (poisson, 3), "helmholtz": (helmholtz, 2), "beam": (beam, 2)}
ACTIVATIONS = {"tanh": nn.Tanh, "sine": Sine, "gelu": nn.GELU}


def parse(words=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--equation", choices=EQUATIONS, default="burgers")
    parser.add_argument("--width", type=int, default=256, help="of the hidden layers")
    parser.add_argument("--layers", type=int, default=5)
    parser.add_argument("--activation", choices=ACTIVATIONS, default="tanh")
    parser.add_argument("--waves", type=int, default=0, help="Fourier features in front of the network")
    parser.add_argument("--batch-size", type=int, default=50_000, help="points inside")
    parser.add_argument("--optimizer", choices=[*OPTIMIZERS, "lbfgs"], default="adam")
    parser.add_argument("--history", type=int, default=10, help="steps that LBFGS remembers")
    parser.add_argument("--search", choices=["strong_wolfe"], help="line search of LBFGS")
    parser.add_argument("--double", action="store_true", help="64-bit numbers")
    parser.add_argument("--iterations", type=int, default=3, help="optimizer steps; LBFGS has up to 20 inside one")
    return parser.parse_args(words)


def build(options):
    _, inputs = EQUATIONS[options.equation]
    layers = []
    if options.waves:
        layers.append(Fourier(inputs, options.waves))
        inputs = 2 * options.waves
    for _ in range(options.layers):
        layers += [nn.Linear(inputs, options.width), ACTIVATIONS[options.activation]()]
        inputs = options.width
    return nn.Sequential(*layers, nn.Linear(inputs, 1))


def batch(options):
    """The positional inputs of the model."""
    _, inputs = EQUATIONS[options.equation]
    return (torch.rand(options.batch_size, inputs),)


def main():
    options = parse()
    torch.manual_seed(0)
    number = torch.float64 if options.double else torch.float32
    model = build(options).to("cuda", number).train()
    residual, inputs = EQUATIONS[options.equation]
    if options.optimizer == "lbfgs":
        optimizer = torch.optim.LBFGS(model.parameters(), history_size=options.history, line_search_fn=options.search)
    else:
        optimizer = OPTIMIZERS[options.optimizer](model.parameters())
    for _ in range(options.iterations):
        inside = batch(options)[0].to("cuda", number).requires_grad_()
        rim = torch.rand(options.batch_size // 10, inputs)
        rim[:, 0] = rim[:, 0].round()
        rim = rim.to("cuda", number)

        def closure(inside=inside, rim=rim):
            optimizer.zero_grad()
            loss = residual(model, inside).square().mean() + model(rim).square().mean()
            loss.backward()
            return loss

        loss = optimizer.step(closure)
    print(f"loss {loss.item():.5f}")


if __name__ == "__main__":
    main()
