"""cuDNN's convolutions and all norms against the functional ones and their autograd."""

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import nn
from translating import HALF, assert_close, reference, run


@pytest.fixture(autouse=True)
def _same_numbers_every_time() -> None:
    torch.manual_seed(0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_cudnn_convolution_equals_conv2d(dtype: torch.dtype) -> None:
    x, weight = torch.randn(2, 4, 9, 7).to(dtype), torch.randn(6, 2, 3, 3).to(dtype)
    expected = F.conv2d(x.float(), weight.float(), stride=2, padding=(1, 0), dilation=1, groups=2).to(dtype)
    args = (x, weight, [1, 0], [2, 2], [1, 1], 2, False, False, True)
    torch.testing.assert_close(run("cudnn_convolution", *args), expected)
    out = torch.empty(0, dtype=dtype)
    assert run("cudnn_convolution.out", *args, out=out) is out
    torch.testing.assert_close(out, expected)


def test_cudnn_transposed_and_depthwise_convolutions_equal_the_functional_ones() -> None:
    x, weight = torch.randn(2, 4, 5, 5), torch.randn(4, 3, 3, 3)
    actual = run("cudnn_convolution_transpose", x, weight, [1, 1], [1, 1], [2, 2], [1, 1], 1, False, False, True)
    torch.testing.assert_close(actual, F.conv_transpose2d(x, weight, stride=2, padding=1, output_padding=1))
    weight, bias = torch.randn(8, 1, 3, 3), torch.randn(8)
    actual = run("_conv_depthwise2d", x, weight, [3, 3], bias, [1, 1], [1, 1], [1, 1])
    torch.testing.assert_close(actual, F.conv2d(x, weight, bias, padding=1, groups=4))
    volume, weight = torch.randn(2, 3, 4, 4, 4), torch.randn(3, 1, 2, 2, 2)
    actual = run("conv_depthwise3d", volume, weight, [2, 2, 2], None, [1, 1, 1], [0, 0, 0], [1, 1, 1])
    torch.testing.assert_close(actual, F.conv3d(volume, weight, groups=3))


def test_cudnn_convolution_with_relu_adds_bias_and_scaled_summand_first() -> None:
    x, weight, bias, z = torch.randn(2, 4, 5, 5), torch.randn(6, 4, 3, 3), torch.randn(6), torch.randn(2, 6, 3, 3)
    shape = ([1, 1], [0, 0], [1, 1], 1)
    plain = F.conv2d(x, weight, bias)
    torch.testing.assert_close(run("cudnn_convolution_relu", x, weight, bias, *shape), plain.relu())
    actual = run("cudnn_convolution_add_relu", x, weight, z, 0.5, bias, *shape)
    torch.testing.assert_close(actual, (plain + 0.5 * z).relu())


def test_half_convolution_backward_accumulates_in_float32() -> None:
    x, weight = torch.randn(2, 4, 5, 5, dtype=torch.float16), torch.randn(6, 4, 3, 3, dtype=torch.float16)
    _, grad_out, grads = reference(F.conv2d, (x.float(), weight.float()))
    shape = ([6], [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, True])
    actual = run("convolution_backward", grad_out.half(), x, weight, *shape)
    expected = [grad.half() for grad in (*grads, grad_out.sum((0, 2, 3)))]
    assert_close(actual, expected, atol=0.01, rtol=0.01)


@pytest.mark.parametrize("shape", [(3, 5), (3, 5, 4), (3, 5, 4, 2)])
def test_cudnn_batch_norm_equals_the_module_and_updates_its_statistics(shape: tuple[int, ...]) -> None:
    x, module = torch.randn(shape), nn.BatchNorm2d(5)
    weight, bias, mean, var = torch.randn(5), torch.randn(5), torch.zeros(5), torch.ones(5)
    theirs = mean.clone(), var.clone()
    out, grad_out, grads = reference(
        lambda *a: F.batch_norm(a[0], *theirs, a[1], a[2], training=True), (x, weight, bias)
    )
    actual, save_mean, save_invstd, reserve = run("cudnn_batch_norm", x, weight, bias, mean, var, True, 0.1, module.eps)
    assert_close([actual, mean, var], [out, *theirs])
    dims = [dim for dim in range(x.dim()) if dim != 1]
    assert_close([save_mean, save_invstd], [x.mean(dims), (x.var(dims, correction=0) + module.eps).rsqrt()])
    saved = (weight, mean, var, save_mean, save_invstd, module.eps, reserve)
    assert_close(run("cudnn_batch_norm_backward", x, grad_out, *saved), grads, atol=1e-5, rtol=1e-4)


def test_batch_norm_outside_training_saves_what_each_kernel_saves() -> None:
    x, mean, var = torch.randn(3, 5, 4, 2), torch.randn(5), torch.rand(5) + 1
    expected = F.batch_norm(x, mean, var)
    args = (x, torch.ones(5), torch.zeros(5), mean, var, False, 0.1, 1e-5)
    assert_close(run("cudnn_batch_norm", *args)[:1], [expected])
    assert run("cudnn_batch_norm", *args)[1:] == (None, None, None)
    assert_close(run("native_batch_norm", *args), [expected, mean, (var + 1e-5).rsqrt()])


def test_half_batch_norm_saves_float32_and_updates_half_statistics() -> None:
    x, weight, bias = torch.randn(6, 5, 4, 2, dtype=HALF), torch.ones(5, dtype=HALF), torch.zeros(5, dtype=HALF)
    mean, var = torch.zeros(5, dtype=HALF), torch.ones(5, dtype=HALF)
    out, save_mean, save_invstd = run("native_batch_norm", x, weight, bias, mean, var, True, 0.1, 1e-5)
    assert (out.dtype, save_mean.dtype, save_invstd.dtype) == (HALF, torch.float32, torch.float32)
    torch.testing.assert_close(mean.float(), 0.1 * x.float().mean((0, 2, 3)), atol=1e-3, rtol=1e-2)
    saved = (weight, mean, var, save_mean, save_invstd, True, 1e-5, [True, True, True])
    assert [grad.dtype for grad in run("native_batch_norm_backward", out, x, *saved)] == [HALF] * 3


@pytest.mark.parametrize("dtype", [torch.float32, HALF])
def test_layer_group_and_rms_norm_equal_the_functional_ones(dtype: torch.dtype) -> None:
    tolerance = {"atol": 1e-5, "rtol": 1e-4} if dtype == torch.float32 else {"atol": 0.05, "rtol": 0.05}
    x, weight, bias = torch.randn(3, 4, 6).to(dtype), torch.randn(6).to(dtype), torch.randn(6).to(dtype)
    both = [True, True, True]

    _, grad_out, grads = reference(lambda *a: F.layer_norm(a[0], (6,), a[1], a[2]), (x, weight, bias))
    _, mean, rstd = run("native_layer_norm", x, [6], weight, bias, 1e-5)
    assert (mean.dtype, rstd.dtype) == (torch.float32, torch.float32)
    actual = run("native_layer_norm_backward", grad_out, x, [6], mean, rstd, weight, bias, both)
    assert_close(actual, grads, **tolerance)

    image = x.transpose(1, 2).contiguous()
    _, grad_out, grads = reference(lambda *a: F.group_norm(a[0], 2, a[1], a[2]), (image, weight, bias))
    _, mean, rstd = run("native_group_norm", image, weight, bias, 3, 6, 4, 2, 1e-5)
    assert (mean.dtype, rstd.dtype) == (dtype, dtype)
    actual = run("native_group_norm_backward", grad_out, image, mean, rstd, weight, 3, 6, 4, 2, both)
    assert_close(actual, grads, **tolerance)

    out, grad_out, grads = reference(lambda *a: F.rms_norm(a[0], (6,), a[1]), (x, weight))
    normal, rstd = run("_fused_rms_norm", x, [6], weight, None)
    assert rstd.shape == (3, 4, 1)
    actual = run("_fused_rms_norm_backward", grad_out, x, [6], rstd, weight, both[:2])
    assert_close([normal, *actual], [out, *grads], **tolerance)


def test_synchronised_batch_norm_over_two_ranks_equals_batch_norm_over_both() -> None:
    x, weight, bias = torch.randn(5, 3, 4), torch.randn(3), torch.randn(3)
    theirs, mean, var = (torch.zeros(3), torch.ones(3)), torch.zeros(3), torch.ones(3)
    out, grad_out, grads = reference(
        lambda *a: F.batch_norm(a[0], *theirs, a[1], a[2], training=True), (x, weight, bias)
    )
    shards, grad_shards, counts = x.split([2, 3]), grad_out.split([2, 3]), torch.tensor([8.0, 12.0])
    stats = [torch.stack(each) for each in zip(*(run("batch_norm_stats", x, 1e-5) for x in shards), strict=True)]
    union = run("batch_norm_gather_stats_with_counts", x, *stats, mean, var, 0.1, 1e-5, counts)
    assert_close([mean, var], theirs)
    normal = [run("batch_norm_elemt", shard, weight, bias, *union, 1e-5) for shard in shards]
    sums = [
        run("batch_norm_backward_reduce", grad, shard, *union, weight, True, True, True)
        for grad, shard in zip(grad_shards, shards, strict=True)
    ]
    dy, dy_xmu, grad_weight, grad_bias = (sum(each) for each in zip(*sums, strict=True))
    grad_x = [
        run("batch_norm_backward_elemt", grad, shard, *union, weight, dy, dy_xmu, counts)
        for grad, shard in zip(grad_shards, shards, strict=True)
    ]
    actual = [torch.cat(normal), torch.cat(grad_x), grad_weight, grad_bias]
    assert_close(actual, [out, *grads], atol=1e-5, rtol=1e-4)
