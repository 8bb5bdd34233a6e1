"""Helpers that all translations share: working precision, autograd inside a kernel, overloads that write to `out`."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

HALF_DTYPES = (torch.float16, torch.bfloat16)


def operator(name: str) -> Any:
    """The operator called "aten::name" or "aten::name.overload"."""
    packet, _, overload = name.removeprefix("aten::").partition(".")
    return getattr(getattr(torch.ops.aten, packet), overload or "default")


def wide(value: Any) -> Any:
    """`value` in the precision in which CUDA kernels accumulate: half types as float32, everything else unchanged."""
    if isinstance(value, torch.Tensor):
        return value.float() if value.dtype in HALF_DTYPES else value
    if isinstance(value, (list, tuple)):
        return [wide(item) for item in value]
    return value


def is_half(*values: Any) -> bool:
    return any(isinstance(value, torch.Tensor) and value.dtype in HALF_DTYPES for value in values)


def cast_like(value: torch.Tensor | None, model: torch.Tensor | None) -> torch.Tensor | None:
    return value if value is None or model is None else value.to(model.dtype)


@contextlib.contextmanager
def autograd() -> Iterator[None]:
    """Records a graph although the caller is a kernel, below autograd, where the dispatcher skips autograd's keys."""
    keys = torch._C.DispatchKey
    excluded = torch._C._dispatch_tls_local_exclude_set()
    for key in (keys.AutogradCPU, keys.AutogradOther, keys.ADInplaceOrView):
        excluded = excluded - torch._C.DispatchKeySet(key)
    included = torch._C._dispatch_tls_local_include_set()
    with (
        torch.inference_mode(False),
        torch._C._ForceDispatchKeyGuard(included, excluded),
        torch.enable_grad(),
        torch.autograd.graph.saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor),
    ):
        yield


def widened(name: str) -> Callable[..., Any]:
    """The operator computed in float32, for those whose CPU kernel refuses half types.

    Arguments that it writes are written in their own dtype; results are cast to the first half type among the
    arguments, as CUDA gives them.
    """
    run = operator(name)
    arguments = run._schema.arguments
    written = {argument.name for argument in arguments if argument.alias_info and argument.alias_info.is_write}

    def call(*args: Any, **kwargs: Any) -> Any:
        given = {**{argument.name: value for argument, value in zip(arguments, args, strict=False)}, **kwargs}
        used = {key: wide(value) for key, value in given.items()}
        result = run(**used)
        originals = {}
        for key in written & given.keys():
            for own, copy in zip(_tensors(given[key]), _tensors(used[key]), strict=True):
                originals[id(copy)] = own
                if copy is not own:
                    own.resize_(copy.shape).copy_(copy)
        halves = [tensor.dtype for value in given.values() for tensor in _tensors(value) if is_half(tensor)]
        return _narrow(result, halves[0], originals) if halves else result

    return call


def _tensors(value: Any) -> list[torch.Tensor]:
    values = value if isinstance(value, (list, tuple)) else [value]
    return [item for item in values if isinstance(item, torch.Tensor)]


def _narrow(result: Any, dtype: torch.dtype, originals: dict[int, torch.Tensor]) -> Any:
    if isinstance(result, (list, tuple)):
        return [_narrow(item, dtype, originals) for item in result]
    if id(result) in originals:
        return originals[id(result)]
    return result.to(dtype) if isinstance(result, torch.Tensor) and result.dtype == torch.float32 else result


def with_out_overloads(table: dict[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """`table` and, for each operator with an overload that CUDA implements and that writes one `out`, that overload."""
    full = dict(table)
    registered = set(torch._C._dispatch_get_registrations_for_dispatch_key("CUDA"))
    for name, function in table.items():
        out_name = f"{name}_out" if "." in name else f"{name}.out"
        if out_name in registered and out_name not in full and _writes_one_out(out_name):
            full[out_name] = _into_out(function)
    return full


def _writes_one_out(name: str) -> bool:
    arguments = operator(name)._schema.arguments
    written = [argument.name for argument in arguments if argument.alias_info and argument.alias_info.is_write]
    return written in (["out"], ["grad_input"])


def _into_out(function: Callable[..., Any]) -> Callable[..., Any]:
    def write(*args: Any, **kwargs: Any) -> torch.Tensor:
        out = kwargs.pop("out", None)
        if out is None:
            out = kwargs.pop("grad_input")
        result = function(*args, **kwargs)
        return out.resize_(result.shape).copy_(result) if out.shape != result.shape else out.copy_(result)

    return write
