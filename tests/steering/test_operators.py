"""What every operator is: the table against the operators that PyTorch registers."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import torch
import torchvision  # noqa: F401 (registers operators)

from veritasest.engines.emulated.steering.operators import OperatorClass, classify, describe, table

FROZEN = Path(__file__).with_name("operators_2_11.txt")
NAMESPACES = ("aten::", "torchvision::")


def frozen() -> dict[str, OperatorClass]:
    """The class of every operator in the list, by its name with namespace."""
    found, kind = {}, OperatorClass.UNCLASSIFIED
    for line in FROZEN.read_text().splitlines():
        if line.startswith("["):
            kind = OperatorClass(line.strip("[]"))
        elif not line.startswith("#"):
            found.update({name if "::" in name else f"aten::{name}": kind for name in line.split()})
    return found


def registered() -> list[str]:
    keys = ("CUDA", "SparseCUDA")
    names = [name for key in keys for name in torch._C._dispatch_get_registrations_for_dispatch_key(key)]
    return [name for name in names if name.startswith(NAMESPACES)]


@pytest.mark.parametrize("kind", [kind for kind in OperatorClass if kind is not OperatorClass.UNCLASSIFIED])
def test_operators_keep_the_class_they_have_in_the_frozen_list(kind: OperatorClass) -> None:
    names = [name for name, expected in frozen().items() if expected is kind]
    assert names
    assert [(name, classify(name)) for name in names if classify(name) is not kind] == []


def test_every_registered_operator_is_classified_and_in_the_frozen_list() -> None:
    names, known = registered(), frozen()
    assert len(names) > 1000
    assert [name for name in names if classify(name) is OperatorClass.UNCLASSIFIED] == []
    assert [name for name in names if name not in known and name.partition(".")[0] not in known] == []


@pytest.mark.parametrize("name", ["aten::brand_new", "aten::brand_new_.Tensor", "torchvision::brand_new"])
def test_an_operator_in_no_table_is_unclassified(name: str) -> None:
    assert classify(name) is OperatorClass.UNCLASSIFIED


def test_the_table_lists_every_name_once() -> None:
    counts = Counter(name for _, text in table.NAMES for name in text.split())
    assert [name for name, count in counts.items() if count > 1] == []


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("aten::normal_", OperatorClass.COMPUTE),  # although the family *norm* is MODEL
        ("aten::native_layer_norm", OperatorClass.MODEL),
        ("aten::addmm", OperatorClass.GEOMETRY),
        ("aten::addmm_", OperatorClass.MODEL),  # listed apart from the variant that is not in place
        ("aten::_foreach_add_.Scalar", OperatorClass.GEOMETRY),
        ("aten::_foreach_add_.List", OperatorClass.MODEL),
        ("aten::sub_.Tensor", OperatorClass.COMPUTE),  # listed as sub
        ("aten::_sparse_softmax_backward_data", OperatorClass.MEMORY),  # the first family decides
    ],
)
def test_the_most_specific_entry_decides(name: str, kind: OperatorClass) -> None:
    assert classify(name) is kind


FLAGS = ("is_model", "is_geometry", "is_decision", "has_assumable_result", "is_random", "inserts")


@pytest.mark.parametrize(
    ("name", "flags", "written", "outputs_only"),
    [
        ("add.Tensor", "", (), ()),
        ("cumsum", "", (), ()),
        ("where.self", "", (), ()),
        ("mul.Tensor", "has_assumable_result", (), ()),
        ("add_.Tensor", "", (0,), ()),
        ("fill_.Scalar", "", (0,), (0,)),
        ("_cummax_helper", "", (1, 2), (1, 2)),
        ("topk", "is_decision has_assumable_result", (), ()),
        ("nonzero", "is_decision has_assumable_result", (), ()),
        ("gt.Scalar_out", "is_decision has_assumable_result", ("out",), ("out",)),
        ("normal_", "is_random", (0,), (0,)),
        ("bernoulli_.float", "is_decision has_assumable_result is_random", (0,), (0,)),
        ("randperm.generator_out", "is_random", ("out",), ("out",)),
        ("scatter_.src", "inserts", (0,), ()),
        ("_index_put_impl_", "inserts", (0,), ()),
        ("mm", "is_model is_geometry", (), ()),
        ("native_layer_norm", "is_model", (), ()),
        ("_foreach_add_.List", "is_model", (0,), ()),
    ],
)
def test_operators_are_described_by_class_and_schema(
    name: str, flags: str, written: tuple[int | str, ...], outputs_only: tuple[int | str, ...]
) -> None:
    operator = describe(torch, f"aten::{name}")
    assert operator is not None
    assert " ".join(flag for flag in FLAGS if getattr(operator, flag)) == flags
    assert (operator.written, operator.outputs_only) == (written, outputs_only)


@pytest.mark.parametrize("name", ["empty.memory_format", "view", "as_strided", "resize_", "set_.source_Storage"])
def test_operators_that_only_handle_memory_are_not_watched(name: str) -> None:
    assert describe(torch, f"aten::{name}") is None


def test_every_registered_operator_can_be_described() -> None:
    watched = [operator for name in registered() if (operator := describe(torch, name)) is not None]
    assert len(watched) > 1000
    assert {operator.kind for operator in watched} == set(OperatorClass) - {
        OperatorClass.MEMORY,
        OperatorClass.UNCLASSIFIED,
    }
