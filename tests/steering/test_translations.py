"""The table of translations as a whole; losses, the spatial transformer, matrix products and random numbers."""

import copy

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from translating import HALF, assert_close, reference, run

from veritasest.engines.emulated.steering.translations import TRANSLATIONS, generator, widened


@pytest.fixture(autouse=True)
def _seeded() -> None:
    torch.manual_seed(0)


@pytest.mark.parametrize("lengths", ["list", "tensor"])
def test_cudnn_ctc_loss_gives_the_loss_and_its_gradient_at_once(lengths: str) -> None:
    log_probs = torch.randn(20, 3, 8).log_softmax(-1)
    targets, sizes = torch.randint(1, 8, (12,), dtype=torch.int32), ([20, 18, 15], [5, 4, 3])
    leaf = log_probs.clone().requires_grad_()
    expected = F.ctc_loss(leaf, targets.long(), *map(torch.tensor, sizes), reduction="none")
    (grad,) = torch.autograd.grad(expected.sum(), leaf)
    name = "_cudnn_ctc_loss" if lengths == "list" else "_cudnn_ctc_loss.Tensor"
    given_sizes = sizes if lengths == "list" else [torch.tensor(each, dtype=torch.int32) for each in sizes]
    assert_close(run(name, log_probs, targets, *given_sizes, 0, True, False), [expected.detach(), grad])


def test_cudnn_spatial_transformer_equals_grid_sample_with_aligned_corners() -> None:
    x, theta, size = torch.randn(2, 3, 5, 6), torch.randn(2, 2, 3), (2, 3, 4, 4)
    grid, grad_grid, (grad_theta,) = reference(lambda t: F.affine_grid(t, size, align_corners=True), [theta])
    torch.testing.assert_close(run("cudnn_affine_grid_generator", theta, *size), grid)
    torch.testing.assert_close(run("cudnn_affine_grid_generator_backward", grad_grid, *size), grad_theta)
    out, grad, grads = reference(lambda *a: F.grid_sample(*a, align_corners=True), [x, grid])
    torch.testing.assert_close(run("cudnn_grid_sampler", x, grid), out)
    assert_close(run("cudnn_grid_sampler_backward", x, grid, grad), grads)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_of_half_gives_float32_and_its_gradient_is_half_again(name: str) -> None:
    x = torch.randn(4, 6, dtype=torch.float16)
    out, grad, (grad_x,) = reference(lambda t: getattr(F, name)(t, -1, dtype=torch.float32), [x])
    torch.testing.assert_close(run(f"_{name}", x, -1, True), out)
    torch.testing.assert_close(run(f"_{name}_backward_data", grad, out, -1, torch.float16), grad_x)
    torch.testing.assert_close(run(f"_{name}", out, -1, False), getattr(F, name)(out, -1))


def test_log_sigmoid_needs_nothing_saved_for_its_backward() -> None:
    x = torch.randn(4, 6) * 10
    out, grad, (grad_x,) = reference(F.logsigmoid, [x])
    actual, nothing = run("log_sigmoid_forward", x)
    into = torch.empty(0)
    run("log_sigmoid_backward.grad_input", grad, x, torch.empty(0), grad_input=into)
    assert nothing is None
    assert_close([actual, run("log_sigmoid_backward", grad, x, torch.empty(0)), into], [out, grad_x, grad_x])


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
@pytest.mark.parametrize("last_offset", [True, False])
def test_embedding_bag_saves_the_bag_of_every_index(mode: str, last_offset: bool) -> None:
    weight, indices = torch.randn(10, 4), torch.randint(0, 10, (9,))
    offsets = torch.tensor([0, 2, 2, 5, 9] if last_offset else [0, 2, 2, 5])  # bags of 2, 0, 3 and 4
    _, grad_out, grads = reference(
        lambda w: F.embedding_bag(indices, w, offsets, mode=mode, include_last_offset=last_offset), [weight]
    )
    number = ["sum", "mean", "max"].index(mode)
    _, bags, sizes, largest = run("_embedding_bag", weight, indices, offsets, False, number, False, None, last_offset)
    assert bags.tolist() == [0, 0, 2, 2, 2, 3, 3, 3, 3]
    assert sizes.shape == offsets.shape
    saved = (bags, sizes, torch.empty(0, dtype=torch.int64) if largest is None else largest, 10, False, number)
    actual = torch.ops.aten._embedding_bag_dense_backward(grad_out, indices, *saved, None)
    torch.testing.assert_close(actual, grads[0])


def test_an_operator_whose_cpu_kernel_refuses_half_is_computed_in_float32() -> None:
    x = torch.randn(1, 2, 4, 4, 4, dtype=HALF)
    with pytest.raises(NotImplementedError, match="not implemented for 'BFloat16'"):
        torch.ops.aten.avg_pool3d(x, [2, 2, 2])
    expected = F.avg_pool3d(x.float(), 2).to(HALF)
    torch.testing.assert_close(run("avg_pool3d", x, [2, 2, 2]), expected)
    single = torch.randn(4)
    assert widened("aten::exp")(single).dtype == torch.float32
    written = torch.ones(4, dtype=HALF)
    assert widened("aten::add_.Tensor")(written, single, alpha=2) is written
    torch.testing.assert_close(written, (1 + 2 * single).to(HALF))
    many = [torch.ones(2, dtype=HALF), torch.zeros(3)]
    widened("aten::_foreach_add_.Scalar")(many, 1)
    assert_close(many, [torch.full((2,), 2.0, dtype=HALF), torch.ones(3)])


def test_products_of_half_matrices_can_have_a_float32_result() -> None:
    a, b, c = torch.randn(2, 3, 4, dtype=HALF), torch.randn(2, 4, 5, dtype=HALF), torch.randn(2, 3, 5)
    product = a.float() @ b.float()
    torch.testing.assert_close(run("bmm.dtype", a, b, torch.float32), product)
    torch.testing.assert_close(run("mm.dtype", a[0], b[0], torch.float32), product[0])
    torch.testing.assert_close(run("baddbmm.dtype", c, a, b, torch.float32, beta=2, alpha=0.5), 2 * c + 0.5 * product)
    nothing = torch.full_like(c[0], torch.nan)
    torch.testing.assert_close(run("addmm.dtype", nothing, a[0], b[0], torch.float32, beta=0), product[0])
    out = torch.empty(3, 5)
    run("mm.dtype_out", a[0], b[0], torch.float32, out=out)
    torch.testing.assert_close(out, product[0])


def test_float8_products_take_one_scale_or_one_per_row_and_column() -> None:
    a, b = (torch.randn(4, 8).to(torch.float8_e4m3fn), torch.randn(8, 6).to(torch.float8_e4m3fn))
    whole, rows, columns = torch.tensor(0.5), torch.rand(4, 1), torch.rand(1, 6)
    product = a.float() @ b.float()
    torch.testing.assert_close(run("_scaled_mm", a, b, whole, whole, None, None, HALF), (product / 4).to(HALF))
    actual = run("_scaled_mm_v2", a, b, [rows], [1], [0], [columns], [1], [0], None, torch.float32)
    torch.testing.assert_close(actual, product * rows * columns)
    with pytest.raises(NotImplementedError, match="no CPU translation"):
        run("_scaled_mm_v2", a, b, [rows], [4], [0], [columns], [1], [0], None, torch.float32)


def test_dropout_keeps_the_expected_fraction_and_scales_it() -> None:
    x = torch.ones(10_000)
    out, mask = run("native_dropout", x, 0.3, True)
    assert mask.dtype == torch.bool
    assert float(mask.float().mean()) == pytest.approx(0.7, abs=0.02)
    torch.testing.assert_close(out, mask / 0.7)
    out, mask = run("_fused_dropout", x, 0.3)  # here 0.3 is the fraction to keep
    assert float(mask.float().mean()) == pytest.approx(0.3, abs=0.02)
    torch.testing.assert_close(run("_masked_scale", x, mask, 1 / 0.3), out)
    assert_close(run("native_dropout", x, 0.3, False), [x, torch.ones(10_000, dtype=torch.bool)])
    assert run("native_dropout", x, 1.0, True)[0].count_nonzero() == 0


def test_random_operators_leave_the_users_cpu_generator_alone() -> None:
    before = torch.get_rng_state()
    run("native_dropout", torch.ones(8), 0.5, True)
    run("normal_", torch.empty(8))
    run("uniform_", torch.empty(8), 0.0, 1.0)
    run("multinomial", torch.ones(8), 2)
    run("bernoulli_.float", torch.empty(8), 0.5)
    run("randperm.generator_out", 8, generator=None, out=torch.empty(0, dtype=torch.int64))
    assert torch.equal(before, torch.get_rng_state())
    generator().manual_seed(1)
    first = run("normal_", torch.empty(8))
    generator().manual_seed(1)
    assert torch.equal(first, run("normal_", torch.empty(8)))


def test_translations_leave_their_arguments_as_they_were() -> None:
    q = torch.randn(1, 2, 5, 8)
    x, weight = torch.randn(2, 4, 5, 5), torch.randn(6, 4, 3, 3)
    before = copy.deepcopy((q, x, weight))
    run("_scaled_dot_product_efficient_attention", q, q, q, q[..., :5], True, 0.1, True)
    run("cudnn_convolution", x, weight, [0, 0], [1, 1], [1, 1], 1, False, False, True)
    run("native_dropout", x, 0.5, True)
    assert_close((q, x, weight), before, atol=0, rtol=0)


NOT_FOR_TRAINING = (
    "_cslt_",
    "_sparse_semi_structured",
    "_to_sparse_semi_structured",
    "int4pack",
    "_mixed_dtypes_linear",
    "miopen",
    ".quantized",
    "_triton_",
    "_scaled_grouped_mm",
    "_fill_mem_eff_dropout_mask_",
    "_use_cudnn_ctc_loss",
    "_cudnn_init_dropout_state",
    "record_stream",
)


def test_every_operator_that_only_cuda_has_is_translated_or_named_as_left_out() -> None:
    composite = ("CompositeExplicitAutograd", "CompositeImplicitAutograd", "CompositeExplicitAutogradNonFunctional")
    missing = [
        name
        for name in torch._C._dispatch_get_registrations_for_dispatch_key("CUDA")
        if name.startswith("aten::")
        and name not in TRANSLATIONS
        and not any(part in name for part in NOT_FOR_TRAINING)
        and not any(torch._C._dispatch_has_kernel_for_dispatch_key(name, key) for key in ("CPU", *composite))
    ]
    assert missing == []
