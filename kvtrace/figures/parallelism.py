"""Pipelines of stages and experts on ranks: bubbles, and imbalance of compute between exchanges.

Ranks that send to each other are stages of one pipeline. A stage's bubble is the share of its steps
in which it waited for other stages: in a receive, or idle for another cause than launching, as the
gaps of microseconds between kernels are. With p stages and m micro-batches that take equally long
it is (p - 1) / (m + p - 1).

Experts compute between two exchanges among all ranks, dispatch and combine. What exchanges are for
is not recorded, so that every other interval between them may be meant: the less even ones count.

Example: two stages and 4 micro-batches have bubbles of 20 %. Of four ranks that compute for 4, 8, 4
and 4 ms between dispatch and combine the second has 1.6 times the mean.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kvtrace.figures.columns import Coverage, Integers, integers
from kvtrace.schema.collective_names import operation_of_kernel

if TYPE_CHECKING:
    from kvtrace.figures.collectives import RankCollectives
    from kvtrace.figures.rank_steps import RankSteps
    from kvtrace.schema.trace import Run, Trace


@dataclass(frozen=True, slots=True)
class Pipeline:
    """The pipeline of a job, or its largest.

    Attributes:
        stages: Number of ranks that send to each other.
        micro_batches: Sends to one rank in a step, the most of any pair (median).
        bubbles: Share of each stage's steps in which it waited for other stages, by rank.
        expected: The bubble of stages and micro-batches that take equally long.

    """

    stages: int
    micro_batches: int
    bubbles: dict[int, float]
    expected: float


@dataclass(frozen=True, slots=True)
class Experts:
    """Compute between exchanges among all ranks.

    Attributes:
        intervals: Number of intervals between dispatch and combine.
        imbalance: The most of a rank over the mean, of each interval (mean).
        rank: The rank that most often has the most.

    """

    intervals: int
    imbalance: float
    rank: int


def sends(trace: "Trace", run: "Run", ran: "RankCollectives", steps: Integers) -> dict[int, int]:
    """Return how often a rank sends to each other rank in a step (median); 0 if it receives alone.

    `steps` are the steps' bounds on the host. Errors as `Trace.table`.
    """
    if "SendRecv" not in map(operation_of_kernel, ran.names):
        return {}
    table = trace.table("collectives", [run], ["operation", "peer", "requested"])
    peer = integers(table["peer"], -1)
    step = np.searchsorted(steps, integers(table["requested"], 0))
    is_send = np.array([name == "Send" for name in table["operation"].to_pylist()], bool)
    numbers = {}
    for other in np.unique(peer[peer >= 0]).tolist():
        counts = np.bincount(step[(peer == other) & is_send], minlength=steps.size + 1)[1:-1]
        numbers[other] = int(np.median(counts[counts > 0])) if counts.any() else 0
    return numbers


def between_exchanges(work: Coverage, ran: "RankCollectives") -> Integers:
    """Return the compute between each matched exchange among all ranks and the next one, in ns."""
    order = np.flatnonzero(ran.is_exchange & (ran.matched >= 0))
    return work.of(ran.end[order[:-1]], np.maximum(ran.end[order[:-1]], ran.start[order[1:]]))


def pipeline_of(ranks: "Sequence[RankSteps]") -> Pipeline | None:
    """Return the largest pipeline of a job; None if no ranks send to each other."""
    by_rank = {steps.run.rank or 0: steps for steps in ranks if not steps.run.has_collectives_alone}
    stages: set[int] = set()
    for rank in by_rank:
        members, unseen = {rank}, [rank]
        while unseen:
            peers = by_rank[unseen.pop()].sends.keys() & by_rank.keys() - members
            members |= peers
            unseen += peers
        stages = max(stages, members, key=len)
    micro_batches = max((n for rank in stages for n in by_rank[rank].sends.values()), default=0)
    if len(stages) < 2 or not micro_batches:
        return None
    bubbles = {rank: _bubble(by_rank[rank]) for rank in sorted(stages)}
    expected = (len(stages) - 1) / (micro_batches + len(stages) - 1)
    return Pipeline(len(stages), micro_batches, bubbles, expected)


def _bubble(steps: "RankSteps") -> float:
    active = steps.part("compute", "transfer", "launch")
    return float(1 - np.median(active / np.maximum(steps.duration, 1)))


def experts_of(ranks: "Sequence[RankSteps]") -> Experts | None:
    """Return the imbalance between exchanges; None if ranks have none or other numbers of them."""
    whole = [steps for steps in ranks if not steps.run.has_collectives_alone]
    if len(whole) < 2 or len({steps.between.size for steps in whole}) > 1:
        return None
    between = np.stack([steps.between for steps in whole]).astype(np.float64)
    choices = [part for part in (between[:, ::2], between[:, 1::2]) if part.size and part.any()]
    if not choices:
        return None
    chosen = max(choices, key=lambda part: float(_imbalance(part)))
    most = np.bincount(chosen.argmax(axis=0)).argmax()
    return Experts(chosen.shape[1], _imbalance(chosen), whole[int(most)].run.rank or 0)


def _imbalance(part: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]") -> float:
    mean = part.mean(axis=0)
    return float((part.max(axis=0)[mean > 0] / mean[mean > 0]).mean())
