"""Costs of a kernel's layouts by source line: the figures of `figures/layouts.py`.

The entry of the group `layout_costs` asks an installed Triton about each access of shared memory
and each conversion of the TTGIR; widths of global accesses are in PTX or AMD assembly, whose
instructions may lose their lines for AMD. The model of shared memory is that of plain loads and
stores, and marked so where the assembly has others, for AMD, and without assembly.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kvtrace import registry
from kvtrace.converters.line_links import Frame, LineLinks, link_assembly, link_mlir
from kvtrace.figures.layouts import (
    BANK_WAYS,
    CONVERTED_BYTES,
    LAYOUT_FIGURES,
    VECTOR_BYTES,
    LineLayout,
)
from kvtrace.ir.assembly import global_bytes
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.without_ir import TRITON_ORIGINS, makes_generic_ttir

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

_TYPE: Final = r"((?:tensor|!ttg\.memdesc)<.*>)"
SHARED_OP: Final = re.compile(
    r"^\s*(?:%[^ ]+ = )?ttg\.(local_load|local_store|local_alloc|convert_layout) %"
    rf".*? : \(?{_TYPE}\)? -> {_TYPE}$"
)
_GLOBAL_OP: Final = re.compile(
    r"^\s*(?:%[^ ]+ = )?"
    r"(?:tt|ttg|amdg)\.(?:load|async_copy_global_to_local|buffer_load\w*|(store|buffer_store)) "
)
_INSTRUCTIONS: Final = {
    "store": re.compile(r"\b(?:st\.global|(?:global|buffer)_store)"),
    "shared": re.compile(r"\b(?:st\.shared|stmatrix|ds_(?:write|store))"),
    "matrix": re.compile(r"\b(?:ldmatrix|stmatrix|ds_(?:read|load)_(?:b\d+_)?tr)"),
}
_MEMORY: Final = re.compile(r"\.(?:global|shared)\b|\b(?:global|buffer|ds)_")
_NO_TRITON: Final = "needs Triton >= 3.7, and none is installed"
_NO_ASSEMBLY: Final = "neither PTX nor AMD assembly was recorded"
_NO_LINE: Final = "no instruction of the assembly is marked with the line"
_WITHIN_WARPS: Final = "a conversion within warps takes shuffles or shared memory"

_Fact = tuple[str, int | None, str | None]
"""A figure's name, and its value, or the reason why that is not known."""
_Widths = Mapping[tuple[Frame | None, str], list[int]]
"""Bytes of the instructions of a kind by the innermost line of their location; None: anywhere."""


class LayoutOp(NamedTuple):
    """An access of shared memory, or a conversion: its line in TTGIR (from 0), and its types."""

    line: int
    converts: bool
    source: str
    target: str


class LayoutCost(NamedTuple):
    """The ways of an access or bytes of a conversion; None with the reason why it is unknown.

    A conversion `within_warps` may take shuffles instead of shared memory.
    """

    value: int | None
    unknown: str | None = None
    within_warps: bool = False


NO_TTGIR: Final = LineLayout({}, {f.name: "no TTGIR was recorded" for f in LAYOUT_FIGURES})


def kernel_layouts(
    stage: Callable[[str], str | None], *, inlined: bool = False
) -> defaultdict[Frame, LineLayout]:
    """Return the figures of a kernel's lines; `stage` returns the text of a compiler stage.

    With `inlined`, an op counts at the lines that it was inlined into, too.
    """
    ttgir, ptx = stage("ttgir"), stage("ptx")
    if ttgir is None:
        return defaultdict(lambda: NO_TTGIR)
    assembly = stage("amdgcn") if ptx is None else ptx
    widths = None if assembly is None else _widths(assembly)
    facts: dict[Frame, list[_Fact]] = defaultdict(list)
    model_lines: set[Frame] = set()
    links = link_mlir(ttgir)
    for number, kind, cost in _ops_with_costs(ttgir):
        frames = _frames(links, number)
        for frame in frames if inlined else frames[:1]:
            facts[frame].append(_fact(kind, cost, frames[0], widths, is_amd=ptx is None))
            if ptx is None or widths is None or (frames[0], "matrix") in widths:
                model_lines.add(frame)
    lines = {frame: _line_layout(of, frame in model_lines) for frame, of in facts.items()}
    return defaultdict(LineLayout, lines)


class LineLayouts:
    """Figures of lines of the kernels of some runs; each distinct kernel is read once, if asked."""

    def __init__(self, trace: "Trace", runs: Sequence["Run"]) -> None:
        """Read which stages each kernel has."""
        self._trace = trace
        self._kernels: dict[tuple[str | None, ...], defaultdict[Frame, LineLayout]] = {}
        rows = trace.table("kernels", runs, ["kernel_id", "origin", "stages"]).to_pylist()
        self._rows = {(str(row["run"]), int(row["kernel_id"])): row for row in rows}

    def at(self, frame: Frame, variants: Iterable[Mapping[str, Any]]) -> LineLayout:
        """Return the worst figures of a line of variants (`run`, `kernel_id`), unknown if one is.

        A variant that Triton did not compile has none.
        """
        rows = [self._rows[variant["run"], variant["kernel_id"]] for variant in variants]
        layouts = [self._layouts(row)[frame] for row in rows if row["origin"] in TRITON_ORIGINS]
        facts: list[_Fact] = [
            (name, None, reason) for of in layouts for name, reason in of.unknown.items()
        ]
        for figure in LAYOUT_FIGURES:
            values = [of.values[figure.name] for of in layouts if figure.name in of.values]
            facts += [(figure.name, figure.of_kernels(values), None)] if values else []
        return _line_layout(facts, any(of.by_model for of in layouts))

    def _layouts(self, row: Mapping[str, Any]) -> defaultdict[Frame, LineLayout]:
        artifacts = {stage["stage"]: stage["artifact"] for stage in row["stages"] or ()}
        key = tuple(artifacts.get(name) for name in ("ttgir", "ptx", "amdgcn"))
        if key not in self._kernels:
            self._kernels[key] = kernel_layouts(lambda name: self._text(artifacts.get(name)))
        return self._kernels[key]

    def _text(self, artifact: str | None) -> str | None:
        content = self._trace.artifact(artifact)
        return None if content is None else content.decode("utf-8", "replace")


def _widths(assembly: str) -> _Widths:
    widths: dict[tuple[Frame | None, str], list[int]] = defaultdict(list)
    links = link_assembly(assembly)
    for number, text in enumerate(assembly.split("\n")):
        if not _MEMORY.search(text):
            continue
        kinds = [kind for kind, pattern in _INSTRUCTIONS.items() if pattern.search(text)]
        width = global_bytes(text)
        if width is not None and "store" not in kinds:
            kinds.append("load")
        for place in (None, *_frames(links, number)[:1]):
            for kind in kinds:
                widths[place, kind].append(width or 0)
    return dict(widths)


def _fact(
    kind: str, cost: LayoutCost, frame: Frame, widths: _Widths | None, *, is_amd: bool
) -> _Fact:
    """Return the figure of an op of TTGIR at a line: by its layouts, or by instructions."""
    if kind == "access":
        return BANK_WAYS.name, cost.value, cost.unknown
    if kind != "conversion":
        of_line = () if widths is None else widths.get((frame, kind), ())
        reason = _NO_ASSEMBLY if widths is None else _NO_LINE
        return VECTOR_BYTES.name, min(of_line, default=None), None if of_line else reason
    if not cost.within_warps:
        return CONVERTED_BYTES.name, cost.value, cost.unknown
    if widths is None or (None if is_amd else frame, "shared") in widths:
        return CONVERTED_BYTES.name, None, _WITHIN_WARPS
    return CONVERTED_BYTES.name, 0, None


def _frames(links: LineLinks, number: int) -> tuple[Frame, ...]:
    """Return the distinct places of a line of a text, innermost first."""
    stack = links.stacks[links.lines[number]] if links.lines[number] >= 0 else ()
    return tuple((links.files[file], line) for file, line in dict.fromkeys(stack))


def _ops_with_costs(ttgir: str) -> Iterator[tuple[int, str, LayoutCost]]:
    """Yield line and kind of each access and conversion, and its cost in shared memory."""
    ops: list[LayoutOp] = []
    for number, text in enumerate(ttgir.split("\n")):
        if (match := SHARED_OP.match(text.rpartition(" loc(")[0])) is not None:
            ops.append(LayoutOp(number, match[1] == "convert_layout", match[2], match[3]))
        elif (match := _GLOBAL_OP.match(text)) is not None:
            yield number, "store" if match[1] else "load", LayoutCost(None)
    for op, cost in zip(ops, _costs(ttgir, ops), strict=True):
        yield op.line, "conversion" if op.converts else "access", cost


def _costs(ttgir: str, ops: Sequence[LayoutOp]) -> Sequence[LayoutCost]:
    if not ops or not makes_generic_ttir():
        return [LayoutCost(None, _NO_TRITON)] * len(ops)
    _, layout_costs = next(registry.loaded("layout_costs", "ttgir"))
    try:
        costs: Sequence[LayoutCost] = layout_costs(ttgir, ops)
    except KvtraceError as error:
        return [LayoutCost(None, str(error))] * len(ops)
    return costs


def _line_layout(facts: Iterable[_Fact], by_model: bool) -> LineLayout:
    values: dict[str, list[int]] = defaultdict(list)
    unknown: dict[str, str] = {}
    for name, value, reason in facts:
        if value is not None:
            values[name].append(value)
        elif reason is not None:
            unknown[name] = reason
    figures = {
        figure.name: figure.of_ops(values[figure.name])
        for figure in LAYOUT_FIGURES
        if figure.name in values and figure.name not in unknown
    }
    return LineLayout(figures, unknown, by_model and BANK_WAYS.name in figures)
