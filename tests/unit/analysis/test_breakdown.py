"""What the blocks live at the allocated peak hold."""

from __future__ import annotations

from typing import Any

from traces import trace

from veritasest.analysis.breakdown import breakdown
from veritasest.spec.enums import Phase, Role
from veritasest.trace import Blocks, Roles, Step, Workspace


def blocks(actions: str, addresses: list[int], sizes: list[int], **more: Any) -> Blocks:
    known = {"pid": 1, "t": 0.0, "device": 0, "step": 0, **more}
    return Blocks(actions=actions, addresses=tuple(addresses), sizes=tuple(sizes), **known)


def roles(role: Role, addresses: list[int], t: float) -> Roles:
    return Roles(pid=1, t=t, role=role, addresses=tuple(addresses))


def test_the_shares_of_a_peak_in_the_backward_pass_follow_roles() -> None:
    events = (
        # A parameter at 0x10000, an activation at 0x20000, its gradient at 0x30000: all live at the end of the phase.
        blocks("aaa", [0x10000, 0x20000, 0x30000], [4096, 8192, 4096], phase=Phase.FORWARD_BACKWARD, t=1),
        roles(Role.PARAMETERS, [0x10000], 1.1),
        roles(Role.GRADIENTS, [0x30000], 1.1),
        blocks("ra", [0x20000, 0x40000], [8192, 1024], phase=Phase.OPTIMIZER, t=2),
        roles(Role.OPTIMIZER_STATE, [0x40000], 2.1),
    )
    parts = {part.label: part.bytes for part in breakdown(trace(*events), 0)}
    assert parts == {"activations, inputs and temporary buffers": 8192, "parameters": 4096, "gradients": 4096}


def test_the_shares_of_a_peak_in_the_optimizer_step_follow_roles() -> None:
    events = (
        blocks("aa", [0x10000, 0x30000], [4096, 4096], phase=Phase.FORWARD_BACKWARD, t=1),
        roles(Role.PARAMETERS, [0x10000], 1.1),
        roles(Role.GRADIENTS, [0x30000 + 512], 1.1),  # a view into the middle of the block
        blocks("aa", [0x40000, 0x50000], [8192, 512], phase=Phase.OPTIMIZER, t=2),
        roles(Role.OPTIMIZER_STATE, [0x40000], 2.1),
    )
    parts = {part.label: part.bytes for part in breakdown(trace(*events), 0)}
    assert parts == {
        "optimizer state": 8192,
        "parameters": 4096,
        "gradients": 4096,
        "temporary buffers of the optimizer step": 512,
    }


def test_an_activation_at_the_address_of_last_steps_gradient_is_an_activation() -> None:
    events = (
        blocks("a", [0x30000], [512], phase=Phase.FORWARD_BACKWARD, t=1),
        roles(Role.GRADIENTS, [0x30000], 1.1),
        blocks("r", [0x30000], [512], phase=Phase.OPTIMIZER, t=2),
        blocks("aa", [0x30000, 0x60000], [4096, 4096], phase=Phase.FORWARD_BACKWARD, t=3),
        roles(Role.GRADIENTS, [0x60000], 3.1),
    )
    parts = {part.label: part.bytes for part in breakdown(trace(*events), 0)}
    assert parts == {"activations, inputs and temporary buffers": 4096, "gradients": 4096}


def test_library_workspaces_are_a_share_of_their_own() -> None:
    events = (
        Workspace(pid=1, t=0.5, library="cublas", address=0x20000, bytes=8192),
        Workspace(pid=2, t=0.5, library="cublas", address=0x10000, bytes=4096),  # of another process
        blocks("aa", [0x10000, 0x20000], [4096, 8192], phase=Phase.FORWARD_BACKWARD, t=1),
    )
    parts = {part.label: part.bytes for part in breakdown(trace(*events), 0)}
    assert parts == {"library workspaces (cuBLAS)": 8192, "activations, inputs and temporary buffers": 4096}


def test_what_blocks_are_larger_than_requested_is_block_rounding() -> None:
    events = (
        blocks("a", [0x10000], [1024], t=1),
        Step(pid=1, t=2, step=1, allocated_peak_bytes=1536, reserved_peak_bytes=0),
    )
    assert [(part.label, part.bytes) for part in breakdown(trace(*events), 0)] == [
        ("activations, inputs and temporary buffers", 1024),
        ("block rounding", 512),
    ]


def test_each_device_has_its_own_shares() -> None:
    events = (blocks("a", [0x10000], [1024]), blocks("a", [0x10000], [2048], device=1))
    assert [sum(part.bytes for part in breakdown(trace(*events), device)) for device in (0, 1, 2)] == [1024, 2048, 0]
