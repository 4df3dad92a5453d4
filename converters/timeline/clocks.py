"""How far apart the clocks of a job's hosts are, from the collectives that its ranks ran together.

Ranks on one host share a clock. Those of several hosts do not, and nothing recorded says how far
theirs are apart; but a collective that needs every rank's data ends on all of them at about the
same moment. So the k-th collective of a name on one rank is compared with the k-th on another, and
the median of their distances is used as the distance of the clocks. This is derived, not
measured: it is off by what the network needs, and there is no result if the distances disagree.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from kvtrace.figures.columns import Integers, integers
from kvtrace.schema.runs import Run
from kvtrace.schema.trace import Trace

#: Collectives that end nowhere before all ranks have begun, by what NCCL and RCCL call them.
_TOGETHER: Final = re.compile(
    r"[nr]ccl.*(all_?reduce|all_?gather|reduce_?scatter|all_?to_?all)", re.IGNORECASE
)
#: At least so many collectives, whose distances' middle half lies this close, in ns.
_FEWEST: Final = 5
_WIDEST: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Offset:
    """What is to be added to the times of a host to have them on the first host's clock.

    `spread_ns` is the width of the middle half of the single distances.
    """

    host: str
    reference: str
    ns: int
    spread_ns: int
    collectives: int

    def sentence(self) -> str:
        """Say what was moved, by how much, and how sure that is."""
        return (
            f"the times of {self.host} are moved by {self.ns:+,} ns onto the clock of "
            f"{self.reference}: derived from {self.collectives:,} collectives that end together "
            f"(middle half within {self.spread_ns:,} ns)"
        )


def clock_offsets(trace: Trace, runs: Sequence[Run]) -> dict[str, Offset]:
    """Return the offset of each run that needs one and has one, by its id.

    The reference is the host of a job's lowest rank. Hosts without common collectives, or whose
    distances do not agree, have none: their times stay as they are.
    """
    jobs: dict[str, dict[str, list[Run]]] = {}
    for run in sorted(runs, key=lambda run: (run.rank or 0, run.run_id)):
        if run.host is not None and run.rank is not None and run.group_id is not None:
            jobs.setdefault(run.group_id, {}).setdefault(run.host, []).append(run)
    found: dict[str, Offset] = {}
    for hosts in jobs.values():
        offsets = _offsets_of_job(trace, hosts) if len(hosts) > 1 else {}
        found |= {run.run_id: offsets[host] for host in offsets for run in hosts[host]}
    return found


def _offsets_of_job(trace: Trace, hosts: dict[str, list[Run]]) -> dict[str, Offset]:
    """Return the offset of each host but the first; each comes with its runs, lowest rank first."""
    reference, *others = hosts
    ends = _collective_ends(trace, hosts[reference][0])
    found = {}
    for host in others:
        distances = [_distances(ends, _collective_ends(trace, run)) for run in hosts[host]]
        offset = _offset(host, reference, np.concatenate(distances))
        if offset is not None:
            found[host] = offset
    return found


def _collective_ends(trace: Trace, run: Run) -> dict[str, Integers]:
    """When each collective of the run ended, in order, by its name."""
    table = trace.table("gpu_kernels", [run], ["name", "end"])
    name = table["name"].combine_chunks()
    names = name.dictionary.to_pylist()
    codes = np.asarray(name.indices.fill_null(-1))
    ends = integers(table["end"])
    return {
        text: np.sort(ends[(codes == code) & (ends != 0)])
        for code, text in enumerate(names)
        if text is not None and _TOGETHER.search(text)
    }


def _distances(reference: dict[str, Integers], other: dict[str, Integers]) -> Integers:
    """Distances of collectives that both ran equally often; others could not be distinguished."""
    both = [
        reference[name] - other[name]
        for name in reference.keys() & other.keys()
        if len(reference[name]) == len(other[name])
    ]
    return np.concatenate(both) if both else np.empty(0, np.int64)


def _offset(host: str, reference: str, distances: Integers) -> Offset | None:
    if len(distances) < _FEWEST:
        return None
    low, middle, high = np.percentile(distances, (25, 50, 75)).tolist()
    if high - low > _WIDEST:
        return None
    return Offset(host, reference, round(middle), round(high - low), len(distances))
