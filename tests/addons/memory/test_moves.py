"""Unwritten elements through operators that move them."""

from math import prod

import pytest

from kvtrace.addons.memory.moves import made_of
from kvtrace.addons.memory.operator_effects import OperatorTensor, operator_effects
from kvtrace.addons.memory.states import State
from kvtrace.metrics.byte_ranges import ByteRanges


def tensor(role, *shape):
    strides = tuple(prod(shape[axis + 1 :]) for axis in range(len(shape)))
    return OperatorTensor(role, "i8", False, shape, strides, 0, prod(shape))


def moved(name, sources, result, *, unwritten):
    """Return the bytes of a result that stay unwritten, and those in doubt, for the last source."""
    tensors = [*(tensor("read", *shape) for shape in sources), tensor("created", *result)]
    last = len(sources) - 1
    state = State(tensors[last].storage_bytes, ByteRanges.of(*unwritten))
    spoiled = made_of(name, tensors, operator_effects(name, tensors), {last: state})[last + 1]
    return list(spoiled.unwritten), list(spoiled.doubtful)


@pytest.mark.parametrize(
    ("name", "sources", "result", "unwritten"),
    [
        ("aten::stack", [(4,), (4,)], (2, 4), [(5, 8)]),
        ("aten::stack", [(4,), (4,)], (4, 2), [(3, 4), (5, 6), (7, 8)]),
        ("aten::vstack", [(4,), (2, 4)], (3, 4), [(5, 12)]),
        ("aten::hstack", [(2, 1), (2, 4)], (2, 5), [(2, 5), (6, 10)]),
        ("aten::column_stack", [(4,), (4,)], (4, 2), [(3, 4), (5, 6), (7, 8)]),
        ("aten::concat", [(0,), (3, 4), (1, 4)], (4, 4), [(13, 16)]),
        ("aten::repeat", [(4,)], (2, 4), [(1, 4), (5, 8)]),
        ("aten::tile", [(4,)], (8,), [(1, 4), (5, 8)]),
    ],
)
def test_joined_and_repeated_elements_are_followed(name, sources, result, unwritten):
    end = prod(sources[-1])

    assert moved(name, sources, result, unwritten=(1, end)) == (unwritten, [])


@pytest.mark.parametrize(
    ("unwritten", "made"), [((1, 2), ([], [(0, 8)])), ((0, 4), ([], [(0, 8)]))]
)
def test_an_axis_that_is_not_known_leaves_a_stack_in_doubt(unwritten, made):
    assert moved("aten::stack", [(2, 2), (2, 2)], (2, 2, 2), unwritten=unwritten) == made


def test_an_axis_that_does_not_matter_need_not_be_known():
    assert moved("aten::repeat", [(2, 2)], (2, 2), unwritten=(1, 2)) == ([(1, 2)], [])
    assert moved("aten::stack", [(2, 2)], (1, 2, 2), unwritten=(3, 4)) == ([(3, 4)], [])


@pytest.mark.parametrize("name", ["index_select", "gather", "embedding", "flip", "masked_select"])
def test_elements_that_are_chosen_of_unwritten_memory_are_unwritten(name):
    tensors = [tensor("read", 4), tensor("read", 2), tensor("created", 2)]
    effects = operator_effects(f"aten::{name}", tensors)
    for unwritten, expected in ((0, [(0, 2)]), (1, [])):
        state = State(4, ByteRanges.of(unwritten, 4))
        made = made_of(f"aten::{name}", tensors, effects, {0: state})[2]
        assert list(made.unwritten) == expected
        assert bool(made.doubtful) is not bool(expected)


@pytest.mark.parametrize(("old", "new", "kept"), [(8, 12, (5, 8)), (8, 6, (5, 6))])
def test_a_storage_that_moves_keeps_its_bytes(old, new, kept):
    tensors = [OperatorTensor("written", "i8", False, (2,), (1,), 0, old), tensor("created", new)]
    effects = operator_effects("aten::resize_", tensors)

    made = made_of("aten::resize_", tensors, effects, {0: State(old, ByteRanges.of(5, old))})

    assert list(effects.effects[1].writes) == [(0, min(old, new))]
    assert list(made[1].unwritten) == [kept]
