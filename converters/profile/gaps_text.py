"""Text of device idle time: sentences and a table by cause, for a terminal."""

from typing import Final

from kvtrace.converters.profile.device_busy import Busy
from kvtrace.figures.gaps import SHORT, Cause, Ends, Gaps
from kvtrace.figures.lines import Place
from kvtrace.text import columns, count, duration, percent, shorten, wrapped

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
#: Up to this width of the terminal, names of executions are cut to `_SHORT` characters.
_WIDE: Final = 100
_SHORT: Final = 36


def busy_sentence(busy: Busy, gaps: Gaps | None, devices: int) -> str:
    """Return a sentence on the devices' busy time and, if `gaps` has any, the main idle causes."""
    if not busy.span_ns:
        return "when the GPU was busy is not known: the times are sums"
    subject = "GPU busy" if devices == 1 else f"{devices} GPUs busy"
    share = percent(busy.busy_ns / busy.span_ns)
    text = f"{subject} {duration(busy.busy_ns)} of {duration(busy.span_ns)} ({share})"
    if busy.overlapped_ns:
        text += f", {duration(busy.overlapped_ns)} with two kernels at once"
    if gaps is None or not gaps.idle_ns:
        return text
    causes = list(gaps.by_cause.items())
    cause_texts = [f"{CAUSES[cause]} {duration(ns)}" for cause, ns in causes[:_NAMED] if ns]
    return f"{text}; idle {duration(gaps.idle_ns)}: {', '.join(cause_texts)}"


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
