"""Whether a kernel became slower: medians of its launches, and what chance allows them to differ.

Launches are compared with launches that have the same arguments. The interval of the ratio of both
medians is that of a bootstrap: of single launches, and of the medians of stretches of a run (and of
runs), since launches that follow each other are alike and processes are not; the wider one counts.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
import numpy.typing as npt

from kvtrace.converters.diff.model import KernelTime, TimeComparison

if TYPE_CHECKING:
    from kvtrace.schema.runs import Run

Kind = Literal["device", "host"]
Whole = npt.NDArray[np.int64]
Real = npt.NDArray[np.float64]

#: A change beyond this is claimed, where nothing else is asked for.
THRESHOLD: Final = 0.05
#: Host times of one process on each side: processes differ by as much in the speed of their core
#: and the layout of their memory, which one of them cannot show.
_HOST_THRESHOLD: Final = 0.25
#: Fewer launches than this on a side are all on one side of the other's by chance.
_LEAST: Final = 5
NO_DEVICE: Final = "there was no device, so that launches are evaluations"
_DRAWS: Final = 2_000
_SEED: Final = 20_260_102
#: The share of the bootstrap that an interval leaves out at each end.
_TAIL: Final = 0.005
_STRETCHES: Final = 12
_LEAST_STRETCH: Final = 4
#: Of so many medians each is drawn by itself, which takes time that goes with their number.
_DRAWN_SINGLY: Final = 64


@dataclass(frozen=True, slots=True)
class Samples:
    """Times of launches in their order, all or an even choice of them.

    `work` says which had the same arguments, `run` which process. Of each of `works`, so many
    launches there were are `launched`.
    """

    variant: Whole
    work: Whole
    run: Whole
    ns: Whole
    works: Whole
    launched: Whole

    @property
    def launches(self) -> int:
        """How many launches these times represent."""
        return int(self.launched.sum())

    def of_works(self, works: Whole) -> "Samples":
        """Return those with some arguments."""
        chosen, told = np.isin(self.work, works), np.isin(self.works, works)
        return Samples(
            self.variant[chosen],
            self.work[chosen],
            self.run[chosen],
            self.ns[chosen],
            self.works[told],
            self.launched[told],
        )


@dataclass(frozen=True, slots=True)
class Places:
    """Unique calls of a run by their id, sorted: the variant that each launches, and its work.

    `place` is the number of each among those of all runs of its side.
    """

    call: Whole
    variant: Whole
    work: Whole
    place: Whole


def compare_times(
    kind: Kind, before: Samples, after: Samples, *, threshold: float, why_not: str | None
) -> TimeComparison | None:
    """Compare a kernel's times on both sides; None where a side has none.

    `why_not` is the reason why they cannot be compared, where there is one.
    """
    if not before.launches or not after.launches:
        return None
    medians = float(np.median(before.ns)), float(np.median(after.ns))
    launches = before.launches, after.launches
    if why_not is not None:
        return TimeComparison(kind, *medians, launches, reason=why_not)
    a, b = _same_work(before, after)
    if not a.ns.size:
        return TimeComparison(kind, *medians, launches, reason="no launch has the same arguments")
    medians, launches = (float(np.median(a.ns)), float(np.median(b.ns))), (a.launches, b.launches)
    if min(a.ns.size, b.ns.size) < _LEAST or medians[0] <= 0 or medians[1] <= 0:
        return TimeComparison(kind, *medians, launches, reason="too few launches")
    ratio = medians[1] / medians[0]
    low, high = _interval(a, b)
    alone = _single(a, b)
    least = max(threshold, _HOST_THRESHOLD) if kind == "host" and alone else threshold
    claimed = (low > 1 or high < 1) and abs(ratio - 1) >= least
    return TimeComparison(kind, *medians, launches, ratio, (low, high), claimed, alone=alone)


def shared_by_all(times: Sequence[KernelTime]) -> float | None:
    """Return the ratio of host times that one process a side has in all of its kernels.

    The one nearest to 1 of at least two kernels; None where there are fewer.
    """
    ratios = [one.ratio for time in times for one in time.compared if _of_one_process(one)]
    known = [ratio for ratio in ratios if ratio]
    return min(known, key=lambda ratio: abs(math.log(ratio))) if len(known) > 1 else None


def beyond(times: Sequence[KernelTime], shared: float) -> list[KernelTime]:
    """Claim of host times of one process a side only what goes beyond what all kernels share."""

    def judged(one: TimeComparison) -> TimeComparison:
        if not _of_one_process(one) or not one.ratio:
            return one
        claimed = one.claimed and abs(one.ratio / shared - 1) >= _HOST_THRESHOLD
        return replace(one, claimed=claimed)

    return [replace(time, compared=tuple(map(judged, time.compared))) for time in times]


def _of_one_process(one: TimeComparison) -> bool:
    return one.kind == "host" and one.alone


def _single(a: Samples, b: Samples) -> bool:
    return all(int(side.run.min()) == int(side.run.max()) for side in (a, b))


def _same_work(before: Samples, after: Samples) -> tuple[Samples, Samples]:
    """Return the launches with the same arguments on both sides.

    Where those with some arguments are launched more often than on the other side, a median over
    all would tell of that: then the arguments with most launches are taken alone.
    """
    common, i, j = np.intersect1d(before.works, after.works, return_indices=True)
    first, second = before.launched[i], after.launched[j]
    if np.any(first * second.sum() != second * first.sum()):
        common = common[[np.argmax(np.minimum(first, second))]]
    return before.of_works(common), after.of_works(common)


def _interval(a: Samples, b: Samples) -> tuple[float, float]:
    """Return the interval of AFTER's median by BEFORE's: the wider of both bootstraps'."""
    random = np.random.default_rng(_SEED)
    ratios = [_medians(b.ns, random) / _medians(a.ns, random)]
    stretches = [_stretches(side) for side in (a, b)]
    if all(len(each) >= _LEAST_STRETCH for each in stretches):
        drawn = [_resampled(each, random) for each in stretches]
        ratios.append(drawn[1] / drawn[0])
    ends = [np.quantile(each, (_TAIL, 1 - _TAIL)) for each in ratios]
    return float(min(low for low, _ in ends)), float(max(high for _, high in ends))


def _medians(ns: Whole, random: np.random.Generator) -> Real:
    """Draw medians of resampled launches, each at once.

    The k-th smallest of n launches drawn with replacement is the launch at rank n·u, where u is the
    k-th smallest of n uniform numbers, which has a Beta distribution.
    """
    ordered = np.sort(ns)
    n = len(ordered)
    middle = (n + 1) // 2
    u = random.beta(middle, n + 1 - middle, _DRAWS)
    return np.asarray(ordered[np.minimum((u * n).astype(np.int64), n - 1)], np.float64)


def _stretches(side: Samples) -> Real:
    """Return the medians of stretches of launches that follow each other in a run."""
    order = np.argsort(side.run, kind="stable")
    _, counts = np.unique(side.run, return_counts=True)
    parts = [(n, min(_STRETCHES, max(1, n // _LEAST))) for n in counts.tolist()]
    sizes = np.concatenate([n // many + (np.arange(many) < n % many) for n, many in parts])
    ns = side.ns[order].astype(np.float64)
    ns = ns[np.lexsort((ns, np.repeat(np.arange(sizes.size), sizes)))]
    first = np.cumsum(sizes) - sizes
    return np.asarray((ns[first + (sizes - 1) // 2] + ns[first + sizes // 2]) / 2)


def _resampled(medians: Real, random: np.random.Generator) -> Real:
    """Draw medians of as many of these, with replacement; of many as in `_medians`."""
    n = len(medians)
    if n <= _DRAWN_SINGLY:
        drawn = random.integers(0, n, (_DRAWS, n))
        return np.asarray(np.median(medians[drawn], axis=1))
    ordered, middle = np.sort(medians), (n + 1) // 2
    low = random.beta(middle, n + 1 - middle, _DRAWS)
    # Of an even number two are in the middle: the next one is the least of those above the first.
    high = low if n % 2 else low + (1 - low) * random.beta(1, n - middle, _DRAWS)
    at = (np.minimum((each * n).astype(np.int64), n - 1) for each in (low, high))
    return np.asarray(sum(ordered[each] for each in at) / 2)


def why_not_comparable(kind: Kind, before: Sequence["Run"], after: Sequence["Run"]) -> str | None:
    """Say why times of both sides cannot be compared; None where they can."""
    models = [
        {str(device.get("name")) for run in side for device in run.devices}
        for side in (before, after)
    ]
    if models[0] != models[1]:
        names = [", ".join(sorted(each)) or "no device" for each in models]
        return f"measured on {names[0]} and on {names[1]}"
    if kind == "host" and not models[0]:
        return NO_DEVICE
    hosts = [{run.host for run in side} for side in (before, after)]
    if kind == "host" and hosts[0] != hosts[1]:
        return "measured on two hosts"
    return None
