"""Random operators draw from our own generator, so that the user's CPU generator gives the same numbers as with a GPU.

Known limitations: one generator takes the place of all of CUDA's, independent of the user's seeds; its numbers are not
those of CUDA.
"""

import functools
from collections.abc import Callable
from typing import Any

import torch

from veritasest.engines.emulated.steering.translations.helpers import operator


@functools.cache
def generator() -> torch.Generator:
    """The generator that all translated operators draw from."""
    return torch.Generator().manual_seed(0)


def new_seed() -> int:
    return int(torch.randint(2**62, (), generator=generator()))


def keep_mask(shape: tuple[int, ...], p: float, source: torch.Generator) -> torch.Tensor:
    """True with probability 1 - p."""
    return torch.rand(shape, generator=source) >= p


def scale_of_kept(p: float) -> float:
    """Zero where everything is dropped: CUDA gives zeros there, not the NaN of 0 / 0."""
    return 0.0 if p == 1 else 1 / (1 - p)


def native_dropout(self: torch.Tensor, p: float, train: bool | None) -> tuple[torch.Tensor, torch.Tensor]:
    if train is False:
        return self.clone(), torch.ones_like(self, dtype=torch.bool)
    mask = keep_mask(tuple(self.shape), p, generator())
    return self * mask * scale_of_kept(p), mask


def _fused_dropout(self: torch.Tensor, p: float, *_generator: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Here, unlike elsewhere, `p` is the probability to keep."""
    mask = keep_mask(tuple(self.shape), 1 - p, generator())
    return self * mask / p, mask.to(torch.uint8)


def _masked_scale(self: torch.Tensor, mask: torch.Tensor, scale: float) -> torch.Tensor:
    return self * mask * scale


def _from_our_generator(name: str, position: int, keyword_only: bool) -> Callable[..., Any]:
    run = operator(name)

    def draw(*args: Any, **kwargs: Any) -> Any:
        if keyword_only or len(args) <= position:
            return run(*args, **{**kwargs, "generator": generator()})
        return run(*args[:position], generator(), *args[position + 1 :], **kwargs)

    return draw


def _drawing_operators() -> dict[str, Callable[..., Any]]:
    """Every operator of CUDA that takes a generator and has a CPU kernel."""
    table = {}
    for name in torch._C._dispatch_get_registrations_for_dispatch_key("CUDA"):
        if not name.startswith("aten::") or not torch._C._dispatch_has_kernel_for_dispatch_key(name, "CPU"):
            continue
        for position, argument in enumerate(operator(name)._schema.arguments):
            if "Generator" in str(argument.type):
                table[name] = _from_our_generator(name, position, argument.kwarg_only)
    return table


TABLE: dict[str, Callable[..., Any]] = {
    **_drawing_operators(),
    "aten::native_dropout": native_dropout,
    "aten::_fused_dropout": _fused_dropout,
    "aten::_masked_scale": _masked_scale,
}
