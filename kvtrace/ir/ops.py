"""What each op of the language is: its operands by name, its kind, and what it does to memory.

One row an op. No other file has positions of operands, or lists ops by kind: `op.operand("mask")`
and `KINDS[op.name]` do. docs/design.md lists an op's other meanings, as what it computes. Operands
are as in MLIR (`TritonOps.td`, `ArithOps.td`, `SCFOps.td`, `ControlFlowOps.td`), some with
clearer names; `?` ends the name of one that may be missing, `*` that of any number of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Final, Literal

from kvtrace.ir.attributes import DenseArrayAttribute

if TYPE_CHECKING:
    from kvtrace.ir.model import Op, Value


class Kind(Enum):
    """What sort of op it is."""

    ELEMENTWISE = "each element is made of those at its place in the operands"
    GIVEN = "what it gives is made of no operand: constants, ranges, where a program is"
    SPREAD = "each element is one of the operand's; an axis has one element, or is new"
    PICKED = "each element is one of an operand's, which an index picks"
    REARRANGED = "each element is one of an operand's, at another place"
    REDUCTION = "the elements along an axis become one"
    SCAN = "each element is made of those before it along an axis"
    COUNT = "counts elements"
    PRODUCT = "a matrix product"
    ADDRESS = "makes pointers and descriptors"
    MEMORY = "reads memory, or writes it, or both"
    BRANCH = "one of its regions runs"
    LOOP = "its regions run again and again"
    END = "ends a block, and passes values on"
    JUMP = "ends a block, and goes to another"
    CALL = "runs a function"
    FUNCTION = "is a function"
    SHARED = "is about the memory that a program's threads share: a view of it, what moves, waits"
    REMARK = "computes nothing: barriers, what may be assumed"
    REPORT = "asserts or prints"
    MODULE = "holds functions"


AccessKind = Literal["load", "store", "atomic"]
"""What a memory op does: an atomic one reads and writes at once, and no other comes between."""

Reading = Literal["", "modular", "signed", "unsigned", "mixing"]
"""How an op reads integers: whether their width shows in what it makes of them.

`modular`: the result is the same modulo 2^n whether or not an operand has wrapped around. `mixing`:
unsigned, and it takes a part of what a number holds, as hashes do.
"""

Operator = Literal[
    "", "+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>", "min", "max", "where", "compare",
    "mulhi", "fma", "exp", "negate", "cast", "bitcast", "dot", "expand_dims", "trans", "reshape",
    "join", "split", "program_id", "num_programs", "arange", "floordiv", "ceildiv", "abs", "cat",
    "int_to_ptr", "ptr_to_int", "constant", "undefined", "inline_asm", "extern", "map",
]  # fmt: skip
"""What an op computes, whatever its elements' type, as Python or Triton's language writes it.

`mulhi` is the upper half of a product; `cast` keeps the number as far as the new type has it (so it
is not the cut to an integer), `bitcast` the bits. Empty where nothing asks.
"""

_OPERATORS: Final[dict[Operator, str]] = {
    "+": "arith.addi arith.addf tt.addptr",
    "-": "arith.subi arith.subf",
    "*": "arith.muli arith.mulf",
    "//": "arith.divsi arith.divui",
    "%": "arith.remsi arith.remui arith.remf",
    "&": "arith.andi",
    "|": "arith.ori",
    "^": "arith.xori",
    "<<": "arith.shli",
    ">>": "arith.shrsi arith.shrui",
    "min": "arith.minsi arith.minui",
    "max": "arith.maxsi arith.maxui",
    "where": "arith.select",
    "compare": "arith.cmpi arith.cmpf",
    "mulhi": "tt.mulhiui",
    "fma": "math.fma",
    "exp": "math.exp math.exp2",
    "negate": "arith.negf",
    "cast": "arith.trunci arith.extsi arith.extui arith.index_cast arith.index_castui arith.extf"
            " arith.truncf tt.fp_to_fp arith.sitofp arith.uitofp",
    "bitcast": "arith.bitcast tt.bitcast",
    "dot": "tt.dot ttng.warp_group_dot",
    "expand_dims": "tt.expand_dims",
    "trans": "tt.trans",
    "reshape": "tt.reshape",
    "join": "tt.join",
    "split": "tt.split",
    "program_id": "tt.get_program_id",
    "num_programs": "tt.get_num_programs",
    "arange": "tt.make_range",
    "floordiv": "arith.floordivsi",
    "ceildiv": "arith.ceildivsi arith.ceildivui",
    "abs": "math.absi math.absf",
    "cat": "tt.cat",
    "int_to_ptr": "tt.int_to_ptr",
    "ptr_to_int": "tt.ptr_to_int",
    "constant": "arith.constant llvm.mlir.constant",
    "undefined": "ub.poison llvm.mlir.undef llvm.mlir.poison",
    "inline_asm": "tt.elementwise_inline_asm",
    "extern": "tt.extern_elementwise",
    "map": "tt.map_elementwise",
}  # fmt: skip
_OPERATOR_OF: Final = {
    name: operator for operator, names in _OPERATORS.items() for name in names.split()
}
_TO_FLOAT: Final = {"arith.sitofp", "arith.uitofp"}
_GROWING: Final = {
    "arith.addi", "arith.subi", "arith.muli", "arith.shli", "arith.divsi", "arith.floordivsi",
    "arith.ceildivsi", "math.absi",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class OpKind:
    """The definition of one op.

    `group` is the file of `kvtrace/evaluate/dialects` that its array meaning is in; empty: it has
    none, for it does not execute.
    """

    name: str
    group: str
    kind: Kind
    operands: tuple[str, ...] = ()
    effect: AccessKind | None = None
    reading: Reading = ""
    operator: Operator = ""
    grows: bool = False
    """Whether it may give more than its width holds though all that it takes fits."""
    _places: Mapping[str, int] = field(init=False, repr=False)
    _fixed: int = field(init=False, repr=False)
    """How many names there are before one that need not represent one operand."""

    def __post_init__(self) -> None:
        places = {name.rstrip("?*"): place for place, name in enumerate(self.operands)}
        loose = (place for place, name in enumerate(self.operands) if name.endswith(("?", "*")))
        object.__setattr__(self, "_places", places)
        object.__setattr__(self, "_fixed", next(loose, len(places)))

    def span(self, op: Op, name: str) -> tuple[int, int]:
        """Return where the operands of a name begin, and where they end, among those of an op.

        Raises:
            KeyError: ops of this kind have no operand of that name.

        """
        place = self._places.get(name)
        if place is None:
            raise KeyError(f"{self.name} has no operand {name!r}, only {', '.join(self._places)}")
        if place < self._fixed:
            return place, place + 1
        sizes = self._sizes(op)
        start = sum(sizes[:place])
        return start, start + sizes[place]

    @property
    def names(self) -> Iterable[str]:
        """The names of operands, in order."""
        return self._places

    def has(self, name: str) -> bool:
        """Whether ops of this kind may have an operand of a name."""
        return name in self._places

    def _sizes(self, op: Op) -> Sequence[int]:
        """Count the operands of each name."""
        given = op.attributes.get("operandSegmentSizes")
        if isinstance(given, DenseArrayAttribute) and len(given.values) >= len(self.operands):
            return [int(number) for number in given.values]
        left = len(op.operands)
        sure = sum(not name.endswith(("?", "*")) for name in self.operands)
        many = sum(name.endswith("*") for name in self.operands)
        spare = max(left - sure, 0)
        share = spare // many if many else 0
        spare -= share * many
        sizes = []
        for name in self.operands:
            if name.endswith("*"):  # of several lists without sizes, all have one length
                sizes.append(share)
            elif name.endswith("?"):
                sizes.append(min(spare, 1))
                spare -= sizes[-1]
            else:
                sizes.append(1)
        return sizes


KINDS: Final[dict[str, OpKind]] = {}
"""All ops that are known, by name."""

_Rows = Mapping[str, str]


def _rows(
    group: str, kind: Kind, rows: _Rows, *, effect: AccessKind | None = None, reading: Reading = ""
) -> None:
    """Add ops: their operands, to the names of the ops that have them."""
    for operands, names in rows.items():
        for name in names.split():
            KINDS[name] = OpKind(
                name, group, kind, tuple(operands.split()), effect, reading,
                _OPERATOR_OF.get(name, ""), name in _GROWING,
            )  # fmt: skip


# -- memory ---------------------------------------------------------------------------------------

_rows("tt_memory", Kind.MEMORY, {"pointer mask? other?": "tt.load"}, effect="load")
_rows("tt_memory", Kind.MEMORY, {"pointer value mask?": "tt.store"}, effect="store")
# From Triton 3.9 on. They read or write, and no other comes between the bytes of an element.
_rows("tt_atomic", Kind.MEMORY, {
    "pointer mask?": "tt.atomic_load",
    "pointer expected timeout?": "tt.atomic_poll",
}, effect="load")  # fmt: skip
_rows("tt_atomic", Kind.MEMORY, {"pointer value mask?": "tt.atomic_store"}, effect="store")
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
_rows("tt_memory", Kind.ADDRESS, {"pointer offset": "tt.addptr"})
_rows("tt_addresses", Kind.ADDRESS, {"source": "tt.int_to_ptr tt.ptr_to_int"})

# -- where a program is, constants, remarks -------------------------------------------------------

_rows("tt_program", Kind.GIVEN, {
    "": "tt.get_program_id tt.get_num_programs tt.make_range ub.poison llvm.mlir.undef"
        " llvm.mlir.poison",
})  # fmt: skip
_rows("arith", Kind.GIVEN, {"": "arith.constant llvm.mlir.constant"})
_rows("tt_program", Kind.REPORT, {"condition": "tt.assert", "value*": "tt.print"})
_rows("tt_program", Kind.REMARK, {
    "condition": "llvm.intr.assume",
    "": "gpu.barrier nvvm.barrier0 rocdl.barrier tt.debug_barrier ttg.barrier ttg.local_barrier"
        " ttng.fence_async_shared ttng.async_tma_store_wait"
        " tt.grid_dependency_wait tt.grid_dependency_launch_dependents",
    "pointer": "ttng.tensormap_fenceproxy_acquire",
    "barrier": "ttng.inval_barrier",
    "barrier predicate": "ttng.barrier_expect",
})  # fmt: skip

# -- elements moved -------------------------------------------------------------------------------

_rows("tt_shape", Kind.SPREAD, {
    "source": "tt.splat tt.unsplat tt.broadcast ttg.convert_layout",
}, reading="modular")  # fmt: skip
_rows("tt_shape", Kind.REARRANGED, {
    "source": "tt.expand_dims tt.trans tt.reshape tt.split",
    "first second": "tt.join tt.cat",
}, reading="modular")  # fmt: skip
_rows("tt_shape", Kind.PICKED, {"source index": "tt.gather"})

# -- integers and floats, element by element ------------------------------------------------------

_rows("arith", Kind.ELEMENTWISE, {
    "left right": "arith.addi arith.subi arith.muli arith.andi arith.ori arith.xori",
    "condition first second": "arith.select",
}, reading="modular")  # fmt: skip
_rows("arith", Kind.ELEMENTWISE, {
    "left right": "arith.divsi arith.remsi arith.floordivsi arith.ceildivsi arith.minsi"
                  " arith.maxsi arith.shrsi",
}, reading="signed")  # fmt: skip
_rows("arith", Kind.ELEMENTWISE, {
    "left right": "arith.divui arith.ceildivui arith.minui arith.maxui",
}, reading="unsigned")  # fmt: skip
_rows("arith", Kind.ELEMENTWISE, {"left right": "arith.remui arith.shrui"}, reading="mixing")
_rows("arith", Kind.ELEMENTWISE, {
    "left right": "arith.shli arith.cmpi arith.addf arith.subf arith.mulf arith.divf arith.remf"
                  " arith.maximumf arith.maxnumf arith.minimumf arith.minnumf arith.cmpf",
    "source": "arith.negf",
})  # fmt: skip
_rows("arith_extended", Kind.ELEMENTWISE, {
    "left right": "arith.addui_extended arith.mulsi_extended arith.mului_extended",
})  # fmt: skip
_rows("arith_casts", Kind.ELEMENTWISE, {
    "source": "arith.trunci arith.bitcast tt.bitcast",
}, reading="modular")  # fmt: skip
_rows("arith_casts", Kind.ELEMENTWISE, {"source": "arith.extsi arith.index_cast"}, reading="signed")
_rows(
    "arith_casts",
    Kind.ELEMENTWISE,
    {"source": "arith.extui arith.index_castui"},
    reading="unsigned",
)
_rows("arith_casts", Kind.ELEMENTWISE, {"source": "arith.sitofp"}, reading="signed")
_rows("arith_casts", Kind.ELEMENTWISE, {"source": "arith.uitofp"}, reading="unsigned")
_rows("arith_casts", Kind.ELEMENTWISE, {
    "source": "arith.fptosi arith.fptoui arith.extf arith.truncf",
})  # fmt: skip
_rows("math", Kind.ELEMENTWISE, {"source": "math.absi"}, reading="signed")
_rows("math", Kind.ELEMENTWISE, {
    "source": "math.absf math.acos math.acosh math.asin math.asinh math.atan math.atanh math.cbrt"
              " math.ceil math.cos math.cosh math.ctlz math.ctpop math.cttz math.erf math.erfc"
              " math.exp math.exp2 math.expm1 math.floor math.isfinite math.isinf math.isnan"
              " math.log math.log10 math.log1p math.log2 math.rint math.round math.roundeven"
              " math.rsqrt math.sin math.sinh math.sqrt math.tan math.tanh math.trunc",
    "left right": "math.atan2 math.copysign math.fpowi math.powf",
    "left right added": "math.fma",
})  # fmt: skip
_rows("tt_elementwise", Kind.ELEMENTWISE, {
    "source lowest highest": "tt.clampf",
    "left right": "tt.precise_divf tt.approx_divf",
    "source": "tt.precise_sqrt tt.fp_to_fp",
})  # fmt: skip
_rows("tt_elementwise", Kind.ELEMENTWISE, {"left right": "tt.mulhiui"}, reading="mixing")
_rows("libdevice", Kind.ELEMENTWISE, {"source*": "tt.extern_elementwise"})
_rows("tt_inline", Kind.ELEMENTWISE, {"source*": "tt.elementwise_inline_asm tt.map_elementwise"})

# -- several elements at once ---------------------------------------------------------------------

_rows("tt_reduce", Kind.REDUCTION, {"source*": "tt.reduce"})
_rows("tt_reduce", Kind.SCAN, {"source*": "tt.scan"})
_rows("tt_reduce", Kind.COUNT, {"source mask?": "tt.histogram"})
_rows("tt_dot", Kind.PRODUCT, {
    "left right added": "tt.dot",
    "left right added left_scale? right_scale?": "tt.dot_scaled",
})  # fmt: skip

# -- what TTGIR has besides -----------------------------------------------------------------------

_rows("ttng", Kind.PRODUCT, {"left right added adds?": "ttng.warp_group_dot"})
_rows("ttg", Kind.SHARED, {
    "source?": "ttg.local_alloc",
    "shared": "ttg.local_dealloc ttg.memdesc_trans ttg.memdesc_reshape ttg.memdesc_subslice",
    "shared index": "ttg.memdesc_index",
    "shared token?": "ttg.local_load",
    "value shared": "ttg.local_store",
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

# -- control --------------------------------------------------------------------------------------

_rows("scf", Kind.BRANCH, {
    "condition": "scf.if",
    "selector": "scf.index_switch",
    "": "scf.execute_region",
})  # fmt: skip
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
"""The attribute of a loop that asks for a number of pipeline stages (`tl.range`)."""
LOOP_UNROLLING: Final = "tt.loop_unroll_factor"
"""The attribute of a loop whose trips are to be unrolled."""


def effect_of(op: Op) -> AccessKind | None:
    """Return what an op does to memory; None: nothing."""
    row = KINDS.get(op.name)
    return None if row is None else row.effect


def named(wanted: Callable[[OpKind], bool]) -> frozenset[str]:
    """Return the names of the ops of which something is true."""
    return frozenset(row.name for row in KINDS.values() if wanted(row))


def computing(*operators: Operator) -> frozenset[str]:
    """Return the names of the ops that compute one of these."""
    return named(lambda row: row.operator in operators)


READING: Final = named(lambda row: row.effect in ("load", "atomic"))
"""Ops that give what memory holds."""
WRITING: Final = named(lambda row: row.effect in ("store", "atomic"))
MEMORY: Final = READING | WRITING
FILLING: Final = named(lambda row: row.effect == "load" and row.has("other"))
"""Loads that may say what lanes that are off are given."""
POINTED: Final = named(lambda row: row.effect is not None and row.has("pointer"))
"""Ops that go to memory by pointers, not by a descriptor."""
CALLS: Final = named(lambda row: row.kind is Kind.CALL)
FUNCTIONS: Final = named(lambda row: row.kind is Kind.FUNCTION)
LOOPS: Final = named(lambda row: row.kind is Kind.LOOP)
BRANCHES: Final = named(lambda row: row.kind is Kind.BRANCH)
GIVEN: Final = named(lambda row: row.kind is Kind.GIVEN)
CONSTANTS: Final = named(lambda row: row.operator == "constant")
SPREADING: Final = named(lambda row: row.kind is Kind.SPREAD)
"""Ops that put elements into more places, or fewer, and keep the order of axes."""
MOVING: Final = named(lambda row: row.kind is Kind.SPREAD or row.kind is Kind.REARRANGED)
ELEMENTWISE: Final = named(lambda row: row.kind is Kind.ELEMENTWISE)
SILENT: Final = named(lambda row: row.kind is Kind.REMARK)
"""Ops that mean nothing when programs run as whole arrays."""
BARRIERS: Final = frozenset(
    {"gpu.barrier", "nvvm.barrier0", "rocdl.barrier", "tt.debug_barrier", "ttg.barrier"}
)
"""Those at which all threads of a program wait, after which each sees what the others stored."""
MODULAR: Final = named(lambda row: row.reading == "modular" and row.kind is not Kind.SPREAD)
SIGNED: Final = named(lambda row: row.reading == "signed" and row.name not in _TO_FLOAT)
UNSIGNED: Final = named(lambda row: row.reading == "unsigned" and row.name not in _TO_FLOAT)
"""Ops that make integers of integers, which they read so."""
MIXING: Final = named(lambda row: row.reading == "mixing")
COMBINING: Final = named(lambda row: row.kind in (Kind.REDUCTION, Kind.SCAN))
"""Ops that combine elements in a region, along an axis."""
DIVIDING: Final = computing("//", "%", "floordiv", "ceildiv") & (SIGNED | UNSIGNED | MIXING)
"""Divisions of integers."""
GROWING: Final = named(lambda row: row.grows)
"""Integer ops that wrap around, not only pass on what has."""
UNROUNDED: Final = computing("where", "bitcast", "negate", "abs") | {
    "arith.maximumf", "arith.maxnumf", "arith.minimumf", "arith.minnumf", "tt.clampf",
}  # fmt: skip
"""Ops whose result is an operand's number, or its negative or size: they round nothing."""


def operator_of(op: Op) -> Operator:
    """Return what an op computes; empty where its row does not say, or it has none."""
    row = KINDS.get(op.name)
    return "" if row is None else row.operator


def address_of(op: Op) -> Value:
    """Return what says where a memory op goes: its pointer, or its descriptor."""
    return op.operand("descriptor" if KINDS[op.name].has("descriptor") else "pointer")


def mask_of(op: Op) -> Value | None:
    """Return the mask of an op; None: it has none, so all lanes are on."""
    return op.optional("mask") if KINDS[op.name].has("mask") else None


def waits_for_memory(op: Op) -> bool:
    """Tell whether an op repeats itself until memory is as it expects, or its time is over."""
    row = KINDS.get(op.name)
    return row is not None and row.has("timeout")


DATA: Final = ("value", "expected", "other")
"""Names of a memory op's operands that are neither address nor mask."""


def data_of(op: Op) -> tuple[Value, ...]:
    """Return the operands of a memory op that are data."""
    return _all_of(op, DATA)


def operands_of(op: Op) -> Iterator[tuple[str, Value]]:
    """Yield the operands of an op with their names."""
    for name in KINDS[op.name].names:
        for value in op.group(name):
            yield name, value


def positions_of(op: Op) -> tuple[Value, ...]:
    """Return where in a descriptor's tensor a memory op's block begins, or its rows are."""
    return _all_of(op, ("index", "row", "column"))


def _all_of(op: Op, names: Sequence[str]) -> tuple[Value, ...]:
    row = KINDS[op.name]
    return tuple(value for name in names if row.has(name) for value in op.group(name))
