"""Kernels that are recorded and not evaluated, since they are written in Gluon and have no TTIR.

What an output reports of accesses, bytes and FLOPs is of other kernels, which this note tells.
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
    """The names of kernels that are not evaluated, in order, and how many calls they have."""

    kernels: tuple[str, ...]
    calls: int

    @property
    def note(self) -> str:
        """What an output has to say of them."""
        shown = ", ".join(self.kernels[:_SHOWN])
        more = ", …" if len(self.kernels) > _SHOWN else ""
        return (
            f"not evaluated: {plural(len(self.kernels), 'kernel')} written in Gluon "
            f"({shown}{more}), with {plural(self.calls, 'unique call')}: without TTIR their "
            "accesses, bytes, FLOPs and sizes are not known, and no rule but pipeline-order "
            "judges them"
        )


def read_unevaluated(trace: "Trace", runs: "Sequence[Run]") -> Unevaluated | None:
    """Return the kernels of some runs that are not evaluated; None: there is none.

    Raises:
        DamagedFile, NewerFormat: as the reader of the trace.

    """
    names: dict[str, None] = {}
    count = 0
    for run in runs:
        kernels = trace.table("kernels", (run,), ["kernel_id", "name", "origin"]).to_pylist()
        own = {row["kernel_id"]: row["name"] for row in kernels if row["origin"] == GLUON}
        if not own:
            continue
        names |= dict.fromkeys(str(name or NO_NAME) for name in own.values())
        calls = trace.table("calls", (run,), ["kernel_id"])["kernel_id"].to_pylist()
        count += sum(kernel in own for kernel in calls)
    return Unevaluated(tuple(sorted(names)), count) if names else None
