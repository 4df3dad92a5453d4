"""Clock offsets between the hosts of a job, derived from collectives that all ranks ran.

Ranks on one host share a clock; hosts do not. A collective that needs data of every rank ends on
all ranks at about the same time, so the difference between the ends of the k-th collective of a
name on two hosts estimates the offset of their clocks. The offset is the median of the differences:
for 100.2, 100.3 and 100.4 ms, the second host's times are shifted by 100.3 ms. Its error is the
network's latency; if the differences disagree, times are not shifted.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from kvtrace.figures.columns import Integers, integers
from kvtrace.schema.runs import Run
from kvtrace.schema.trace import Trace

#: NCCL's and RCCL's names of collectives that cannot end before all ranks have begun them.
_SYNCHRONIZING: Final = re.compile(
    r"[nr]ccl.*(all_?reduce|all_?gather|reduce_?scatter|all_?to_?all)", re.IGNORECASE
)
#: Least number of common collectives, and largest spread of their differences, in ns.
_FEWEST_COLLECTIVES: Final = 5
_LARGEST_SPREAD_NS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Offset:
    """Nanoseconds to add to a host's times to put them on the reference host's clock.

    `spread_ns` is the interquartile range of the differences between single collectives.
    """

    host: str
    reference: str
    ns: int
    spread_ns: int
    collectives: int

    def sentence(self) -> str:
        """Return a sentence with the hosts, the offset and its spread."""
        return (
            f"the times of {self.host} are shifted by {self.ns:+,} ns to the clock of "
            f"{self.reference}: derived from {self.collectives:,} collectives that end together "
            f"(interquartile range {self.spread_ns:,} ns)"
        )


def clock_offsets(trace: Trace, runs: Sequence[Run]) -> dict[str, Offset]:
    """Return clock offsets by run id, for runs on other hosts than their job's lowest rank.

    Runs on hosts with too few common collectives, or differences that disagree, have none.
    """
    jobs: dict[str, dict[str, list[Run]]] = {}
    for run in sorted(runs, key=lambda run: (run.rank or 0, run.run_id)):
        if run.host is not None and run.rank is not None and run.group_id is not None:
            jobs.setdefault(run.group_id, {}).setdefault(run.host, []).append(run)
    by_run: dict[str, Offset] = {}
    for hosts in jobs.values():
        offsets = _offsets_of_job(trace, hosts) if len(hosts) > 1 else {}
        by_run |= {run.run_id: offsets[host] for host in offsets for run in hosts[host]}
    return by_run


def _offsets_of_job(trace: Trace, hosts: dict[str, list[Run]]) -> dict[str, Offset]:
    """Return the offset of each host except the first; `hosts` has a job's runs by host."""
    reference, *others = hosts
    ends = _collective_ends(trace, hosts[reference][0])
    offsets = {}
    for host in others:
        differences = [_differences(ends, _collective_ends(trace, run)) for run in hosts[host]]
        offset = _offset(host, reference, np.concatenate(differences))
        if offset is not None:
            offsets[host] = offset
    return offsets


def _collective_ends(trace: Trace, run: Run) -> dict[str, Integers]:
    """Return the sorted ends (ns) of a run's collectives, by name."""
    table = trace.table("gpu_kernels", [run], ["name", "end"])
    name = table["name"].combine_chunks()
    names = name.dictionary.to_pylist()
    codes = np.asarray(name.indices.fill_null(-1))
    ends = integers(table["end"])
    return {
        text: np.sort(ends[(codes == code) & (ends != 0)])
        for code, text in enumerate(names)
        if text is not None and _SYNCHRONIZING.search(text)
    }


def _differences(reference: dict[str, Integers], other: dict[str, Integers]) -> Integers:
    """Return the differences, in ns, of the ends of collectives that both ran equally often."""
    differences_by_name = [
        reference[name] - other[name]
        for name in reference.keys() & other.keys()
        if len(reference[name]) == len(other[name])
    ]
    return np.concatenate(differences_by_name) if differences_by_name else np.empty(0, np.int64)


def _offset(host: str, reference: str, differences: Integers) -> Offset | None:
    if len(differences) < _FEWEST_COLLECTIVES:
        return None
    low, middle, high = np.percentile(differences, (25, 50, 75)).tolist()
    if high - low > _LARGEST_SPREAD_NS:
        return None
    return Offset(host, reference, round(middle), round(high - low), len(differences))
