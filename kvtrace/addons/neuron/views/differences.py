"""Figures of NKI launches in `kvtrace diff`: executed ops, peaks of on-chip memory, and engines."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kvtrace.addons.neuron.views.chip_profile import ENGINES, ChipProfile, read_chip_profiles
from kvtrace.converters.diff.added import DiffAddition, FigureKind, FigureSource

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

_EXECUTED: Final = "executed ops"
_SBUF: Final = "SBUF peak"
_PSUM: Final = "PSUM peak, banks"
_LEAST: Final = {engine: f"{engine} engine, least" for engine in ENGINES}


def _read(trace: "Trace", runs: Sequence["Run"]) -> Mapping[tuple[str, int], Mapping[str, float]]:
    chips = read_chip_profiles(trace, runs)
    return {(chip.run, chip.call_id): _figures(chip) for chip in chips}


def _figures(chip: ChipProfile) -> dict[str, float]:
    peaks = {_SBUF: chip.sbuf_peak_bytes, _PSUM: chip.psum_peak_banks}
    busy_ns = {_LEAST[e.engine]: e.busy_ns for e in chip.engines if e.busy_ns is not None}
    return {_EXECUTED: chip.executed, **peaks, **busy_ns}


_FIGURES: Final = FigureSource(
    read=_read,
    kinds=(
        FigureKind(_EXECUTED, "count", "more"),
        FigureKind(_SBUF, "bytes", None, combined="most"),
        FigureKind(_PSUM, "count", None, combined="most"),
        *(FigureKind(name, "ns", "more") for name in _LEAST.values()),
        *(
            FigureKind(f"{engine} engine busy", "share", None, part=name, of=(*_LEAST.values(),))
            for engine, name in _LEAST.items()
        ),
    ),
)

DIFF: Final = DiffAddition(figures=_FIGURES)
