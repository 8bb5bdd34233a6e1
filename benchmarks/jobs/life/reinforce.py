"""REINFORCE with a toy world on the host: episodes of varying length, an update after each few, a final evaluation."""

import argparse
import random

import torch
from parts import make_optimizer
from torch import nn
from torch.distributions import Categorical


class World:
    """Lasts for a random number of steps, longer as time goes on."""

    def __init__(self, states, seed, longest):
        self.random, self.states, self.longest, self.played = random.Random(seed), states, longest, 0

    def reset(self):
        self.played += 1
        reach = min(self.longest, 10 + 8 * self.played)
        self.left = self.random.randint(reach // 2, reach)
        return torch.rand(self.states)

    def step(self, action):
        self.left -= 1
        return torch.rand(self.states), float(action % 2), self.left <= 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--states", type=int, default=8)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--episodes", type=int, default=12)
    parser.add_argument("--per-update", type=int, default=1, help="episodes")
    parser.add_argument("--longest", type=int, default=120)
    parser.add_argument("--by-hand", action="store_true", help="update without an optimizer")
    parser.add_argument("--optimizer", default="adam")
    args = parser.parse_args()
    torch.manual_seed(0)
    hidden = [nn.Linear(args.states, args.width), nn.ReLU(), nn.Linear(args.width, args.width), nn.ReLU()]
    policy = nn.Sequential(*hidden, nn.Linear(args.width, 4)).cuda()
    optimizer = None if args.by_hand else make_optimizer(args.optimizer, policy.parameters())
    world = World(args.states, 0, args.longest)
    losses = []
    for episode in range(1, args.episodes + 1):
        state, ended, likelihoods, rewards = world.reset(), False, [], []
        while not ended:
            choice = Categorical(logits=policy(state.cuda().unsqueeze(0)))
            action = choice.sample()
            likelihoods.append(choice.log_prob(action))
            state, reward, ended = world.step(action.item())
            rewards.append(reward)
        returns, total = [], 0.0
        for reward in reversed(rewards):
            total = reward + 0.99 * total
            returns.insert(0, total)
        returns = torch.tensor(returns).cuda()
        losses.append(-(torch.cat(likelihoods) * (returns - returns.mean())).sum())
        if episode % args.per_update == 0:
            policy.zero_grad()
            torch.stack(losses).mean().backward()
            losses = []
            if optimizer:
                optimizer.step()
            else:
                with torch.no_grad():
                    for p in policy.parameters():
                        p -= 1e-3 * p.grad
        print(f"episode {episode}: {len(rewards)} steps")
    with torch.no_grad():
        print(policy(torch.rand(4096, args.states).cuda()).argmax(1).float().mean().item())


if __name__ == "__main__":
    main()
