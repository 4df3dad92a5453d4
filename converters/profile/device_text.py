"""Text of a `DeviceTime`: a table and sentences for a terminal."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from kvtrace.figures.identity import names_apart
from kvtrace.figures.window import steps_text
from kvtrace.text import columns, count, duration, percent, plural, printable, wrapped

if TYPE_CHECKING:
    from kvtrace.converters.profile.device_time import DeviceTime


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
    for sentence in _device_sentences(time):
        lines += wrapped(sentence, width)
    return lines


def _device_sentences(time: "DeviceTime") -> Iterator[str]:
    if time.tuning_executions:
        yield (
            f"excluded: {plural(time.tuning_executions, 'execution')} of autotuners and "
            f"warm-ups, {duration(time.tuning_ns)}"
        )
    if time.steps is not None:
        steps = time.steps
        step_time = duration(steps.span_ns / steps.number)
        mark = f" marked {printable(steps.name)}" if steps.name else ""
        yield (
            f"a step (mean of {steps_text(steps.number, steps.runs)}{mark}) takes {step_time}, "
            f"{duration(time.step_ns)} of it device time"
        )
