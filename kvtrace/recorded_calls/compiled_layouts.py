"""The layouts that memory ops were compiled with, from TTGIR and PTX.

TTIR has no layouts; TTGIR has one for each tensor. The ops of both are matched by their source
locations, inlined calls included. Blocked layouts and slices of blocked layouts are read; ops with
other layouts, or with different layouts in different places, have none here.

The formats are PTX's (`.loc`, `ld.global.v4.b32`) and that of Triton's printer:
`#blocked = #ttg.blocked<{sizePerThread = [1, 4], …}>`, and lines that end in `loc(#loc12)`.
Layouts: https://triton-lang.org/main/dialects/TritonGPUAttrDefs.html
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import prod
from typing import TypeVar

from kvtrace.ir import Module, Op, source_stack
from kvtrace.ir.columns import column_shift
from kvtrace.ir.ops import POINTED
from kvtrace.recorded_calls.thread_layouts import VECTOR_BYTES, BlockedLayout

Place = tuple[tuple[int, int], ...]
"""Line and column of an op and of the calls that it was inlined through, innermost first."""

_LAYOUT = re.compile(r"^(#\w+) = #ttg\.blocked<\{(.*)\}>", re.MULTILINE)
_LIST = re.compile(r"(\w+) = \[([\d, ]*)\]")
_SEVERAL_CTAS = re.compile(r"CGALayout = \[\[")
"""Bases of a layout over the CTAs of a program, as Triton 3.6 and newer print them."""
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
_INSTRUCTION = re.compile(
    r"\.loc\s+\d+ (\d+) (\d+)"
    r"|\b(?:ld|st)\.global(?:\.(?!v\d|b\d)[\w:]+)*(?:\.v(\d))?\.b(\d+)"
    r"|\bcp\.async\.c[ag]\.shared\.global[^,]*,[^,]*, (\w+)"
)
_FILE = re.compile(r'"(?:[^"\\]|\\.)*":(\d+):(\d+)$')
_NAME = re.compile(r'"(?:[^"\\]|\\.)*"\((.*)\)$')


def thread_layouts(
    module: Module, ttgir: str, ptx: str = "", *, triton: str | None
) -> dict[int, BlockedLayout]:
    """Return the layouts of a module's memory ops, by op index, as far as `ttgir` has them.

    `ptx` has the bytes that one instruction moves for a thread: if alignment is not known, as with
    an odd bound in a mask, the compiler moves lanes one by one. `triton` is the version that wrote
    the locations in both.
    """
    shift = column_shift(triton)
    widths = _widths(ptx, shift)
    layouts = _blocked(ttgir)

    def layout_of(name: str, dim: int | None) -> BlockedLayout | None:
        layout = layouts.get(name)
        return layout if layout is None or dim is None else replace(layout, sliced=dim)

    layouts_of_ops = _by_op(module, ttgir, layout_of, shift)
    return {
        op.index: replace(layout, vector_bytes=widths.get(place[0], VECTOR_BYTES))
        for op, (place, layout) in layouts_of_ops.items()
    }


def cta_splits(
    module: Module, ttgir: str, ptx: str, *, triton: str | None
) -> dict[int, tuple[int, ...]]:
    """Return the number of CTAs that lanes of memory ops are split among, by op index and axis.

    Empty if the PTX has CTAs that access each other: one may wait for another.
    """
    if not ptx or _CLUSTER.search(_LEAVING.sub("", ptx)):
        return {}
    splits = {name: _split(body) for name, body in _LAYOUT.findall(ttgir)}

    def split_of(name: str, dim: int | None) -> tuple[int, ...] | None:
        split = splits.get(name)
        if split is None or dim is None:
            return split
        return None if split[dim] > 1 else (*split[:dim], *split[dim + 1 :])

    splits_of_ops = _by_op(module, ttgir, split_of, column_shift(triton))
    return {op.index: split for op, (_, split) in splits_of_ops.items()}


_Read = TypeVar("_Read")


def _by_op(
    module: Module, ttgir: str, read_layout: Callable[[str, int | None], _Read | None], shift: int
) -> dict[Op, tuple[Place, _Read]]:
    """Return each memory op's place, and the result of `read_layout` for its layout."""
    aliases = dict(_ALIAS.findall(ttgir))
    layouts: dict[Place, _Read | None] = {}
    for dim, parent, layout_name, alias in _ACCESS.findall(ttgir):
        layout = read_layout(parent or layout_name, int(dim) if dim else None)
        place = _place(alias, aliases, shift)
        layouts[place] = layout if layouts.get(place, layout) == layout else None
    result = {}
    for op in module.ops:
        place = tuple((frame.line, frame.column) for frame in source_stack(op))
        layout = layouts.get(place) if place else None
        if layout is not None and op.name in POINTED:
            result[op] = place, layout
    return result


def _split(body: str) -> tuple[int, ...] | None:
    """Return the number of CTAs that a layout splits each axis among; None for shared lanes."""
    lists = {key: _numbers(numbers) for key, numbers in _LIST.findall(body)}
    if "CTASplitNum" in lists:  # until Triton 3.5
        split = lists["CTASplitNum"]
        return split if prod(split) == prod(lists.get("CTAsPerCGA", split)) else None
    bases = _BASES.search(body)
    if bases is None or "order" not in lists:
        return None
    vectors = [_numbers(basis) for basis in _BASIS.findall(bases[1])]
    along = [sorted(vector[axis] for vector in vectors if vector[axis]) for axis in lists["order"]]
    are_powers = all(steps == [1 << bit for bit in range(len(steps))] for steps in along)
    have_one_axis = all(len(vector) - vector.count(0) == 1 for vector in vectors)
    if not are_powers or not have_one_axis:
        return None
    counts = dict(zip(lists["order"], map(len, along), strict=True))
    return tuple(1 << counts[axis] for axis in sorted(counts))


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(int(number) for number in text.split(",") if number.strip())


def trips_ahead(module: Module, ttgir: str, *, triton: str | None) -> dict[int, int]:
    """Return how many trips early a pipelined loop starts each load, by the load's index.

    One copy of each load is in the loop, and one more before the loop for each trip that is started
    early. Loads that share a source location, as in an unrolled loop, are left out.
    """
    aliases, shift = dict(_ALIAS.findall(ttgir)), column_shift(triton)
    copies = Counter(_place(alias, aliases, shift) for alias in _COPY.findall(ttgir))
    ops: dict[Place, list[Op]] = defaultdict(list)
    for op in module.ops:
        if op.name in POINTED:
            ops[tuple((frame.line, frame.column) for frame in source_stack(op))].append(op)
    return {
        same[0].index: copies[place] - 1
        for place, same in ops.items()
        if len(same) == 1 and copies[place] > 1
    }


def _blocked(ttgir: str) -> Mapping[str, BlockedLayout]:
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


def _widths(ptx: str, shift: int) -> dict[tuple[int, int], int]:
    """Return the bytes of one thread's instruction by source location; the fewest, if they vary."""
    widths: dict[tuple[int, int], int] = {}
    place = None
    for line, column, vector, bits, copied in _INSTRUCTION.findall(ptx):
        if line:
            place = int(line), int(column) + shift
        elif place is not None:
            width = int(copied, 0) if copied else int(vector or 1) * int(bits) // 8
            widths[place] = min(widths.get(place, width), width)
    return widths


def _place(location: str, aliases: Mapping[str, str], shift: int) -> Place:
    """Return the lines and columns of a location, innermost first."""
    if location in aliases:
        return _place(aliases[location], aliases, shift)
    file = _FILE.match(location)
    if file is not None:
        return ((int(file[1]), int(file[2]) + shift),)
    name = _NAME.match(location)
    if name is not None:
        return _place(name[1], aliases, shift)
    if location.startswith("callsite("):
        callee, _, caller = location[len("callsite(") : -1].partition(" at ")
        return _place(callee, aliases, shift) + _place(caller, aliases, shift)
    return ()
