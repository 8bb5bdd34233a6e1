"""A policy gradient on actions drawn with `multinomial`; minibatches are chosen, and thinned by a mask, on the GPU."""

import argparse
import json

import torch
import torch.nn.functional as F
from torch import nn

OBSERVATION, ACTIONS = 512, 1024


class Policy(nn.Module):
    def __init__(self, hidden=2048):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(OBSERVATION, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.actor = nn.Linear(hidden, ACTIONS)
        self.critic = nn.Linear(hidden, 1)

    def forward(self, x):
        hidden = self.body(x)
        return self.actor(hidden), self.critic(hidden).squeeze(-1)


def play(policy, observations):
    """Actions drawn from the policy, with their log-probability."""
    with torch.no_grad():
        logits, values = policy(observations)
        actions = torch.multinomial(F.softmax(logits, -1), 1)
        return actions, F.log_softmax(logits, -1).gather(1, actions), values


def policy_loss(policy, observations, actions, old, advantages, returns):
    logits, values = policy(observations)
    logs = F.log_softmax(logits, -1)
    ratio = (logs.gather(1, actions) - old).exp().squeeze(1)
    clipped = ratio.clamp(0.8, 1.2)
    entropy = -(logs.exp() * logs).sum(1).mean()
    return -torch.min(ratio * advantages, clipped * advantages).mean() + F.mse_loss(values, returns) - 0.01 * entropy


def train(args):
    torch.manual_seed(0)
    policy = Policy().to(args.device).train()
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-4)
    for _ in range(args.iters):
        observations = torch.randn(args.bs, OBSERVATION).to(args.device)
        rewards = torch.randn(ACTIONS).to(args.device)
        actions, old, values = play(policy, observations)
        returns = rewards[actions.squeeze(1)]
        advantages = returns - values
        if args.choice == "randperm":
            chosen = torch.randperm(args.bs, device=args.device)[: args.bs // 2]
        else:
            chosen = torch.randint(args.bs, (args.bs // 2,), device=args.device)
        experience = [t[chosen] for t in (observations, actions, old, advantages, returns)]
        kept = torch.rand(len(chosen), device=args.device) < args.keep
        experience = [t[kept] for t in experience]
        optimizer.zero_grad()
        loss = policy_loss(policy, *experience)
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
        optimizer.step()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--choice", choices=["randperm", "randint"], default="randperm", help="of the minibatch")
    parser.add_argument("--keep", type=float, default=0.7, help="share of the minibatch that is used")
    parser.add_argument("--bs", type=int, default=65536)
    parser.add_argument("--iters", type=int, default=3)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    train(args)
    peaks = {"allocated_peak": torch.cuda.max_memory_allocated(), "reserved_peak": torch.cuda.max_memory_reserved()}
    print(json.dumps({**vars(args), **peaks}))


if __name__ == "__main__":
    main()
