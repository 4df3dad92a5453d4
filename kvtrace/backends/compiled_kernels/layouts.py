"""Costs of a kernel's layouts: ways of bank conflicts, and bytes of layout conversions.

Triton's `to_linear_layout` says, without a GPU, which element the bits of register, lane and warp
numbers hold, and which is at the bits of an offset in shared memory: linear maps of bits
(https://arxiv.org/abs/2505.23819). A layout that it does not know would end the process, so only
`_KNOWN` ones reach it. Triton reads the types of the TTGIR's ops and not the ops, whose syntax
differs more between versions.

An access moves vectors of up to 16 bytes that registers hold in order. The lanes that are served at
once ask for 128 bytes in 32 banks of 4 bytes. Triton's `get_shared_bank_conflicts` counts the same,
but too few for some vectors below 4 bytes, counts 64 lanes as served at once, where here half a
wave is, and ends the process for pads (`padded_shared`), which are no map of bits. How conversions
and reductions are swizzled in shared memory it does not tell.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
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
_PADDED: Final = re.compile(
    r"(#\w+) = #ttg\.padded_shared<\[([\d:+, ]*)\] "
    r"\{(?:(order = [^\]]*\]), shape = [^}]*|(offset = .*))\}>"
)
_PAD: Final = re.compile(r"(\d+):\+(\d+)")
_SEVERAL_CTAS: Final = re.compile(r'"ttg\.num-ctas" = (?!1 )')
_Pads = Sequence[tuple[int, int]]
"""After how many elements how many stay unused."""
_POINTER_BITS: Final = 64
_VECTOR_BITS: Final = 128
_WORD_BITS: Final = 32
_BANKS: Final = 32
#: Earlier, a layout of shared memory ended the process.
_OLDEST: Final = (3, 7)
_HELD: Final = {"register": "reg", "lane": "lane", "warp": "warp", "block": "block"}
_STORED: Final = {"offset": "offset", "block": "block"}


class _Value(NamedTuple):
    """A value's linear layout, the bits that an element has in memory, and extents."""

    layout: Any
    bits: int
    extents: list[int]


class _UnknownLayout(Exception):
    """A layout of which Triton is not asked, with its name."""


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
    aliases = "".join(_ALIAS.findall(ttgir))
    padded = {match[1]: _PAD.findall(match[2]) for match in _PADDED.finditer(aliases)}
    with parsed_by_triton(_PADDED.sub(_unpadded, aliases) + text) as (module, context, _):
        builder, function = GluonOpBuilder(context), module.get_function("types")
        costs = []
        for op in ops:
            source, target = (function.args(places[name]) for name in (op.source, op.target))
            pairs = (padded.get(alias, ()) for alias in re.findall(r"#\w+", op.source + op.target))
            pads = [(int(every), int(pad)) for every, pad in chain.from_iterable(pairs)]
            try:
                costs.append(_cost(builder, op, source, target, pads))
            except _UnknownLayout as error:
                costs.append(LayoutCost(None, str(error)))
        return costs


def _unpadded(padded: re.Match[str]) -> str:
    """Return the definition of a layout without its pads."""
    if padded[3]:
        fields = f"vec = 1, perPhase = 1, maxPhase = 1, {padded[3]}"
        return f"{padded[1]} = #ttg.swizzled_shared<{{{fields}}}>"
    return f"{padded[1]} = #ttg.shared_linear<{{{padded[4]}}}, alignment = 16>"


def _cost(builder: Any, op: LayoutOp, source: Any, target: Any, pads: _Pads) -> LayoutCost:
    if op.converts:
        return _conversion_cost(_value(builder, source), _value(builder, target))
    tensor, memory = (source, target) if "memdesc" in op.target else (target, source)
    buffer = _value(builder, memory)
    return LayoutCost(_bank_ways(_value(builder, tensor, buffer.extents), buffer, pads))


def _value(builder: Any, handle: Any, extents: list[int] | None = None) -> _Value:
    """Return a value; `extents` are those of the buffer of which a part is accessed.

    Raises:
        _UnknownLayout: Its layout must not reach Triton's functions.

    """
    from triton._C.libtriton.linear_layout import LinearLayout

    name = str(handle.get_type())
    unknown = sorted(set(_ATTRIBUTE.findall(name)) - _KNOWN)
    elements = _ELEMENTS.search(name)
    if unknown or elements is None:
        raise _UnknownLayout(f"Triton has no linear layout of {', '.join(unknown) or name}")
    shape = [int(extent) for extent in elements[1].split("x")[:-1]]
    if allocated := _ALLOCATED.search(name):
        shape = [int(extent) for extent in allocated[1].split("x")][-len(shape) :]
    is_shared = name.startswith("!ttg.memdesc")
    getter = f"get_gluon_layout_from_{'memdesc' if is_shared else 'tensor'}"
    linear = builder.to_linear_layout(getattr(builder, getter)(handle)._to_ir(builder), shape)
    names = _STORED if is_shared else _HELD
    bases = [(dimension, getattr(linear, f"{field}_bases")) for dimension, field in names.items()]
    axes = [f"dim{axis}" for axis in range(len(shape))]
    layout = LinearLayout.from_bases(bases, axes, extents or shape, False)
    bits = max(8, int(elements[2] or _POINTER_BITS))
    return _Value(layout, bits, shape)


def _bank_ways(tensor: _Value, memory: _Value, pads: _Pads) -> int:
    """Return how often the lanes that are served at once access a bank: at most, with pads."""
    moved = dict(tensor.layout.invert_and_compose(memory.layout).bases)
    registers, lanes, warps, _ = ([basis[0] for basis in moved[name]] for name in _HELD)
    vector = 1
    while vector * 2 * tensor.bits <= _VECTOR_BITS and vector in registers:
        others = {*registers, *lanes, *warps}.difference(_powers(vector * 2))
        if any(place % (vector * 2) for place in (*others, *chain(*pads))):
            break
        vector *= 2
    words = max(1, vector * tensor.bits // _WORD_BITS)
    count = (_BANKS // words).bit_length() - 1
    rest = {*lanes[count:], *registers, *warps}.difference(_powers(vector)) if pads else ()
    served = _spanned(lanes[:count])
    ways = 1
    for head in _spanned(rest):
        places = [head ^ lane for lane in served]
        places = [at + sum(at // every * pad for every, pad in pads) for at in places]
        accessed = {at * tensor.bits // _WORD_BITS for at in places}
        ways = max(ways, *Counter(word % _BANKS for word in accessed).values())
    return ways


def _spanned(bases: Iterable[int]) -> list[int]:
    """Return all that some bases and zero add up to, bit by bit."""
    numbers = [0]
    for basis in bases:
        numbers += [number ^ basis for number in numbers]
    return numbers


def _powers(limit: int) -> list[int]:
    """Return the powers of two below a power of two."""
    return [1 << bit for bit in range(limit.bit_length() - 1)]


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
