"""What the job scripts share, as the modules of one project do: optimizers, precision and the options for them."""

import contextlib

import torch

OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.01),
    "sgdm": lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p),
    "adamw": lambda p: torch.optim.AdamW(p),
    "adamw_fused": lambda p: torch.optim.AdamW(p, fused=True),
    "adamw_loop": lambda p: torch.optim.AdamW(p, foreach=False),
    "rmsprop": lambda p: torch.optim.RMSprop(p),
    "adagrad": lambda p: torch.optim.Adagrad(p),
    "adafactor": lambda p: torch.optim.Adafactor(p),
    "nadam": lambda p: torch.optim.NAdam(p),
}
PRECISIONS = ["fp32", "no_tf32", "bf16", "fp16", "pure_bf16"]


def add_training_options(parser, optimizer="adamw", batch_size=32):
    parser.add_argument("--batch-size", type=int, default=batch_size)
    parser.add_argument("--optimizer", choices=[*OPTIMIZERS, "muon"], default=optimizer)
    parser.add_argument("--precision", choices=PRECISIONS, default="fp32")
    parser.add_argument("--iterations", type=int, default=3, help="optimizer steps")


def make_optimizers(name, parameters):
    """A list: Muon takes the matrices only, and AdamW the rest."""
    parameters = [p for p in parameters if p.requires_grad]
    if name != "muon":
        return [OPTIMIZERS[name](parameters)]
    matrices = [p for p in parameters if p.ndim == 2]
    others = [p for p in parameters if p.ndim != 2]
    return [torch.optim.Muon(matrices), *([torch.optim.AdamW(others)] if others else [])]


class Precision:
    """Autocast, the gradient scaler that fp16 needs, or a model in bf16 altogether."""

    def __init__(self, name):
        if name == "no_tf32":
            torch.backends.cudnn.allow_tf32 = False
        self.dtype = torch.bfloat16 if name == "pure_bf16" else torch.float32
        self._cast_to = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(name)
        self.scaler = torch.amp.GradScaler("cuda", enabled=name == "fp16")

    def autocast(self):
        return torch.autocast("cuda", dtype=self._cast_to) if self._cast_to else contextlib.nullcontext()

    def step(self, optimizers):
        for optimizer in optimizers:
            self.scaler.step(optimizer)
        self.scaler.update()
