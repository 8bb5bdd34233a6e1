"""Train an agent in a toy world of random observations: PPO on rollouts kept on the GPU, or DQN with a replay buffer.

`--iterations` counts rounds: for PPO a rollout and some epochs over it, for DQN a few steps in the world and one update
for each of them.
"""

import argparse
import copy

import torch
import torch.nn.functional as F
from common import Precision, add_training_options, make_optimizers
from torch import nn

ACTIONS = 18
STATE = 376  # numbers that a MLP observes, as many as a simulated humanoid has
DISCOUNT = 0.99


def body(options):
    if options.network == "mlp":
        return nn.Sequential(nn.Linear(STATE, 1024), nn.Tanh(), nn.Linear(1024, 512), nn.Tanh())
    first, second, third = nn.Conv2d(4, 32, 8, 4), nn.Conv2d(32, 64, 4, 2), nn.Conv2d(64, 64, 3)
    convolutions = first, nn.ReLU(), second, nn.ReLU(), third, nn.ReLU()
    return nn.Sequential(*convolutions, nn.Flatten(), nn.Linear(64 * 7 * 7, 512), nn.ReLU())


class Agent(nn.Module):
    """Scores of the actions (logits for PPO, values for DQN) and the value of the state."""

    def __init__(self, options):
        super().__init__()
        self.body = body(options)
        self.actions = nn.Linear(512, ACTIONS)
        self.value = nn.Linear(512, 1)

    def forward(self, observation):
        if observation.dtype == torch.uint8:
            observation = observation.to(self.value.weight.dtype) / 255
        x = self.body(observation)
        return self.actions(x), self.value(x).squeeze(-1)


class World:
    """Many copies of a toy environment at once; pixels come from the host, as emulators deliver them."""

    def __init__(self, options, dtype):
        self.copies, self.network, self.dtype = options.worlds, options.network, dtype

    def observe(self):
        if self.network == "cnn":
            return torch.randint(256, (self.copies, 4, 84, 84), dtype=torch.uint8).cuda()
        return torch.randn(self.copies, STATE, device="cuda", dtype=self.dtype)

    def step(self, actions):
        return self.observe(), (actions == 0).float(), torch.rand(self.copies, device="cuda") < 0.01


@torch.no_grad()
def roll_out(agent, world, precision, steps):
    """Observations, actions, their log-likelihoods, advantages and returns of `steps` steps, on the GPU."""
    observation = world.observe()
    seen = torch.empty(steps, *observation.shape, dtype=observation.dtype, device="cuda")
    taken = torch.empty(steps, world.copies, dtype=torch.long, device="cuda")
    likelihood, values, rewards, ended = (torch.zeros(steps, world.copies, device="cuda") for _ in range(4))
    for step in range(steps):
        with precision.autocast():
            logits, values[step] = agent(observation)
        choice = torch.distributions.Categorical(logits=logits.float(), validate_args=False)
        seen[step], taken[step] = observation, choice.sample()
        likelihood[step] = choice.log_prob(taken[step])
        observation, rewards[step], ended[step] = world.step(taken[step])
    advantages = torch.zeros_like(rewards)
    after = torch.zeros(world.copies, device="cuda")
    for step in reversed(range(steps)):
        going_on = 1 - ended[step]
        following = values[step + 1] if step + 1 < steps else values[step]
        surprise = rewards[step] + DISCOUNT * following * going_on - values[step]
        after = advantages[step] = surprise + DISCOUNT * 0.95 * going_on * after
    return [x.flatten(0, 1) for x in (seen, taken, likelihood, advantages, advantages + values)]


def ppo_loss(agent, observation, action, old_likelihood, advantage, target):
    logits, value = agent(observation)
    choice = torch.distributions.Categorical(logits=logits.float(), validate_args=False)
    ratio = (choice.log_prob(action) - old_likelihood).exp()
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    gain = torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean()
    return 0.5 * F.mse_loss(value.float(), target) - gain - 0.01 * choice.entropy().mean()


def update(loss, agent, optimizers, precision):
    for optimizer in optimizers:
        optimizer.zero_grad()
    precision.scaler.scale(loss).backward()
    for optimizer in optimizers:
        precision.scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
    precision.step(optimizers)


def train_ppo(agent, optimizers, precision, options):
    world = World(options, precision.dtype)
    for _ in range(options.iterations):
        rollout = roll_out(agent, world, precision, options.steps)
        for _ in range(options.epochs):
            for rows in torch.randperm(options.steps * options.worlds).split(options.batch_size):
                rows = rows.cuda()
                with precision.autocast():
                    loss = ppo_loss(agent, *(part[rows] for part in rollout))
                update(loss, agent, optimizers, precision)
    return loss


def train_dqn(agent, optimizers, precision, options):
    world = World(options, precision.dtype)
    target = copy.deepcopy(agent).requires_grad_(False)
    observation = world.observe()
    home = "cpu" if options.replay_on_host else "cuda"
    memory = torch.zeros(2, options.replay, *observation.shape[1:], dtype=observation.dtype, device=home)
    taken = torch.zeros(options.replay, dtype=torch.long, device=home)
    rewards, ended = torch.zeros(2, options.replay, device=home)
    place = torch.arange(options.worlds)
    for _ in range(options.iterations):
        for _ in range(options.steps):
            with torch.no_grad(), precision.autocast():
                action = agent(observation)[0].argmax(1)
            following, reward, end = world.step(action)
            memory[0, place], memory[1, place] = observation.to(home), following.to(home)
            taken[place], rewards[place], ended[place] = action.to(home), reward.to(home), end.float().to(home)
            observation, place = following, (place + options.worlds) % options.replay
            rows = torch.randint(options.replay, (options.batch_size,), device=home)
            before, after = memory[0, rows].cuda(), memory[1, rows].cuda()
            with precision.autocast():
                guess = agent(before)[0].gather(1, taken[rows].cuda().unsqueeze(1)).squeeze(1)
                with torch.no_grad():
                    best = target(after)[0].max(1).values.float()
                    goal = rewards[rows].cuda() + DISCOUNT * (1 - ended[rows].cuda()) * best
                loss = F.smooth_l1_loss(guess.float(), goal)
            update(loss, agent, optimizers, precision)
        target.load_state_dict(agent.state_dict())
    return loss


def parse(words=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--algorithm", choices=["ppo", "dqn"], default="ppo")
    parser.add_argument("--network", choices=["cnn", "mlp"], default="cnn")
    parser.add_argument("--worlds", type=int, default=32, help="environments side by side")
    parser.add_argument("--steps", type=int, default=16, help="in the world, in each round")
    parser.add_argument("--epochs", type=int, default=2, help="over a rollout (PPO)")
    parser.add_argument("--replay", type=int, default=20_000, help="transitions that the replay buffer holds (DQN)")
    parser.add_argument("--replay-on-host", action="store_true", help="keep the replay buffer in host memory (DQN)")
    add_training_options(parser, optimizer="adam", batch_size=256)
    return parser.parse_args(words)


def build(options):
    return Agent(options)


def batch(options):
    """The positional inputs of the model."""
    if options.network == "cnn":
        return (torch.randint(256, (options.batch_size, 4, 84, 84), dtype=torch.uint8),)
    return (torch.randn(options.batch_size, STATE),)


def main():
    options = parse()
    torch.manual_seed(0)
    precision = Precision(options.precision)
    agent = build(options).to("cuda", precision.dtype).train()
    optimizers = make_optimizers(options.optimizer, agent.parameters())
    train = train_ppo if options.algorithm == "ppo" else train_dqn
    print(f"loss {train(agent, optimizers, precision, options).item():.3f}")


if __name__ == "__main__":
    main()
