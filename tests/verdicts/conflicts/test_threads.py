"""Loads of elements that several threads hold, which one of them stores in place."""

import pytest
import triton
import triton.language as tl

from corpus.questions.defects import Sample
from corpus.questions.defects import tensor as described
from tests.verdicts.conflicts.compiled_samples import answers, compiled


@triton.jit
def in_place(x, sums, n, HOW: tl.constexpr, BLOCK: tl.constexpr):
    """Rows of fewer elements than the program has threads, stored where they were loaded."""
    row, columns = tl.program_id(0) * BLOCK, tl.arange(0, BLOCK)
    if HOW == "softmax":
        value = tl.load(x + row + columns)
        raised = tl.exp(value - tl.max(value, 0))
        tl.store(x + row + columns, raised / tl.sum(raised, 0))
    if HOW == "persistent":
        for other in range(tl.program_id(0), n, tl.num_programs(0)):
            value = tl.load(x + other * BLOCK + columns)
            tl.store(x + other * BLOCK + columns, value / tl.sum(value, 0))
    if HOW == "summed later":
        value = tl.load(x + row + columns)
        tl.store(x + row + columns, value * 2)
        tl.store(sums + tl.program_id(0), tl.sum(value, 0))
    if HOW == "loaded again":
        tl.store(x + row + columns, tl.load(x + row + columns) * 2)
        tl.store(sums + tl.program_id(0), tl.sum(tl.load(x + row + columns), 0))
    if HOW == "stored by each trip":
        for _ in range(n):
            value = tl.load(x + row + columns)
            tl.store(x + row + columns, value / tl.sum(value, 0))
    if HOW == "carried past the store":
        carried = tl.zeros((BLOCK,), tl.float32)
        for trip in range(n):
            value = tl.load(x + (trip * 8 + tl.program_id(0)) * BLOCK + columns)
            carried += value
            total = value * tl.sum(value, 0) + tl.sum(carried, 0)
            tl.store(x + (trip * 8 + tl.program_id(0)) * BLOCK + columns, total)


@triton.jit
def by_parts(x, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """The maximum of each row in one loop; the row is stored in another."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    top = tl.full((ROWS, BLOCK), -float("inf"), tl.float32)
    for begin in range(0, n, BLOCK):
        columns = begin + tl.arange(0, BLOCK)[None, :]
        top = tl.maximum(top, tl.load(x + rows * n + columns, columns < n, -float("inf")))
    highest = tl.max(top, 1)[:, None]
    for begin in range(0, n, BLOCK):
        columns = begin + tl.arange(0, BLOCK)[None, :]
        value = tl.load(x + rows * n + columns, columns < n, 0.0)
        tl.store(x + rows * n + columns, tl.exp(value - highest), columns < n)


@triton.jit
def above(x, out, HOW: tl.constexpr, BLOCK: tl.constexpr):
    """Each row's number is loaded, and decides whether it is stored where it was."""
    row, columns = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + row)
    most = 0.0
    if value > 0.5:
        tl.store(x + row, value * 0.5)
        if HOW == "two stores":
            tl.store(out + row, value)
        if HOW == "a block":
            tl.store(out + row * BLOCK + columns, columns.to(tl.float32))
        if HOW == "a sum":
            most = tl.sum(tl.load(out + columns))
    if HOW == "a sum":
        tl.store(out + row * BLOCK + columns, most + columns)


def verdicts(sample):
    return set(answers(compiled(sample, 4)))


@pytest.mark.parametrize(
    ("how", "answer"),
    [
        ("softmax", "proven"),
        ("persistent", "proven"),
        ("summed later", "unknown"),  # through shared memory, from warps that load late
        ("loaded again", "unknown"),
        ("stored by each trip", "unknown"),
        ("carried past the store", "unknown"),
    ],
)
def test_values_of_other_warps_arrive_through_barriers_before_the_store(how, answer):
    arguments = {"x": described(1024), "sums": described(32), "n": 4}
    sample = Sample(how, in_place, arguments, {"HOW": how, "BLOCK": 32}, (8,))
    assert answer in verdicts(sample) <= {answer, "proven"}


@pytest.mark.parametrize("rows", [1, 8])
def test_a_row_loaded_by_one_loop_and_stored_by_another_is_proven(rows):
    sample = Sample(
        "parts", by_parts, {"x": described(64 * 20), "n": 20}, {"ROWS": rows, "BLOCK": 8}, (8,)
    )
    assert verdicts(sample) == {"proven"}


@pytest.mark.parametrize(
    ("how", "answer"),
    [
        ("one store", "proven"),
        ("two stores", "proven"),
        ("a block", "unknown"),
        ("a sum", "unknown"),
    ],
)
def test_what_other_warps_load_may_decide_what_one_thread_stores_alone(how, answer):
    arguments = {"x": described(8), "out": described(256)}
    sample = Sample(how, above, arguments, {"HOW": how, "BLOCK": 32}, (8,))
    assert answer in verdicts(sample) <= {answer, "proven"}
