"""Facts about the threads of a kernel's programs, from its compiled code.

TTIR has no layouts; TTGIR has one for each tensor. The ops of both are matched by their source
locations, including inlined calls. Blocked layouts and slices of blocked layouts are read; ops with
other layouts, or with different layouts in different places, are left out.

The formats are PTX's (`.loc`, `ld.global.v4.b32`) and that of Triton's printer:
`#blocked = #ttg.blocked<{sizePerThread = [1, 4], …}>`, and lines that end in `loc(#loc12)`.
Layouts: https://triton-lang.org/main/dialects/TritonGPUAttrDefs.html
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from math import prod
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from kvtrace.ir import Module, Op, source_stack
from kvtrace.ir.assembly import PTX_ACCESS, ptx_bytes
from kvtrace.ir.locations import MOST_PARTS, column_shift, without_inner_places
from kvtrace.ir.ops import POINTED
from kvtrace.recorded_calls.compiled_barriers import CompiledBarriers, instructions
from kvtrace.recorded_calls.thread_layouts import VECTOR_BYTES, BlockedLayout


class CompiledFacts(Struct, frozen=True):
    """Facts about a kernel from its TTGIR and PTX.

    `layouts` has the layouts of memory ops by op index. `barriers` is None without
    PTX, or if a program has several blocks of threads. `ahead` is the number of trips that a
    pipelined loop starts loads early, by op index. `splits` is the number of CTAs that lanes of
    memory ops are split among, by op index and axis, if a program's CTAs do not wait for each
    other.
    """

    layouts: Mapping[int, BlockedLayout]
    barriers: CompiledBarriers | None
    ahead: Mapping[int, int]
    splits: Mapping[int, tuple[int, ...]] = {}


def fused_places(ptx: str, triton: str | None) -> dict[tuple[int, int], bool]:
    """Return, by line and column, whether float sums in PTX are fused, where all are alike."""
    kinds: dict[tuple[int, int], set[bool]] = {}
    for place, _, name, _ in instructions(without_inner_places(ptx), triton):
        kind, _, types = name.partition(".")
        if kind in ("fma", "add", "sub") and re.search(r"\bb?f\d", types):
            kinds.setdefault(place, set()).add(kind == "fma")
    return {place: fused.pop() for place, fused in kinds.items() if len(fused) == 1}


def compiled_code(
    module: Module,
    ttgir: str | None,
    ptx: str | None,
    num_ctas: int | None = None,
    *,
    triton: str | None,
) -> CompiledFacts | None:
    """Return thread layouts, barriers, trips ahead and splits of compiled code; None without TTGIR.

    Each program has `num_ctas` CTAs.

    `triton` is the version that wrote the locations in the code.
    """
    if ttgir is None:
        return None
    has_one_cta = ptx is not None and num_ctas in (None, 1)
    code = without_inner_places(ptx or "")
    barriers = CompiledBarriers(module, code, triton) if has_one_cta else None
    layouts = thread_layouts(module, ttgir, code, triton=triton)
    splits = {} if has_one_cta or ptx is None else cta_splits(module, ttgir, code, triton=triton)
    return CompiledFacts(layouts, barriers, trips_ahead(module, ttgir, triton=triton), splits)


# -- layouts of memory ops -------------------------------------------------------------------------


SourceLocations = tuple[tuple[int, int], ...]
"""Line and column of an op, and of the calls through which it was inlined, innermost first."""

_LAYOUT = re.compile(r"^(#\w+) = #ttg\.blocked<\{(.*)\}>", re.MULTILINE)
_LIST = re.compile(r"(\w+) = \[([\d, ]*)\]")
_SEVERAL_CTAS = re.compile(r"CGALayout = \[\[")
"""Bases of a layout over a program's CTAs, as printed by Triton 3.6 and newer."""
_BASES = re.compile(r"CGALayout = \[(\[.*?\])\]")
_BASIS = re.compile(r"\[([\d, ]+)\]")
_CLUSTER = re.compile(r"\.cluster\b|::cluster\b|\bmapa\b|\bmbarrier\b")
"""PTX of CTAs that wait for each other, or access each other's shared memory."""
_LEAVING = re.compile(
    r"barrier\.cluster\.arrive[\w.]*;\s*barrier\.cluster\.wait[\w.]*;"
    r"(?:\s|//.*|\.loc\s.*|\$L\w+:)*(?=ret;)"
)
"""PTX of CTAs that wait for each other before they end, as from Triton 3.9."""
_ACCESS = re.compile(
    rf"(?:{'|'.join(map(re.escape, sorted(POINTED)))})\s"
    r".*?tensor<(?:\d+x)+!tt\.ptr<[^>]*>, "
    r"(?:#ttg\.slice<\{dim = (\d+), parent = (#\w+)\}>|([^>]*))>"
    r".*loc\((#loc\d*)\)\s*$",
    re.MULTILINE,
)
_COPY = re.compile(r"ttg\.async_copy_global_to_local\s.*loc\((#loc\d*)\)\s*$", re.MULTILINE)
_ALIAS = re.compile(r"^(#loc\d*) = loc\((.*)\)$", re.MULTILINE)
_INSTRUCTION = re.compile(rf"\.loc\s+\d+ (\d+) (\d+)|{PTX_ACCESS}")
_FILE = re.compile(r'"(?:[^"\\]|\\.)*":(\d+):(\d+)$')
_NAME = re.compile(r'"(?:[^"\\]|\\.)*"\((.*)\)$')


def thread_layouts(
    module: Module, ttgir: str, ptx: str = "", *, triton: str | None
) -> dict[int, BlockedLayout]:
    """Return the layouts of a module's memory ops, by op index, that are in `ttgir`.

    The bytes that one instruction moves for a thread are read from `ptx`: if alignment is unknown,
    as with an odd bound in a mask, the compiler moves lanes one by one. `triton` is the version
    that wrote the locations in both.
    """
    column_offset = column_shift(triton)
    bytes_by_location = _instruction_bytes(ptx, column_offset)
    layouts = _blocked_layouts(ttgir)

    def layout_of(name: str, dim: int | None) -> BlockedLayout | None:
        layout = layouts.get(name)
        return layout if layout is None or dim is None else replace(layout, sliced=dim)

    layouts_of_ops = _match_ops(module, ttgir, layout_of, column_offset)
    return {
        op.index: replace(layout, vector_bytes=bytes_by_location.get(locations[0], VECTOR_BYTES))
        for op, (locations, layout) in layouts_of_ops.items()
    }


def cta_splits(
    module: Module, ttgir: str, ptx: str, *, triton: str | None
) -> dict[int, tuple[int, ...]]:
    """Return the number of CTAs per axis over which lanes of memory ops are split, by op index.

    Empty if CTAs access each other in the PTX, since one may then wait for another.
    """
    if not ptx or _CLUSTER.search(_LEAVING.sub("", ptx)):
        return {}
    splits = {name: _cta_split(body) for name, body in _LAYOUT.findall(ttgir)}

    def split_of(name: str, dim: int | None) -> tuple[int, ...] | None:
        split = splits.get(name)
        if split is None or dim is None:
            return split
        return None if split[dim] > 1 else (*split[:dim], *split[dim + 1 :])

    splits_of_ops = _match_ops(module, ttgir, split_of, column_shift(triton))
    return {op.index: split for op, (_, split) in splits_of_ops.items()}


_Layout = TypeVar("_Layout")


def _match_ops(
    module: Module,
    ttgir: str,
    read_layout: Callable[[str, int | None], _Layout | None],
    column_offset: int,
) -> dict[Op, tuple[SourceLocations, _Layout]]:
    """Return each memory op's locations, and the result of `read_layout` for its layout."""
    aliases = dict(_ALIAS.findall(ttgir))
    layouts: dict[SourceLocations, _Layout | None] = {}
    for dim, parent, layout_name, alias in _ACCESS.findall(ttgir):
        layout = read_layout(parent or layout_name, int(dim) if dim else None)
        locations = _locations(alias, aliases, column_offset)
        layouts[locations] = layout if layouts.get(locations, layout) == layout else None
    result = {}
    for op in module.ops:
        locations = tuple((frame.line, frame.column) for frame in source_stack(op))
        layout = layouts.get(locations) if locations else None
        if layout is not None and op.name in POINTED:
            result[op] = locations, layout
    return result


def _cta_split(body: str) -> tuple[int, ...] | None:
    """Return the number of CTAs over which a layout splits each axis; None for shared lanes."""
    lists = {key: _numbers(numbers) for key, numbers in _LIST.findall(body)}
    if "CTASplitNum" in lists:  # until Triton 3.5
        split = lists["CTASplitNum"]
        return split if prod(split) == prod(lists.get("CTAsPerCGA", split)) else None
    bases = _BASES.search(body)
    if bases is None or "order" not in lists:
        return None
    vectors = [_numbers(basis) for basis in _BASIS.findall(bases[1])]
    steps_by_axis = [
        sorted(vector[axis] for vector in vectors if vector[axis]) for axis in lists["order"]
    ]
    are_powers = all(steps == [1 << bit for bit in range(len(steps))] for steps in steps_by_axis)
    have_one_axis = all(len(vector) - vector.count(0) == 1 for vector in vectors)
    if not are_powers or not have_one_axis:
        return None
    counts = dict(zip(lists["order"], map(len, steps_by_axis), strict=True))
    return tuple(1 << counts[axis] for axis in sorted(counts))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(",") if number.strip())


def trips_ahead(module: Module, ttgir: str, *, triton: str | None) -> dict[int, int]:
    """Return by how many trips a pipelined loop starts each load early, by the load's index.

    One copy of each load is in the loop, and one more before the loop for each trip that is started
    early. Loads that share a source location, as in an unrolled loop, are left out.
    """
    aliases, column_offset = dict(_ALIAS.findall(ttgir)), column_shift(triton)
    copies = Counter(_locations(alias, aliases, column_offset) for alias in _COPY.findall(ttgir))
    ops: dict[SourceLocations, list[Op]] = defaultdict(list)
    for op in module.ops:
        if op.name in POINTED:
            ops[tuple((frame.line, frame.column) for frame in source_stack(op))].append(op)
    return {
        ops_at_location[0].index: copies[locations] - 1
        for locations, ops_at_location in ops.items()
        if len(ops_at_location) == 1 and copies[locations] > 1
    }


def _blocked_layouts(ttgir: str) -> Mapping[str, BlockedLayout]:
    """Return the blocked layouts of TTGIR by their names, without layouts over several CTAs."""
    layouts = {}
    for name, body in _LAYOUT.findall(ttgir):
        lists = {key: _numbers(numbers) for key, numbers in _LIST.findall(body) if numbers}
        clusters = lists.get("CTAsPerCGA", lists.get("CTASplitNum", (1,)))
        has_one_cta = prod(clusters) == 1 and not _SEVERAL_CTAS.search(body)
        keys = ("sizePerThread", "threadsPerWarp", "warpsPerCTA", "order")
        if all(key in lists for key in keys) and has_one_cta:
            per_thread, threads, warps, order = (lists[key] for key in keys)
            layouts[name] = BlockedLayout(per_thread, threads, warps, order)
    return layouts


def _instruction_bytes(ptx: str, column_offset: int) -> dict[tuple[int, int], int]:
    """Return the fewest bytes of one thread's instruction at each source location."""
    bytes_by_location: dict[tuple[int, int], int] = {}
    location = None
    for line, column, *access in _INSTRUCTION.findall(ptx):
        if line:
            location = int(line), int(column) + column_offset
        elif location is not None:
            size = ptx_bytes(*access)
            bytes_by_location[location] = min(bytes_by_location.get(location, size), size)
    return bytes_by_location


def _locations(
    location: str, aliases: Mapping[str, str], column_offset: int,
    known: dict[str, SourceLocations] | None = None,
) -> SourceLocations:  # fmt: skip
    """Return the lines and columns of a location and its callers, innermost first.

    At most `MOST_PARTS`, since locations may name others many times, which are read once: `known`.
    """
    known = {} if known is None else known
    if location not in known and len(known) <= MOST_PARTS:
        known[location] = ()  # of one that contains itself
        known[location] = _read_locations(location, aliases, column_offset, known)[:MOST_PARTS]
    return known.get(location, ())


def _read_locations(
    location: str, aliases: Mapping[str, str], column_offset: int,
    known: dict[str, SourceLocations],
) -> SourceLocations:  # fmt: skip
    if location in aliases:
        return _locations(aliases[location], aliases, column_offset, known)
    file_match = _FILE.match(location)
    if file_match is not None:
        return ((int(file_match[1]), int(file_match[2]) + column_offset),)
    name_match = _NAME.match(location)
    if name_match is not None:
        return _locations(name_match[1], aliases, column_offset, known)
    if not location.startswith("callsite("):
        return ()
    callee, _, caller = location[len("callsite(") : -1].partition(" at ")
    inner = _locations(callee, aliases, column_offset, known)
    return inner + _locations(caller, aliases, column_offset, known)
