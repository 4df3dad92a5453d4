"""Comparison of a kernel's times: medians over launches, and bootstrap intervals of their ratio.

Launches are compared with launches of the same arguments. The interval is the wider of two
bootstraps: over single launches, and over medians of blocks of a run (and of runs), since
consecutive launches are alike and processes are not.

Example: medians of 10.0 µs and 11.0 µs have the ratio 1.10; with an interval of 1.06 to 1.13, which
excludes 1, the kernel is reported as slower.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from kvtrace.converters.diff.model import KernelTime, TimeComparison
from kvtrace.figures.columns import narrow
from kvtrace.schema.runs import Run

Kind = Literal["device", "host"]
Whole = npt.NDArray[np.int64]
Real = npt.NDArray[np.float64]
#: Draws of medians of blocks: how often each is in each draw, or the ranks of the two middle ones.
_BlockDraws = Whole | tuple[Whole, Whole]

#: Least change that is reported by default.
THRESHOLD: Final = 0.05
#: Least change of host times of one process per side: processes of one program differ by that much
#: (speed of the core, layout of memory).
_HOST_THRESHOLD: Final = 0.25
#: Least launches per side: fewer may all be slower than the other side's by chance.
_LEAST_LAUNCHES: Final = 5
NO_DEVICE: Final = "launches were evaluated, without a device"
_DRAWS: Final = 2_000
_SEED: Final = 20_260_102
#: Share of the bootstrap's draws outside the interval, at each end.
_TAIL: Final = 0.005
_BLOCKS_PER_RUN: Final = 12
_LEAST_BLOCKS: Final = 4
#: Up to this many medians are resampled directly, which takes time proportional to their number.
_DRAWN_SINGLY: Final = 64


@dataclass(frozen=True, slots=True)
class Samples:
    """Times of launches in order: of all launches, or of an even selection.

    `work` is equal for launches with the same arguments, `run` for launches of one process.
    `launched` has the number of all launches for each entry of `works`.
    """

    work: Whole
    run: Whole
    ns: Whole
    works: Whole
    launched: Whole

    @property
    def launches(self) -> int:
        """The number of launches, including those that are not selected."""
        return int(self.launched.sum())

    def of_works(self, works: Whole) -> "Samples":
        """Return the samples whose `work` is one of `works`."""
        listed = np.isin(self.works, works)
        if listed.all():
            return self
        of_launches = self._selected(np.isin(self.work, works))
        return replace(of_launches, works=self.works[listed], launched=self.launched[listed])

    def evenly(self, counts: Whole) -> "Samples":
        """Return an even selection with so many samples of each of `works`."""
        index = np.searchsorted(self.works, self.work)
        by_work = np.argsort(index, kind="stable")
        present = np.bincount(index, minlength=self.works.size)
        wanted, available = (np.repeat(each, present) for each in (counts, present))
        # Two of five samples are those at which 2/5, 4/5, 6/5, 8/5, 10/5 reaches a whole number.
        position = _positions(present)
        is_chosen = (position + 1) * wanted // available > position * wanted // available
        return self._selected(np.sort(by_work[is_chosen]))

    def _selected(self, rows: npt.NDArray[np.generic]) -> "Samples":
        columns = {name: getattr(self, name)[rows] for name in ("work", "run", "ns")}
        return replace(self, **columns)


@dataclass(frozen=True, slots=True)
class RunCalls:
    """Unique calls of a run as columns, sorted by call id: variant, work and place of each.

    `place` is the call's number among the calls of all runs of a side.
    """

    call: Whole
    variant: Whole
    work: Whole
    place: Whole


def compare_times(
    kind: Kind, before: Samples, after: Samples, *, threshold: float, why_not: str | None
) -> TimeComparison | None:
    """Return the comparison of a kernel's times; None if a side has no times.

    A change is claimed if it is at least `threshold` (0.1 is 10 %) and its interval excludes 1.
    `why_not` is the reason if times cannot be compared; the result then has no ratio.
    """
    if not before.launches or not after.launches:
        return None
    a, b = _same_work(before, after) if why_not is None else (before, after)
    if why_not is not None or not a.ns.size:
        no_work = "too few launches" if a.launches else "no launch has the same arguments"
        medians = float(np.median(before.ns)), float(np.median(after.ns))
        launches = before.launches, after.launches
        return TimeComparison(kind, *medians, launches, reason=why_not or no_work)
    medians, launches = (float(np.median(a.ns)), float(np.median(b.ns))), (a.launches, b.launches)
    sampled = (a.ns.size, b.ns.size) if _are_sampled(a, b) else None
    if min(a.ns.size, b.ns.size) < _LEAST_LAUNCHES or medians[0] <= 0 or medians[1] <= 0:
        return TimeComparison(kind, *medians, launches, reason="too few launches", sampled=sampled)
    ratio = medians[1] / medians[0]
    low, high = _interval(before=a, after=b)
    alone = _are_single_processes(a, b)
    least_change = max(threshold, _HOST_THRESHOLD) if kind == "host" and alone else threshold
    claimed = (low > 1 or high < 1) and abs(ratio - 1) >= least_change
    return TimeComparison(
        kind, *medians, launches, ratio, (low, high), claimed, alone=alone, sampled=sampled
    )


def common_host_ratio(times: Sequence[KernelTime]) -> float | None:
    """Return the ratio of host times that all kernels share: the one nearest to 1.

    None unless at least two kernels of single processes have a ratio.
    """
    ratios = [
        comparison.ratio
        for time in times
        for comparison in time.compared
        if _of_one_process(comparison) and comparison.ratio
    ]
    return min(ratios, key=lambda ratio: abs(math.log(ratio))) if len(ratios) > 1 else None


def with_claims_beyond(times: Sequence[KernelTime], shared: float) -> list[KernelTime]:
    """Return the times, with claims on host times of single processes judged relative to `shared`.

    A claim stays if the kernel's ratio differs from `shared` by `_HOST_THRESHOLD`.
    """

    def judged(comparison: TimeComparison) -> TimeComparison:
        if not _of_one_process(comparison) or not comparison.ratio:
            return comparison
        claimed = comparison.claimed and abs(comparison.ratio / shared - 1) >= _HOST_THRESHOLD
        return replace(comparison, claimed=claimed)

    return [replace(time, compared=tuple(map(judged, time.compared))) for time in times]


def _of_one_process(comparison: TimeComparison) -> bool:
    return comparison.kind == "host" and comparison.alone


def _are_single_processes(a: Samples, b: Samples) -> bool:
    return all(int(side.run.min()) == int(side.run.max()) for side in (a, b))


def _are_sampled(a: Samples, b: Samples) -> bool:
    """Return whether the launches of a side are a sample that lacks some of them."""
    return any(side.ns.size < side.launches for side in (a, b))


def _same_work(before: Samples, after: Samples) -> tuple[Samples, Samples]:
    """Return the samples of both sides with arguments that occur on both.

    If the shares of these arguments differ between the sides, which would shift the medians, only
    samples with the most frequent arguments are returned. Chance shifts the shares in a sample;
    so as many launches of the same arguments are returned from both sides.
    """
    common_works, i, j = np.intersect1d(before.works, after.works, return_indices=True)
    launches_before, launches_after = before.launched[i], after.launched[j]
    if np.any(launches_before * launches_after.sum() != launches_after * launches_before.sum()):
        common_works = common_works[[np.argmax(np.minimum(launches_before, launches_after))]]
    a, b = before.of_works(common_works), after.of_works(common_works)
    if common_works.size < 2 or not _are_sampled(a, b):
        return a, b
    present = [
        np.bincount(np.searchsorted(side.works, side.work), minlength=side.works.size)
        for side in (a, b)
    ]
    counts = np.minimum(*present)
    return a.evenly(counts), b.evenly(counts)


def _interval(before: Samples, after: Samples) -> tuple[float, float]:
    """Return the interval of AFTER's median over BEFORE's: the wider one of two bootstraps."""
    blocks_before, blocks_after = _block_medians(before), _block_medians(after)
    sizes = len(blocks_before), len(blocks_after)
    has_blocks = min(sizes) >= _LEAST_BLOCKS
    ranks, block_draws = _drawn(before.ns.size, after.ns.size, sizes if has_blocks else None)
    medians_before, medians_after = np.sort(before.ns)[ranks[0]], np.sort(after.ns)[ranks[1]]
    ratios = [medians_after.astype(np.float64) / medians_before.astype(np.float64)]
    if block_draws is not None:
        of_before = _resampled_medians(blocks_before, block_draws[0])
        ratios.append(_resampled_medians(blocks_after, block_draws[1]) / of_before)
    low, high = np.quantile(np.stack(ratios), (_TAIL, 1 - _TAIL), axis=1)
    return float(low.min()), float(high.max())


@lru_cache(maxsize=32)
def _drawn(
    before: int, after: int, blocks: tuple[int, int] | None
) -> tuple[tuple[Whole, Whole], tuple[_BlockDraws, _BlockDraws] | None]:
    """Return the draws of launches, as ranks, and of blocks' medians, each for BEFORE and AFTER.

    All comparisons begin with the same seed, so that those of equally many launches share draws.
    """
    random = np.random.default_rng(_SEED)
    ranks_after = _drawn_launch_ranks(after, random)  # first: the order decides the numbers
    ranks = _drawn_launch_ranks(before, random), ranks_after
    if blocks is None:
        return ranks, None
    return ranks, (_drawn_block_ranks(blocks[0], random), _drawn_block_ranks(blocks[1], random))


def _drawn_launch_ranks(n: int, random: np.random.Generator) -> Whole:
    """Return the ranks of medians of resampled launches, each from a single draw.

    The k-th smallest of n launches drawn with replacement is the launch at rank n·u, where u is the
    k-th smallest of n uniform numbers, which has a Beta distribution.
    """
    middle = (n + 1) // 2
    u = random.beta(middle, n + 1 - middle, _DRAWS)
    return narrow(np.minimum((u * n).astype(np.int64), n - 1))


def _block_medians(side: Samples) -> Real:
    """Return the medians of blocks of consecutive launches, at most `_BLOCKS_PER_RUN` per run.

    The blocks of a run have the same size, or one launch more: 62 launches are 2 of 6 and 10 of 5.
    """
    launches = np.bincount(side.run)
    launches = launches[launches > 0]
    blocks = np.clip(launches // _LEAST_LAUNCHES, 1, _BLOCKS_PER_RUN)
    has_one_more = _positions(blocks) < np.repeat(launches % blocks, blocks)
    sizes = np.repeat(launches // blocks, blocks) + has_one_more
    # Sorted by block and time as one number, block · span + time: faster than by two columns.
    ns = side.ns[np.argsort(side.run, kind="stable")].astype(np.int64)
    span = int(ns.max(initial=0)) + 1
    ns = np.sort(np.repeat(np.arange(sizes.size), sizes) * span + ns) % span
    first = np.cumsum(sizes) - sizes
    return np.asarray((ns[first + (sizes - 1) // 2] + ns[first + sizes // 2]) / 2)


def _positions(sizes: Whole) -> Whole:
    """Return each item's position in its group, given the groups' sizes: [2, 3] → 0 1 0 1 2."""
    return np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def _drawn_block_ranks(n: int, random: np.random.Generator) -> _BlockDraws:
    """Return how often each of n medians is in each of `_DRAWS` samples, a row per median.

    For more than `_DRAWN_SINGLY` medians, return the ranks of the samples' two middle ones.
    """
    if n <= _DRAWN_SINGLY:
        drawn = random.integers(0, n, (_DRAWS, n)) * _DRAWS + np.arange(_DRAWS)[:, np.newaxis]
        return narrow(np.bincount(drawn.ravel(), minlength=n * _DRAWS).reshape(n, _DRAWS))
    middle = (n + 1) // 2
    low = random.beta(middle, n + 1 - middle, _DRAWS)
    # An even number has two in the middle; the upper is the least of those above the lower one.
    high = low if n % 2 else low + (1 - low) * random.beta(1, n - middle, _DRAWS)
    low_rank, high_rank = (np.minimum((u * n).astype(np.int64), n - 1) for u in (low, high))
    return narrow(low_rank), narrow(high_rank)


def _resampled_medians(medians: Real, drawn: _BlockDraws) -> Real:
    """Return the medians of resampled medians."""
    n, order = len(medians), np.argsort(medians)
    if isinstance(drawn, tuple):
        low, high = drawn
    else:  # the k-th smallest is the first up to which more than k were drawn
        upto = np.cumsum(drawn[order], axis=0, dtype=np.int16)
        low, high = ((upto <= middle).sum(axis=0) for middle in ((n - 1) // 2, n // 2))
    return np.asarray((medians[order[low]] + medians[order[high]]) / 2)


def why_not_comparable(kind: Kind, before: Sequence[Run], after: Sequence[Run]) -> str | None:
    """Return why times of both sides cannot be compared (other devices or hosts), or None."""
    models = [
        {str(device.get("name")) for run in side for device in run.devices}
        for side in (before, after)
    ]
    if models[0] != models[1]:
        names = [", ".join(sorted(names_of_side)) or "no device" for names_of_side in models]
        return f"measured on {names[0]} and on {names[1]}"
    if kind == "host" and not models[0]:
        return NO_DEVICE
    hosts = [{run.host for run in side} for side in (before, after)]
    if kind == "host" and hosts[0] != hosts[1]:
        return "measured on two hosts"
    return None
