"""What each IR op of a call did: executions, lanes, bytes, sectors, FLOPs, and where it went.

Rows of `ops`, `accesses` and `loops`. Figures are exact over the whole grid or they are null; what
could not be counted or described whole is said in `notes`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from kvtrace.evaluate.observe import Access, Observer
from kvtrace.ir import Module, Op, source_stack
from kvtrace.ir.types import TensorType
from kvtrace.passes.factor_types import factor_type
from kvtrace.passes.footprint import Footprint
from kvtrace.passes.stacks import StackRows
from kvtrace.passes.thread_layouts import BlockedLayout

if TYPE_CHECKING:
    from kvtrace.passes.calls import Call

_KINDS = {
    "tt.load": "load",
    "tt.store": "store",
    "tt.descriptor_load": "load",
    "tt.descriptor_store": "store",
    "tt.descriptor_gather": "load",
    "tt.descriptor_scatter": "store",
    "tt.descriptor_reduce": "atomic",
    "tt.atomic_rmw": "atomic",
    "tt.atomic_cas": "atomic",
    "tt.dot": "dot",
    "tt.dot_scaled": "dot",
    "tt.reduce": "reduce",
    "tt.scan": "scan",
}
_LOOPS = ("scf.for", "scf.while")


def kind_of(op: Op) -> str:
    """Give the op's kind as the `ops` table names it."""
    if op.name in _KINDS:
        return _KINDS[op.name]
    return "elementwise" if op.name.startswith(("arith.", "math.")) else "other"


def loops_around(module: Module) -> dict[int, int]:
    """Map the index of each op to the index of the innermost loop around it."""
    around: dict[int, int] = {}
    for op in module.ops:  # parents come before what is inside them
        parent = op.parent
        if parent is None:
            continue
        if parent.name in _LOOPS:
            around[op.index] = parent.index
        elif parent.index in around:
            around[op.index] = around[parent.index]
    return around


@dataclass(slots=True)
class _OpCount:
    op: Op
    executions: int = 0
    elements: int = 0
    active: int | None = 0
    element_bytes: int = 0
    flops: int | None = None
    footprints: dict[int | None, Footprint] = field(default_factory=dict)

    def footprint(self, access: Access, layout: BlockedLayout | None) -> Footprint:
        """Give what the op touches in one argument."""
        found = self.footprints.get(access.argument)
        if found is None:
            found = self.footprints[access.argument] = Footprint(access.element_bytes, layout)
        return found

    def sectors(self) -> int | None:
        """Sum over arguments; None if one is not known."""
        return _total([footprint.sectors for footprint in self.footprints.values()])

    def unique_bytes(self) -> int | None:
        """Sum over arguments (two that share a storage count twice); None if one is not known."""
        return _total([footprint.unique_bytes() for footprint in self.footprints.values()])


class Metrics(Observer):
    """Counts of one call. Where a mask hangs on data that is not there, masked lanes are null.

    Give rows only once the evaluation is over. `layouts`: how lanes of memory ops were given to
    threads, by op index, where that is known.
    """

    def __init__(self, layouts: Mapping[int, BlockedLayout] | None = None) -> None:
        self._layouts = layouts or {}
        self._counts: dict[int, _OpCount] = {}
        self._trips: dict[int, tuple[Op, list[np.ndarray[Any, Any]]]] = {}

    @classmethod
    def of_call(cls, call: "Call") -> "Metrics":
        """Make one for a call, with the layouts that its kernel was compiled with."""
        return cls(call.layouts)

    @property
    def modelled(self) -> tuple[int, int]:
        """Memory ops whose sectors go by the compiled layout, and by the order of lanes."""
        memory = [index for index, count in self._counts.items() if count.footprints]
        compiled = sum(index in self._layouts for index in memory)
        return compiled, len(memory) - compiled

    def op(self, op: Op, executions: int, elements: int, flops: int) -> None:
        """Count a batch of a compute op."""
        count = self._counts.setdefault(op.index, _OpCount(op))
        count.executions += executions
        count.elements += elements
        count.flops = (count.flops or 0) + flops

    def access(self, access: Access) -> None:
        """Count a batch of a memory op."""
        count = self._counts.setdefault(access.op.index, _OpCount(access.op))
        count.executions += access.executions
        count.elements += access.lanes
        count.element_bytes = access.element_bytes
        count.footprint(access, self._layouts.get(access.op.index)).add(access)
        if access.active is None or count.active is None:
            count.active = None
        else:
            count.active += access.active

    def loop(self, op: Op, trips: np.ndarray[Any, Any]) -> None:
        """Keep the trip counts of a batch of programs."""
        self._trips.setdefault(op.index, (op, []))[1].append(np.asarray(trips).reshape(-1))

    def op_rows(
        self, call_id: int, names: list[str], around: dict[int, int], stacks: StackRows
    ) -> list[dict[str, Any]]:
        """Give the rows of `ops`, in the order of the IR."""
        return [
            self._row(call_id, self._counts[index], names, around, stacks)
            for index in sorted(self._counts)
        ]

    def access_rows(
        self, call_id: int, names: list[str], around: dict[int, int]
    ) -> list[dict[str, Any]]:
        """Give the rows of `accesses`; docs/accesses.md describes them."""
        rows = []
        for index in sorted(self._counts):
            for argument, footprint in self._counts[index].footprints.items():
                footprint.finish()
                place = {
                    "call_id": call_id,
                    "op_index": index,
                    "arg": None if argument is None else names[argument],
                }
                for row in footprint.record_rows()[0]:
                    iteration = row["iteration"] if index in around else None
                    rows.append(row | place | {"iteration": iteration})
        return rows

    def notes(self, call_id: int) -> list[str]:
        """Say which figures are null because of a limit, and which accesses are left out."""
        notes = []
        for index, count in sorted(self._counts.items()):
            for footprint in count.footprints.values():
                footprint.finish()
                place = f"call {call_id}, op {index} ({count.op.name})"
                left_out = (footprint.limit, footprint.record_rows()[1])
                notes += [f"{place}: {note}" for note in left_out if note is not None]
        return notes

    def loop_rows(self, call_id: int, stacks: StackRows) -> list[dict[str, Any]]:
        """Give the rows of `loops`."""
        rows = []
        for index in sorted(self._trips):
            op, batches = self._trips[index]
            row = {
                "call_id": call_id,
                "op_index": index,
                "stack_id": stacks.add(source_stack(op)),
            }
            trips = np.concatenate(batches)
            if (trips >= 0).all():  # -1: a bound hangs on data that is not there
                row |= {
                    "trips_min": int(trips.min()),
                    "trips_median": int(np.median(trips)),
                    "trips_max": int(trips.max()),
                }
            rows.append(row)
        return rows

    def _row(
        self,
        call_id: int,
        count: _OpCount,
        names: list[str],
        around: dict[int, int],
        stacks: StackRows,
    ) -> dict[str, Any]:
        memory = bool(count.footprints)
        for footprint in count.footprints.values():
            footprint.finish()
        active = count.active if memory else None
        buffers = sorted({names[a] for a in count.footprints if a is not None})
        return {
            "call_id": call_id,
            "op_index": count.op.index,
            "op": count.op.name,
            "kind": kind_of(count.op),
            "dtype": _element_name(count.op),
            "stack_id": stacks.add(source_stack(count.op)),
            "executions": count.executions,
            "elements": count.elements,
            "masked_off": None if active is None else count.elements - active,
            "bytes": None if active is None else active * count.element_bytes,
            "unique_bytes": count.unique_bytes() if memory else None,
            "sectors": count.sectors() if memory else None,
            "flops": count.flops,
            "loop": around.get(count.op.index),
            "buffer": ",".join(buffers) or None,
        }


def _total(figures: list[int | None]) -> int | None:
    known = [figure for figure in figures if figure is not None]
    return sum(known) if len(known) == len(figures) else None


def _element_name(op: Op) -> str | None:
    if kind_of(op) == "dot":
        return factor_type(op)
    types = op.result_types or op.operand_types[1:2]
    if not types:
        return None
    first = types[0]
    return str(first.element if isinstance(first, TensorType) else first)
