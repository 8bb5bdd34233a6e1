"""Rank 0 of a sharded training, FSDP1 or FSDP2, with a process group that answers without the others."""

import argparse
import functools

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision, MixedPrecisionPolicy, fully_shard
from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy
from torch.testing._internal.distributed.fake_pg import FakeStore

VOCABULARY = 16000


class Model(nn.Module):
    def __init__(self, width, layers):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, width)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(width, 8, 4 * width, dropout=0.0, batch_first=True) for _ in range(layers)
        )
        self.head = nn.Linear(width, VOCABULARY)

    def forward(self, text):
        x = self.tokens(text)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", choices=["fsdp1", "fsdp2"], default="fsdp1")
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=8)
    parser.add_argument("--length", type=int, default=256)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--validate", type=int, default=0, help="texts of a validation at the end")
    args = parser.parse_args()
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=args.ranks)
    torch.cuda.set_device(0)
    torch.manual_seed(0)
    model = Model(args.width, args.layers)
    if args.kind == "fsdp1":
        policy = functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={nn.TransformerEncoderLayer})
        mixed = MixedPrecision(torch.bfloat16, torch.bfloat16, torch.bfloat16) if args.bf16 else None
        model = FullyShardedDataParallel(model, auto_wrap_policy=policy, mixed_precision=mixed, device_id=0)
    else:
        mixed = MixedPrecisionPolicy(param_dtype=torch.bfloat16 if args.bf16 else None)
        model = model.cuda()
        for layer in model.layers:
            fully_shard(layer, mp_policy=mixed)
        fully_shard(model, mp_policy=mixed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for step in range(args.steps):
        text = torch.randint(VOCABULARY, (args.batch_size, args.length), device="cuda")
        loss = nn.functional.cross_entropy(model(text).float().flatten(0, 1), text.flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(f"step {step}: {loss.item():.3f}")
    if args.validate:
        with torch.no_grad():
            print(model(torch.randint(VOCABULARY, (args.validate, args.length), device="cuda")).shape)


if __name__ == "__main__":
    main()
