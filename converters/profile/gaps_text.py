"""Text of device idle time: sentences and a table by cause, for a terminal."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final

from kvtrace.figures.busy import Busy
from kvtrace.figures.gap_causes import SHORT
from kvtrace.figures.gaps import Ends, Gaps, StepTimes, drift_of
from kvtrace.figures.lines import Place
from kvtrace.schema.idle_tables import Cause
from kvtrace.text import columns, count, duration, percent, plural, shorten, wrapped

#: The label of each cause.
CAUSES: Final[dict[Cause, str]] = {
    "compile": "compiling",
    "collect": "garbage collection",
    "allocate": "device memory allocation",
    "synchronize": "host waited for the device",
    "launch": "launching",
    "host": "Python and other host code",
    "device": "device waited for other device work",
    "short": f"launch gaps below {SHORT // 1000} µs",
    "unknown": "cause not recorded",
}
#: Most causes in a sentence.
_NAMED: Final = 4
#: Steps that take so many times the median are slow, where there are enough steps for a median.
_SLOW_STEP: Final = 1.5
_LEAST_STEPS: Final = 5
#: Up to this width of the terminal, names of executions are cut to `_SHORT` characters.
_WIDE: Final = 100
_SHORT: Final = 36


def busy_sentence(busy: Busy, gaps: Gaps | None, devices: int) -> str:
    """Return a sentence on the devices' busy and idle time, with the main causes of idle time.

    Without `gaps` the sentence refers to the command that shows the causes.
    """
    text = busy_phrase(busy, devices)
    if gaps is None and busy.span_ns:
        return f"{text}; idle {duration(busy.idle_ns)} (kvtrace profile has the causes)"
    if gaps is None or not gaps.idle_ns:
        return text
    causes = list(gaps.by_cause.items())
    cause_texts = [f"{CAUSES[cause]} {duration(ns)}" for cause, ns in causes[:_NAMED] if ns]
    return f"{text}; idle {duration(gaps.idle_ns)}: {', '.join(cause_texts)}"


def busy_phrase(busy: Busy, devices: int, steps: int = 1) -> str:
    """Return how long devices were busy, of which time, and how long with two kernels at once.

    The times are those of one step on average.
    """
    if not busy.span_ns:
        return "when the GPU was busy is not known: the times are sums"
    subject = "GPU busy" if devices == 1 else f"{devices} GPUs busy"
    share = percent(busy.busy_ns / busy.span_ns)
    text = (
        f"{subject} {duration(busy.busy_ns / steps)} of {duration(busy.span_ns / steps)} ({share})"
    )
    if busy.overlapped_ns:
        text += f", {duration(busy.overlapped_ns / steps)} with two kernels at once"
    return text


def step_sentences(gaps: Gaps | None) -> list[str]:
    """Return sentences on steps that are slow and on steps that drift; [] without such steps."""
    all_steps = () if gaps is None else gaps.steps
    slow_steps = _slow_steps_sentence(all_steps)
    drifts = (_drift_sentence(steps, len(all_steps)) for steps in all_steps)
    return [text for text in (slow_steps, *drifts) if text is not None]


def _slow_steps_sentence(all_steps: Sequence[StepTimes]) -> str | None:
    """Return how many steps are slow, and what the slowest has more of; None without such steps.

    A step is slow from `_SLOW_STEP` times the median of its run on.
    """
    slow = [
        (ns - median(steps.duration_ns), steps, number)
        for steps in all_steps
        for number, ns in enumerate(steps.duration_ns)
        if ns > _SLOW_STEP * median(steps.duration_ns) and len(steps.duration_ns) >= _LEAST_STEPS
    ]
    if not slow:
        return None
    longer_ns, steps, number = max(slow, key=lambda entry: (entry[0], entry[2]))
    more = {name: ns[number] - median(ns) for name, ns in _parts(steps).items()}
    total_steps = sum(len(steps.duration_ns) for steps in all_steps)
    shown = steps.first + number
    slow_count = f"{count(len(slow))} of {plural(total_steps, 'step')}"
    return (
        f"{slow_count} took more than {_SLOW_STEP} times the "
        f"median: step {shown} took {duration(steps.duration_ns[number])}, {duration(longer_ns)} "
        f"more than the median, by {_largest_change(more)} (--steps {shown})"
    )


def _drift_sentence(steps: StepTimes, runs: int) -> str | None:
    """Return how step times changed over a run, one of `runs`, and in what; None without drift."""
    drift = drift_of(steps.duration_ns)
    if drift is None:
        return None
    sign = 1 if drift.end_ns > drift.start_ns else -1
    changes = {
        name: sign * (median(ns[-drift.steps :]) - median(ns[: drift.steps]))
        for name, ns in _parts(steps).items()
    }
    run = f" of run {steps.run}" if runs > 1 else ""
    return (
        f"steps{run} became {'longer' if sign > 0 else 'shorter'}: from "
        f"{duration(drift.start_ns)} to {duration(drift.end_ns)} (medians of the first and the "
        f"last {drift.steps}), by {_largest_change(changes, 'more' if sign > 0 else 'less')}"
    )


def _parts(steps: StepTimes) -> dict[str, Sequence[int]]:
    """Return the nanoseconds of each step by what they went to: idle time by cause, executions."""
    parts: dict[str, Sequence[int]] = {CAUSES[cause]: ns for cause, ns in steps.idle_ns.items()}
    idle_ns = [sum(ns) for ns in zip(*steps.idle_ns.values(), strict=True)]
    busy = zip(steps.duration_ns, idle_ns or [0] * len(steps.duration_ns), strict=True)
    parts["executions on the device"] = [ns - idle for ns, idle in busy]
    return parts


def _largest_change(changes_ns: Mapping[str, float], direction: str = "more") -> str:
    """Return the largest of the changes by part, as "7 ms more of: garbage collection"."""
    name = max(changes_ns, key=lambda name: changes_ns[name])
    return f"{duration(changes_ns[name])} {direction} of: {name}"


def gaps_text(gaps: Gaps, most: int | None, width: int) -> list[str]:
    """Return the lines of a table of the first `most` groups of gaps (None: all).

    Each row has the cause, and the executions before and after. A sentence on the explained share
    of idle time follows.
    """
    shown_groups = gaps.groups[:most]
    name_width = width if width > _WIDE else _SHORT
    rows = [
        [
            CAUSES[group.cause] + _at_line(group.place),
            _execution_text(group.ends, name_width, after=False),
            _execution_text(group.ends, name_width, after=True),
            count(group.number),
            duration(group.total_ns),
            duration(group.longest_ns),
        ]
        for group in shown_groups
    ]
    header = ["idle (measured)", "after", "before", "gaps", "total", "longest"]
    lines = columns(header, rows, width, texts=(0, 1, 2), optional=(5,)) if rows else []
    explained_share = gaps.explained
    if explained_share is not None:
        lines += wrapped(f"the cause of {percent(explained_share)} of idle time is known", width)
    return lines


def _at_line(place: Place | None) -> str:
    return f" at {place.short}" if place else ""


def _execution_text(ends: Ends, room: int, *, after: bool) -> str:
    name = shorten(ends.after if after else ends.before, room)
    return name + _at_line(ends.after_place if after else ends.before_place)
