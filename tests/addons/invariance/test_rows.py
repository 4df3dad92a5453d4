"""Verdicts on rows: planted faults are never proven, and nothing that is right is a violation."""

from collections.abc import Callable

import pytest
import torch
import triton
import triton.language as tl

from kvtrace.addons.invariance.output_results import Invariance
from tests.addons.invariance import racing_kernels
from tests.addons.invariance.inputs import tensor
from tests.addons.invariance.planted import PLANTED, Planted
from tests.support.tiers import some

Judged = Callable[[Callable[[], object]], Invariance]

#: Right at the sizes of the pair, and not proven for all: atomic sums, a branch at 2**30 rows, and
#: a loop over the padded length.
NOT_PROVEN = {
    "product, stream-K shares by the number of tiles",
    "row sum, atomic parts by M",
    "row sum, another shape for many rows",
    "mean pooling, divided by the padded length",
}


def launched(pair: Planted, kernel: object) -> Callable[[], None]:
    return lambda: [pair.launch(kernel, rows) for rows in pair.sizes] and None


@pytest.mark.parametrize("pair", some(PLANTED, 4), ids=lambda pair: pair.name)
def test_right_kernels_are_no_violation_and_mostly_proven(pair: Planted, judged: Judged) -> None:
    found = judged(launched(pair, pair.right))

    assert found.failures == ()
    assert found.outputs
    verdicts = {each.verdict for each in found.outputs}
    assert "violation" not in verdicts
    assert (verdicts == {"proven"}) or pair.name in NOT_PROVEN


@pytest.mark.parametrize("pair", some(PLANTED, 4), ids=lambda pair: pair.name)
def test_planted_faults_have_a_witness_with_two_values(pair: Planted, judged: Judged) -> None:
    found = judged(launched(pair, pair.wrong))

    bad = [each for each in found.outputs if each.verdict == "violation"]
    assert bad
    assert all(each.reasons and each.witness is not None for each in bad)
    assert all(len(set(each.witness.values)) == 2 for each in bad if each.witness is not None)


def test_witness_has_two_values_of_one_element(judged: Judged) -> None:
    pair = next(each for each in PLANTED if each.name == "RMS norm, power of the whole tile")

    (output,) = judged(launched(pair, pair.wrong)).outputs

    assert output.witness is not None
    first, second = map(float, output.witness.values)
    assert abs(first - second) > 1e-4
    assert "row 0" in output.witness.first


def test_row_count_in_a_value_is_found_with_one_batch_size(judged: Judged) -> None:
    pair = next(each for each in PLANTED if each.name == "RMS norm, power of the whole tile")

    (right,) = judged(lambda: pair.launch(pair.right, 40)).outputs
    (wrong,) = judged(lambda: pair.launch(pair.wrong, 40)).outputs

    assert right.verdict == "proven"
    assert right.own == ("x",)
    assert right.shared == ("w",)
    assert wrong.verdict == "depends"
    assert any(why.cause == "size" and "M" in why.what for why in wrong.reasons)


def test_launches_of_two_sizes_are_compared_by_their_trees(judged: Judged) -> None:
    pair = next(each for each in PLANTED if each.name == "product, BLOCK_K by M")

    (right,) = judged(launched(pair, pair.right)).outputs
    (wrong,) = judged(launched(pair, pair.wrong)).outputs

    assert right.size_comparison is not None
    assert right.size_comparison.comparison.relation == "same"
    assert wrong.size_comparison is not None
    assert wrong.size_comparison.comparison.relation == "reassociated"
    assert wrong.size_comparison.comparison.first != wrong.size_comparison.comparison.second


def test_atomic_float_sum_is_not_deterministic(judged: Judged) -> None:
    pair = next(each for each in PLANTED if each.kind == "atomic")

    (output,) = judged(lambda: pair.launch(pair.wrong, 3)).outputs

    assert output.determinism.answer == "depends"
    assert "whose rounding depends on the order" in (output.determinism.reason or "")


@pytest.mark.parametrize(
    ("kernel", "programs", "verdicts"),
    [
        ("doubled_in_place", (4, 1), {"x": "proven"}),
        ("doubled_in_place", (4, 2), {"x": "unknown"}),  # two programs a row
        ("counted", (4, 1), {"out": "proven", "count": "unknown"}),  # the race is not on out
    ],
)
def test_an_output_that_programs_race_on_is_not_invariant(
    judged: Judged, kernel: str, programs: tuple[int, int], verdicts: dict[str, str]
) -> None:
    def launch() -> None:
        tensors = [torch.zeros(4, 16) for _ in range(2 if kernel == "counted" else 1)]
        count = [torch.zeros(1, dtype=torch.int32)] if kernel == "counted" else []
        getattr(racing_kernels, kernel)[programs](*tensors, *count, C=16)

    outputs = judged(launch).outputs

    assert {output.output: output.verdict for output in outputs} == verdicts
    for output in outputs:
        assert (output.race is None) == (output.verdict == "proven")
        assert ("race" in {why.cause for why in output.reasons}) == (output.verdict == "unknown")


def test_right_kernels_have_the_same_results_for_all_batches() -> None:
    # The other half of the claim: what is proven is the same at other sizes and positions. Exact
    # sums of small whole numbers tell a dependence from a rounding.
    pair = next(each for each in PLANTED if each.name == "softmax, maximum of the whole tile")

    results = [pair.launch(pair.right, rows, at)[at] for rows, at in ((1, 0), (9, 5), (40, 39))]

    assert all(torch.equal(results[0], other) for other in results[1:])


@triton.jit
def _scaled_by_a_count(x, counts, out, WHICH: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, 32)
    count = tl.load(counts + (row if WHICH else 0))
    tl.store(out + row * 32 + at, tl.load(x + row * 32 + at) * count)


def test_integer_of_another_row_is_a_dependence(judged: Judged) -> None:
    x, counts = (
        tensor(9, 32, seed=1),
        torch.arange(9, dtype=torch.int32).to(tensor(1, seed=1).device),
    )

    (own,) = judged(lambda: _scaled_by_a_count[(9,)](x, counts, torch.zeros_like(x), 1)).outputs
    (first,) = judged(lambda: _scaled_by_a_count[(9,)](x, counts, torch.zeros_like(x), 0)).outputs

    assert own.verdict == "proven"
    assert first.verdict != "proven"
    assert any("all rows of counts" in why.what for why in first.reasons)


@triton.jit
def _summed_in_blocks(x, out, M, BLOCK: tl.constexpr):
    row, total = tl.program_id(0), 0.0
    for first in range(0, 256, BLOCK):
        total += tl.sum(tl.load(x + row * 256 + first + tl.arange(0, BLOCK)))
    tl.store(out + row, total)


def test_third_batch_size_with_another_tree_is_found(judged: Judged) -> None:
    def launch() -> None:
        for rows, block in ((2, 64), (4, 64), (8, 32)):
            x = tensor(rows, 256, seed=rows)
            _summed_in_blocks[(rows,)](x, torch.zeros_like(x[:, 0]), rows, block)

    (output,) = judged(launch).outputs

    assert output.verdict == "violation"
