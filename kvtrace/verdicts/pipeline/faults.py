"""Faults in TTGIR (operations that come too early), and the findings of an exploration."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from kvtrace.schema.errors import KvtraceError

if TYPE_CHECKING:
    from kvtrace.ir import Op
    from kvtrace.verdicts.pipeline.views import View

Early = Literal["reads early", "writes early", "overwrites", "stored early", "used early"]
"""The kinds of faults."""

READS_EARLY: Final = "reads early"
WRITES_EARLY: Final = "writes early"
OVERWRITES: Final = "overwrites"
STORED_EARLY: Final = "stored early"
USED_EARLY: Final = "used early"


class Unexplored(KvtraceError):
    """The error of an exploration in which operations in flight are unknown."""

    slug = "unexplored"


@dataclass(frozen=True)
class Fault:
    """An op that runs before an operation that `other` started has ended.

    `trips` are those of the loops around the op, `other_trips` those of the loops around the other
    op. `doubt` is the reason why programs may never reach the fault; empty if they surely do.
    """

    kind: Early
    op: Op
    other: Op
    view: View | None
    trips: tuple[int, ...]
    other_trips: tuple[int, ...]
    doubt: str


class CertainFault(Exception):
    """The exception for a fault that surely occurs, which ends the exploration."""

    def __init__(self, fault: Fault) -> None:
        super().__init__()
        self.fault = fault


@dataclass(slots=True)
class Findings:
    """The findings of an exploration: the first certain fault, and possible faults."""

    fault: Fault | None = None
    possible: list[Fault] = field(default_factory=list)
    states: int = 0
    endless_wait: Op | None = None
    """An op whose wait never ends in some state."""
    reused_memory: tuple[Op, Op] | None = None
    """An op that allocates a buffer, and an op in flight on a buffer that may share its memory."""
