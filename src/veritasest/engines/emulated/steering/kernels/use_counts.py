"""Keeps autograd from counting the Python objects that our kernels create as uses of a tensor.

From torch 2.11 on, a tensor that has a Python object counts one use more (c10/util/intrusive_ptr.h, "PyObject
preservation"). Every tensor that passes through a Python kernel gets such an object. In the backward pass autograd
looks at the uses: a gradient with a second one is cloned instead of kept, which would allocate. PyTorch has a list of
tensors of which one use is not counted ("cached tensors", made for CUDA graphs); we add those of the backward pass.

PyTorch keeps an entry, and with it some 300 bytes, after its tensor is gone. Entries are removed by address then, with
the C++ function itself: the one for Python would need the tensor. A list without that function grows.
"""

from __future__ import annotations

import ctypes
import weakref
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

from veritasest.engines.emulated.steering.kernels.arguments import listed, tensors
from veritasest.engines.emulated.torch_names import REMOVE_CACHED_TENSOR

PYTHON_OBJECT_IS_A_USE = (2, 11)
REMOVED_TOGETHER = 1024  # entries of tensors that are gone


class UseCounts:
    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._graph_task = torch._C._current_graph_task_id
        version = tuple(int(word) for word in torch.__version__.split(".")[:2])
        self._add = torch._C._add_cached_tensor if version >= PYTHON_OBJECT_IS_A_USE else None
        self._listed = _Listed(_remover(torch))

    def enable(self) -> None:
        if self._add is not None:
            self._torch._C._set_cached_tensors_enabled(True)

    def in_backward(self) -> bool:
        return bool(self._graph_task() != -1)

    def passed(self, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> Any:
        """These tensors went through one of our kernels. Returns `out`.

        Weights, which checkpointing brings here as well, have a Python object anyway, and autocast would no longer keep
        their casts."""
        if self._add is not None and self._graph_task() != -1:
            for _, tensor in tensors(self._torch, (*args, *listed(out)), kwargs):
                if not (tensor.requires_grad and tensor.is_leaf):
                    self._add(tensor)
                    self._listed.add(tensor)
        return out


class _Listed:
    """The tensors on PyTorch's list, by address, and those of them that are gone."""

    def __init__(self, remove: Callable[[int], None] | None) -> None:
        self._remove = remove
        self._alive: dict[int, _Reference] = {}
        self._gone: deque[_Reference] = deque()

    def add(self, tensor: Any) -> None:
        if self._remove is None:
            return
        address: int = tensor._cdata
        known = self._alive.get(address)
        if known is None or known() is not tensor:
            self._alive[address] = reference = _Reference(tensor, self._gone.append)
            reference.address = address
        if len(self._gone) >= REMOVED_TOGETHER:
            self._clean_up(self._remove)

    def _clean_up(self, remove: Callable[[int], None]) -> None:
        """The entry keeps the address of a tensor that is gone from being used again, so it still is that tensor's."""
        while self._gone:
            try:
                reference = self._gone.popleft()
            except IndexError:  # another thread was faster
                return
            if self._alive.get(reference.address) is reference:
                del self._alive[reference.address]
                remove(reference.address)


class _Reference(weakref.ref[Any]):
    __slots__ = ("address",)
    address: int


def _remover(torch: Any) -> Callable[[int], None] | None:
    """at::caching::remove_cached_tensor(const at::Tensor&): a tensor is a pointer to its implementation, and nothing
    but that address is looked at. Called with the GIL held, since the list may be switched off meanwhile otherwise."""
    library = Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
    try:
        function = getattr(ctypes.PyDLL(str(library)), REMOVE_CACHED_TENSOR)
    except (OSError, AttributeError):
        return None
    function.argtypes, function.restype = [ctypes.POINTER(ctypes.c_void_p)], None

    def remove(address: int) -> None:
        function(ctypes.byref(ctypes.c_void_p(address)))

    return remove
