"""What device memory holds: real values, assumed ones, or nothing that is known.

Kept per storage. A storage without an entry is unknown: most of a training job's data. An entry dies with its storage,
because PyTorch keeps the Python object of a storage for as long as the storage lives, and so a weak reference to it.
Device memory is host memory, so its contents can be seen, and written, through a CPU tensor at the same address.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from veritasest.engines.emulated.steering.arrivals import Arrivals

REAL = 0  # the values are those the GPU would have
ASSUMED = 1  # a stated policy put them there, or they follow from such values
UNKNOWN = 2  # nobody computed them
_MOVED = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64)
CLAIMS_A_LOOK = 32  # claims from one look at the process's memory to the next


@dataclass
class _Entry:
    """`fill`: every element has this value, which is too much to write down; None: the memory holds the contents."""

    storage: Any
    state: int
    fill: float | int | bool | None = None


class Device:
    """The emulated device's side: which of its memory the host backs."""

    def __init__(self) -> None:
        library = ctypes.CDLL(None)  # preloaded, so among the process's own symbols
        self.claim = library.vest_claim
        self.claim.argtypes, self.claim.restype = [ctypes.c_void_p, ctypes.c_size_t], ctypes.c_bool
        self.answer_reads = library.vest_answer_reads
        self.answer_reads.argtypes, self.answer_reads.restype = [ctypes.c_bool, ctypes.c_int64], None
        self._fill = library.vest_fill
        self._fill.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_size_t]
        self._fill.restype = None
        self.drop_copies = library.vest_drop_copies
        self.drop_copies.argtypes, self.drop_copies.restype = [ctypes.c_bool], None
        self.limit = library.vest_content_limit
        self.limit.argtypes, self.limit.restype = [ctypes.c_uint64], None
        self._watch_moves = library.vest_watch_moves

    def watch_moves(self, moved: Callable[[int, int, int], None]) -> None:
        """`moved(to, source, size)` is told of copies that collectives make."""
        self._moved = _MOVED(moved)  # kept: the device calls it
        self._watch_moves(self._moved)

    def stop(self) -> None:
        """Before Python ends."""
        self._watch_moves(None)

    def clear(self, address: int, size: int) -> None:
        """Zeros, which cost the host nothing."""
        self._fill(address, b"\0", 1, size)


class Contents:
    """`refused` is told how many bytes the host may not back: the device's contents alone, or, where there is a
    `host_limit`, with all else that the process holds."""

    def __init__(
        self, torch: Any, device: Device, refused: Callable[[int], None] = lambda _: None, host_limit: int = 0
    ) -> None:
        self._torch = torch
        self._device = device
        self._refused = refused
        self._host_limit = host_limit
        self._claims = 0
        self._storage_at = torch._C._construct_storage_from_data_pointer
        self._cpu = torch.device("cpu")
        self._entries: dict[int, _Entry] = {}
        self._arrivals = Arrivals()

    def state(self, tensor: Any) -> int:
        entry = self._find(tensor)
        return UNKNOWN if entry is None else entry.state

    def fill(self, tensor: Any) -> float | int | bool | None:
        entry = self._find(tensor)
        return None if entry is None else entry.fill

    def _find(self, tensor: Any) -> _Entry | None:
        base = _base(tensor)
        entry = self._entries.get(base)
        if entry is not None and entry.storage() is None:  # freed; another storage has its place now
            del self._entries[base]
            entry = None
        if entry is None and self._arrivals:
            state = self._arrivals.state(tensor.data_ptr(), _extent(tensor))
            if state is not None:
                storage = tensor.untyped_storage()
                entry = self._entries[base] = _Entry(weakref.ref(storage), state)
                self._arrivals.drop(base, storage.nbytes())  # known by its storage from now on, and no longer than that
        return entry

    def remember(self, tensor: Any, state: int, *, fresh: bool = False, fill: float | int | bool | None = None) -> None:
        """The tensor's part of its storage now has contents of this kind.

        Unless the storage is `fresh`, the rest of it counts too: it is as well known as its least known part. Integers
        and masks that nobody wrote to are taken for memory that the program is about to fill (`torch.empty`).
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
        self._gone(tensor)

    def forget(self, tensor: Any) -> None:
        self._entries.pop(_base(tensor), None)
        self._gone(tensor)

    def _gone(self, tensor: Any) -> None:
        if self._arrivals and tensor.numel():
            self._arrivals.drop(tensor.data_ptr(), _extent(tensor))

    def moved(self, to: int, source: int, size: int) -> None:
        """A collective copied memory, and no operator was there to see it. What arrives is as well known as what was
        sent; whose memory it is shows when somebody asks for the tensor."""
        sent, target = self._at(source), self._at(to)
        state = sent[1].state if sent and sent[1].fill is None else self._arrivals.state(source, size)
        self._arrivals.drop(to, size)
        if target is not None:
            base, entry = target
            whole = base == to and entry.storage().nbytes() <= size
            if state is None:
                del self._entries[base]
            else:
                self._entries[base] = _Entry(entry.storage, state if whole else max(state, entry.state))
        elif state is not None:
            self._arrivals.add(to, size, state)

    def _at(self, address: int) -> tuple[int, _Entry] | None:
        """The entry of the storage that has this address."""
        for base, entry in list(self._entries.items()):  # other threads compute meanwhile
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
        """Zeros for all of the tensor; False when it leaves gaps."""
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
        is_time = self._host_limit and self._claims % CLAIMS_A_LOOK == 0
        if self._device.claim(tensor.data_ptr(), size) and not (is_time and resident_bytes() > self._host_limit):
            return True
        self._refused(size)
        return False


class RealContents(Contents):
    """Where everything is computed: nothing is unknown, and no books are kept."""

    def state(self, tensor: Any) -> int:  # noqa: ARG002 (as in the class above)
        return REAL

    def fill(self, tensor: Any) -> None:  # noqa: ARG002
        return None

    def remember(self, tensor: Any, state: int, *, fresh: bool = False, fill: Any = None) -> None: ...

    def forget(self, tensor: Any) -> None: ...

    def moved(self, to: int, source: int, size: int) -> None: ...


def resident_bytes() -> int:
    """What this process takes of the host's memory."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _extent(tensor: Any) -> int:
    """Bytes from the first element to the end of the last; a tensor without elements has none."""
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
