"""Table of ops: names of operands, kind, and effect on memory.

Each op has one row. Positions of operands and lists of ops by kind are in this file only; use
`op.operand("mask")` and `KINDS[op.name]`. docs/howitworks.md lists the other meanings of an op,
such as the computed values. Operands are those of MLIR (`TritonOps.td`, `ArithOps.td`, `SCFOps.td`,
`ControlFlowOps.td`), some with clearer names; `?` marks an optional operand, `*` a list,
`?*` one whose integers some versions lack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Final, cast

from kvtrace.ir.attributes import DenseArrayAttribute
from kvtrace.ir.op_kinds import AccessKind as AccessKind
from kvtrace.ir.op_kinds import Kind as Kind
from kvtrace.ir.op_kinds import Operator as Operator
from kvtrace.ir.op_kinds import Reading as Reading
from kvtrace.ir.types import IntegerType, integer_bits

if TYPE_CHECKING:
    from kvtrace.ir.model import Op, Value


_TO_FLOAT: Final = {"arith.sitofp", "arith.uitofp"}


@dataclass(frozen=True, slots=True)
class OpKind:
    """The row of an op in the table.

    `group` is the file in `kvtrace/evaluate/dialects` that evaluates the op on arrays; empty for
    ops that are not executed.
    """

    name: str
    group: str
    kind: Kind
    operands: tuple[str, ...] = ()
    effect: AccessKind | None = None
    reading: Reading = ""
    operator: Operator = ""
    _positions: Mapping[str, int] = field(init=False, repr=False)
    _fixed: int = field(init=False, repr=False)
    """Number of operand names before the first optional operand or list."""

    def __post_init__(self) -> None:
        positions = {name.rstrip("?*"): index for index, name in enumerate(self.operands)}
        variable = (index for index, name in enumerate(self.operands) if name.endswith(("?", "*")))
        object.__setattr__(self, "_positions", positions)
        object.__setattr__(self, "_fixed", next(variable, len(positions)))

    def span(self, op: Op, name: str) -> tuple[int, int]:
        """Return (start, end) of the operands with a name, in the list of an op's operands.

        Raises:
            KeyError: ops of this kind have no operand of that name.
        """
        position = self._positions.get(name)
        if position is None:
            names = ", ".join(self._positions)
            raise KeyError(f"{self.name} has no operand {name!r}, only {names}")
        if position < self._fixed:
            return position, position + 1
        sizes = self._sizes(op)
        start = sum(sizes[:position])
        return start, start + sizes[position]

    @property
    def names(self) -> Iterable[str]:
        """The names of operands, in order."""
        return self._positions

    def has(self, name: str) -> bool:
        """Return whether ops of this kind may have an operand with a name."""
        return name in self._positions

    def _sizes(self, op: Op) -> Sequence[int]:
        """Return the number of operands of each name."""
        segments = op.attributes.get("operandSegmentSizes")
        if isinstance(segments, DenseArrayAttribute) and len(segments.values) >= len(self.operands):
            return [int(number) for number in segments.values]
        required = sum(not name.endswith(("?", "*")) for name in self.operands)
        lists = sum(name.endswith("*") for name in self.operands)
        spare = max(len(op.operands) - required, 0)
        share = spare // lists if lists else 0
        if any(name.endswith("?*") for name in self.operands):
            integers = takewhile(
                lambda value: isinstance(value.type, IntegerType), op.operands[self._fixed :]
            )
            share = len(tuple(integers))
        spare -= share * lists
        sizes = []
        for name in reversed(self.operands):  # a version with one optional operand has the last
            if name.endswith("*"):  # several lists without sizes have equal lengths
                sizes.append(share)
            elif name.endswith("?"):
                sizes.append(min(spare, 1))
                spare -= sizes[-1]
            else:
                sizes.append(1)
        return sizes[::-1]


KINDS: Final[dict[str, OpKind]] = {}
"""The rows of all known ops by name."""

_Rows = Mapping[str, str]


def _rows(
    group: str, kind: Kind, rows: _Rows, *, effect: AccessKind | None = None, reading: Reading = ""
) -> None:
    """Add rows to `KINDS`; `rows` maps operand names to the ops that have them, as `name:operator`.

    The operator is left out for an op that computes none of `Operator`.
    """
    for operands, ops in rows.items():
        for op in ops.split():
            name, _, operator = op.partition(":")
            KINDS[name] = OpKind(
                name, group, kind, tuple(operands.split()), effect, reading,
                cast("Operator", operator),
            )  # fmt: skip


# -- memory ---------------------------------------------------------------------------------------

# Since Triton 3.9 also atomic: accesses to an element are not interleaved with other accesses.
_rows("tt_memory", Kind.MEMORY, {
    "pointer mask? other?": "tt.load",
    "pointer mask?": "tt.atomic_load",
}, effect="load")  # fmt: skip
_rows("tt_memory", Kind.MEMORY, {"pointer value mask?": "tt.store tt.atomic_store"}, effect="store")
_rows("tt_atomic", Kind.MEMORY, {"pointer expected timeout?": "tt.atomic_poll"}, effect="load")
_rows(
    "tt_atomic", Kind.MEMORY, {
        "pointer value mask?": "tt.atomic_rmw",
        "pointer expected value": "tt.atomic_cas",
    }, effect="atomic",
)  # fmt: skip
_rows(
    "tt_descriptor", Kind.MEMORY, {
        "descriptor index*": "tt.descriptor_load",
        "descriptor row column": "tt.descriptor_gather",
    }, effect="load",
)  # fmt: skip
_rows(
    "tt_descriptor", Kind.MEMORY, {
        "descriptor value index*": "tt.descriptor_store",
        "descriptor row column value": "tt.descriptor_scatter",
    }, effect="store",
)  # fmt: skip
_REDUCE = {"descriptor value index*": "tt.descriptor_reduce"}
_rows("tt_descriptor", Kind.MEMORY, _REDUCE, effect="atomic")
_rows("tt_descriptor", Kind.ADDRESS, {
    "pointer size* stride*": "tt.make_tensor_descriptor",
    "pointer size* stride* offset*": "tt.make_tensor_ptr",
    "pointer offset*": "tt.advance",
})  # fmt: skip
_rows("tt_shape", Kind.ADDRESS, {"descriptor": "tt.descriptor_to_tensor"})
_rows("tt_memory", Kind.ADDRESS, {"pointer offset": "tt.addptr:+"})
_rows("tt_addresses", Kind.ADDRESS, {"source": "tt.int_to_ptr:int_to_ptr tt.ptr_to_int:ptr_to_int"})

# -- program ids, constants, messages and barriers ------------------------------------------------

_rows("tt_program", Kind.GIVEN, {
    "": "tt.get_program_id:program_id tt.get_num_programs:num_programs tt.make_range:arange"
        " ub.poison:undefined llvm.mlir.undef:undefined llvm.mlir.poison:undefined",
})  # fmt: skip
_rows("arith", Kind.GIVEN, {"": "arith.constant:constant llvm.mlir.constant:constant"})
_rows("tt_program", Kind.REPORT, {"condition": "tt.assert", "value*": "tt.print"})
_rows("tt_program", Kind.REMARK, {
    "condition": "llvm.intr.assume",
    "": "gpu.barrier nvvm.barrier0 rocdl.barrier tt.debug_barrier ttg.barrier ttg.local_barrier"
        " tt.grid_dependency_wait tt.grid_dependency_launch_dependents",
    "pointer": "ttng.tensormap_fenceproxy_acquire",
})  # fmt: skip

# -- rearranged elements --------------------------------------------------------------------------

_rows("tt_shape", Kind.SPREAD, {
    "source": "tt.splat tt.unsplat tt.broadcast ttg.convert_layout",
}, reading="modular")  # fmt: skip
_rows("tt_shape", Kind.REARRANGED, {
    "source": "tt.expand_dims:expand_dims tt.trans:trans tt.reshape:reshape tt.split:split",
    "first second": "tt.join:join tt.cat:cat",
}, reading="modular")  # fmt: skip
_rows("tt_shape", Kind.PICKED, {"source index": "tt.gather"})

# -- elementwise arithmetic -----------------------------------------------------------------------

_rows("arith", Kind.ELEMENTWISE, {
    "left right": "arith.addi:+ arith.subi:- arith.muli:* arith.andi:& arith.ori:| arith.xori:^",
    "condition first second": "arith.select:where",
}, reading="modular")  # fmt: skip
_rows("arith", Kind.ELEMENTWISE, {
    "left right": "arith.divsi:// arith.remsi:% arith.minsi:min arith.maxsi:max arith.shrsi:>>",
}, reading="signed")  # fmt: skip
_rows("arith", Kind.ELEMENTWISE, {
    "left right": "arith.divui:// arith.minui:min arith.maxui:max",
}, reading="unsigned")  # fmt: skip
_rows("arith", Kind.ELEMENTWISE, {"left right": "arith.remui:% arith.shrui:>>"}, reading="mixing")
_rows("arith", Kind.ELEMENTWISE, {
    "left right": "arith.shli:<< arith.cmpi:compare arith.addf:+ arith.subf:- arith.mulf:*"
                  " arith.divf arith.remf:% arith.maximumf arith.maxnumf arith.minimumf"
                  " arith.minnumf arith.cmpf:compare",
    "source": "arith.negf:negate",
})  # fmt: skip
_rows("arith_casts", Kind.ELEMENTWISE, {
    "source": "arith.trunci:cast arith.bitcast:bitcast tt.bitcast:bitcast",
}, reading="modular")  # fmt: skip
_rows("arith_casts", Kind.ELEMENTWISE, {
    "source": "arith.extsi:cast arith.index_cast:cast arith.sitofp:cast",
}, reading="signed")  # fmt: skip
_rows("arith_casts", Kind.ELEMENTWISE, {
    "source": "arith.extui:cast arith.index_castui:cast arith.uitofp:cast",
}, reading="unsigned")  # fmt: skip
_rows("arith_casts", Kind.ELEMENTWISE, {
    "source": "arith.fptosi arith.fptoui arith.extf:cast arith.truncf:cast",
})  # fmt: skip
_rows("math", Kind.ELEMENTWISE, {"source": "math.absi:abs"}, reading="signed")
_rows("math", Kind.ELEMENTWISE, {
    "source": "math.absf:abs math.ceil math.cos math.erf math.exp:exp math.exp2:exp math.floor"
              " math.log math.log2 math.rsqrt math.sin math.sqrt",
    "left right added": "math.fma:fma",
})  # fmt: skip
_rows("tt_elementwise", Kind.ELEMENTWISE, {
    "source lowest highest": "tt.clampf",
    "left right": "tt.precise_divf tt.approx_divf",
    "source": "tt.precise_sqrt tt.fp_to_fp:cast",
})  # fmt: skip
_rows("tt_elementwise", Kind.ELEMENTWISE, {"left right": "tt.mulhiui:mulhi"}, reading="mixing")
_rows("libdevice", Kind.ELEMENTWISE, {"source*": "tt.extern_elementwise:extern"})
_rows("tt_inline", Kind.ELEMENTWISE, {
    "source*": "tt.elementwise_inline_asm:inline_asm tt.map_elementwise:map",
})  # fmt: skip

# -- reductions, scans and products ---------------------------------------------------------------

_rows("tt_reduce", Kind.REDUCTION, {"source*": "tt.reduce"})
_rows("tt_reduce", Kind.SCAN, {"source*": "tt.scan"})
_rows("tt_reduce", Kind.COUNT, {"source mask?": "tt.histogram"})
_rows("tt_dot", Kind.PRODUCT, {
    "left right added": "tt.dot:dot",
    "left right added left_scale? right_scale?": "tt.dot_scaled",
})  # fmt: skip

# -- ops of TTGIR only ----------------------------------------------------------------------------

_rows("ttng", Kind.PRODUCT, {"left right added adds?": "ttng.warp_group_dot:dot"})
_rows("ttg", Kind.SHARED, {
    "source?": "ttg.local_alloc",
    "shared": "ttg.local_dealloc ttg.memdesc_trans ttg.memdesc_reshape ttg.memdesc_subslice"
              " ttg.memdesc_reinterpret",
    "shared index": "ttg.memdesc_index",
    "shared token?": "ttg.local_load",
    "shared place": "ttg.local_gather",
    "value shared": "ttg.local_store",
    "shared value place": "ttg.local_scatter",
    "token*": "ttg.async_commit_group ttg.async_wait",
})  # fmt: skip
_COPY = {"pointer shared mask? other?": "ttg.async_copy_global_to_local"}
_rows("ttg", Kind.MEMORY, _COPY, effect="load")
_rows("ttg", Kind.GIVEN, {"": "ttg.global_scratch_alloc"})
_rows("ttg", Kind.PICKED, {"source": "ttg.fp4_to_fp"})
_rows("ttng", Kind.SHARED, {
    "passed*": "ttng.warp_group_dot_wait",
    "barrier": "ttng.init_barrier",
    "barrier phase predicate? passed*": "ttng.wait_barrier",
    "scratch pointer box* size* stride* step*": "ttng.tensormap_create",
})  # fmt: skip
_rows("ttng", Kind.ADDRESS, {"scratch": "ttng.reinterpret_tensor_descriptor"})
_rows("ttng", Kind.MEMORY, {
    "descriptor index* offset? barrier shared predicate": "ttng.async_tma_copy_global_to_local",
    "descriptor row column barrier shared predicate": "ttng.async_tma_gather",
}, effect="load")  # fmt: skip
_rows("ttng", Kind.MEMORY, {
    "descriptor index* value": "ttng.async_tma_copy_local_to_global",
    "descriptor row column value": "ttng.async_tma_scatter",
}, effect="store")  # fmt: skip
_rows("ttng", Kind.MEMORY, {"descriptor index* value": "ttng.async_tma_reduce"}, effect="atomic")
# AMD's tensor data mover (gfx1250); before Triton 3.8, copies have the block's position themselves.
_rows("amdg", Kind.ADDRESS, {"descriptor step* size* predicate?": "amdg.update_tensor_descriptor"})
_rows("amdg", Kind.MEMORY, {
    "descriptor index?* shared predicate? barrier?": "amdg.async_tdm_copy_global_to_local",
    "descriptor row column?* shared predicate? barrier?": "amdg.async_tdm_gather",
}, effect="load")  # fmt: skip
_rows("amdg", Kind.MEMORY, {
    "descriptor index?* value barrier?": "amdg.async_tdm_copy_local_to_global",
    "descriptor row column?* value barrier?": "amdg.async_tdm_scatter",
}, effect="store")  # fmt: skip
_PACKED = "amdg.local_load_packed_tranposed amdg.local_load_packed_transposed"  # since Triton 3.9
_rows("amdg", Kind.SHARED, {"token*": "amdg.async_tdm_wait", "shared token?": _PACKED})
_rows("ttng_partitions", Kind.SHARED, {
    "barrier": "amdg.init_barrier amdg.arrive_barrier amdg.async_copy_mbarrier_arrive",
    "barrier phase": "amdg.wait_barrier",
})  # fmt: skip
_rows("amdg", Kind.REMARK, {"descriptor index* predicate?": "amdg.tdm_prefetch"})

# Programs with ops of this group, but for remarks, are ordered by barriers, and run in partitions
# (partitions.py).
_rows("ttng_partitions", Kind.REMARK, {
    "": "ttng.fence_async_shared ttng.async_tma_store_wait",
    "barrier": "ttng.inval_barrier",
    "barrier predicate": "ttng.barrier_expect",
})  # fmt: skip
_rows("ttng_partitions", Kind.PARTITIONS, {
    "captured*": "ttg.warp_specialize ttg.warp_specialize.partitions",
})  # fmt: skip
_rows("ttng_partitions", Kind.SHARED, {
    "barrier predicate?": "ttng.arrive_barrier",
    "barrier predicate? view*": "ttng.tc_gen5_commit",
    "barrier": "ttng.async_copy_mbarrier_arrive",
    "source?": "ttng.tmem_alloc",
    "shared token?": "ttng.tmem_load",
    "shared token? value predicate": "ttng.tmem_store",
    "shared": "ttng.tmem_subslice",
    "source shared barrier?": "ttng.tmem_copy",
})  # fmt: skip
_rows("ttng_partitions", Kind.PRODUCT, {
    "left right added token? use_added predicate barrier* barrier_predicate*": "ttng.tc_gen5_mma",
    "left right added token? left_scale right_scale use_added predicate barrier*"
    " barrier_predicate*": "ttng.tc_gen5_mma_scaled",
})  # fmt: skip
_rows("", Kind.END, {"passed*": "ttg.warp_yield ttg.warp_return"})

# -- control flow ---------------------------------------------------------------------------------

_rows("scf", Kind.BRANCH, {"condition": "scf.if"})
_rows("scf", Kind.LOOP, {"first end step initial*": "scf.for", "initial*": "scf.while"})
_rows("scf", Kind.END, {"condition passed*": "scf.condition", "passed*": "scf.yield"})
_rows("tt_reduce", Kind.END, {"passed*": "tt.reduce.return tt.scan.return"})
_rows("tt_inline", Kind.END, {"passed*": "tt.map_elementwise.return"})
_rows("", Kind.END, {"passed*": "tt.return func.return llvm.return"})
_rows("cf", Kind.JUMP, {
    "condition first* second*": "cf.cond_br",
    "passed*": "cf.br",
})  # fmt: skip
_rows("cf", Kind.CALL, {"argument*": "tt.call func.call"})
_rows("", Kind.FUNCTION, {"": "tt.func func.func llvm.func"})
_rows("", Kind.MODULE, {"": "builtin.module"})


LOOP_STAGES: Final = "tt.num_stages"
"""The attribute of a loop with the number of pipeline stages (`tl.range`)."""
LOOP_UNROLLING: Final = "tt.loop_unroll_factor"
"""The attribute of a loop with the factor by which to unroll."""


def effect_of(op: Op) -> AccessKind | None:
    """Return the effect of an op on memory; None if it has no effect or no row."""
    row = KINDS.get(op.name)
    return None if row is None else row.effect


def named(condition: Callable[[OpKind], bool]) -> frozenset[str]:
    """Return the names of the ops whose row satisfies a condition."""
    return frozenset(row.name for row in KINDS.values() if condition(row))


def computing(*operators: Operator) -> frozenset[str]:
    """Return the names of the ops that compute one of the given operators."""
    return named(lambda row: row.operator in operators)


READING: Final = named(lambda row: row.effect in ("load", "atomic"))
"""Ops that return contents of memory."""
WRITING: Final = named(lambda row: row.effect in ("store", "atomic"))
MEMORY: Final = READING | WRITING
DESCRIBING: Final = named(
    lambda row: row.kind is Kind.ADDRESS and row.has("pointer") and row.operator != "+"
)
"""Ops that make descriptors and block pointers, whose numbers are scalars."""
FILLING: Final = named(
    lambda row: row.effect == "load" and row.has("other") and not row.has("shared")
)
"""Loads whose result may have a value for masked-off lanes; copies to shared memory fill zeros."""
POINTED: Final = named(lambda row: row.effect is not None and row.has("pointer"))
"""Ops that access memory by pointers, not by a descriptor."""
SHARED_READS: Final = frozenset(
    {"ttg.local_load", "ttg.local_gather", "ttng.tmem_load", *_PACKED.split()}
)
"""Ops that return contents of shared memory."""
CALLS: Final = named(lambda row: row.kind is Kind.CALL)
FUNCTIONS: Final = named(lambda row: row.kind is Kind.FUNCTION)
LOOPS: Final = named(lambda row: row.kind is Kind.LOOP)
PARTITIONED: Final = named(
    lambda row: row.group == "ttng_partitions" and row.kind is not Kind.REMARK
) | {"ttg.warp_return", "ttg.warp_yield"}
"""Ops of programs that barriers order: partitions, arrivals, tensor memory."""
PARTITIONING: Final = named(lambda row: row.kind is Kind.PARTITIONS)
"""Ops whose regions different warps of a program run at the same time."""
BRANCHES: Final = named(lambda row: row.kind is Kind.BRANCH)
GIVEN: Final = named(lambda row: row.kind is Kind.GIVEN)
CONSTANTS: Final = named(lambda row: row.operator == "constant")
SPREADING: Final = named(lambda row: row.kind is Kind.SPREAD)
"""Ops that repeat or drop elements, and keep the order of axes."""
MOVING: Final = named(lambda row: row.kind is Kind.SPREAD or row.kind is Kind.REARRANGED)
ELEMENTWISE: Final = named(lambda row: row.kind is Kind.ELEMENTWISE)
SILENT: Final = named(lambda row: row.kind is Kind.REMARK)
"""Ops without effect when a program is evaluated on whole arrays."""
BARRIERS: Final = frozenset(
    {"gpu.barrier", "nvvm.barrier0", "rocdl.barrier", "tt.debug_barrier", "ttg.barrier"}
)
"""Ops at which all threads of a program wait; afterwards, all their stores are visible."""
MODULAR: Final = named(lambda row: row.reading == "modular" and row.kind is not Kind.SPREAD)
SIGNED: Final = named(lambda row: row.reading == "signed" and row.name not in _TO_FLOAT)
UNSIGNED: Final = named(lambda row: row.reading == "unsigned" and row.name not in _TO_FLOAT)
"""Ops that compute integers from integers, interpreted as modular, signed or unsigned."""
MIXING: Final = named(lambda row: row.reading == "mixing")
COMBINING: Final = named(lambda row: row.kind in (Kind.REDUCTION, Kind.SCAN))
"""Ops that combine elements in a region, along an axis."""
DIVIDING: Final = computing("//", "%") & (SIGNED | UNSIGNED | MIXING)
"""Divisions of integers."""
_WITHIN_WIDTH: Final = {"arith.divui"} | computing(
    "&", "|", "^", ">>", "%", "min", "max", "mulhi", "where", "compare", "cast", "bitcast"
)
"""Ops whose integers fit their width if the operands do."""
UNROUNDED: Final = computing("where", "bitcast", "negate", "abs") | {
    "arith.maximumf", "arith.maxnumf", "arith.minimumf", "arith.minnumf", "tt.clampf",
}  # fmt: skip
"""Ops that do not round: the result is an operand's number, possibly negated or absolute."""
ROUNDED: Final = UNROUNDED | {"tt.fp_to_fp"}
"""Ops whose array functions return numbers of the result's type, which need no rounding."""


def operator_of(op: Op) -> Operator:
    """Return the operator that an op computes, or "" if the op's row has none."""
    row = KINDS.get(op.name)
    return "" if row is None else row.operator


def may_overflow(op: Op) -> bool:
    """Return whether an op computes integers that may not fit though its operands do.

    Any op that computes does, but for those that are known to stay within the width.
    """
    if op.name not in ELEMENTWISE or op.name in _WITHIN_WIDTH:
        return op.name in CALLS
    fewest = 1 if operator_of(op) == "+" else 2  # the sum of two Booleans may not fit one bit
    return any((integer_bits(result.type) or 0) >= fewest for result in op.results)


def address_of(op: Op) -> Value:
    """Return the address operand of a memory op: its pointer or its descriptor."""
    return op.operand("descriptor" if KINDS[op.name].has("descriptor") else "pointer")


def contents_of(op: Op) -> Value:
    """Return the value that a memory op loads or stores: a tensor, or a view of shared memory.

    An asynchronous copy to shared memory has no result, or a token.
    """
    row = KINDS[op.name]
    if row.has("shared"):
        return op.operand("shared")
    return op.results[0] if row.effect == "load" else op.operand("value")


def mask_of(op: Op) -> Value | None:
    """Return the mask of an op, or None if all lanes are active."""
    return op.optional("mask") if KINDS[op.name].has("mask") else None


def waits_for_memory(op: Op) -> bool:
    """Return whether an op polls memory until it has an expected value, or a timeout elapses."""
    row = KINDS.get(op.name)
    return row is not None and row.has("timeout")


def operands_of(op: Op) -> Iterator[tuple[str, Value]]:
    """Yield (name, operand) for each operand of an op, by order of names."""
    for name in KINDS[op.name].names:
        for value in op.group(name):
            yield name, value
