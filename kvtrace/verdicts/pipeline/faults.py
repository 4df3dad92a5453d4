"""What may come too early in TTGIR, and what came of looking for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from kvtrace.schema.errors import KvtraceError

if TYPE_CHECKING:
    from kvtrace.ir import Op
    from kvtrace.verdicts.pipeline.views import View

Early = Literal["reads early", "writes early", "overwrites", "stored early", "used early"]
"""What is wrong."""

READS_EARLY: Final = "reads early"
WRITES_EARLY: Final = "writes early"
OVERWRITES: Final = "overwrites"
STORED_EARLY: Final = "stored early"
USED_EARLY: Final = "used early"


class Unexplored(KvtraceError):
    """It is not known what may be in flight."""

    slug = "unexplored"


@dataclass(frozen=True)
class Fault:
    """An op that comes too early: before what `other` began has ended.

    `trips` are those of the loops around the op, `other_trips` of those around the other. `doubt`
    says why no program may get there; empty: nothing speaks against it.
    """

    kind: Early
    op: Op
    other: Op
    view: View | None
    trips: tuple[int, ...]
    other_trips: tuple[int, ...]
    doubt: str


@dataclass(slots=True)
class Explored:
    """What came of it: the first fault that is sure, and others that may be."""

    fault: Fault | None = None
    possible: list[Fault] = field(default_factory=list)
    states: int = 0
    blocked: Op | None = None
    """A wait that never ends, in some state."""
    given_away: tuple[Op, Op] | None = None
    """A new buffer, and what is in flight in another that may lie in the same memory."""
