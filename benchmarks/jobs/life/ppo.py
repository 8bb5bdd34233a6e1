"""PPO: rollouts of many environments, epochs of minibatches over them, and an evaluation with more environments."""

import argparse

import torch
from parts import make_optimizer
from torch import nn
from torch.distributions import Normal


class Agent(nn.Module):
    def __init__(self, states, actions, width):
        super().__init__()

        def tower(outputs):
            layers = [nn.Linear(states, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh()]
            return nn.Sequential(*layers, nn.Linear(width, outputs))

        self.actor, self.critic = tower(actions), tower(1)
        self.spread = nn.Parameter(torch.zeros(actions))

    def policy(self, states):
        return Normal(self.actor(states), self.spread.exp(), validate_args=False)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--environments", type=int, default=64)
    parser.add_argument("--horizon", type=int, default=32)
    parser.add_argument("--updates", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--minibatches", type=int, default=4)
    parser.add_argument("--states", type=int, default=376)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--evaluate-with", type=int, default=0, help="environments of an evaluation after each update")
    parser.add_argument("--optimizer", default="adam")
    args = parser.parse_args()
    torch.manual_seed(0)
    agent = Agent(args.states, 17, args.width).cuda()
    optimizer = make_optimizer(args.optimizer, agent.parameters())
    for update in range(args.updates):
        seen, taken, likelihoods, values, rewards = [], [], [], [], []
        with torch.no_grad():
            for _ in range(args.horizon):
                states = torch.randn(args.environments, args.states).cuda()
                policy = agent.policy(states)
                actions = policy.sample()
                seen.append(states)
                taken.append(actions)
                likelihoods.append(policy.log_prob(actions).sum(-1))
                values.append(agent.critic(states).squeeze(-1))
                rewards.append(torch.rand(args.environments).cuda())
            advantages, after = [], torch.zeros(args.environments, device="cuda")
            for step in reversed(range(args.horizon)):
                following = values[step + 1] if step + 1 < args.horizon else values[step]
                after = rewards[step] + 0.99 * following - values[step] + 0.95 * 0.99 * after
                advantages.insert(0, after)
        batch = [torch.cat(part) for part in (seen, taken, likelihoods, values, advantages)]
        for _ in range(args.epochs):
            for rows in torch.randperm(len(batch[0]), device="cuda").chunk(args.minibatches):
                states, actions, before, value, advantage = (part[rows] for part in batch)
                policy = agent.policy(states)
                ratio = (policy.log_prob(actions).sum(-1) - before).exp()
                gain = torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
                error = (agent.critic(states).squeeze(-1) - (value + advantage)).square().mean()
                loss = 0.5 * error - gain - 0.01 * policy.entropy().mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
        print(f"update {update}: {loss.item():.3f}")
        if args.evaluate_with:
            with torch.no_grad():
                print(agent.actor(torch.randn(args.evaluate_with, args.states).cuda()).mean().item())


if __name__ == "__main__":
    main()
