"""Counters on a timeline: launches in each step of time, and rates derived of what a device ran.

A rate is what one run of a call moves or computes, derived from its IR, over the time that the
device took for it, measured. What runs at the same moment is added up; what nothing is derived of
(kernels of libraries, copies) counts as nothing, so a rate is a lower bound.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from kvtrace.converters.timeline.call_work import CallWork
from kvtrace.converters.timeline.timeline import Counter, Integers, Track, Unit

_STEPS: Final = 2_000
_SHORTEST_STEP_NS: Final = 1_000_000
#: Launches that are counted at once.
_PIECE: Final = 1 << 20
#: Of more executions than this on a device, rates are means over steps of time.
_MOST: Final = 1 << 20

Floats = npt.NDArray[np.float64]


def counter_step(span_ns: int) -> int:
    """Return a step of 1, 2 or 5 times a power of ten ms that cuts a span into at most 2,000."""
    step = _SHORTEST_STEP_NS
    factors = (2, 5, 10)
    decade = step
    turn = 0
    while span_ns // step > _STEPS:
        step = decade * factors[turn % 3]
        turn += 1
        if turn % 3 == 0:
            decade = step
    return step


def launch_counter(process: Track, begins: Sequence[Integers]) -> Counter:
    """Count the launches that began in each step of time; there is at least one."""
    first = min(int(begin.min()) for begin in begins)
    span = max(int(begin.max()) for begin in begins) - first
    step = counter_step(span)
    values = np.zeros(span // step + 2, np.int64)  # the last says that there are no more
    for begin in begins:
        for start in range(0, begin.size, _PIECE):
            steps = (begin[start : start + _PIECE] - first) // step
            values += np.bincount(steps, minlength=values.size)
    changed = np.flatnonzero(np.diff(values, prepend=-1))
    track = process.counter(f"launches per {step // 1_000_000} ms", "count", rank=-1)
    return Counter(track, first + changed * step, values[changed])


def rate_counters(
    device: Track, begin: Integers, duration: Integers, call: Integers, work: Mapping[int, CallWork]
) -> list[Counter]:
    """Return what one device moved and computed over time; `call` is -1 where it is not known.

    Distinct bytes and FLOPs a second, and the share of the time at best in the time taken; none
    where nothing is derived of what ran.
    """
    known = np.array(sorted(work), np.int64)
    if not known.size or not begin.size:
        return []
    place = np.minimum(np.searchsorted(known, call), known.size - 1)
    rows = np.flatnonzero((known[place] == call) & (duration > 0))
    if not rows.size:
        return []
    begin, duration, place = begin[rows], duration[rows], place[rows]
    done = [work[identity] for identity in known.tolist()]
    found = []
    for rank, (name, unit, amounts) in enumerate(_quantities(done)):
        amount = amounts[place]
        if not amount.any():
            continue
        title, times, values = _over_time(begin, duration, amount)
        track = device.counter(f"{name}{title} (derived)", unit, rank - 3)
        found.append(Counter(track, times, values))
    return found


def _quantities(done: Sequence[CallWork]) -> list[tuple[str, Unit, Floats]]:
    """Return names, units, and of each call the amount that makes its rate over nanoseconds."""
    best = np.array([each.best_ns or 0.0 for each in done])
    distinct = np.array([float(each.unique_bytes or 0) for each in done])
    flops = np.array([float(each.flops) for each in done])
    return [
        ("achieved of the roofline", "%", best * 100),
        ("distinct bytes", "B/s", distinct * 1e9),
        ("FLOPs", "FLOP/s", flops * 1e9),
    ]


def _over_time(
    begin: Integers, duration: Integers, amount: Floats
) -> tuple[str, Integers, Integers]:
    """Return what is shown of the value besides its name, when it changes, and to what."""
    if begin.size > _MOST:
        return _in_steps(begin, duration, amount)
    rate = np.rint(amount / duration).astype(np.int64)  # whole, so that sums come back to nothing
    times = np.concatenate([begin, begin + duration])
    order = np.argsort(times, kind="stable")
    times = times[order]
    values = np.cumsum(np.concatenate([rate, -rate])[order])
    last = np.append(times[1:] != times[:-1], True)
    times, values = times[last], values[last]
    changed = np.flatnonzero(np.diff(values, prepend=-1))
    return "", times[changed], values[changed]


def _in_steps(
    begin: Integers, duration: Integers, amount: Floats
) -> tuple[str, Integers, Integers]:
    first = int(begin.min())
    step = counter_step(int((begin + duration).max()) - first)
    sums = np.bincount((begin - first) // step, weights=amount)
    values = np.rint(np.append(sums, 0.0) / step).astype(np.int64)
    times: Integers = first + np.arange(values.size) * step
    return f", mean of {step // 1_000_000} ms", times, values
