"""Places in the user's program where storages were allocated, and operators called."""

from __future__ import annotations

from itertools import dropwhile
from typing import TYPE_CHECKING

from kvtrace.addons.memory.operator_effects import UNINITIALIZED
from kvtrace.figures.lines import is_plumbing, place_of
from kvtrace.ir.locations import Frame

if TYPE_CHECKING:
    from kvtrace.addons.memory.lives import Birth
    from kvtrace.schema.trace import Run, Trace


class Places:
    """Names of operators, and the lines that called them and generated code, of a run."""

    def __init__(self, trace: Trace, run: Run) -> None:
        """Read operators, allocations and stacks. Errors as `Trace.table`."""
        rows = trace.table("operators", (run,), ["operator_id", "name", "stack_id"]).to_pylist()
        self._operators = {
            row["operator_id"]: (row["name"] or "?", row["stack_id"]) for row in rows
        }
        table = trace.table("allocations", (run,), ["record", "stack_id"])
        self._allocation_stacks = dict(
            zip(table["record"].to_pylist(), table["stack_id"].to_pylist(), strict=True)
        )
        self._frames = {
            row["stack_id"]: row["frames"]
            for row in trace.table("stacks", (run,), ["stack_id", "frames"]).to_pylist()
        }

    def birth(self, birth: Birth) -> str:
        """Return where a storage came from: torch.empty at model.py:12."""
        if birth.origin == "operator":
            return self.operator(birth.row)
        if birth.origin == "unseen":
            return "made where kvtrace does not see it"
        stack_id = self._allocation_stacks.get(birth.row)
        if stack_id is None:
            return "an unnamed operator"  # as its schema says, the allocation lies within one
        return f"generated code{self._at(stack_id)}"

    def allocated_at(self, birth: Birth) -> str:
        """Return the line that made a storage without values, as model.py:12.

        Empty if an operator made it with values (a copy of what nobody wrote), or no line did.
        """
        if birth.origin != "operator":
            return self._line(self._allocation_stacks.get(birth.row))
        name, stack_id = self._operators.get(birth.row, ("?", None))
        return self._line(stack_id) if _base(name) in UNINITIALIZED else ""

    def operator(self, operator_id: int) -> str:
        """Return an operator's name and place: that of its first call, except for empty memory."""
        name, stack_id = self._operators.get(operator_id, ("?", None))
        place = self._at(stack_id)
        if not place or _base(name) in UNINITIALIZED:
            return f"{_said(name)}{place}"
        return f"{_said(name)} (first called{place})"

    def frames(self, operator_id: int) -> list[Frame]:
        """Return the frames of an operator's first call, from the program's innermost line on."""
        return self._own_frames(self._operators.get(operator_id, ("?", None))[1])

    def birth_frames(self, birth: Birth) -> list[Frame]:
        """Return the frames that made a storage, from the program's innermost line on."""
        if birth.origin == "operator":
            return self.frames(birth.row)
        return self._own_frames(self._allocation_stacks.get(birth.row))

    def _own_frames(self, stack_id: int | None) -> list[Frame]:
        rows = self._frames.get(stack_id) or ()
        own = dropwhile(lambda row: is_plumbing(row["file"]), rows)
        return [
            Frame(row["file"], row["line"], row["column"], row["function"])
            for row in list(own) or rows
        ]

    def _at(self, stack_id: int | None) -> str:
        line = self._line(stack_id)
        return f" at {line}" if line else ""

    def _line(self, stack_id: int | None) -> str:
        place = place_of(self._frames.get(stack_id) or ())
        return "" if place is None else place.short


def _base(name: str) -> str:
    """Return an operator's name without its overload."""
    return name.partition(".")[0]


def _said(name: str) -> str:
    """Return how users call an operator: torch.empty for aten::empty.memory_format."""
    base = _base(name)
    return f"torch.{base.removeprefix('aten::')}" if base.startswith("aten::") else base
