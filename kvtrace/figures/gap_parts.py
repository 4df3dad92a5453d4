"""Causes of device idle time: the gaps between executions of a device, by host activity.

A gap ends with an execution. If the host had requested this execution before the gap began, and
earlier than a launch takes to begin, the host was ahead, and the gap is `device`: devices waited
for each other, or for a graph to begin. Else the devices waited for the host's request, and each
moment of the gap counts once, for the first of these that the host did in it: compiling or loading
kernels, collecting garbage, allocating device memory, waiting for the device (until the request),
launching (also all that follows the request); the rest is `host`, code that is not recorded, or
`unknown`, if the request is not recorded either. If generated code was first loaded in a gap, its
generation is not recorded: what else is launching or the rest is `compile`. Gaps below `SHORT` that
the host did not cause are `short`: the time between two executions in a row. Gaps in which an
execution with an impossible end began are `unknown`. Idle time by cause is the sum of these parts.

Gaps are listed in groups by their largest part, with two exceptions. If the host was waiting for
the device when a gap began, and this wait took half as long as the gap, the group is of
`synchronize`, unless compiling, collecting and allocating cover half: without the wait, the host
would have been earlier by as much. The same is said of a gap after a copy to the host where the
host's waits are not recorded.

Example: an execution ends at 100 µs, the host collects garbage from 90 to 160 µs and requests the
next execution at 200 µs, which begins at 210 µs. The gap of 110 µs has 60 µs collect, 10 µs launch
(from request to begin) and 40 µs host; its group is of `collect`.
"""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from kvtrace.figures.columns import Integers
from kvtrace.figures.executions import ExecutionBlock
from kvtrace.figures.host_events import CAUSES, Cause, HostEvents

#: The row of each cause in tables of parts.
INDEX: Final = {cause: index for index, cause in enumerate(CAUSES)}
#: What counts also between a request and its execution: a launch does it, or another thread.
_ALSO_AFTER_REQUESTS: Final[tuple[Cause, ...]] = ("compile", "collect", "allocate")
#: Nanoseconds below which gaps that the host did not cause are only summed: the time between two
#: executions in a row.
SHORT: Final = 20_000
#: Nanoseconds below which kernels cost more to launch than to run.
SMALL: Final = 5_000
#: Nanoseconds above which a gap between such kernels has another cause.
_AROUND_SMALL: Final = 100_000
NEVER: Final = np.iinfo(np.int64).max


class FoundGaps(NamedTuple):
    """Facts of gaps as wholes.

    Attributes:
        asked: When the host requested the execution that ends each gap, or -1.
        ahead: Whether the host was ahead.
        short: Whether the gap is only the time between two executions in a row.
        undated: Whether an execution with an impossible end began in it.
        generated: Whether generated code was first loaded in it.

    """

    asked: Integers
    ahead: npt.NDArray[np.bool_]
    short: npt.NDArray[np.bool_]
    undated: npt.NDArray[np.bool_]
    generated: npt.NDArray[np.bool_]


class GapCauses:
    """The causes of gaps between some executions."""

    def __init__(
        self,
        executions: ExecutionBlock,
        events: HostEvents,
        latest: Integers,
        latency: int,
        asked_at_end: int = -1,
    ) -> None:
        """Take what the causes depend on.

        Args:
            executions: Those between which the gaps are.
            events: The host's activities near the gaps.
            latest: An upper bound of when the host requested each execution.
            latency: The time from a request to its execution on an idle device, in ns.
            asked_at_end: When the host requested what ends the last gap of a part, or -1.

        """
        self.executions, self._events = executions, events
        self._asked_at_end = asked_at_end
        self._latest, self._latency = latest, latency

    def of(self, begin: Integers, end: Integers, after: Integers) -> FoundGaps:
        """Return what is known of gaps; `after` are indices of the executions that end them, or -1.

        The host was ahead if its request came before the gap, and at least `_latency` ns before the
        gap's end.
        """
        executions, events = self.executions, self._events
        asked = np.where(after >= 0, executions.asked[after], np.int64(self._asked_at_end))
        latest = np.where(after >= 0, self._latest[after], NEVER)
        requested = np.where(asked >= 0, asked, latest)
        ahead = (requested <= begin) & (requested < end - self._latency)
        undated = events.undated_in(int(executions.device[0]), begin, end)
        generated = events.generated_in(begin, end) & ~ahead
        is_idle = _time_of_host(begin, end, asked, events)["host"] == end - begin
        short = (end - begin < SHORT) & (ahead | ((asked < 0) & is_idle & ~generated)) & ~undated
        return FoundGaps(asked, ahead & ~undated & ~short, short, undated, generated & ~undated)

    def parts(self, found: FoundGaps, begin: Integers, end: Integers, gap: Integers) -> Integers:
        """Return the ns of pieces of gaps by cause, rows as `CAUSES`; they add up to the pieces.

        `gap` is the index of each piece's gap.
        """
        asked, generated = found.asked[gap], found.generated[gap]
        parts = np.zeros((len(CAUSES), begin.size), np.int64)
        for name, ns in _time_of_host(begin, end, asked, self._events).items():
            parts[INDEX[name]] = ns
        launch, host = (parts[INDEX[name]] for name in ("launch", "host"))
        parts[INDEX["compile"]] += np.where(generated, launch + host, 0)
        launch[generated] = host[generated] = 0
        parts[INDEX["unknown"]] = np.where(asked < 0, host, 0)
        host[asked < 0] = 0
        whole: tuple[tuple[Cause, npt.NDArray[np.bool_]], ...] = (
            ("device", found.ahead), ("short", found.short), ("unknown", found.undated)
        )  # fmt: skip
        for name, are_whole in whole:
            is_whole = are_whole[gap]
            parts[:, is_whole] = 0
            parts[INDEX[name], is_whole] = (end - begin)[is_whole]
        return parts

    def listed_as(
        self, found: FoundGaps, begin: Integers, end: Integers, before: Integers, parts: Integers
    ) -> npt.NDArray[np.int8]:
        """Return the index in `CAUSES` by which each gap is listed; `parts` as those of gaps."""
        events = self._events
        cause: npt.NDArray[np.int8] = np.argmax(parts, axis=0).astype(np.int8)
        earlier = sum(parts[INDEX[name]] for name in ("compile", "collect", "allocate"))
        waited = (2 * events.waits_at(begin) >= end - begin) & (2 * earlier < end - begin)
        if not events.recorded:
            read_back = (before >= 0) & self.executions.is_read_back(before)
            waited |= read_back & is_one_of(cause, "host", "launch")
        cause[waited & ~found.ahead & ~found.short & ~found.undated] = INDEX["synchronize"]
        return cause

    def are_small(
        self, begin: Integers, end: Integers, before: Integers, after: Integers
    ) -> npt.NDArray[np.bool_]:
        """Return a mask of gaps below `_AROUND_SMALL` between kernels shorter than `SMALL`."""
        is_small = (before >= 0) & (after >= 0) & (end - begin < _AROUND_SMALL)
        for rows in (before, after):
            is_small &= self.executions.is_short(rows, SMALL)
        return is_small


def _time_of_host(
    begin: Integers, end: Integers, asked: Integers, events: HostEvents
) -> dict[Cause, Integers]:
    """Return the nanoseconds of gaps by what the host did; `asked` as in `FoundGaps`."""
    request = np.where(asked >= 0, np.clip(asked, begin, end), end)
    covered = np.zeros_like(begin)
    activities: dict[Cause, Integers] = {}
    for name in _ALSO_AFTER_REQUESTS:
        covered_so_far = events.coverage[name].of(begin, end)
        activities[name] = covered_so_far - covered
        covered = covered_so_far
    last = events.coverage[_ALSO_AFTER_REQUESTS[-1]]
    waited = events.coverage["synchronize"].of(begin, request)
    activities["synchronize"] = waited - last.of(begin, request)
    # From the request on, the rest is launching.
    launched = events.coverage["launch"].of(begin, request) - waited
    activities["launch"] = launched + end - request - last.of(request, end)
    activities["host"] = end - begin - sum(activities.values())
    return activities


def is_one_of(cause: npt.NDArray[np.integer], *causes: Cause) -> npt.NDArray[np.bool_]:
    """Return a mask of the indices in `CAUSES` that are of one of the causes."""
    return np.isin(cause, [INDEX[name] for name in causes])
