"""Notes on a trace as a whole: what reading it found, what was not evaluated, and of add-ons."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kvtrace import registry
from kvtrace.figures.unevaluated import read_unevaluated

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace


def notes_on(trace: "Trace", runs: "Sequence[Run]") -> tuple[str, ...]:
    """Return the notes that `kvtrace info` and the report show of some runs of a trace."""
    unevaluated = read_unevaluated(trace, runs)
    of_add_ons = (
        note for _, notes in registry.loaded("trace_notes") for note in notes(trace, runs)
    )
    return (
        *trace.notes,
        *(() if unevaluated is None else unevaluated.notes(imported=False)),
        *of_add_ons,
    )
