"""Fused attention against F.scaled_dot_product_attention and its autograd."""

from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from translating import HALF, assert_close, reference, run

from veritasest.engines.emulated.steering.translations import attention_math


@pytest.fixture(autouse=True)
def _same_numbers_every_time() -> None:
    torch.manual_seed(0)


def attend(kind: str, q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None, p: float, causal: bool) -> tuple[Any, ...]:
    """Output, log-sum-exp, and a function from the output's gradient to those of the inputs."""
    name = f"_scaled_dot_product_{kind}_attention"
    if kind == "flash":
        out, rows, *_, state, unused, _ = run(name, q, k, v, p, causal)
        saved = (None, None, q.shape[2], k.shape[2], p, causal, state, unused)
        return out, rows, lambda do: run(f"{name}_backward", do, q, k, v, out, rows, *saved)
    if kind == "efficient":
        out, rows, seed, offset = run(name, q, k, v, bias, True, p, causal)
        wanted = [True, True, True, bias is not None]
        saved = (seed, offset, p, wanted, causal)
        return out, rows, lambda do: run(f"{name}_backward", do, q, k, v, bias, out, rows, *saved)
    out, rows, *_, seed, offset, _ = run(name, q, k, v, bias, True, p, causal)
    saved = (seed, offset, bias, None, None, q.shape[2], k.shape[2], p, causal)
    return out, rows, lambda do: run(f"{name}_backward", do, q, k, v, out, rows, *saved)


@settings(max_examples=25, deadline=None)
@given(
    kind=st.sampled_from(["flash", "efficient", "cudnn"]),
    batch=st.integers(1, 3),
    key_heads=st.integers(1, 3),
    group=st.integers(1, 2),
    lengths=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    causal=st.booleans(),
    round_bytes=st.sampled_from([1, 5000, 64 << 20]),
)
def test_fused_attention_equals_scaled_dot_product_attention_for_any_shape(
    kind: str, batch: int, key_heads: int, group: int, lengths: tuple[int, int], causal: bool, round_bytes: int
) -> None:
    queries, keys = (lengths[0], lengths[0]) if causal else lengths
    q = torch.randn(batch, key_heads * group, queries, 8)
    k, v = torch.randn(batch, key_heads, keys, 8), torch.randn(batch, key_heads, keys, 6)
    out, grad_out, grads = reference(
        lambda *qkv: F.scaled_dot_product_attention(*qkv, is_causal=causal, enable_gqa=True), (q, k, v)
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(attention_math, "SCORE_BYTES", round_bytes)
        actual, _, backward = attend(kind, q, k, v, None, 0.0, causal)
        assert_close([actual, *backward(grad_out)[:3]], [out, *grads], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("kind", ["efficient", "cudnn"])
def test_attention_with_a_mask_that_hides_a_whole_row_gives_zeros_and_no_nan(kind: str) -> None:
    q, k, v = torch.randn(3, 2, 4, 9, 8).unbind()
    hidden = torch.zeros(2, 1, 9, 9).masked_fill(torch.rand(2, 1, 9, 9) < 0.4, -torch.inf)
    hidden[0, 0, 3] = -torch.inf
    out, grad_out, grads = reference(lambda *qkv: F.scaled_dot_product_attention(*qkv, attn_mask=hidden), (q, k, v))
    actual, rows, backward = attend(kind, q, k, v, hidden, 0.0, False)
    assert actual[0, :, 3].count_nonzero() == 0
    assert_close([actual, *backward(grad_out)[:3]], [out, *grads], atol=1e-5, rtol=1e-4)
    visible = (q @ k.mT * 8**-0.5 + hidden).logsumexp(-1)
    saved = rows.squeeze(-1)[:, :, :9]
    torch.testing.assert_close(saved[visible.isfinite()], visible[visible.isfinite()])


def test_efficient_attention_gives_the_gradient_of_a_broadcast_bias_in_the_shape_of_the_bias() -> None:
    q, k, v = torch.randn(3, 2, 4, 9, 8).unbind()
    bias = torch.randn(1, 4, 1, 9)
    _, grad_out, grads = reference(lambda *a: F.scaled_dot_product_attention(*a[:3], attn_mask=a[3]), (q, k, v, bias))
    _, rows, backward = attend("efficient", q, k, v, bias, 0.0, False)
    assert rows.shape == (2, 4, 32)  # 9 queries, padded to a multiple of 32
    assert_close(backward(grad_out), grads, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("kind", ["flash", "efficient", "cudnn"])
def test_attention_backward_drops_what_the_forward_dropped(kind: str) -> None:
    q, k, v = torch.zeros(1, 1, 64, 8), torch.zeros(1, 1, 64, 8), torch.eye(64)[None, None]
    dropped, _, backward = attend(kind, q, k, v, None, 0.25, False)  # v is the identity: the output is the dropped P
    assert 0.15 < (dropped == 0).float().mean() < 0.35
    grad_out = torch.randn(1, 1, 64, 64)
    torch.testing.assert_close(backward(grad_out)[2], dropped.mT @ grad_out)
    kept_share = dropped.sum() / 64  # 64 rows of probabilities that sum to 1, in the mean, after 1 / (1 - p)
    assert kept_share == pytest.approx(1, abs=0.1)


def test_half_attention_keeps_its_dtype_and_saves_a_float32_logsumexp() -> None:
    q, k, v = torch.randn(3, 2, 4, 9, 8, dtype=HALF).unbind()
    out, rows, backward = attend("flash", q, k, v, None, 0.0, True)
    assert (out.dtype, rows.dtype, {grad.dtype for grad in backward(out)}) == (HALF, torch.float32, {HALF})
    expected = F.scaled_dot_product_attention(q.float(), k.float(), v.float(), is_causal=True)
    torch.testing.assert_close(out.float(), expected, atol=0.02, rtol=0.02)


@pytest.mark.parametrize("kind", ["flash", "efficient"])
def test_packed_sequences_attend_only_to_themselves(kind: str) -> None:
    ends = torch.tensor([0, 3, 3, 10], dtype=torch.int32)  # lengths 3, 0 and 7
    q, k, v = torch.randn(3, 10, 2, 8).unbind()
    hidden = torch.ones(10, 10).tril().logical_not()
    hidden[3:, :3] = True

    def dense(*qkv: Tensor) -> Tensor:
        heads_first = (tensor.transpose(0, 1) for tensor in qkv)
        return F.scaled_dot_product_attention(*heads_first, attn_mask=~hidden).transpose(0, 1)

    out, grad_out, grads = reference(dense, (q, k, v))
    if kind == "flash":
        actual, rows, state, unused, _ = run("_flash_attention_forward", q, k, v, ends, ends, 7, 7, 0.0, True, False)
        assert rows.shape == (2, 10)
        saved = (actual, rows, ends, ends, 7, 7, 0.0, True, state, unused)
        actual_grads = run("_flash_attention_backward", grad_out, q, k, v, *saved)
    else:
        q, k, v = q[None], k[None], v[None]
        actual, rows, seed, offset, *_ = run(
            "_efficient_attention_forward", q, k, v, None, ends, ends, 7, 7, 0.0, 1, True
        )
        assert rows.shape == (3, 2, 32)
        saved = (None, actual, ends, ends, 7, 7, rows, 0.0, seed, offset, 1, False)
        *actual_grads, _ = run("_efficient_attention_backward", grad_out[None], q, k, v, *saved)
        actual, actual_grads = actual[0], [grad[0] for grad in actual_grads]
    assert_close([actual, *actual_grads], [out, *grads], atol=1e-5, rtol=1e-4)


def test_flash_attention_honours_a_sliding_window_that_ends_at_the_last_key() -> None:
    q, k, v = torch.randn(1, 4, 2, 8), torch.randn(1, 6, 2, 8), torch.randn(1, 6, 2, 8)
    distance = torch.arange(6) - torch.arange(4)[:, None] - 2  # two keys more than queries
    seen = (distance <= 0) & (distance >= -2)
    qkv = [tensor.transpose(1, 2) for tensor in (q, k, v)]
    expected = F.scaled_dot_product_attention(*qkv, attn_mask=seen).transpose(1, 2)
    out, *_ = run("_flash_attention_forward", q, k, v, None, None, 4, 6, 0.0, True, False, window_size_left=2)
    torch.testing.assert_close(out, expected)


def test_attention_that_is_not_translated_says_so() -> None:
    q = torch.randn(1, 4, 2, 8)
    with pytest.raises(NotImplementedError, match="alibi_slopes has no CPU translation"):
        run("_flash_attention_forward", q, q, q, None, None, 4, 4, 0.0, True, False, alibi_slopes=torch.ones(2))
