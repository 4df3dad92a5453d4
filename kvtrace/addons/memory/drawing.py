"""Memory on a timeline: a counter of the bytes in use on each device, and its largest storages.

A storage's slice lasts while the storage is in use: from its allocation to its recorded end, or
else to its last use (`storage_lives.py`). Slices of storages overlap as they like, so each of those
that are in use at the same time has a lane; only the largest storages have a slice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from kvtrace.addons.memory.recorded_memory import is_recorded
from kvtrace.converters.timeline.captions import Caption
from kvtrace.converters.timeline.drawing_rates import counter_step
from kvtrace.converters.timeline.timeline import (
    Counter,
    Integers,
    PartDrawing,
    Slices,
    TimelinePart,
    Track,
)
from kvtrace.schema.window import TraceWindow
from kvtrace.text import size

if TYPE_CHECKING:
    from kvtrace.addons.memory.places import Places
    from kvtrace.addons.memory.storage_lives import StorageLives
    from kvtrace.schema.trace import Run, Trace

_CATEGORY: Final = "memory"
#: Storages of a device that have a slice, the largest ones.
_MOST_SLICES: Final = 100
#: With more changes than this on a device, the counter has the most bytes of each interval.
_MOST_CHANGES: Final = 1 << 16


def _draw(trace: Trace, run: Run, process: Track) -> PartDrawing:
    """Return slices and counters of a run's memory; smaller storages are counted as left out.

    Raises:
        DamagedFile, NewerFormat: as the reader of the trace.

    """
    drawn = PartDrawing()
    if not is_recorded(trace, run):
        return drawn
    from kvtrace.addons.memory.places import Places  # other timelines do not wait for it
    from kvtrace.addons.memory.storage_lives import storage_lives

    lives, places = storage_lives(trace, run), Places(trace, run)
    begin, end = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    if isinstance(trace, TraceWindow):
        begin, end, *_ = trace.window_of(run.run_id)
    left_out = 0
    for device in lives.devices:
        drawn.counters += _counter(lives, device, process, begin, end)
        visible = (lives.device == device) & (lives.begin <= end) & (lives.until > begin)
        storages = np.flatnonzero(visible)
        largest = storages[np.lexsort((lives.begin[storages], -lives.bytes[storages]))]
        left_out += len(largest[_MOST_SLICES:])
        track = process.child(f"largest storages on device {device}", lane=device, rank=1)
        slices = _slices(lives, largest[:_MOST_SLICES], places, track, begin, end)
        drawn.slices += slices.on_lanes() if len(largest) else []
    if left_out:
        drawn.left_out[f"storages that are not among the {_MOST_SLICES} largest of a device"] = (
            left_out
        )
    return drawn


def _slices(
    lives: StorageLives, storages: Integers, places: Places, track: Track, begin: int, end: int
) -> Slices:
    """Return the slices of storages while they are in use between two times."""
    begins = np.maximum(lives.begin[storages], begin)
    captions = [_caption(lives, index, places) for index in storages.tolist()]
    durations = np.minimum(lives.until[storages], end) - begins
    return Slices(track, _CATEGORY, begins, durations, np.arange(len(storages)), captions)


def _caption(lives: StorageLives, index: int, places: Places) -> Caption:
    birth, number = lives.birth(index), int(lives.bytes[index])
    if lives.end[index] >= 0:
        until = "freed"
    elif lives.replaced[index]:
        until = "its last use; its memory was allocated again later"
    else:
        until = "its last use; when it was freed is not known"
    name = f"{places.birth(birth)}, {size(number)}"
    return Caption(name, (("bytes", number), ("drawn until", until)))


def _counter(
    lives: StorageLives, device: int, process: Track, begin: int, end: int
) -> list[Counter]:
    """Return the counter of a device's bytes in use between two times, [] if none are in use."""
    times, values = lives.in_use(device)
    first = max(int(np.searchsorted(times, begin, "right")) - 1, 0)
    last = int(np.searchsorted(times, end, "right"))
    times, values = np.maximum(times[first:last], begin), values[first:last]
    if not values.any():
        return []
    suffix = "" if lives.frees_are_recorded else ", at least"
    if times.size > _MOST_CHANGES:
        step = counter_step(int(times[-1] - times[0]))
        times, values = _highest(times, values, step)
        suffix += f", highest in {step // 1_000_000} ms"
    name = f"memory in use on device {device}{suffix} (derived)"
    return [Counter(process.counter(name, "B", rank=-1), times, values)]


def _highest(times: Integers, values: Integers, step: int) -> tuple[Integers, Integers]:
    """Return the begins of intervals of `step` ns, and the highest value in each of them.

    The last interval is followed by the last value.
    """
    interval = (times - times[0]) // step
    number = int(interval[-1]) + 1
    begins = times[0] + np.arange(number + 1) * step
    highest = values[np.searchsorted(times, begins, "right") - 1]  # what an interval begins with
    np.maximum.at(highest, interval, values)
    return begins, highest


PART: Final = TimelinePart(_CATEGORY, "storages in memory", _draw)
