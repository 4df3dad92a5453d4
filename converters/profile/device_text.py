"""Text of a `DeviceTime`: a table for a terminal, and sentences that the page shows, too."""

from typing import TYPE_CHECKING, Final

from kvtrace.figures.identity import names_apart
from kvtrace.figures.makers import is_own
from kvtrace.figures.window import steps_text
from kvtrace.text import columns, count, duration, percent, plural, printable, wrapped

if TYPE_CHECKING:
    from kvtrace.converters.profile.device_time import DeviceTime

#: Kinds of rows that are no kernels.
MEMORY_KINDS: Final = frozenset({"copy", "fill"})


def device_text(time: "DeviceTime", most: int | None, option: str, width: int) -> list[str]:
    """Return lines for a terminal: the first `most` rows, excluded executions, and a step's time.

    `option` is the command's option that shows all rows, for the line on the hidden ones.
    """
    shown_rows = time.rows[:most]
    names = names_apart(time.rows)
    header = ["on the device (measured)", "of", "runs", "time", "share", "median"]
    if time.steps is not None:
        header.append("a step")
    rows = [
        [
            name,
            row.kind,
            count(row.executions),
            duration(row.device_ns),
            percent(row.share),
            duration(row.median_ns),
            duration(row.step_ns),
        ][: len(header)]
        for row, name in zip(shown_rows, names, strict=False)
    ]
    lines = columns(header, rows, width)
    hidden_rows = time.rows[len(shown_rows) :]
    if hidden_rows:
        hidden_time = duration(sum(row.device_ns for row in hidden_rows))
        lines.append(
            f"… {plural(len(hidden_rows), 'more row')}, {hidden_time} ({option} shows them)"
        )
    for sentence in (excluded_sentence(time), step_sentence(time)):
        lines += [] if sentence is None else wrapped(sentence, width)
    return lines


def excluded_sentence(time: "DeviceTime") -> str | None:
    """Return which executions device times exclude; None if none."""
    if not time.tuning_executions:
        return None
    return (
        f"excluded: {plural(time.tuning_executions, 'execution')} of autotuners and "
        f"warm-ups, {duration(time.tuning_ns)}"
    )


def step_sentence(time: "DeviceTime") -> str | None:
    """Return how long a step takes, and its device time; None without steps."""
    steps = time.steps
    if steps is None:
        return None
    mark = f" marked {printable(steps.name)}" if steps.name else ""
    return (
        f"a step (mean of {steps_text(steps.number, steps.runs)}{mark}) takes "
        f"{duration(steps.span_ns / steps.number)}, {duration(time.step_ns)} of it device time"
    )


def library_sentence(time: "DeviceTime") -> str | None:
    """Return the share of libraries' kernels in the device time; None if none ran."""
    ns_by_library: dict[str, int] = {}
    for row in time.rows:
        if not is_own(row.kind) and row.kind not in MEMORY_KINDS:
            ns_by_library[row.kind] = ns_by_library.get(row.kind, 0) + row.device_ns
    if not ns_by_library:
        return None
    names = ", ".join(sorted(ns_by_library, key=lambda kind: -ns_by_library[kind]))
    total_ns = sum(ns_by_library.values())
    share = total_ns / time.device_ns if time.device_ns else 0.0
    return f"library kernels ({names}): {percent(share)} of GPU time, {duration(total_ns)}"
