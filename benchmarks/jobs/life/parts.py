"""What the scripts of this folder share, as the modules of one project do: data of noise, precision, networks."""

import contextlib

import torch
import torch.nn.functional as F
import torchvision
from torch import nn
from torch.utils.data import Dataset

OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.01),
    "sgdm": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9, weight_decay=1e-4),
    "adam": lambda p: torch.optim.Adam(p, lr=1e-4),
    "adamw": lambda p: torch.optim.AdamW(p, lr=1e-4),
    "adamw_fused": lambda p: torch.optim.AdamW(p, lr=1e-4, fused=True),
    "rmsprop": lambda p: torch.optim.RMSprop(p, lr=1e-4),
    "adadelta": lambda p: torch.optim.Adadelta(p, lr=1.0),
    "adafactor": lambda p: torch.optim.Adafactor(p),
}


def add_options(parser, batch_size=32, epochs=2, optimizer="adamw"):
    parser.add_argument("--batch-size", type=int, default=batch_size)
    parser.add_argument("--epochs", type=int, default=epochs)
    parser.add_argument("--optimizer", choices=OPTIMIZERS, default=optimizer)
    parser.add_argument("--precision", choices=["fp32", "bf16", "fp16"], default="fp32")
    return parser


def make_optimizer(name, parameters):
    return OPTIMIZERS[name]([p for p in parameters if p.requires_grad])


class Amp:
    """Autocast, and the gradient scaler that fp16 needs."""

    def __init__(self, precision):
        self.dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision)
        self.scaler = torch.amp.GradScaler("cuda", enabled=precision == "fp16")

    def autocast(self):
        return torch.autocast("cuda", dtype=self.dtype) if self.dtype else contextlib.nullcontext()

    def backward(self, loss):
        self.scaler.scale(loss).backward()

    def step(self, *optimizers):
        for optimizer in optimizers:
            self.scaler.step(optimizer)
        self.scaler.update()


class Images(Dataset):
    """Noise with a label."""

    def __init__(self, count, size=224, channels=3, classes=10):
        self.count, self.shape, self.classes = count, (channels, size, size), classes

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return torch.rand(self.shape), index % self.classes


class Tokens(Dataset):
    """Random text of one length, with the same text moved by one token."""

    def __init__(self, count, length, vocabulary):
        self.count, self.length, self.vocabulary = count, length, vocabulary

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        text = torch.randint(self.vocabulary, (self.length + 1,))
        return text[:-1], text[1:]


def classifier(name, classes=10, **options):
    """A model of torchvision with random weights."""
    return torchvision.models.get_model(name, weights=None, num_classes=classes, **options)


class Block(nn.Module):
    def __init__(self, width, heads, causal=True, dropout=0.0):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width), nn.Dropout(dropout)
        )

    def forward(self, x):
        batch, length, width = x.shape
        heads = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = heads.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, vocabulary=50304, longest=1024, width=384, layers=6, heads=6, dropout=0.0):
        super().__init__()
        self.longest = longest
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(longest, width)
        self.blocks = nn.ModuleList(Block(width, heads, dropout=dropout) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, text, targets=None):
        x = self.tokens(text) + self.positions(torch.arange(text.shape[1], device=text.device))
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        if targets is None:
            return self.head(x[:, [-1]]), None
        logits = self.head(x)
        return logits, F.cross_entropy(logits.view(-1, logits.shape[-1]), targets.reshape(-1))

    @torch.no_grad()
    def generate(self, text, count, temperature=1.0, top=50):
        for _ in range(count):
            logits = self(text[:, -self.longest :])[0][:, -1] / temperature
            best = torch.topk(logits, top).values
            logits[logits < best[:, [-1]]] = -float("inf")
            text = torch.cat([text, torch.multinomial(F.softmax(logits, dim=-1), 1)], dim=1)
        return text


class Encoder(nn.Module):
    """A text classifier like BERT."""

    def __init__(self, vocabulary=30522, longest=512, width=512, layers=6, heads=8, classes=2):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width, padding_idx=0), nn.Embedding(longest, width)
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, batch_first=True, activation="gelu")
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, classes)

    def forward(self, text):
        x = self.tokens(text) + self.positions(torch.arange(text.shape[1], device=text.device))
        return self.head(self.layers(x, src_key_padding_mask=text == 0)[:, 0])


def convolutions(inputs, outputs):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(),
        nn.Conv2d(outputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(),
    )  # fmt: skip


class UNet(nn.Module):
    """With a time for diffusion, without for segmentation."""

    def __init__(self, inputs=3, outputs=3, width=64, levels=4, timed=False):
        super().__init__()
        widths = [width * 2**level for level in range(levels)]
        self.down = nn.ModuleList(convolutions(a, b) for a, b in zip([inputs, *widths], widths, strict=False))
        self.rise = nn.ModuleList(nn.ConvTranspose2d(2 * w, w, 2, 2) for w in reversed(widths[:-1]))
        self.up = nn.ModuleList(convolutions(2 * w, w) for w in reversed(widths[:-1]))
        self.time = nn.Sequential(nn.Linear(1, width), nn.SiLU(), nn.Linear(width, widths[-1])) if timed else None
        self.head = nn.Conv2d(width, outputs, 1)

    def forward(self, x, times=None):
        skips = []
        for level, down in enumerate(self.down):
            x = down(F.max_pool2d(x, 2) if level else x)
            skips.append(x)
        skips.pop()
        if self.time is not None:
            x = x + self.time(times[:, None])[:, :, None, None]
        for rise, up in zip(self.rise, self.up, strict=True):
            x = up(torch.cat([skips.pop(), rise(x)], dim=1))
        return self.head(x)


def generator(size=64, width=64, latent=100):
    """DCGAN's: from a latent vector to an image."""
    wide = width * size // 8
    layers = [nn.ConvTranspose2d(latent, wide, 4, 1, 0, bias=False), nn.BatchNorm2d(wide), nn.ReLU(True)]
    while wide > width:
        layers += [nn.ConvTranspose2d(wide, wide // 2, 4, 2, 1, bias=False), nn.BatchNorm2d(wide // 2), nn.ReLU(True)]
        wide //= 2
    return nn.Sequential(*layers, nn.ConvTranspose2d(wide, 3, 4, 2, 1, bias=False), nn.Tanh())


def discriminator(size=64, width=64):
    layers, wide = [nn.Conv2d(3, width, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, True)], width
    while wide < width * size // 8:
        layers += [nn.Conv2d(wide, 2 * wide, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * wide), nn.LeakyReLU(0.2, True)]
        wide *= 2
    return nn.Sequential(*layers, nn.Conv2d(wide, 1, 4, 1, 0, bias=False), nn.Flatten(0))
