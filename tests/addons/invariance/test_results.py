"""Results of whole kernels: limits of time, the sizes of others, and what they are called."""

import re
from collections.abc import Callable

import pytest
import torch
import triton
import triton.language as tl

from kvtrace.addons.invariance.results import invariance_of
from kvtrace.addons.invariance.text import invariance_lines
from kvtrace.schema.trace import Selection
from tests.addons.invariance.contracted import kept, launch, misnamed, unasked
from tests.addons.invariance.inputs import tensor
from tests.addons.invariance.planted import PLANTED


@triton.jit
def in_halves(x, where, out):
    row = tl.program_id(0)
    value, at = tl.load(x + row), tl.load(where + row)
    tl.store(out + at, value)
    tl.store(out + at + 1, -value)


def test_outputs_are_unknown_if_time_ends_before_all_calls_are_judged(
    recorded: Callable[[Callable[[], object]], Selection],
) -> None:
    pair = PLANTED[0]
    runs = recorded(lambda: [pair.launch(pair.right, rows) for rows in pair.sizes])

    (ended,) = invariance_of(runs, seconds=0).outputs
    (whole,) = invariance_of(runs, seconds=600).outputs

    assert ended.verdict == "unknown"
    assert "for which 0 s did not suffice" in ended.reasons[-1].what
    assert whole.verdict == "proven"


def test_judging_of_a_slow_call_stops_at_the_time_limit(
    recorded: Callable[[Callable[[], object]], Selection],
) -> None:
    pair = PLANTED[0]
    runs = recorded(lambda: pair.launch(pair.right, pair.sizes[1]))

    (ended,) = invariance_of(runs, seconds=0).outputs

    assert ended.verdict == "unknown"
    assert "takes too long to be followed" in ended.reasons[0].what
    assert "1 call of the kernel, for which 0 s did not suffice" in ended.reasons[-1].what


@triton.jit
def all_ones(out):
    tl.store(out + tl.program_id(0), 1.0)


def test_outputs_are_unknown_if_launches_are_not_compared_in_time(
    recorded: Callable[[Callable[[], object]], Selection],
) -> None:
    """Nothing of the one call takes time; the limit ends before it is compared."""
    runs = recorded(lambda: all_ones[(4,)](tensor(4, seed=1)))

    (ended,) = invariance_of(runs, seconds=0).outputs

    assert ended.verdict == "unknown"
    assert "how its launches compare, for which 0 s did not suffice" in ended.reasons[-1].what


def test_unseen_sizes_come_from_kernels_with_a_common_batch_size(
    recorded: Callable[[Callable[[], object]], Selection],
) -> None:
    """What a flattened tensor counts as rows is nothing that a kernel of rows lacks."""

    def unseen_sizes(*launches: tuple[object, ...]) -> dict[str, tuple[int, ...]]:
        runs = recorded(lambda: [launch(*each) for each in launches])
        return {each.kernel: each.unseen_sizes for each in invariance_of(runs).outputs}

    assert unseen_sizes((kept, 3, 5), (misnamed, 3), (unasked, 60)) == {
        "kept": (), "misnamed": (5,), "unasked": (),
    }  # fmt: skip
    assert unseen_sizes((kept, 3, 5), (unasked, 60)) == {"kept": (60,), "unasked": ()}


def test_outputs_of_several_stores_are_named_by_line_and_share_one_reason(
    recorded: Callable[[Callable[[], object]], Selection],
) -> None:
    def store_twice() -> None:
        at, out = torch.tensor([0, 0, 4], dtype=torch.int32), torch.empty(6)
        in_halves[(3,)](tensor(3, seed=1), at, out)

    found = invariance_of(recorded(store_twice))
    first, second = (each.source.line for each in found.outputs)
    text = "\n".join(invariance_lines(found, 200))

    assert first != second
    assert re.findall(r"^in_halves +(out, line \d+)", text, re.MULTILINE) == [
        f"out, line {first}", f"out, line {second}",
    ]  # fmt: skip
    assert text.count("when run again") == 1


@triton.jit
def by_length(x, out, M, N, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, BLOCK)
    value = tl.load(x + row * N + at, mask=at < N, other=0.0)
    tl.store(out + row * N + at, value / (M if COUNT else N), mask=at < N)


@pytest.mark.parametrize(
    ("sizes", "counts", "answers"),
    [
        ((1, 9, 20), False, {"proven"}),  # N is 20, too
        ((20, 9), False, {"proven"}),
        ((20,), False, {"unknown"}),
        ((9, 20), True, {"violation"}),
    ],
)
def test_a_number_is_that_of_rows_only_if_it_is_in_each_call(sizes, counts, answers, recorded):
    def launches() -> None:
        for rows in sizes:
            x = tensor(rows, 20, seed=1)
            by_length[(rows,)](x, torch.empty_like(x), rows, 20, COUNT=counts, BLOCK=32)

    assert {each.verdict for each in invariance_of(recorded(launches)).outputs} == answers
