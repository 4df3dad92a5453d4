"""Notes on a trace as a whole: what reading it found, what was not evaluated, and of add-ons."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kvtrace import registry
from kvtrace.schema.layout import GLUON, IMPORTED
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import Run, Trace
from kvtrace.schema.unread_files import unread_note
from kvtrace.schema.window import whole_trace
from kvtrace.schema.without_ir import KernelWithoutIr, kernels_without_ir
from kvtrace.text import plural

_SHOWN = 4
#: What notes of several runs differ by.
_RUN: Final = re.compile(r"^run \S+ ")


@dataclass(frozen=True, slots=True)
class Unevaluated:
    """The called kernels without TTIR, and the number of their unique calls."""

    kernels: tuple[KernelWithoutIr, ...]
    calls: int

    @property
    def names(self) -> tuple[str, ...]:
        """The distinct names of the kernels, sorted."""
        return tuple(sorted({kernel.name for kernel in self.kernels}))

    def notes(self, *, imported: bool = True) -> tuple[str, ...]:
        """Return sentences that name up to four kernels of each maker and say what is missing.

        Without `imported`, kernels of imported runs are left out: an import has a note of its own.
        """
        by_maker: dict[str, list[KernelWithoutIr]] = {}
        for kernel in self.kernels:
            if imported or kernel.origin != IMPORTED:
                by_maker.setdefault(kernel.maker, []).append(kernel)
        return tuple(_note(maker, kernels) for maker, kernels in sorted(by_maker.items()))


def _note(maker: str, kernels: Sequence[KernelWithoutIr]) -> str:
    names = sorted({kernel.name for kernel in kernels})
    shown = ", ".join(names[:_SHOWN])
    more = ", …" if len(names) > _SHOWN else ""
    calls = sum(len(kernel.calls) for kernel in kernels)
    is_gluon = kernels[0].origin == GLUON
    from_where, no_rule = (
        ("written in Gluon", "no rule but pipeline-order") if is_gluon else (maker, "no rule")
    )
    missing = "TTGIR of single thread blocks" if is_gluon else "TTIR"
    return (
        f"not evaluated: {plural(len(names), 'kernel')} {from_where} ({shown}{more}), with "
        f"{plural(calls, 'unique call')}: without {missing} their accesses, bytes, FLOPs and sizes "
        f"are not known, and {no_rule} judges them"
    )


def read_unevaluated(trace: Trace, runs: Sequence[Run]) -> Unevaluated | None:
    """Return the kernels of some runs that are not evaluated; None if there are none.

    Raises:
        DamagedFile, NewerFormat: as the reader of the trace.

    """
    whole = whole_trace(trace)
    kernels = [
        kernel for run in runs for kernel in kernels_without_ir(whole, run).values() if kernel.calls
    ]
    if not kernels:
        return None
    return Unevaluated(tuple(kernels), sum(len(kernel.calls) for kernel in kernels))


def unevaluated_notes(trace: Trace, runs: Sequence[Run]) -> tuple[str, ...]:
    """Return the notes on kernels that are not evaluated, without those of imported runs."""
    unevaluated = read_unevaluated(trace, runs)
    return () if unevaluated is None else unevaluated.notes(imported=False)


def notes_on(
    trace: Trace, runs: Sequence[Run], unevaluated: tuple[str, ...] | None = None
) -> tuple[str, ...]:
    """Return the notes that `kvtrace info` and the report show of some runs of a trace.

    `unevaluated` are `unevaluated_notes`, if the caller has read them.
    """
    if unevaluated is None:
        unevaluated = unevaluated_notes(trace, runs)
    of_add_ons = (
        note for _, notes in registry.loaded("trace_notes") for note in notes(trace, runs)
    )
    unread = unread_note(trace.path, TABLES, [run.run_id for run in runs])
    of_names = () if unread is None else (unread,)
    return (*_once_for_runs(trace.notes), *of_names, *unevaluated, *of_add_ons)


def _once_for_runs(notes: Sequence[str]) -> Iterator[str]:
    """Yield notes that are the same of several runs once, with the number of the other runs."""
    numbers = Counter(_RUN.sub("", note) for note in notes)
    for note in notes:
        number = numbers.pop(_RUN.sub("", note), 0)
        if number:
            yield note + (f"; the same of {plural(number - 1, 'more run')}" if number > 1 else "")
