"""Kernels that are recorded but not evaluated, since they are written in Gluon and have no TTIR.

An output's accesses, bytes and FLOPs exclude these kernels; a note in the output says so.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvtrace.figures.identity import NO_NAME
from kvtrace.schema.layout import GLUON
from kvtrace.text import plural

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Unevaluated:
    """The sorted names of kernels written in Gluon, and the number of their unique calls."""

    kernels: tuple[str, ...]
    calls: int

    @property
    def note(self) -> str:
        """The sentence in outputs that names up to four of the kernels and says what is missing."""
        shown = ", ".join(self.kernels[:_SHOWN])
        more = ", …" if len(self.kernels) > _SHOWN else ""
        return (
            f"not evaluated: {plural(len(self.kernels), 'kernel')} written in Gluon "
            f"({shown}{more}), with {plural(self.calls, 'unique call')}: without TTIR their "
            "accesses, bytes, FLOPs and sizes are not known, and no rule but pipeline-order "
            "judges them"
        )


def read_unevaluated(trace: "Trace", runs: "Sequence[Run]") -> Unevaluated | None:
    """Return the Gluon kernels of some runs, which are not evaluated; None if there are none.

    Raises:
        DamagedFile, NewerFormat: as the reader of the trace.

    """
    names: dict[str, None] = {}
    count = 0
    for run in runs:
        kernels = trace.table("kernels", (run,), ["kernel_id", "name", "origin"]).to_pylist()
        gluon = {row["kernel_id"]: row["name"] for row in kernels if row["origin"] == GLUON}
        if not gluon:
            continue
        names |= dict.fromkeys(str(name or NO_NAME) for name in gluon.values())
        calls = trace.table("calls", (run,), ["kernel_id"])["kernel_id"].to_pylist()
        count += sum(kernel in gluon for kernel in calls)
    return Unevaluated(tuple(sorted(names)), count) if names else None
