"""The memory of the emulated device adds up, whatever is allocated, mapped and freed, in any order."""

from __future__ import annotations

import ctypes
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, rule

from prerequisites import native_core
from veritasest.engines.emulated.accounting import SharedAccounting

MIB = 2**20
GRANULE = 2 * MIB  # address_space.h: VEST_ALLOCATION_UNIT
RANGE = 32 * MIB  # address_space.h: VEST_RANGE_UNIT
TOTAL, CONTEXT, LIMIT = 400 * MIB, 100 * MIB, 200 * MIB
DEVICE = {"gpu_count": 2, "gpu_total": TOTAL, "gpu_context": CONTEXT, "gpu_limit": LIMIT}

devices = st.integers(0, 1)
granules = st.integers(1, 24)


class Extent(ctypes.Structure):
    """struct vest_extent."""

    _fields_ = [("device", ctypes.c_int), ("base", ctypes.c_size_t), ("bytes", ctypes.c_uint64)]


SIGNATURES = {
    "vest_alloc": (ctypes.c_void_p, [ctypes.c_int, ctypes.c_uint64]),
    "vest_free": (ctypes.c_bool, [ctypes.c_void_p]),
    "vest_find": (ctypes.c_bool, [ctypes.c_void_p, ctypes.POINTER(Extent)]),
    "vest_used_bytes": (ctypes.c_uint64, [ctypes.c_int]),
    "vest_memory_info": (None, [ctypes.c_int, ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(ctypes.c_uint64)]),
    "vest_reserve": (ctypes.c_void_p, [ctypes.c_uint64, ctypes.c_uint64]),
    "vest_unreserve": (ctypes.c_bool, [ctypes.c_void_p, ctypes.c_uint64]),
    "vest_physical_create": (ctypes.c_void_p, [ctypes.c_int, ctypes.c_uint64]),
    "vest_physical_release": (ctypes.c_bool, [ctypes.c_void_p]),
    "vest_map": (ctypes.c_bool, [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p]),
    "vest_unmap": (ctypes.c_bool, [ctypes.c_void_p, ctypes.c_uint64]),
    "vest_gpu": (ctypes.c_void_p, []),
}


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ctypes.CDLL]:
    """The installed core, with DEVICE as its target and shared accounting, which a single process must not notice. It
    reads its settings once, at the first call."""
    library = ctypes.CDLL(str(native_core()))
    for name, (result, arguments) in SIGNATURES.items():
        call = getattr(library, name)
        call.restype, call.argtypes = result, arguments
    document = tmp_path_factory.mktemp("run") / "run.json"
    with SharedAccounting() as accounting:
        document.write_text(json.dumps({"native": {**DEVICE, "books": str(accounting.path)}}))
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(os.environ, "VERITASEST_RUN", str(document))
            library.vest_gpu()
            library.vest_memory_info(0, ctypes.c_uint64(), ctypes.c_uint64())
        yield library
        assert accounting.processes() == [os.getpid()]


@dataclass(eq=False)
class Physical:
    device: int
    bytes: int
    handle: int
    released: bool = False
    mappings: int = 0

    @property
    def live(self) -> bool:
        return self.mappings > 0 or not self.released


@dataclass(eq=False)
class Piece:
    """A live allocation, or (with `memory`) a mapping."""

    device: int
    base: int
    bytes: int
    memory: Physical | None = None

    @property
    def end(self) -> int:
        return self.base + self.bytes


@dataclass(eq=False)
class Reservation:
    base: int
    bytes: int
    pieces: list[Piece] = field(default_factory=list)


class DeviceMemory(RuleBasedStateMachine):
    core: ctypes.CDLL

    blocks = Bundle("blocks")
    physicals = Bundle("physicals")
    reservations = Bundle("reservations")
    mappings = Bundle("mappings")

    def __init__(self) -> None:
        super().__init__()
        self.allocated: list[Piece] = []
        self.created: list[Physical] = []
        self.reserved: list[Reservation] = []

    def used(self, device: int) -> int:
        plain = sum(block.bytes for block in self.allocated if block.device == device)
        return plain + sum(memory.bytes for memory in self.created if memory.live and memory.device == device)

    def pieces(self) -> list[Piece]:
        return self.allocated + [piece for reservation in self.reserved for piece in reservation.pieces]

    @rule(target=blocks, device=devices, count=granules, missing=st.integers(0, GRANULE - 1))
    def allocate(self, device: int, count: int, missing: int) -> object:
        size = count * GRANULE
        fits = self.used(device) + size <= LIMIT
        block = Piece(device, self.core.vest_alloc(device, size - missing) or 0, size)
        if block.base:
            self.allocated.append(block)
        assert bool(block.base) == fits
        assert block.base % GRANULE == 0
        return block if fits else multiple()

    @rule(block=consumes(blocks), inside=st.integers(1, GRANULE - 1))
    def free(self, block: Piece, inside: int) -> None:
        assert not self.core.vest_free(block.base + inside)
        assert self.core.vest_free(block.base)
        assert not self.core.vest_free(block.base)
        self.allocated.remove(block)

    @rule(target=physicals, device=devices, count=granules)
    def create(self, device: int, count: int) -> object:
        size = count * GRANULE
        fits = self.used(device) + size <= LIMIT
        memory = Physical(device, size, self.core.vest_physical_create(device, size) or 0)
        if memory.handle:
            self.created.append(memory)
        assert bool(memory.handle) == fits
        return memory if fits else multiple()

    @rule(memory=consumes(physicals))
    def release(self, memory: Physical) -> None:
        assert self.core.vest_physical_release(memory.handle)
        memory.released = True

    @rule(target=reservations, size=st.integers(1, 3 * RANGE))
    def reserve(self, size: int) -> Reservation:
        address = self.core.vest_reserve(size, 0)
        assert address % RANGE == 0
        reservation = Reservation(address, -(-size // RANGE) * RANGE)
        self.reserved.append(reservation)
        return reservation

    @rule(reservation=consumes(reservations))
    def unreserve(self, reservation: Reservation) -> None:
        if self.core.vest_unreserve(reservation.base, reservation.bytes):
            assert not reservation.pieces
            self.reserved.remove(reservation)
        else:
            assert reservation.pieces

    @rule(target=mappings, reservation=reservations, memory=physicals, at=st.integers(0, 2**20))
    def map(self, reservation: Reservation, memory: Physical, at: int) -> object:
        piece = Piece(memory.device, reservation.base + at * GRANULE % reservation.bytes, memory.bytes, memory)
        clear = all(piece.end <= other.base or other.end <= piece.base for other in reservation.pieces)
        fits = clear and piece.end <= reservation.base + reservation.bytes
        mapped = self.core.vest_map(piece.base, piece.bytes, memory.handle)
        if mapped:
            memory.mappings += 1
            reservation.pieces.append(piece)
        assert mapped == fits
        return piece if fits else multiple()

    @rule(piece=consumes(mappings))
    def unmap(self, piece: Piece) -> None:
        assert self.core.vest_unmap(piece.base, piece.bytes)
        assert not self.core.vest_unmap(piece.base, piece.bytes)
        assert piece.memory
        piece.memory.mappings -= 1
        next(reservation for reservation in self.reserved if piece in reservation.pieces).pieces.remove(piece)

    @invariant()
    def used_is_the_sum_of_what_lives(self) -> None:
        for device in (0, 1):
            used = self.core.vest_used_bytes(device)
            assert used == self.used(device) <= LIMIT
            free, total = ctypes.c_uint64(), ctypes.c_uint64()
            self.core.vest_memory_info(device, free, total)
            assert (free.value, total.value) == (LIMIT - used, TOTAL)  # LIMIT < TOTAL - CONTEXT

    @invariant()
    def no_two_pieces_overlap(self) -> None:
        pieces = sorted(self.pieces(), key=lambda piece: piece.base)
        assert all(low.end <= high.base for low, high in pairwise(pieces))

    @invariant()
    def every_address_belongs_to_its_piece(self) -> None:
        starts = {piece.base for piece in self.pieces()}
        found = Extent()
        for piece in self.pieces():
            for address in (piece.base, piece.base + piece.bytes // 2 + 1, piece.end - 1):
                assert self.core.vest_find(address, found)
                assert (found.device, found.base, found.bytes) == (piece.device, piece.base, piece.bytes)
            assert self.core.vest_find(piece.end, found) == (piece.end in starts)

    def teardown(self) -> None:
        """Everything goes back before anything is asserted: the next example meets the same library."""
        done = [self.core.vest_unmap(piece.base, piece.bytes) for held in self.reserved for piece in held.pieces]
        done += [self.core.vest_unreserve(held.base, held.bytes) for held in self.reserved]
        done += [memory.released or self.core.vest_physical_release(memory.handle) for memory in self.created]
        done += [self.core.vest_free(block.base) for block in self.allocated]
        assert all(done)
        assert [self.core.vest_used_bytes(device) for device in (0, 1)] == [0, 0]


def test_device_memory_adds_up(core: ctypes.CDLL) -> None:
    DeviceMemory.core = core
    machine = type(
        "DeviceMemoryTest", (DeviceMemory.TestCase,), {"settings": settings(deadline=None, stateful_step_count=60)}
    )
    machine("runTest").runTest()
