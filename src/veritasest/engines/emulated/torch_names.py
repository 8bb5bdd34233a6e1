"""PyTorch's private names that we use, in one table: what each is for, and what is lost without it.

Checked when a part starts: one that lacks a name it cannot do without stays off, and the report says so. `since` is the
release that introduced a name, or "older" if it predates 2.9, which the newest of the names we depend on came with.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# A symbol of libtorch_cpu.so, not a Python name: at::caching::remove_cached_tensor(at::Tensor const&).
REMOVE_CACHED_TENSOR = "_ZN2at7caching20remove_cached_tensorERKNS_6TensorE"


@dataclass(frozen=True, kw_only=True)
class TorchName:
    """`name` is a path below `torch`. `required`: the part that uses it does not start without it."""

    name: str
    part: str
    since: str
    purpose: str
    without: str
    required: bool = True


def _steering(name: str, since: str, purpose: str, without: str, *, required: bool = True) -> TorchName:
    return TorchName(name=name, part="steering", since=since, purpose=purpose, without=without, required=required)


_ALL_VALUES = "no values are computed or assumed"
_OWN_AUTOGRAD = "gradients of cuDNN's recurrent networks are not computed with --values real"

TORCH_NAMES: tuple[TorchName, ...] = (
    _steering("library.get_kernel", "2.9", "calls the kernel that ours replaces", _ALL_VALUES),
    _steering(
        "_C._dispatch_get_registrations_for_dispatch_key", "older", "lists the operators that run on CUDA", _ALL_VALUES
    ),
    _steering("_C._dispatch_has_kernel_for_dispatch_key", "older", "finds operators without a CPU kernel", _ALL_VALUES),
    _steering("_C._construct_storage_from_data_pointer", "older", "makes a CPU tensor on device memory", _ALL_VALUES),
    _steering("_C._current_graph_task_id", "older", "whether a backward pass runs", _ALL_VALUES),
    _steering("_C._add_cached_tensor", "older", "hides our uses of gradients from autograd", _ALL_VALUES),
    _steering("_C._set_cached_tensors_enabled", "older", "switches the list of such tensors on", _ALL_VALUES),
    _steering("Tensor._cdata", "older", "the address of a tensor on that list", _ALL_VALUES),
    _steering("Tensor._indices", "older", "the positions of a sparse tensor", _ALL_VALUES),
    _steering("ops.aten.add.Tensor._schema", "older", "which arguments an operator writes to", _ALL_VALUES),
    _steering("_C.DispatchKey", "older", "autograd inside a translation", _OWN_AUTOGRAD, required=False),
    _steering("_C.DispatchKeySet", "older", "autograd inside a translation", _OWN_AUTOGRAD, required=False),
    _steering("_C._ForceDispatchKeyGuard", "older", "autograd inside a translation", _OWN_AUTOGRAD, required=False),
    _steering(
        "_C._dispatch_tls_local_exclude_set", "older", "autograd inside a translation", _OWN_AUTOGRAD, required=False
    ),
    _steering(
        "_C._dispatch_tls_local_include_set", "older", "autograd inside a translation", _OWN_AUTOGRAD, required=False
    ),
    _steering(
        "_C._get_mkldnn_enabled",
        "older",
        "projections of an LSTM without oneDNN's warning",
        "recurrent networks are not computed with --values real",
        required=False,
    ),
    _steering(
        "_C._set_mkldnn_enabled",
        "older",
        "projections of an LSTM without oneDNN's warning",
        "recurrent networks are not computed with --values real",
        required=False,
    ),
    _steering(
        "_ctc_loss", "older", "cuDNN's CTC loss on the CPU", "it is not computed with --values real", required=False
    ),
)


def missing_names(torch: Any, part: str) -> list[str]:
    """The names that this part cannot do without and this PyTorch does not have."""
    required = [entry.name for entry in TORCH_NAMES if entry.part == part and entry.required]
    return [name for name in required if not _exists(torch, name)]


def _exists(torch: Any, name: str) -> bool:
    found = torch
    for word in name.split("."):
        if not hasattr(found, word):
            return False
        found = getattr(found, word)
    return True
