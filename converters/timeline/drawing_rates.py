"""Counters of a timeline: launches per interval, and rates of bytes and FLOPs on a device.

A rate is the derived work of a launch divided by its measured device time: 8 MB in 4 µs are 2 TB/s
for these 4 µs. Rates of executions that overlap in time are added. Library kernels and copies have
no derived work and count as 0, so a rate is a lower bound.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from kvtrace.converters.timeline.call_work import CallWork
from kvtrace.converters.timeline.timeline import Counter, Integers, Track, Unit

_MOST_STEPS: Final = 2_000
_SHORTEST_STEP_NS: Final = 1_000_000
#: Launches that are counted in one NumPy operation.
_PIECE: Final = 1 << 20
#: With more executions than this on a device, rates are means over intervals.
_MOST: Final = 1 << 20

Floats = npt.NDArray[np.float64]


def counter_step(span_ns: int) -> int:
    """Return the least interval in ns (1, 2, 5, 10, 20, … ms) of which a span has at most 2,000."""
    step = _SHORTEST_STEP_NS
    factors = (2, 5, 10)
    decade = step
    factor_count = 0
    while span_ns // step > _MOST_STEPS:
        step = decade * factors[factor_count % 3]
        factor_count += 1
        if factor_count % 3 == 0:
            decade = step
    return step


def launch_counter(process: Track, begins: Sequence[Integers]) -> Counter:
    """Return a counter of the launches that began in each interval; `begins` must not be empty."""
    first = min(int(begin.min()) for begin in begins)
    span = max(int(begin.max()) for begin in begins) - first
    step = counter_step(span)
    values = np.zeros(span // step + 2, np.int64)  # the last value is 0: the counter's end
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
    """Return counters of one device: share of the roofline, distinct bytes/s and FLOP/s.

    Counters that would be 0 throughout are left out.

    Args:
        device: the device's track.
        begin: begins of the device's executions, in ns.
        duration: durations of the executions, in ns.
        call: call ids of the executions, -1 if unknown.
        work: derived work by call id; executions of other calls count as 0.

    """
    call_ids = np.array(sorted(work), np.int64)
    if not call_ids.size or not begin.size:
        return []
    index = np.minimum(np.searchsorted(call_ids, call), call_ids.size - 1)
    rows = np.flatnonzero((call_ids[index] == call) & (duration > 0))
    if not rows.size:
        return []
    begin, duration, index = begin[rows], duration[rows], index[rows]
    counters = []
    quantities = _quantities([work[identity] for identity in call_ids.tolist()])
    for index_of_quantity, (name, unit, amounts) in enumerate(quantities):
        amount = amounts[index]
        if not amount.any():
            continue
        suffix, times, values = _rate_changes(begin, duration, amount)
        track = device.counter(f"{name}{suffix} (derived)", unit, index_of_quantity - 3)
        counters.append(Counter(track, times, values))
    return counters


def _quantities(calls: Sequence[CallWork]) -> list[tuple[str, Unit, Floats]]:
    """Return name and unit of each rate, and for each call the amount to divide by its ns."""
    best = np.array([work.best_ns or 0.0 for work in calls])
    distinct = np.array([float(work.unique_bytes or 0) for work in calls])
    flops = np.array([float(work.flops) for work in calls])
    return [
        ("achieved of the roofline", "%", best * 100),
        ("distinct bytes", "B/s", distinct * 1e9),
        ("FLOPs", "FLOP/s", flops * 1e9),
    ]


def _rate_changes(
    begin: Integers, duration: Integers, amount: Floats
) -> tuple[str, Integers, Integers]:
    """Return a suffix for the counter's name, the times at which its rate changes, and rates."""
    if begin.size > _MOST:
        return _mean_rates(begin, duration, amount)
    rate = np.rint(amount / duration).astype(np.int64)  # integers, so that sums return to 0
    times = np.concatenate([begin, begin + duration])
    order = np.argsort(times, kind="stable")
    times = times[order]
    values = np.cumsum(np.concatenate([rate, -rate])[order])
    is_last_of_time = np.append(times[1:] != times[:-1], True)
    times, values = times[is_last_of_time], values[is_last_of_time]
    changed = np.flatnonzero(np.diff(values, prepend=-1))
    return "", times[changed], values[changed]


def _mean_rates(
    begin: Integers, duration: Integers, amount: Floats
) -> tuple[str, Integers, Integers]:
    first = int(begin.min())
    step = counter_step(int((begin + duration).max()) - first)
    sums = np.bincount((begin - first) // step, weights=amount)
    values = np.rint(np.append(sums, 0.0) / step).astype(np.int64)
    times: Integers = first + np.arange(values.size) * step
    return f", mean of {step // 1_000_000} ms", times, values
