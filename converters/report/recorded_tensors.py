"""Recorded contents of a call's tensor arguments: blocks, layouts and histograms."""

from dataclasses import dataclass
from typing import Final

from kvtrace.converters.report.model import Argument
from kvtrace.converters.report.sources import Context
from kvtrace.converters.report.tensor_elements import Histogram, Layout, elements_of, histogram

__all__ = ["RecordedValue", "recorded_values"]

_MOST_BYTES: Final = 256 << 20


@dataclass(frozen=True, slots=True)
class RecordedValue:
    """A tensor argument as recorded before the call's first launch.

    `arg` is the position of the argument in the call; `artifact` names the block
    `tensor/<artifact>` with the storage's bytes, in which `offset_bytes`, `shape` and `strides` (in
    elements) locate the elements. `histogram` is None if the type is not supported, or the storage
    is incomplete or larger than 256 MiB.
    """

    arg: int
    name: str | None
    artifact: str
    dtype: str | None
    offset_bytes: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    histogram: Histogram | None
    measured: bool = True


def recorded_values(context: Context, call: int) -> tuple[RecordedValue, ...]:
    """Return the recorded tensors of a call of the report, in the order of arguments."""
    report = context.report
    values = []
    for position, index in enumerate(report.calls[call].args):
        argument = report.arguments[index]
        value = _recorded_value(context, position, argument)
        if value is not None:
            values.append(value)
    return tuple(values)


def _recorded_value(context: Context, position: int, argument: Argument) -> RecordedValue | None:
    if argument.value is None or argument.shape is None or argument.strides is None:
        return None
    offset = argument.offset_bytes or 0
    layout = Layout(argument.dtype, offset, argument.shape, argument.strides)
    return RecordedValue(
        arg=position,
        name=argument.name,
        artifact=argument.value,
        dtype=argument.dtype,
        offset_bytes=offset,
        shape=argument.shape,
        strides=argument.strides,
        histogram=_histogram(context, argument, layout),
    )


def _histogram(context: Context, argument: Argument, layout: Layout) -> Histogram | None:
    """Return the histogram of an argument's recorded contents, or None (`RecordedValue`).

    Histograms are cached in `context.histograms` by storage and layout.
    """
    if argument.value is None or (argument.storage_bytes or 0) > _MOST_BYTES:
        return None
    key = (argument.value, layout)
    if key not in context.histograms:
        content = context.trace.artifact(argument.value)
        values = None if content is None else elements_of(content, layout)
        context.histograms[key] = None if values is None else histogram(values)
    return context.histograms[key]
