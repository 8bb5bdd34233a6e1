"""DQN: a replay buffer that fills before learning starts, a target network copied now and then, evaluations between."""

import argparse
import random
from collections import deque

import torch
import torch.nn.functional as F
from parts import Amp, make_optimizer
from torch import nn


def network(actions):
    convolutions = [
        nn.Conv2d(4, 32, 8, 4),
        nn.ReLU(),
        nn.Conv2d(32, 64, 4, 2),
        nn.ReLU(),
        nn.Conv2d(64, 64, 3),
        nn.ReLU(),
    ]
    return nn.Sequential(*convolutions, nn.Flatten(), nn.Linear(3136, 512), nn.ReLU(), nn.Linear(512, actions))


def frames():
    return torch.randint(256, (4, 84, 84), dtype=torch.uint8)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--learning-starts", type=int, default=100)
    parser.add_argument("--steps", type=int, default=160)
    parser.add_argument("--train-every", type=int, default=2)
    parser.add_argument("--target-every", type=int, default=20)
    parser.add_argument("--evaluate-every", type=int, default=60)
    parser.add_argument("--evaluation-states", type=int, default=1024)
    parser.add_argument("--replay", type=int, default=500)
    parser.add_argument("--double", action="store_true")
    parser.add_argument("--optimizer", default="adam")
    parser.add_argument("--precision", choices=["fp32", "bf16", "fp16"], default="fp32")
    args = parser.parse_args()
    torch.manual_seed(0)
    random.seed(0)
    online, target = network(6).cuda(), network(6).cuda()
    target.load_state_dict(online.state_dict())
    optimizer, amp = make_optimizer(args.optimizer, online.parameters()), Amp(args.precision)
    replay, state = deque(maxlen=args.replay), frames()
    for step in range(1, args.steps + 1):
        if random.random() < 0.3:
            action = random.randrange(6)
        else:
            with torch.no_grad():
                action = online(state.unsqueeze(0).cuda() / 255).argmax(1).item()
        following = frames()
        replay.append((state, action % 6, random.random(), following))
        state = following
        if step > args.learning_starts and step % args.train_every == 0:
            states, actions, rewards, nexts = zip(*random.choices(replay, k=args.batch_size), strict=True)
            states, nexts = torch.stack(states).cuda() / 255, torch.stack(nexts).cuda() / 255
            actions, rewards = torch.tensor(actions).cuda(), torch.tensor(rewards).cuda()
            with amp.autocast():
                guessed = online(states).gather(1, actions[:, None]).squeeze(1)
                with torch.no_grad():
                    after = target(nexts)
                    best = online(nexts).argmax(1) if args.double else after.argmax(1)
                    wanted = rewards + 0.99 * after.gather(1, best[:, None]).squeeze(1)
                loss = F.smooth_l1_loss(guessed.float(), wanted.float())
            optimizer.zero_grad()
            amp.backward(loss)
            amp.step(optimizer)
        if step % args.target_every == 0:
            target.load_state_dict(online.state_dict())
        if step % args.evaluate_every == 0:
            many = torch.randint(256, (args.evaluation_states, 4, 84, 84), dtype=torch.uint8)
            with torch.no_grad():
                print(f"step {step}: {online(many.cuda() / 255).max(1).values.mean().item():.3f}")


if __name__ == "__main__":
    main()
