"""Metrics of each IR op of a call: executions, lanes, bytes, sectors, FLOPs and addresses.

They are rows of `ops`, `accesses` and `loops`. Figures are exact over the whole grid, or null;
`notes` lists the figures that could not be counted and the accesses that are left out.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from msgspec import Struct, field

from kvtrace.evaluate import Argument, TensorArgument
from kvtrace.evaluate.observe import Access, Observer
from kvtrace.ir import Module, Op
from kvtrace.ir.attributes import EnumAttribute, IntegerAttribute, StringAttribute
from kvtrace.ir.model import once_per_module
from kvtrace.ir.ops import KINDS, LOOPS, Kind, contents_of, effect_of
from kvtrace.ir.stacks import OpStacks
from kvtrace.ir.types import SharedType, TensorType
from kvtrace.metrics.distinct import distinct_counts
from kvtrace.metrics.footprint import Footprint, LatestPatterns
from kvtrace.metrics.unique_bytes import Repetition, fresh_bytes
from kvtrace.recorded_calls.thread_layouts import BlockedLayout
from kvtrace.schema.content import Stack, StackRows

if TYPE_CHECKING:
    from kvtrace.recorded_calls.recorded import Call


#: Triton's InputPrecision of float32 factors, by number; IEEE is the default.
_PRECISIONS: Final = {0: "tf32", 1: "tf32x3", 2: "f32", 3: "bf16x3", 4: "bf16x6"}
_IEEE: Final = 2

#: Types of packed factors by Triton's names, in the order of the numbers of its ScaleDotElemType.
_SCALED: Final = {
    "e4m3": "f8E4M3FN", "e5m2": "f8E5M2", "e2m3": "f6E2M3FN", "e3m2": "f6E3M2FN",
    "e2m1": "f4E2M1FN", "bf16": "bf16", "fp16": "f16",
}  # fmt: skip


def factor_type(op: Op) -> str:
    """Return the type of a dot's factors (bf16, tf32, f8E5M2), the wider type if they differ.

    float32 factors have the requested precision: `tf32x3` is three products in tf32.
    """
    if KINDS[op.name].has("left_scale"):
        names = [_scaled_name(op, key) for key in ("a_elem_type", "b_elem_type")]
        return max(names, key=_bits)
    factor = op.operand("left").type
    name = str(factor.element if isinstance(factor, TensorType) else factor)
    if name != "f32":
        return name
    precision = _attribute_value(op, "inputPrecision")
    if isinstance(precision, str):
        return "f32" if precision == "ieee" else precision
    return _PRECISIONS.get(_IEEE if precision is None else precision, "f32")


def _scaled_name(op: Op, key: str) -> str:
    kind = _attribute_value(op, key)
    if isinstance(kind, str):
        return _SCALED.get(kind, kind)
    names = dict(enumerate(_SCALED.values()))
    return "?" if kind is None else names.get(kind, "?")


def _bits(name: str) -> int:
    digits = "".join(c for c in name.partition("E")[0] if c.isdigit())
    return int(digits) if digits else 0


def _attribute_value(op: Op, key: str) -> int | str | None:
    attribute = op.attributes.get(key)
    if isinstance(attribute, IntegerAttribute | StringAttribute | EnumAttribute):
        value = attribute.value
        return value if isinstance(value, int | str) else None
    return None


_KIND_NAMES = {
    Kind.ELEMENTWISE: "elementwise",
    Kind.PRODUCT: "dot",
    Kind.SCAN: "scan",
    Kind.REDUCTION: "reduce",
}


def kind_of(op: Op) -> str:
    """Return the op's kind as in the column `kind` of `ops`."""
    row = KINDS.get(op.name)
    return "other" if row is None else row.effect or _KIND_NAMES.get(row.kind, "other")


OpFacts = tuple[str, str | None, Stack]
"""Facts of an op in the IR: kind and dtype as in `ops`, and the source stack."""


class ModuleFacts:
    """Facts of the ops of one module in the IR; those of an op are computed when first needed.

    Attributes:
        loops: The index of the innermost loop around each op, by the op's index.

    """

    def __init__(self, module: Module | None = None) -> None:
        self._ops: dict[int, OpFacts] = {}
        self._stacks = OpStacks()
        self.loops = {} if module is None else _loops_around(module)

    def of(self, op: Op) -> OpFacts:
        """Return the kind, dtype and source stack of an op; cached."""
        facts = self._ops.get(op.index)
        if facts is None:
            kind = kind_of(op)
            dtype = factor_type(op) if kind == "dot" else _element_name(op)
            facts = self._ops[op.index] = kind, dtype, self._stacks.of(op)
        return facts


@once_per_module
def facts_of(module: Module) -> ModuleFacts:
    """Return the cache of facts of a module's ops."""
    return ModuleFacts(module)


def _loops_around(module: Module) -> dict[int, int]:
    around: dict[int, int] = {}
    for op in module.ops:  # parents come before their children
        parent = op.parent
        if parent is None:
            continue
        if parent.name in LOOPS:
            around[op.index] = parent.index
        elif parent.index in around:
            around[op.index] = around[parent.index]
    return around


class _OpCount(Struct):
    op: Op
    executions: int = 0
    elements: int = 0
    flops: int | None = None


class _MemoryCount(_OpCount):
    """The counts of a memory op; `footprints` is by argument (None: unknown argument)."""

    active: int | None = 0
    element_bytes: int = 0
    footprints: dict[int | None, Footprint] = field(default_factory=dict)

    def footprint(
        self, access: Access, layout: BlockedLayout | None, latest: LatestPatterns
    ) -> Footprint:
        """Return the op's footprint in the access's argument; created if needed."""
        footprint = self.footprints.get(access.argument)
        if footprint is None:
            footprint = Footprint(access.element_bytes, layout, latest)
            self.footprints[access.argument] = footprint
        return footprint

    def figures(self, names: list[str]) -> dict[str, Any]:
        """Return the columns of `ops` that only memory ops have."""
        counts = [footprint.count() for footprint in self.footprints.values()]
        active = self.active
        buffers = sorted({names[argument] for argument in self.footprints if argument is not None})
        return {
            "masked_off": None if active is None else self.elements - active,
            "bytes": None if active is None else active * self.element_bytes,
            # Two arguments that share a storage count twice.
            "unique_bytes": _sum_if_known([count.unique_bytes() for count in counts]),
            "sectors": _sum_if_known([count.sectors for count in counts]),
            "buffer": ",".join(buffers) or None,
        }


class Metrics(Observer):
    """An observer that counts the ops of one call; masked lanes are null if unknown.

    Rows are complete after the evaluation. `layouts` distribute lanes of memory ops to
    threads, by op index; `facts` has facts of the module's ops; `arguments` has the call's
    arguments, by which accesses to a common storage are found.
    """

    def __init__(
        self,
        layouts: Mapping[int, BlockedLayout] | None = None,
        facts: ModuleFacts | None = None,
        arguments: Sequence[Argument] = (),
    ) -> None:
        self._layouts = layouts or {}
        self._facts = facts or ModuleFacts()
        self._arguments = arguments
        self._counts: dict[int, _OpCount] = {}
        self._memory: dict[int, _MemoryCount] = {}
        self._trips: dict[int, tuple[Op, dict[int, int]]] = {}
        self._latest_patterns: LatestPatterns = {}

    @classmethod
    def of_call(cls, call: "Call") -> "Metrics":
        """Return the metrics of a call, with the layouts with which its kernel was compiled."""
        facts = facts_of(call.module)
        return cls(call.layouts, facts, call.arguments)

    @property
    def modeled(self) -> tuple[int, int]:
        """Numbers of memory ops whose sectors are counted by compiled layout, and by lane order."""
        compiled = sum(index in self._layouts for index in self._memory)
        return compiled, len(self._memory) - compiled

    def op(self, op: Op, executions: int, elements: int, flops: int) -> None:
        """Count the executions of a batch of a compute op.

        Args:
            op: the op.
            executions: programs times trips.
            elements: elements of all executions.
            flops: floating-point operations of all executions.

        """
        count = self._counts.get(op.index)
        if count is None:
            count = self._counts[op.index] = _OpCount(op)
        count.executions += executions
        count.elements += elements
        count.flops = (count.flops or 0) + flops

    def access(self, access: Access) -> None:
        """Count the executions of a batch of a memory op."""
        op = access.op
        count = self._memory.get(op.index)
        if count is None:
            compute_count = self._counts.get(op.index) or _OpCount(op)
            count = _MemoryCount(
                op, compute_count.executions, compute_count.elements, compute_count.flops
            )
            self._counts[op.index] = self._memory[op.index] = count
        count.executions += access.executions
        count.elements += access.lanes
        count.element_bytes = access.element_bytes
        layout = self._layouts.get(op.index)
        count.footprint(access, layout, self._latest_patterns).add(access)
        if access.active is None or count.active is None:
            count.active = None
        else:
            count.active += access.active

    def loop(self, op: Op, trips: np.ndarray[Any, Any]) -> None:
        """Add the trip counts of a batch of programs."""
        _, counts = self._trips.setdefault(op.index, (op, {}))
        if trips.size and trips.strides == (0,):  # one count for all
            programs_by_trips = [(int(trips[0]), len(trips))]
        else:
            programs_by_trips = distinct_counts(trips)
        for trip_count, programs in programs_by_trips:
            counts[trip_count] = counts.get(trip_count, 0) + programs

    def op_rows(self, call_id: int, names: list[str], stacks: StackRows) -> list[dict[str, Any]]:
        """Return the rows of `ops`, in the order of the IR."""
        rows = []
        fresh_by_op = self._fresh_bytes()
        for index in sorted(self._counts):
            count = self._counts[index]
            kind, dtype, stack = self._facts.of(count.op)
            row = {
                "call_id": call_id,
                "op_index": index,
                "op": count.op.name,
                "kind": kind,
                "dtype": dtype,
                "stack_id": stacks.add_stack(stack),
                "executions": count.executions,
                "elements": count.elements,
                "masked_off": None,
                "bytes": None,
                "unique_bytes": None,
                "fresh_bytes": fresh_by_op.get(index),
                "sectors": None,
                "flops": count.flops,
                "loop": self._facts.loops.get(index),
                "buffer": None,
            }
            memory = self._memory.get(index)
            rows.append(row if memory is None else row | memory.figures(names))
        return rows

    def _fresh_bytes(self) -> dict[int, int | None]:
        """Return, by op index, the bytes of storages that no earlier op reads, or writes."""
        touched_by_storage: dict[Any, list[tuple[int, tuple[int, list[Repetition]]]]] = {}
        sizes_of_ops: dict[int, list[int | None]] = {}
        for index in sorted(self._memory):
            count = self._memory[index]
            for argument, footprint in count.footprints.items():
                storage, origin = self._storage_and_offset(argument)
                touched = footprint.count().touched(origin)
                if touched is None:
                    sizes_of_ops.setdefault(index, []).append(None)
                    continue
                key = (kind_of(count.op) == "load", storage)
                touched_by_storage.setdefault(key, []).append((index, touched))
        for touched_by_op in touched_by_storage.values():
            sizes = fresh_bytes(touched for _, touched in touched_by_op)
            for (index, _), size in zip(touched_by_op, sizes, strict=True):
                sizes_of_ops.setdefault(index, []).append(size)
        return {index: _sum_if_known(sizes) for index, sizes in sizes_of_ops.items()}

    def _storage_and_offset(self, argument: int | None) -> tuple[Any, int]:
        """Return a key of an argument's storage, and the argument's byte offset in it."""
        value = None if argument is None or not self._arguments else self._arguments[argument]
        if isinstance(value, TensorArgument):
            return id(value.storage), value.offset_bytes
        return ("argument", argument), 0

    def access_rows(self, call_id: int, names: list[str]) -> list[dict[str, Any]]:
        """Return the rows of `accesses`; docs/accesses.md describes them."""
        rows = []
        for index in sorted(self._memory):
            is_in_loop = index in self._facts.loops
            for argument, footprint in self._memory[index].footprints.items():
                name = None if argument is None else names[argument]
                for row in footprint.count().records[0]:
                    full_row = {"call_id": call_id, "op_index": index, "arg": name}
                    full_row.update(row)
                    if not is_in_loop:
                        full_row["iteration"] = None
                    rows.append(full_row)
        return rows

    def notes(self) -> list[str]:
        """Return texts about figures that are null because of a limit, and omitted accesses."""
        notes = []
        for index in sorted(self._memory):
            count = self._memory[index]
            for footprint in count.footprints.values():
                count_ = footprint.count()
                left_out = (count_.limit, count_.records[1])
                notes += [
                    f"op {index} ({count.op.name}): {note}" for note in left_out if note is not None
                ]
        return notes

    def loop_rows(self, call_id: int, stacks: StackRows) -> list[dict[str, Any]]:
        """Return the rows of `loops`, with trip counts if all are known."""
        rows = []
        for index in sorted(self._trips):
            op, counts = self._trips[index]
            _, _, stack = self._facts.of(op)
            row = {
                "call_id": call_id,
                "op_index": index,
                "stack_id": stacks.add_stack(stack),
            }
            if counts and min(counts) >= 0:  # -1: a bound depends on unrecorded data
                row |= {
                    "trips_min": min(counts),
                    "trips_median": _median(counts),
                    "trips_max": max(counts),
                }
            rows.append(row)
        return rows


def _median(counts: Mapping[int, int]) -> int:
    """Return the median, rounded down, of values with counts."""
    values = sorted(counts)
    upto = list(accumulate(counts[value] for value in values))
    middle = ((upto[-1] - 1) // 2, upto[-1] // 2)
    return sum(values[bisect_right(upto, position)] for position in middle) // 2


def _sum_if_known(figures: list[int | None]) -> int | None:
    numbers = [figure for figure in figures if figure is not None]
    return sum(numbers) if len(numbers) == len(figures) else None


def _element_name(op: Op) -> str | None:
    values = op.results if effect_of(op) is None else (contents_of(op),)
    if not values:
        return None
    type_ = values[0].type
    return str(type_.element if isinstance(type_, TensorType | SharedType) else type_)
