"""Clocks of a job's hosts, compared by the ends of collectives that all ranks ran.

Ranks on one host share a clock; hosts do not. An AllReduce, AllGather or ReduceScatter needs data
of every rank, and so ends on all ranks at about the same time: the difference between its ends on
two hosts estimates by how much one clock is behind the other. Clocks also drift, by up to 50 µs a
second, and are set. So the differences, in the order of time, are cut into pieces, whose medians
are joined by lines: one late end moves nothing. The lines go no further than the collectives; times
outside of them are shifted as their nearest. The error is what 95 % of the differences keep within.

Example: ends on the second host are behind by 100.2, 100.3 and 104.4 µs, then by 120.1, 120.4 and
120.2 µs: its times are shifted by 100.3 µs, later by 120.2 µs, and in between by what a line says.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from kvtrace.figures.collective_kernels import (
    SYNCHRONIZING,
    Key,
    common_places,
    has_communicators,
    kernels_by_key,
    rank_executions,
)
from kvtrace.figures.columns import Integers
from kvtrace.schema.collective_names import operation_of_kernel
from kvtrace.schema.runs import Run
from kvtrace.schema.trace import Trace

#: Least number of common collectives, and largest error, in ns.
_FEWEST_COLLECTIVES: Final = 5
_LARGEST_ERROR_NS: Final = 1_000_000
#: Fewest collectives of a piece, most pieces, and share of differences within the error.
_PIECE: Final = 8
_MOST_PIECES: Final = 64
_WITHIN: Final = 0.95


class Clock(Struct, frozen=True, eq=False):
    """A host's clock beside the reference host's.

    Attributes:
        host: The host.
        reference: The reference host.
        at: Times on the host's clock, in ns, which increase.
        behind: By how much it is behind at each of them, in ns.
        error_ns: What nineteen in twenty of the differences of single collectives keep within.
        collectives: Number of collectives.

    """

    host: str
    reference: str
    at: Integers
    behind: npt.NDArray[np.float64]
    error_ns: int
    collectives: int

    def shifted(self, times: Integers) -> Integers:
        """Return times of the host, in ns, on the reference host's clock."""
        # Times since 1970 have more digits than a float.
        since = (times - self.at[0]).astype(np.float64)
        behind = np.interp(since, self.at - self.at[0], self.behind)
        moved: Integers = times + np.rint(behind).astype(np.int64)
        return moved

    @property
    def ns(self) -> int:
        """Median of what is added to the host's times, in ns."""
        return round(float(np.median(self.behind)))

    def sentence(self) -> str:
        """Return a sentence with the hosts, by how much the times are shifted, and the error."""
        low, high = round(float(self.behind.min())), round(float(self.behind.max()))
        by = f"{low:+,}" if low == high else f"{low:+,} to {high:+,}"
        return (
            f"the times of {self.host} are shifted by {by} ns to the clock of {self.reference}: "
            f"derived from {self.collectives:,} collectives that end together (95 % within "
            f"{self.error_ns:,} ns)"
        )


def host_clocks(trace: Trace, runs: Sequence[Run]) -> dict[str, Clock]:
    """Return clocks by run id, for runs on other hosts than their job's lowest rank.

    Runs on hosts with too few common collectives, or differences that disagree, have none.
    """
    jobs: dict[str, dict[str, list[Run]]] = {}
    for run in sorted(runs, key=lambda run: (run.rank or 0, run.run_id)):
        if run.host is not None and run.rank is not None and run.group_id is not None:
            jobs.setdefault(run.group_id, {}).setdefault(run.host, []).append(run)
    by_run: dict[str, Clock] = {}
    for hosts in jobs.values():
        clocks = _clocks_of_job(trace, hosts) if len(hosts) > 1 else {}
        by_run |= {run.run_id: clocks[host] for host in clocks for run in hosts[host]}
    return by_run


def _clocks_of_job(trace: Trace, hosts: dict[str, list[Run]]) -> dict[str, Clock]:
    """Return the clock of each host except the first; `hosts` has a job's runs by host."""
    reference, *others = hosts
    of_job = [run for runs in hosts.values() for run in runs]
    is_numbered = all(has_communicators(trace, run) for run in of_job)
    ends = _collective_ends(trace, hosts[reference][0], is_numbered)
    clocks = {}
    for host in others:
        pairs = [
            _common_ends(ends, _collective_ends(trace, run, is_numbered)) for run in hosts[host]
        ]
        clock = _clock(host, reference, *map(np.concatenate, zip(*pairs, strict=True)))
        if clock is not None:
            clocks[host] = clock
    return clocks


_Ends = dict[tuple[Key, str], tuple[Integers, Integers]]


def _collective_ends(trace: Trace, run: Run, is_numbered: bool) -> _Ends:
    """Return numbers and ends (ns) of a run's collectives that end together, by key and name."""
    ends: _Ends = {}
    executions = rank_executions(trace, run)
    for key, kernels in kernels_by_key(trace, run, executions, numbered_ones=is_numbered):
        for code, name in enumerate(kernels.names):
            here = kernels.name == code
            if operation_of_kernel(name) in SYNCHRONIZING and here.any():
                ends[key, name] = kernels.number[here], kernels.end[here]
    return ends


def _common_ends(reference: _Ends, other: _Ends) -> tuple[Integers, Integers]:
    """Return the ends of common collectives of two runs, of the reference run and the other.

    Those that are counted by their streams are common only if both ran equally many.
    """
    nothing = np.zeros(0, np.int64)
    ends = [(nothing, nothing)]
    for key in (key for key in reference if key in other):
        (numbers, first), (other_numbers, second) = reference[key], other[key]
        if isinstance(key[0], int) and len(first) != len(second):
            continue
        own, others = common_places(numbers, other_numbers)
        ends.append((first[own], second[others]))
    first, second = map(np.concatenate, zip(*ends, strict=True))
    return first, second


def _clock(host: str, reference: str, ends: Integers, own_ends: Integers) -> Clock | None:
    number = ends.size
    if number < _FEWEST_COLLECTIVES:
        return None
    order = np.argsort(own_ends, kind="stable")
    at, behind = own_ends[order], (ends - own_ends)[order]
    pieces = np.array_split(np.arange(number), min(max(number // _PIECE, 1), _MOST_PIECES))
    middles = np.array([int(np.median(at[piece] - at[0])) for piece in pieces])
    medians = np.array([float(np.median(behind[piece])) for piece in pieces])
    if middles.size > 1:  # the outer lines reach to the first and last collective
        slopes = np.diff(medians) / np.maximum(np.diff(middles), 1)
        span = int(at[-1] - at[0])
        medians = np.concatenate(
            [
                [medians[0] - slopes[0] * middles[0]],
                medians,
                [medians[-1] + slopes[-1] * (span - middles[-1])],
            ]
        )
        middles = np.concatenate([[0], middles, [span]])
    clock = Clock(host, reference, at[0] + middles, medians, 0, number)
    error = float(np.quantile(np.abs(clock.shifted(at) - ends[order]), _WITHIN))
    if error > _LARGEST_ERROR_NS:
        return None
    return Clock(host, reference, clock.at, medians, round(error), number)
