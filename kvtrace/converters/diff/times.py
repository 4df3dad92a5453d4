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


@dataclass(frozen=True, slots=True)
class Samples:
    """Times of launches: `work` says which had the same arguments, `run` which process.

    `at` is the place of each in the order of launches.
    """

    variant: Whole
    work: Whole
    run: Whole
    ns: Whole
    at: Whole

    def chosen(self, which: Whole | npt.NDArray[np.bool_]) -> "Samples":
        """Return some, by a mask or by their places."""
        columns = (self.variant, self.work, self.run, self.ns, self.at)
        return Samples(*(column[which] for column in columns))


@dataclass(frozen=True, slots=True)
class Places:
    """Distinct calls of a run by their id, sorted: the variant that each launches, and its work.

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
    if not before.ns.size or not after.ns.size:
        return None
    medians = float(np.median(before.ns)), float(np.median(after.ns))
    launches = before.ns.size, after.ns.size
    if why_not is not None:
        return TimeComparison(kind, *medians, launches, reason=why_not)
    a, b = _same_work(before, after)
    if not a.ns.size:
        return TimeComparison(kind, *medians, launches, reason="no launch has the same arguments")
    medians, launches = (float(np.median(a.ns)), float(np.median(b.ns))), (a.ns.size, b.ns.size)
    if min(launches) < _LEAST or medians[0] <= 0 or medians[1] <= 0:
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


def places_at(known: Places, call: Whole) -> tuple[Whole, npt.NDArray[np.bool_]]:
    """Return where each call is among the known ones, and whether it is there at all."""
    if not known.call.size:
        return np.zeros(len(call), np.int64), np.zeros(len(call), np.bool_)
    highest = int(known.call[-1])
    if int(known.call[0]) >= 0 and highest < 4 * known.call.size + 1_000:  # ids are dense
        table = np.full(highest + 2, -1)
        table[known.call] = np.arange(known.call.size)
        at = table[np.where((call < 0) | (call > highest), highest + 1, call)]
        return np.maximum(at, 0), at >= 0
    at = np.minimum(np.searchsorted(known.call, call), known.call.size - 1)
    return at, known.call[at] == call


def _same_work(before: Samples, after: Samples) -> tuple[Samples, Samples]:
    """Return the launches with the same arguments on both sides.

    Where those with some arguments are launched more often than on the other side, a median over
    all would tell of that: then the arguments with most launches are taken alone.
    """
    works, counts = np.unique(before.work, return_counts=True)
    others, more = np.unique(after.work, return_counts=True)
    common, i, j = np.intersect1d(works, others, return_indices=True)
    if not common.size:
        nothing = np.zeros(len(before.ns), np.bool_)
        return before.chosen(nothing), after.chosen(np.zeros(len(after.ns), np.bool_))
    first, second = counts[i], more[j]
    if np.any(first * second.sum() != second * first.sum()):
        common = common[[np.argmax(np.minimum(first, second))]]
    return before.chosen(np.isin(before.work, common)), after.chosen(np.isin(after.work, common))


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
    found = []
    for run in np.unique(side.run):
        ns = side.ns[side.run == run]
        pieces = min(_STRETCHES, max(1, len(ns) // _LEAST))
        found += [float(np.median(piece)) for piece in np.array_split(ns, pieces)]
    return np.array(found)


def _resampled(medians: Real, random: np.random.Generator) -> Real:
    drawn = random.integers(0, len(medians), (_DRAWS, len(medians)))
    return np.asarray(np.median(medians[drawn], axis=1))


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
