"""Requests of executions: which call of the device's API asked for each, by the tool's id.

Ids need not be unique: files of several ranks are merged, tools write 0 for all, and counters start
again. Where several requests have an execution's id, only the nearest before it counts, of the same
process and thread, and only if no other execution has the same: two kernels of one id, asked for at
10 and 20 µs, that begin at 30 and 40 µs have the same nearest request, so neither is certain.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from kvtrace.converters.importers.rows import NONE, Integers
from kvtrace.figures.causes import RequestRows

#: Columns of requests; `thread` numbers a thread of a process.
REQUESTS: Final = ("correlation", "process", "begin", "end", "thread")


@dataclass(frozen=True, slots=True)
class Joined:
    """The row of each execution's request, or -1, and how many ids were not unique.

    Attributes:
        rows: Index in the requests of each execution's, or -1.
        nearest: Number of executions that have the nearest of several requests.
        uncertain: Number of executions of several requests that have none.

    """

    rows: Integers
    nearest: int
    uncertain: int

    def note(self) -> str | None:
        """Return a sentence on ids that are not unique; None if all are."""
        if not self.nearest + self.uncertain:
            return None
        text = f"ids of {self.nearest + self.uncertain:,} executions are not unique: "
        if self.nearest:
            text += f"{self.nearest:,} are taken for the nearest request before them"
        if self.uncertain:
            text += "; " if self.nearest else ""
            text += (
                f"of {self.uncertain:,} no request is certain, so their stacks, their launches and "
                "the causes of gaps before them are unknown"
            )
        return text


def joined_requests(requests: Mapping[str, Integers], executions: Mapping[str, Integers]) -> Joined:
    """Return the request of each execution.

    Args:
        requests: Columns `REQUESTS`.
        executions: Columns `correlation_id`, `start`, `device`, `graph_id` and `graph_node_id`.

    """
    order = _outermost(requests)
    ids, counts = np.unique(requests["correlation"][order], return_counts=True)
    wanted = executions["correlation_id"]
    rows = RequestRows(requests["correlation"][order]).of(wanted)
    rows[wanted == NONE] = -1
    is_shared = np.isin(wanted, ids[counts > 1])
    if not is_shared.any():
        return Joined(_in_file(order, rows), 0, 0)
    process_of_device = _processes_of_devices(
        requests["process"][order], rows, is_shared, executions
    )
    shared = np.flatnonzero(is_shared)
    rows[shared] = -1
    by_id = np.lexsort((requests["begin"][order], requests["correlation"][order]))
    columns = {name: requests[name][order][by_id] for name in REQUESTS}
    first = np.searchsorted(columns["correlation"], wanted[shared])
    last = np.searchsorted(columns["correlation"], wanted[shared], "right")
    for row, low, high in zip(shared.tolist(), first.tolist(), last.tolist(), strict=True):
        owner = process_of_device.get(int(executions["device"][row]), NONE)
        place = _nearest(columns, low, high, int(executions["start"][row]), owner)
        if place >= 0:
            rows[row] = by_id[place]
    _forget_doubles(rows, shared, executions)
    uncertain = int((rows[shared] < 0).sum())
    return Joined(_in_file(order, rows), shared.size - uncertain, uncertain)


def _in_file(order: Integers, rows: Integers) -> Integers:
    return np.where(rows < 0, -1, order[np.maximum(rows, 0)]) if order.size else rows


def _outermost(requests: Mapping[str, Integers]) -> Integers:
    """Return the rows of requests by begin, without calls inside of another of their id."""
    begin, end = requests["begin"], requests["end"]
    order = np.lexsort((-end, begin, requests["process"], requests["correlation"]))
    correlation, process = requests["correlation"][order], requests["process"][order]
    is_same = np.append(False, (np.diff(correlation) == 0) & (np.diff(process) == 0))
    is_inner = np.zeros(order.size, bool)
    latest_end = NONE
    for place in np.flatnonzero(is_same).tolist():
        row = int(order[place])
        if not is_same[place - 1]:
            latest_end = int(end[order[place - 1]])
        is_inner[place] = end[row] <= latest_end
        latest_end = max(latest_end, int(end[row]))
    rows = order[~is_inner]
    return np.asarray(rows[np.argsort(begin[rows], kind="stable")])


def _processes_of_devices(
    processes: Integers,
    rows: Integers,
    is_shared: npt.NDArray[np.bool_],
    executions: Mapping[str, Integers],
) -> dict[int, int]:
    """Return the process of each device that unique ids join with the requests of only one."""
    certain = (rows >= 0) & ~is_shared
    pairs = np.unique(
        np.stack([executions["device"][certain], processes[rows[certain]]], 1), axis=0
    ).tolist()
    devices = [device for device, _ in pairs]
    return {device: process for device, process in pairs if devices.count(device) == 1}


def _nearest(
    requests: Mapping[str, Integers], low: int, high: int, start: int, process: int
) -> int:
    """Return the last row from `low` to `high` that began by `start`, or -1 if it is not certain.

    Those rows are of one id, in the order of their begins; `process`: that of the execution, NONE
    if it is not known.
    """
    owners, threads = requests["process"][low:high], requests["thread"][low:high]
    if process != NONE:
        candidates = low + np.flatnonzero(owners == process)
    elif (owners == owners[0]).all():
        candidates = np.arange(low, high)
    else:
        return -1
    threads = requests["thread"][candidates]
    if not candidates.size or (threads != threads[0]).any():
        return -1
    before = int(np.searchsorted(requests["begin"][candidates], start, "right")) - 1
    return -1 if before < 0 else int(candidates[before])


def _forget_doubles(rows: Integers, shared: Integers, executions: Mapping[str, Integers]) -> None:
    """Set the rows of executions to -1 where another one has the same, and no graph has both."""
    alone = shared[
        (executions["graph_id"][shared] == NONE) & (executions["graph_node_id"][shared] == NONE)
    ]
    chosen = rows[alone]
    values, counts = np.unique(chosen[chosen >= 0], return_counts=True)
    rows[alone[np.isin(chosen, values[counts > 1])]] = -1
