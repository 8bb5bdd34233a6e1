"""What device memory holds: real values, assumed ones, or unknown ones.

Tracked per storage. A storage without an entry is unknown, as most of a training job's data is. An entry ends with its
storage: PyTorch keeps the Python object of a storage for as long as the storage lives, so a weak reference tells.
Device memory is host memory, so its contents can be read and written through a CPU tensor at the same address.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from veritasest.engines.emulated.steering.memory.collectives import ReceivedRanges
from veritasest.engines.emulated.steering.memory.device import Device
from veritasest.engines.emulated.steering.memory.state import REAL, UNKNOWN, ValueState

CLAIMS_PER_CHECK = 32  # claims between two checks of the process's memory

Fill = float | int | bool | None


@dataclass
class _Entry:
    """`fill`: every element has this value, which was not written because there are too many; None: the memory holds
    the values."""

    storage: Any
    state: ValueState
    fill: Fill = None


class ValueTracker:
    """`on_refused(bytes)` is called when the host may not back that much: of device memory alone, or, where there is a
    `host_limit`, together with everything else that the process holds."""

    def __init__(
        self, torch: Any, device: Device, on_refused: Callable[[int], None] = lambda _: None, host_limit: int = 0
    ) -> None:
        self._torch = torch
        self._device = device
        self._on_refused = on_refused
        self._host_limit = host_limit
        self._claims = 0
        self._storage_at = torch._C._construct_storage_from_data_pointer
        self._cpu = torch.device("cpu")
        self._entries: dict[int, _Entry] = {}
        self._received = ReceivedRanges()

    def state(self, tensor: Any) -> ValueState:
        entry = self._find(tensor)
        return UNKNOWN if entry is None else entry.state

    def fill(self, tensor: Any) -> Fill:
        entry = self._find(tensor)
        return None if entry is None else entry.fill

    def _find(self, tensor: Any) -> _Entry | None:
        base = _base(tensor)
        entry = self._entries.get(base)
        if entry is not None and entry.storage() is None:  # freed; another storage is at its address
            del self._entries[base]
            entry = None
        if entry is None and self._received:
            state = self._received.state(tensor.data_ptr(), _extent(tensor))
            if state is not None:
                storage = tensor.untyped_storage()
                entry = self._entries[base] = _Entry(weakref.ref(storage), state)
                self._received.drop(base, storage.nbytes())  # from now on tracked by its storage
        return entry

    def remember(self, tensor: Any, state: ValueState, *, fresh: bool = False, fill: Fill = None) -> None:
        """The tensor's part of its storage now has values of this kind.

        Unless the storage is `fresh`, the rest of it counts as well: a storage is as well known as its least known
        part. Integers and masks that nothing was written to are assumed to be memory that the program is about to fill
        (`torch.empty`).
        """
        if state == UNKNOWN:
            self.forget(tensor)
            return
        storage = tensor.untyped_storage()
        if not fresh and tensor.numel() * tensor.element_size() < storage.nbytes():
            before = self.state(tensor)
            is_data = tensor.dtype.is_floating_point or tensor.dtype.is_complex
            if (before == UNKNOWN and is_data) or fill is not None:
                self.forget(tensor)
                return
            state = state if before == UNKNOWN else max(state, before)
        self._entries[_base(tensor)] = _Entry(weakref.ref(storage), state, fill)
        self._drop_received(tensor)

    def forget(self, tensor: Any) -> None:
        self._entries.pop(_base(tensor), None)
        self._drop_received(tensor)

    def _drop_received(self, tensor: Any) -> None:
        if self._received and tensor.numel():
            self._received.drop(tensor.data_ptr(), _extent(tensor))

    def moved(self, to: int, source: int, size: int) -> None:
        """A collective copied memory without an operator. What was received is as well known as what was sent; which
        tensor it belongs to shows when that tensor is looked up."""
        sent, target = self._at(source), self._at(to)
        state = sent[1].state if sent and sent[1].fill is None else self._received.state(source, size)
        self._received.drop(to, size)
        if target is not None:
            base, entry = target
            whole = base == to and entry.storage().nbytes() <= size
            if state is None:
                del self._entries[base]
            else:
                self._entries[base] = _Entry(entry.storage, state if whole else max(state, entry.state))
        elif state is not None:
            self._received.add(to, size, state)

    def _at(self, address: int) -> tuple[int, _Entry] | None:
        """The entry of the storage that has this address."""
        for base, entry in list(self._entries.items()):  # other threads may add to them meanwhile
            if base <= address:
                storage = entry.storage()
                if storage is not None and address < base + storage.nbytes():
                    return base, entry
        return None

    def view(self, tensor: Any) -> Any:
        """A CPU tensor on the same memory."""
        empty = self._torch.empty(0, dtype=tensor.dtype, device=self._cpu)
        if tensor.numel() == 0:
            return empty.reshape(tensor.shape)
        storage = self._storage_at(tensor.data_ptr(), self._cpu, _extent(tensor))
        return empty.set_(storage, 0, tensor.shape, tensor.stride())

    def clear(self, tensor: Any) -> bool:
        """Zeros for all of the tensor; False if it is not contiguous."""
        if not tensor.is_contiguous():
            return False
        self._device.clear(tensor.data_ptr(), tensor.numel() * tensor.element_size())
        return True

    def claim(self, tensor: Any) -> bool:
        """Before writing through a view: whether the host may back that much."""
        if tensor.numel() == 0:
            return True
        size = _extent(tensor)
        self._claims += 1
        is_due = self._host_limit and self._claims % CLAIMS_PER_CHECK == 0
        if self._device.claim(tensor.data_ptr(), size) and not (is_due and resident_bytes() > self._host_limit):
            return True
        self._on_refused(size)
        return False


class RealValueTracker(ValueTracker):
    """Where everything is computed: nothing is unknown, so nothing is tracked."""

    def state(self, tensor: Any) -> ValueState:  # noqa: ARG002 (as in the class above)
        return REAL

    def fill(self, tensor: Any) -> None:  # noqa: ARG002
        return None

    def remember(self, tensor: Any, state: ValueState, *, fresh: bool = False, fill: Any = None) -> None: ...

    def forget(self, tensor: Any) -> None: ...

    def moved(self, to: int, source: int, size: int) -> None: ...


def resident_bytes() -> int:
    """The resident memory of this process."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _extent(tensor: Any) -> int:
    """Bytes from the first element to the end of the last; zero without elements."""
    if not tensor.numel():
        return 0
    last = sum((n - 1) * stride for n, stride in zip(tensor.shape, tensor.stride(), strict=True))
    size: int = (last + 1) * tensor.element_size()
    return size


def _base(tensor: Any) -> int:
    """Where the tensor's storage starts, without making a Python object for the storage: that would raise its use
    count, which autograd looks at."""
    address: int = tensor.data_ptr() - tensor.storage_offset() * tensor.element_size()
    return address
