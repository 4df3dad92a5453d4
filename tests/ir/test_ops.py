"""The table of ops against MLIR's definitions, and against IR that Triton made."""

from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from kvtrace.evaluate.dialects import load_dialects
from kvtrace.evaluate.registry import ELEMENTWISE, LOWERINGS
from kvtrace.evaluate.shadows.ideal import BINARY, combined, is_unsigned
from kvtrace.ir import ops
from kvtrace.ir.locations import UnknownLocation
from kvtrace.ir.model import Op
from kvtrace.ir.ops import (
    KINDS,
    MEMORY,
    WRITING,
    Kind,
    address_of,
    mask_of,
    may_overflow,
    operands_of,
)
from kvtrace.ir.types import IntegerType
from kvtrace.ir.updates import data_of, positions_of
from kvtrace.recorded_calls.reading import calls_of
from kvtrace.recorded_calls.recorded import Call
from kvtrace.schema.trace import open_trace
from kvtrace.symbolic import meanings
from tests.support.tiers import some

H200 = Path(__file__).parent.parent / "fixtures" / "h200"

#: Memory ops by position: data, mask, where in a descriptor's tensor. As Triton's definitions have
#: them (include/triton/Dialect/Triton/IR/TritonOps.td).
POSITIONS = {
    "tt.load": ((2,), 1, ()),
    "tt.store": ((1,), 2, ()),
    "tt.atomic_load": ((), 1, ()),
    "tt.atomic_store": ((1,), 2, ()),
    "tt.atomic_poll": ((1,), None, ()),
    "tt.atomic_rmw": ((1,), 2, ()),
    "tt.atomic_cas": ((1, 2), None, ()),
    "tt.descriptor_load": ((), None, (1, 2)),
    "tt.descriptor_store": ((1,), None, (2, 3)),
    "tt.descriptor_reduce": ((1,), None, (2, 3)),
    "tt.descriptor_gather": ((), None, (1, 2)),
    "tt.descriptor_scatter": ((3,), None, (1, 2)),
    "ttng.async_tma_copy_local_to_global": ((3,), None, (1, 2)),
    "ttng.async_tma_reduce": ((3,), None, (1, 2)),
    "ttng.async_tma_scatter": ((3,), None, (1, 2)),
    "amdg.async_tdm_copy_local_to_global": ((1,), None, ()),
    "amdg.async_tdm_scatter": ((2,), None, (1,)),
}

#: Copies into shared memory: positions of the operands that loads do not have, as in
#: TritonGPUOps.td and TritonNvidiaGPUOps.td, for a descriptor of two axes.
COPIES = {
    "ttg.async_copy_global_to_local": {"shared": 1, "mask": 2, "other": 3},
    "ttng.async_tma_copy_global_to_local": {"barrier": 3, "shared": 4, "predicate": 5},
    "ttng.async_tma_gather": {"barrier": 3, "shared": 4, "predicate": 5},
    "amdg.async_tdm_copy_global_to_local": {"shared": 1},
    "amdg.async_tdm_gather": {"shared": 2},
}


class Numbered(int):
    """An operand that is the number of its position."""

    type = None


class NumberedInteger(Numbered):
    """An operand of an integer type."""

    type = IntegerType(32)


def op_with_numbered_operands(name, count, integers=()):
    """An op whose operands are the numbers of their positions."""
    op = Op(0, name, None, UnknownLocation())
    op.operands = tuple((NumberedInteger if n in integers else Numbered)(n) for n in range(count))
    return op


@pytest.mark.parametrize("name", POSITIONS)
def test_positions_of_memory_operands_equal_tritons(name):
    data, mask, positions = POSITIONS[name]
    count = 1 + len(data) + (mask is not None) + len(positions)
    op = op_with_numbered_operands(name, count)

    assert address_of(op) == 0
    assert sorted(data_of(op)) == list(data)
    assert mask_of(op) == mask
    assert positions_of(op) == positions
    assert sorted(value for _, value in operands_of(op)) == list(range(count))


@pytest.mark.parametrize("name", COPIES)
def test_positions_of_operands_of_copies_equal_tritons(name):
    op = op_with_numbered_operands(name, 1 + max(COPIES[name].values()))

    assert address_of(op) == 0
    assert {role: op.operand(role) for role in COPIES[name]} == COPIES[name]
    assert positions_of(op) == tuple(range(1, min(COPIES[name].values())))


def test_every_memory_op_has_a_row():
    assert {*POSITIONS, *COPIES} == MEMORY
    assert {name for name in POSITIONS if KINDS[name].has("value")} == WRITING


def test_a_missing_operand_is_none_and_an_unknown_name_an_error():
    op = op_with_numbered_operands("tt.store", 2)
    assert op.optional("mask") is None
    with pytest.raises(KeyError, match=r"this tt\.store has no operand 'mask'"):
        op.operand("mask")
    with pytest.raises(KeyError, match=r"tt\.store has no operand 'other', only pointer, value"):
        op.optional("other")


def test_operand_lists_without_sizes_have_equal_lengths():
    op = op_with_numbered_operands("tt.make_tensor_descriptor", 5)
    assert (op.operand("pointer"), op.group("size"), op.group("stride")) == (0, (1, 2), (3, 4))
    assert op_with_numbered_operands("scf.for", 5).group("initial") == (3, 4)


@pytest.mark.parametrize(
    ("count", "column", "shared", "barrier"),
    [(3, (), 2, None), (4, (), 2, 3), (4, (2,), 3, None), (5, (2,), 3, 4)],
)
def test_gathers_without_sizes_have_a_column_if_it_is_an_integer(count, column, shared, barrier):
    """Triton 3.7 has a column, and 3.8 has the descriptor's; a barrier follows in either."""
    op = op_with_numbered_operands("amdg.async_tdm_gather", count, column)
    assert (op.group("column"), op.operand("shared")) == (column, shared)
    assert (op.optional("predicate"), op.optional("barrier")) == (None, barrier)


def test_every_evaluated_op_has_a_row():
    load_dialects(KINDS)
    meanings.meaning_of("tt.load")
    assert {*ELEMENTWISE, *LOWERINGS, *meanings._meanings} <= set(KINDS)


def test_operators_are_known_and_have_their_operands():
    assert {row.operator for row in KINDS.values()} == set(get_args(ops.Operator))
    signs = ("+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>")
    assert all(len(row.operands) == 2 for row in KINDS.values() if row.operator in signs)
    casts = [row for row in KINDS.values() if row.operator in ("cast", "bitcast")]
    assert casts
    assert all(row.operands == ("source",) for row in casts)


def test_ops_may_overflow_but_for_those_whose_integers_fit_the_width_of_their_operands():
    numbers, others = np.arange(-8, 8), set(KINDS)
    for name in BINARY:
        op = op_with_numbered_operands(name, 2)
        op.results = (NumberedInteger(2),)
        operands = numbers % 16 if is_unsigned(op) else numbers
        results = combined(op, operands[:, None], operands, 4)
        fits = operands.min() <= results.min() and results.max() <= operands.max()
        assert fits != may_overflow(op), name
        others.discard(name)
    fitting = {KINDS[name].operator for name in others & ops._WITHIN_WIDTH}
    assert fitting == {"where", "compare", "cast", "bitcast", "%"}  # the remainder of floats


@pytest.mark.parametrize("folder", some(["train", "train_compiled", "inductor"], 3))
def test_names_cover_all_operands_of_ir_that_triton_made(folder):
    trace = open_trace(H200 / folder)
    calls = [call for run in trace.runs for call in calls_of(trace, run) if isinstance(call, Call)]
    modules = {id(call.module): call.module for call in calls}
    assert modules
    for module in modules.values():
        for op in module.ops:
            assert op.name in KINDS, op
            assert [value for _, value in operands_of(op)] == list(op.operands), op
            if KINDS[op.name].kind is Kind.ELEMENTWISE:
                assert op.operands, op
