"""Costs of a kernel's layouts: ways of bank conflicts, and bytes of layout conversions.

Triton's `to_linear_layout` says, without a GPU, which element the bits of register, lane and warp
numbers hold, and which is at the bits of an offset in shared memory: linear maps of bits
(https://arxiv.org/abs/2505.23819). A layout that it does not know would end the process, so only
`_KNOWN` ones reach it. Triton reads the types of the TTGIR's ops and not the ops, whose syntax
differs more between versions.

An access moves vectors of up to 16 bytes that registers hold in order. The lanes that are served at
once ask for 128 bytes in 32 banks of 4 bytes: for 2^a distinct words in 2^b banks, of which each is
accessed 2^(a - b) times. Triton's `get_shared_bank_conflicts` counts the same, but too few for some
vectors below 4 bytes, and counts 64 lanes as served at once, where here half a wave is.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from kvtrace.backends.compiled_kernels.generic import GenericFormFailed, parsed_by_triton
from kvtrace.converters.line_layouts import LayoutCost, LayoutOp
from kvtrace.ir.locations import version_numbers

_KNOWN: Final = {
    "blocked", "slice", "dot_op", "nvidia_mma", "amd_mfma", "amd_wmma", "linear",
    "swizzled_shared", "nvmma_shared", "shared_linear", "shared_memory",
}  # fmt: skip
_ALIAS: Final = re.compile(r"^#(?!loc)\w+ = #.*\n", re.MULTILINE)
_ATTRIBUTE: Final = re.compile(r"#tt[a-z]*\.(\w+)")
_ELEMENTS: Final = re.compile(r"<((?:\d+x)+)(?:!tt\.ptr|[a-z]+(\d+))")
_ALLOCATED: Final = re.compile(r", ((?:\d+x)*\d+)>$")
_SEVERAL_CTAS: Final = re.compile(r'"ttg\.num-ctas" = (?!1 )')
_POINTER_BITS: Final = 64
_VECTOR_BITS: Final = 128
_WORD_BITS: Final = 32
_BANKS: Final = 32
#: Earlier, a layout of shared memory ended the process.
_OLDEST: Final = (3, 7)
_HELD: Final = {"register": "reg", "lane": "lane", "warp": "warp", "block": "block"}
_STORED: Final = {"offset": "offset", "block": "block"}


class _Value(NamedTuple):
    """A value's linear layout, and the bits that an element has in memory."""

    layout: Any
    bits: int
    is_shared: bool


def layout_costs(ttgir: str, ops: Sequence[LayoutOp]) -> list[LayoutCost]:
    """Return the cost of each op of TTGIR; equal types are asked about once.

    Raises:
        GenericFormFailed: The installed Triton cannot be asked, or cannot read the layouts.

    """
    import triton

    if (version_numbers(triton.__version__) or _OLDEST) < _OLDEST:
        raise GenericFormFailed(f"needs Triton >= 3.7, and {triton.__version__} is installed")
    if _SEVERAL_CTAS.search(ttgir):
        return [LayoutCost(None, "its programs have several thread blocks")] * len(ops)
    distinct = {(op.converts, op.source, op.target): op for op in ops}
    try:
        costs = dict(zip(distinct, _costs(ttgir, distinct.values()), strict=True))
    except (AttributeError, ImportError, TypeError) as error:
        text = f"Triton {triton.__version__} does not tell layouts in a known way"
        raise GenericFormFailed(text) from error
    return [costs[op.converts, op.source, op.target] for op in ops]


def _costs(ttgir: str, ops: Iterable[LayoutOp]) -> list[LayoutCost]:
    from triton._C.libtriton.gluon_ir import GluonOpBuilder

    places: dict[str, int] = {}
    for name in (name for op in ops for name in (op.source, op.target)):
        places.setdefault(name, len(places))
    arguments = ", ".join(f"%a{place}: {name}" for name, place in places.items())
    text = f"module {{ tt.func public @types({arguments}) {{ tt.return }} }}"
    with parsed_by_triton("".join(_ALIAS.findall(ttgir)) + text) as (module, context, _):
        builder, function = GluonOpBuilder(context), module.get_function("types")
        return [
            _cost(builder, op, function.args(places[op.source]), function.args(places[op.target]))
            for op in ops
        ]


def _cost(builder: Any, op: LayoutOp, source: Any, target: Any) -> LayoutCost:
    first, second = _value(builder, source), _value(builder, target)
    if isinstance(first, str) or isinstance(second, str):
        return LayoutCost(None, first if isinstance(first, str) else str(second))
    if op.converts:
        return _conversion_cost(first, second)
    return LayoutCost(_bank_ways(*((first, second) if second.is_shared else (second, first))))


def _value(builder: Any, handle: Any) -> _Value | str:
    """Return a value, or why its layout must not reach Triton's functions."""
    from triton._C.libtriton.linear_layout import LinearLayout

    name = str(handle.get_type())
    unknown = sorted(set(_ATTRIBUTE.findall(name)) - _KNOWN)
    elements = _ELEMENTS.search(name)
    if unknown or elements is None or "fp4Padded = true" in name:
        return f"Triton has no linear layout of {', '.join(unknown) or name}"
    shape = [int(extent) for extent in elements[1].split("x")[:-1]]
    allocated = _ALLOCATED.search(name)
    if allocated and [int(n) for n in allocated[1].split("x")][-len(shape) :] != shape:
        return "it is of a part of a buffer"
    is_shared = name.startswith("!ttg.memdesc")
    getter = f"get_gluon_layout_from_{'memdesc' if is_shared else 'tensor'}"
    linear = builder.to_linear_layout(getattr(builder, getter)(handle)._to_ir(builder), shape)
    names = _STORED if is_shared else _HELD
    bases = [(dimension, getattr(linear, f"{field}_bases")) for dimension, field in names.items()]
    axes = [f"dim{axis}" for axis in range(len(shape))]
    layout = LinearLayout.from_bases(bases, axes, shape, False)
    return _Value(layout, max(8, int(elements[2] or _POINTER_BITS)), is_shared)


def _bank_ways(tensor: _Value, memory: _Value) -> int:
    """Return how often the lanes that are served at once access a bank."""
    moved = dict(tensor.layout.invert_and_compose(memory.layout).bases)
    registers, lanes, warps, _ = ([basis[0] for basis in moved[name]] for name in _HELD)
    vector = 1
    while vector * 2 * tensor.bits <= _VECTOR_BITS and vector in registers:
        others = {*registers, *lanes, *warps}.difference(_powers(vector * 2))
        if any(place % (vector * 2) for place in others):
            break
        vector *= 2
    words = max(1, vector * tensor.bits // _WORD_BITS)
    served = lanes[: (_BANKS // words).bit_length() - 1]
    places = [place * tensor.bits // _WORD_BITS for place in served] + _powers(words)
    return 1 << _rank(places) - _rank(place % _BANKS for place in places)


def _powers(limit: int) -> list[int]:
    """Return the powers of two below a power of two."""
    return [1 << bit for bit in range(limit.bit_length() - 1)]


def _rank(vectors: Iterable[int]) -> int:
    """Return how many of some vectors of bits are independent."""
    reduced: list[int] = []
    for vector in vectors:
        for other in reduced:
            vector = min(vector, vector ^ other)
        if vector:
            reduced.append(vector)
    return len(reduced)


def _conversion_cost(source: _Value, target: _Value) -> LayoutCost:
    """Return the bytes that a program's threads write and read, if through shared memory.

    So go all conversions in which elements change their warps, and some others, if shuffles would
    take longer.
    """
    moved = dict(target.layout.invert_and_compose(source.layout).bases)
    stays_in_warp = _stays(moved, "warp")
    if stays_in_warp and _stays(moved, "lane"):
        return LayoutCost(0)
    total = 0
    for layout in (source.layout, target.layout):
        bases = dict(layout.bases)
        registers = sum(any(basis) for basis in bases["register"])
        total += 1 << registers + len(bases["lane"]) + len(bases["warp"])
    return LayoutCost(total * source.bits // 8, within_warps=stays_in_warp)


def _stays(moved: Mapping[str, Sequence[Sequence[int]]], dimension: str) -> bool:
    """Return whether a conversion keeps the bits of one of `_HELD`, and no others reach them."""
    place = list(_HELD).index(dimension)
    others = [basis[place] for name in _HELD if name != dimension for basis in moved[name]]
    kept = [basis[place] for basis in moved[dimension]]
    return not any(others) and kept == _powers(1 << len(kept))
