"""Peak memory in a profile: most bytes in use on each device, when, and which places hold them.

What is in use, and until when, is derived from recorded allocations and uses (`storage_lives.py`).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow.compute as pc

from kvtrace.addons.memory.recorded_memory import is_recorded
from kvtrace.converters.profile.profile_sections import ProfileSection
from kvtrace.figures.columns import Integers, integers
from kvtrace.figures.steps import program_steps
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.window import TraceWindow, whole_trace
from kvtrace.text import columns, count, percent, plural, size, wrapped

if TYPE_CHECKING:
    from kvtrace.addons.memory.places import Places
    from kvtrace.addons.memory.storage_lives import StorageLives
    from kvtrace.schema.trace import Run, Trace

#: Places that are listed; the others are summed.
_MOST_PLACES: Final = 10
#: Launches among which a period of steps is searched.
_MOST_SEARCHED: Final = 1 << 18


@dataclass(frozen=True, slots=True)
class Holder:
    """Storages that are in use at the peak and were allocated at one place, or at all others.

    `place` is as `torch.empty at model.py:12`; `share` is of the peak's bytes.
    """

    place: str
    storages: int
    bytes: int
    share: float


@dataclass(frozen=True, slots=True)
class PeakMemory:
    """The most bytes in use on one device, in the part of a run that the profile is of.

    Attributes:
        run: id of the run.
        device: index of the device.
        bytes: bytes in use at the peak.
        run_bytes: the same of the whole run.
        frees_recorded: whether frees were recorded. Otherwise a storage counts until its last use,
            and the program may have held more.
        begin: when the peak was reached, ns since 1970.
        end: when less was in use again, ns since 1970.
        launch: `launches.seq` of the first launch between `begin` and `end`, or else of the last
            one before; None without any.
        is_during: whether `launch` lies between `begin` and `end`.
        kernel: the name of the kernel of `launch`.
        mark: the innermost mark around `begin`; None: there is none.
        step: the number of the step around `begin`, from 0; None: outside of steps.
        holders: by bytes; the last one may be all other places.
        unsized: allocations in use whose size is not known, which `bytes` does not have: no tensor
            of an operator lies there, as in a workspace within one.

    """

    run: str
    device: int
    bytes: int
    run_bytes: int
    frees_recorded: bool
    begin: int
    end: int
    launch: int | None
    is_during: bool
    kernel: str | None
    mark: str | None
    step: int | None
    holders: tuple[Holder, ...]
    unsized: int = 0


def read_peaks(trace: Trace, runs: Sequence[Run]) -> tuple[PeakMemory, ...]:
    """Return the peak of each device of the runs whose memory was recorded.

    Raises:
        DamagedFile, NewerFormat: as the reader of the trace.

    """
    return tuple(peak for run in runs if is_recorded(trace, run) for peak in _peaks(trace, run))


def _peaks(trace: Trace, run: Run) -> list[PeakMemory]:
    from kvtrace.addons.memory.places import Places  # profiles of other traces do not wait for it
    from kvtrace.addons.memory.storage_lives import storage_lives

    return peaks_of(trace, run, storage_lives(trace, run), Places(trace, run))


def peaks_of(trace: Trace, run: Run, lives: StorageLives, places: Places) -> list[PeakMemory]:
    """Return the peak of each device of a run with these lives of storages; errors likewise."""
    moments = _Moments(whole_trace(trace), run)
    peaks = [_peak(trace, run, lives, device, places, moments) for device in lives.devices]
    return [peak for peak in peaks if peak is not None]


def _peak(
    trace: Trace, run: Run, lives: StorageLives, device: int, places: Places, moments: _Moments
) -> PeakMemory | None:
    """Return the peak of a device; None if nothing was in use in the window."""
    times, in_use = lives.in_use(device)
    first, last = 0, len(times)
    if isinstance(trace, TraceWindow):
        window = trace.window_of(run.run_id)
        first = max(bisect_right(times, window.begin) - 1, 0)
        last = bisect_right(times, window.end)
    if first >= last or not in_use[first:last].any():
        return None
    peak = first + int(np.argmax(in_use[first:last]))
    begin, end = times[peak : peak + 2].tolist()  # the last change is to 0, and after the peak
    launch = moments.launch(begin, end)
    return PeakMemory(
        run=run.run_id,
        device=device,
        bytes=int(in_use[peak]),
        run_bytes=int(in_use.max()),
        frees_recorded=lives.frees_are_recorded,
        begin=begin,
        end=end,
        launch=None if launch is None else launch[0],
        kernel=None if launch is None else launch[1],
        is_during=launch is not None and launch[2],
        mark=moments.mark(begin),
        step=moments.step(begin),
        holders=_holders(lives, lives.held_at(device, begin), places),
        unsized=moments.unsized(device, begin),
    )


def _holders(lives: StorageLives, held: Integers, places: Places) -> tuple[Holder, ...]:
    """Return the places that allocated some storages, by bytes; after the tenth, all in one."""
    by_place: dict[str, list[int]] = {}
    for births in (held[lives.origin[held] == origin] for origin in np.unique(lives.origin[held])):
        rows, first, code = np.unique(lives.row[births], return_index=True, return_inverse=True)
        sums = np.zeros(len(rows), np.int64)
        np.add.at(sums, code, lives.bytes[births])
        for index, storages, bytes_held in zip(
            births[first].tolist(), np.bincount(code).tolist(), sums.tolist(), strict=True
        ):
            sum_of_place = by_place.setdefault(places.birth(lives.birth(index)), [0, 0])
            sum_of_place[0] += storages
            sum_of_place[1] += bytes_held
    ranked = sorted(by_place.items(), key=lambda item: -item[1][1])
    others = ranked[_MOST_PLACES:]
    if len(others) > 1:
        sums_of_others = [
            sum(amounts) for amounts in zip(*(sums for _, sums in others), strict=True)
        ]
        ranked[_MOST_PLACES:] = [(plural(len(others), "other place"), sums_of_others)]
    total = sum(bytes_held for _, (_, bytes_held) in ranked)
    return tuple(
        Holder(place, storages, bytes_held, bytes_held / total)
        for place, (storages, bytes_held) in ranked
    )


class _Moments:
    """Launches, marks and steps of a run, by time."""

    def __init__(self, trace: Trace, run: Run) -> None:
        launches = trace.table("launches", (run,), ["seq", "call_id", "enter"])
        self._enter = integers(launches["enter"])
        self._seq, self._call = integers(launches["seq"]), integers(launches["call_id"])
        kernels = {
            row["kernel_id"]: row["name"]
            for row in trace.table("kernels", (run,), ["kernel_id", "name"]).to_pylist()
        }
        self._kernels = {
            row["call_id"]: kernels.get(row["kernel_id"])
            for row in trace.table("calls", (run,), ["call_id", "kernel_id"]).to_pylist()
        }
        self._marks = [
            mark
            for mark in plain_rows(trace.table("marks", (run,), ["name", "begin", "end"]))
            if mark["begin"] is not None and mark["end"] is not None
        ]
        allocations = trace.table("allocations", (run,), ["begin", "end", "bytes", "device"])
        allocations = allocations.filter(pc.is_null(allocations["bytes"]))
        #: Begin, end and device of allocations whose size is not known.
        self._unsized = (
            integers(allocations["begin"]),
            integers(allocations["end"], np.iinfo(np.int64).max),
            integers(allocations["device"], -1),
        )
        steps = program_steps(trace, run, search=len(launches) <= _MOST_SEARCHED)
        self._steps = np.empty(0, np.int64) if steps is None else steps.bounds

    def launch(self, begin: int, end: int) -> tuple[int, str | None, bool] | None:
        """Return a launch's `seq`, its kernel, and whether it lies between two times.

        The first one between them, or else the last one before them; None without any.
        """
        during = (self._enter >= begin) & (self._enter < end)
        before = np.flatnonzero(self._enter < begin)
        if during.any():
            index = int(np.argmin(np.where(during, self._enter, np.iinfo(np.int64).max)))
        elif before.size:
            index = int(before[np.argmax(self._enter[before])])
        else:
            return None
        return int(self._seq[index]), self._kernels.get(int(self._call[index])), bool(during.any())

    def unsized(self, device: int, time: int) -> int:
        """Return how many allocations of a device whose size is not known are in use at a time."""
        begin, end, devices = self._unsized
        return int(((begin <= time) & (time < end) & (devices == device)).sum())

    def mark(self, time: int) -> str | None:
        """Return the name of the innermost mark around a time."""
        around = [mark for mark in self._marks if mark["begin"] <= time <= mark["end"]]
        return max(around, key=lambda mark: mark["begin"])["name"] if around else None

    def step(self, time: int) -> int | None:
        """Return the number of the step at a time, from 0."""
        step = int(np.searchsorted(self._steps, time, "right")) - 1
        return step if 0 <= step < len(self._steps) - 1 else None


def peaks_text(peaks: Sequence[PeakMemory], width: int) -> list[str]:
    """Return the lines of a terminal table for each device, and of sentences on its peak."""
    lines = []
    for peak in peaks:
        of_run = f" of {peak.run}" if len({other.run for other in peaks}) > 1 else ""
        header = (
            f"peak memory of device {peak.device}{of_run} (derived)",
            "storages",
            "in use",
            "share",
        )
        rows = [
            (holder.place, count(holder.storages), size(holder.bytes), percent(holder.share))
            for holder in peak.holders
        ]
        storages = sum(holder.storages for holder in peak.holders)
        rows.append(("all", count(storages), size(peak.bytes), percent(1)))
        lines += [*columns(header, rows, width), *wrapped(when_reached(peak), width)]
        if peak.unsized:
            others = plural(peak.unsized, "allocation")
            lines += wrapped(f"besides {others} of unknown size (workspaces of operators)", width)
        if peak.run_bytes > peak.bytes:
            lines += wrapped(
                f"outside of this part of the run: {size(peak.run_bytes)} (--whole)", width
            )
        lines.append("")
    if not all(peak.frees_recorded for peak in peaks):
        lines += wrapped(
            "in use: at least, from allocation to last use; frees are not recorded", width
        )
    return lines


def when_reached(peak: PeakMemory) -> str:
    """Return when a peak was reached: at a launch, in a mark and a step."""
    texts = []
    if peak.launch is not None:
        moment = "at" if peak.is_during else "after"
        texts.append(f"{moment} launch {peak.launch:,} of {peak.kernel or '?'}")
    else:
        texts.append("before the first launch")
    if peak.mark is not None:
        texts.append(f"in mark {peak.mark}")
    if peak.step is not None:
        texts.append(f"in step {peak.step:,}")
    return f"reached {', '.join(texts)}"


SECTION: Final = ProfileSection(read_peaks, peaks_text)
