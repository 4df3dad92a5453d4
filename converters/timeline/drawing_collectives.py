"""Collectives of a rank on its timeline: arrival and transfer apart, linked over the ranks."""

from hashlib import blake2b

import numpy as np

from kvtrace.converters.timeline.captions import Caption
from kvtrace.converters.timeline.timeline import Integers, Slices, Track
from kvtrace.figures.collectives import Collectives
from kvtrace.schema.collective_names import operation_of_kernel
from kvtrace.schema.runs import Run


def collective_slices(
    collectives: Collectives, run: Run, track: Track, records: Integers
) -> list[Slices]:
    """Return slices of a rank's waiting for the last rank, and of transfers.

    A flow links the transfers of a collective over its ranks. Collectives that are not matched, and
    executions whose `record` is not among the sorted `records`, are left out.
    """
    ran = collectives.of_rank(run)
    is_drawn = (ran.matched >= 0) & (ran.last >= 0) & np.isin(ran.record, records)
    start, transfer, end, last, name, matched = (
        column[is_drawn]
        for column in (ran.start, ran.transfer, ran.end, ran.last, ran.name, ran.matched)
    )
    waits = transfer > start
    ranks = [Caption(f"waiting for rank {other.rank}") for other in collectives.runs]
    moving = [Caption(operation_of_kernel(text), (("kernel", text),)) for text in ran.names]
    digest = blake2b(f"collectives of {run.group_id}".encode(), digest_size=8).digest()
    flow = matched.astype(np.uint64) + np.uint64(int.from_bytes(digest, "little"))
    slices = Slices(
        track,
        "collective",
        np.concatenate([start[waits], transfer]),
        np.concatenate([(transfer - start)[waits], end - transfer]),
        np.concatenate([last[waits], len(ranks) + name]),
        [*ranks, *moving],
        flow=np.concatenate([np.zeros(int(waits.sum()), np.uint64), np.maximum(flow, 1)]),
    )
    return slices.on_lanes() if slices.begin.size else []
