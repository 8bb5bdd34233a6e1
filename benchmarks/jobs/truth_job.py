"""The jobs whose peaks are recorded in ../truth, as one plain training script.

The recorded bytes belong to exactly this order of operations and these lifetimes: a batch, an output or a loss that
would die earlier moves the peak. Hence the long function bodies, the batch made in the loop, and the names that live
on from one iteration to the next.
"""

import argparse
import json

import torch
import torch.nn.functional as F
import torchvision.models
from torch import nn


class GPT(nn.Module):
    def __init__(self, vocabulary=32000, width=768, layers=12, heads=12, context=1024):
        super().__init__()
        self.heads = heads
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(self.block(width) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    @staticmethod
    def block(width):
        return nn.ModuleDict(
            {
                "norm1": nn.LayerNorm(width),
                "qkv": nn.Linear(width, 3 * width),
                "out": nn.Linear(width, width),
                "norm2": nn.LayerNorm(width),
                "up": nn.Linear(width, 4 * width),
                "down": nn.Linear(4 * width, width),
            }
        )

    def forward(self, x):
        batch, length = x.shape

        def split(t):
            return t.view(batch, length, self.heads, -1).transpose(1, 2)

        h = self.tokens(x) + self.positions(torch.arange(length, device=x.device))
        # Not a module per block: q, k, v and a of one block are alive while the next one starts.
        for b in self.blocks:
            q, k, v = b["qkv"](b["norm1"](h)).chunk(3, -1)
            # One expression: an intermediate with a name would live longer.
            a = (
                F.scaled_dot_product_attention(split(q), split(k), split(v), is_causal=True)
                .transpose(1, 2)
                .reshape(batch, length, -1)
            )
            h = h + b["out"](a)
            h = h + b["down"](F.gelu(b["up"](b["norm2"](h))))
        return self.head(self.norm(h))


class LSTMLanguageModel(nn.Module):
    def __init__(self, vocabulary=10000, width=650, layers=2):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.rnn = nn.LSTM(width, width, layers, dropout=0.5, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, x):
        return self.head(self.rnn(self.tokens(x))[0])


class UNet(nn.Module):
    def __init__(self, channels=32, depth=4):
        super().__init__()
        widths = [channels * 2**i for i in range(depth + 1)]
        up = list(reversed(range(depth)))
        self.down = nn.ModuleList(self.double_conv(i, o) for i, o in zip([3, *widths[:-1]], widths, strict=True))
        self.up = nn.ModuleList(nn.ConvTranspose2d(widths[i + 1], widths[i], 2, 2) for i in up)
        self.merge = nn.ModuleList(self.double_conv(2 * widths[i], widths[i]) for i in up)
        self.head = nn.Conv2d(channels, 2, 1)

    @staticmethod
    def double_conv(i, o):
        first = [nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(True)]
        second = [nn.Conv2d(o, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(True)]
        return nn.Sequential(*first, *second)

    def forward(self, x):
        skips = []
        for i, down in enumerate(self.down):
            x = down(x)
            if i < len(self.down) - 1:
                skips.append(x)
                x = F.max_pool2d(x, 2)
        for up, merge, skip in zip(self.up, self.merge, skips[::-1], strict=True):
            x = merge(torch.cat([up(x), skip], 1))
        return self.head(x)


def mlp():
    hidden = [nn.Linear(3 * 224 * 224, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU()]
    return nn.Sequential(nn.Flatten(), *hidden, nn.Linear(1024, 1000))


def hugging_face(name):
    import transformers as hf

    if name == "bert":
        config = hf.BertConfig()
        return hf.BertForMaskedLM(config), ("hf", config.vocab_size, 512)
    if name == "gpt2":
        config = hf.GPT2Config()
        return hf.GPT2LMHeadModel(config), ("hf", config.vocab_size, 512)
    if name == "llama":
        shape = {"hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": 8}
        config = hf.LlamaConfig(**shape, num_attention_heads=16, num_key_value_heads=4)
        return hf.LlamaForCausalLM(config), ("hf", config.vocab_size, 1024)
    if name == "t5":
        config = hf.T5Config()
        return hf.T5ForConditionalGeneration(config), ("hf", config.vocab_size, 256)
    raise SystemExit(f"no Hugging Face job {name!r}: bert, gpt2, llama or t5")


def build(model):
    """The model and its data: kind, number of classes or tokens, size of a side or length."""
    if model == "gpt":
        return GPT(), ("tok", 32000, 1024)
    if model == "gpt_s":
        return GPT(width=384, layers=6, heads=6), ("tok", 32000, 512)
    if model == "lstm":
        return LSTMLanguageModel(), ("tok", 10000, 70)
    if model == "unet":
        return UNet(), ("seg", 2, 256)
    if model == "mlp":
        return mlp(), ("img", 1000, 224)
    if model.startswith("hf:"):
        return hugging_face(model.removeprefix("hf:"))
    side = 299 if model == "inception_v3" else 224
    return getattr(torchvision.models, model)(weights=None), ("img", 1000, side)


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.01),
    "sgdm": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p),
    "adamw": lambda p: torch.optim.AdamW(p),
    "adamw_fused": lambda p: torch.optim.AdamW(p, fused=True),
    "rmsprop": lambda p: torch.optim.RMSprop(p),
    "adagrad": lambda p: torch.optim.Adagrad(p),
    "adafactor": lambda p: torch.optim.Adafactor(p),
}
AUTOCAST = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def set_cudnn(cudnn):
    torch.backends.cudnn.benchmark = cudnn == "benchmark"
    torch.backends.cudnn.deterministic = cudnn == "deterministic"
    torch.backends.cudnn.enabled = cudnn != "disabled"
    torch.backends.cudnn.allow_tf32 = cudnn != "no_tf32"


def run(model, bs, opt, prec, zg, iters, layout, cudnn, dev="cuda"):  # noqa: C901 (see above: one function on purpose)
    torch.manual_seed(0)
    if cudnn != "default":
        set_cudnn(cudnn)
    m, (kind, classes, size) = build(model)
    m = m.to(dev).train()
    if layout == "channels_last":
        m = m.to(memory_format=torch.channels_last)
    optimizer = OPTIMIZERS[opt](m.parameters())
    scaler = torch.amp.GradScaler("cuda") if prec == "fp16" else None
    for _ in range(iters):
        if kind == "img":
            x = torch.randn(bs, 3, size, size).to(dev)
            y = torch.randint(classes, (bs,)).to(dev)
        elif kind == "seg":
            x = torch.randn(bs, 3, size, size).to(dev)
            y = torch.randint(classes, (bs, size, size)).to(dev)
        else:
            x = torch.randint(classes, (bs, size)).to(dev)
            y = torch.randint(classes, (bs, size)).to(dev)
        if layout == "channels_last":
            x = x.to(memory_format=torch.channels_last)
        if zg == "before":
            optimizer.zero_grad()
        with torch.autocast("cuda", dtype=AUTOCAST[prec], enabled=prec != "fp32"):
            if kind == "hf":
                loss = m(input_ids=x, labels=y).loss
            else:
                out = m(x)
                if not torch.is_tensor(out):  # Inception gives its auxiliary head too
                    out = out.logits
                loss = F.cross_entropy(out.flatten(0, 1) if kind == "tok" else out, y.flatten() if kind == "tok" else y)
        if zg == "mid":
            optimizer.zero_grad()
        if scaler:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            optimizer.step()
        if zg == "after":
            optimizer.zero_grad()
    torch.cuda.synchronize()
    return {"allocated_peak": torch.cuda.max_memory_allocated(), "reserved_peak": torch.cuda.max_memory_reserved()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="resnet50", help="gpt, gpt_s, lstm, unet, mlp, hf:NAME or torchvision's")
    parser.add_argument("--bs", type=int, default=32)
    parser.add_argument("--opt", choices=OPTIMIZERS, default="sgd")
    parser.add_argument("--prec", choices=AUTOCAST, default="fp32")
    parser.add_argument("--zg", choices=["before", "mid", "after"], default="before", help="where zero_grad() stands")
    parser.add_argument("--iters", type=int, default=3)
    parser.add_argument("--layout", choices=["contiguous", "channels_last"], default="contiguous")
    modes = ["default", "benchmark", "deterministic", "disabled", "no_tf32"]
    parser.add_argument("--cudnn", choices=modes, default="default")
    job = vars(parser.parse_args())
    print(json.dumps({**job, **run(**job)}))


if __name__ == "__main__":
    main()
