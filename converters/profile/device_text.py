"""A `DeviceTime` as a table for a terminal."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import PurePath

from kvtrace.converters.profile.device_time import DeviceRow, DeviceTime
from kvtrace.text import columns, count, duration, percent, plural, printable, wrapped


def device_text(time: DeviceTime, most: int | None, option: str, width: int) -> list[str]:
    """Return lines for a terminal: the first `most` rows, and when devices were idle.

    `option` is the one that shows all rows.
    """
    shown = time.rows[:most]
    names = distinct_names(time.rows)
    header = ["on the device (measured)", "of", "runs", "time", "share", "median"]
    if time.steps is not None:
        header.append("a step")
    rows = [
        [
            names[row],
            row.kind,
            count(row.executions),
            duration(row.device_ns),
            percent(row.share),
            duration(row.median_ns),
            duration(row.step_ns),
        ][: len(header)]
        for row in shown
    ]
    lines = columns(header, rows, width)
    left = time.rows[len(shown) :]
    if left:
        rest = duration(sum(row.device_ns for row in left))
        lines.append(f"… {plural(len(left), 'more row')}, {rest} ({option} shows them)")
    for sentence in _device_sentences(time):
        lines += wrapped(sentence, width)
    return lines


def _device_sentences(time: DeviceTime) -> Iterator[str]:
    busy = time.busy
    where = "the device was" if time.devices == 1 else f"{time.devices} devices were"
    overlap = f", {duration(busy.overlapped_ns)} of it twice" if busy.overlapped_ns else ""
    share = percent(busy.busy_ns / busy.span_ns) if busy.span_ns else "-"
    yield (
        f"{where} busy for {duration(busy.busy_ns)}{overlap}, {share} of the "
        f"{duration(busy.span_ns)} from first to last execution"
    )
    yield (
        f"idle for {duration(busy.idle_compiling_ns)} while kernels were compiled or loaded, "
        f"{duration(busy.idle_launching_ns)} while one was launched, "
        f"{duration(busy.idle_elsewhere_ns)} while the host did anything else"
    )
    if time.tuning_executions:
        yield (
            f"not in the rows: {plural(time.tuning_executions, 'execution')} of autotuners and "
            f"warm-ups, {duration(time.tuning_ns)}"
        )
    if time.steps is not None:
        steps = time.steps
        taken = duration(steps.span_ns / steps.number)
        by = f" marked {printable(steps.name)}" if steps.name else ""
        yield (
            f"a step: mean of {plural(steps.number, 'step')}{by}; one takes {taken}, "
            f"{duration(time.step_ns)} of it device time"
        )


def distinct_names(rows: Sequence[DeviceRow]) -> dict[DeviceRow, str]:
    """Return a distinct name for each row: generated kernels get the end of their file's name."""
    number = Counter(row.name for row in rows)
    return {
        row: row.name
        if number[row.name] == 1
        else f"{row.name} ({PurePath(row.file or row.kind).stem[-6:]})"
        for row in rows
    }
