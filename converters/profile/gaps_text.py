"""Text of device idle time: sentences and a table by cause, for a terminal."""

from statistics import median
from typing import Final

from kvtrace.converters.profile.device_busy import Busy
from kvtrace.figures.gaps import SHORT, Cause, Ends, Gaps
from kvtrace.figures.lines import Place
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
    if not busy.span_ns:
        return "when the GPU was busy is not known: the times are sums"
    subject = "GPU busy" if devices == 1 else f"{devices} GPUs busy"
    share = percent(busy.busy_ns / busy.span_ns)
    text = f"{subject} {duration(busy.busy_ns)} of {duration(busy.span_ns)} ({share})"
    if busy.overlapped_ns:
        text += f", {duration(busy.overlapped_ns)} with two kernels at once"
    if gaps is None:
        return f"{text}; idle {duration(busy.idle_ns)} (kvtrace profile has the causes)"
    if not gaps.idle_ns:
        return text
    causes = list(gaps.by_cause.items())
    cause_texts = [f"{CAUSES[cause]} {duration(ns)}" for cause, ns in causes[:_NAMED] if ns]
    return f"{text}; idle {duration(gaps.idle_ns)}: {', '.join(cause_texts)}"


def slow_steps_sentence(gaps: Gaps | None) -> str | None:
    """Return a sentence on slow steps, and what the slowest has more of; None without such steps.

    A step is slow from `_SLOW_STEP` times the median of its run on.
    """
    slow = [
        (ns - median(steps.duration_ns), steps, number)
        for steps in (() if gaps is None else gaps.steps)
        for number, ns in enumerate(steps.duration_ns)
        if ns > _SLOW_STEP * median(steps.duration_ns) and len(steps.duration_ns) >= _LEAST_STEPS
    ]
    if not slow:
        return None
    longer_ns, steps, number = max(slow, key=lambda entry: (entry[0], entry[2]))
    more = {CAUSES[cause]: ns[number] - median(ns) for cause, ns in steps.idle_ns.items()}
    more["executions on the device"] = longer_ns - sum(more.values())
    reason = max(more, key=lambda name: more[name])
    all_steps = sum(len(steps.duration_ns) for steps in gaps.steps) if gaps is not None else 0
    shown = steps.first + number
    return (
        f"{count(len(slow))} of {plural(all_steps, 'step')} took more than {_SLOW_STEP} times the "
        f"median: step {shown} took {duration(steps.duration_ns[number])}, {duration(longer_ns)} "
        f"more than the median, by {duration(more[reason])} more of: {reason} (--steps {shown})"
    )


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
