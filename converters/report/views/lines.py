"""Blocks `lines/<variant>`: figures of each source line and IR line, over all runs of a variant.

A source line's figures include ops inlined into the line, so the lines of a file do not add up to
the whole. A variant without ops has no block.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.converters.line_layouts import kernel_layouts
from kvtrace.converters.profile.device_limits import DeviceLimits
from kvtrace.converters.report.model import Call
from kvtrace.converters.report.pack import fields_of, json_block
from kvtrace.converters.report.slices import Integers
from kvtrace.converters.report.sources import Block, BlockSource, Context
from kvtrace.figures.columns import sum_of_known
from kvtrace.figures.layouts import LAYOUT_FIGURES
from kvtrace.ir import Op
from kvtrace.ir.ops import Kind, named


@dataclass(frozen=True, slots=True)
class OpFigures:
    """An op of a variant with its figures, summed over the runs of its calls; None where unknown.

    `lanes` counts all lanes of launches with known masks, `sector_bytes` the requested bytes of
    launches with known sectors.
    """

    op_index: int
    op: str
    kind: str
    dtype: str | None
    stack_id: int | None
    executions: int | None
    bytes: int | None
    unique_bytes: int | None
    flops: int | None
    masked_off: int | None
    sectors: int | None
    lanes: int | None
    sector_bytes: int | None

    def best_ns(self, limits: DeviceLimits | None) -> float:
        """Return the shortest time, in ns, for the op's distinct bytes and its FLOPs on a device.

        0 if the device's limits are not known.
        """
        if limits is None:
            return 0.0
        memory_s = (self.unique_bytes or 0) / limits.bandwidth
        dtype = self.dtype or "f32"
        rate = limits.dot_rate(dtype) if self.kind == "dot" else limits.vector_rate(dtype)
        compute_s = (self.flops or 0) / rate if rate else 0.0
        return max(memory_s, compute_s) * 1e9


@dataclass(frozen=True, slots=True)
class LineFigures:
    """Sums of figures over the ops of a line; `ops` lists their indexes.

    `time_share`: share of the roofline time (not measured) summed over all ops; None if the
    device's limits are not known. `masked_share`: share of lanes masked off. `sector_efficiency`
    and the sums are as in docs/profile.md.
    """

    time_share: float | None
    bytes: int | None
    unique_bytes: int | None
    flops: int | None
    masked_share: float | None
    sector_efficiency: float | None
    ops: tuple[int, ...]


def line_figures(
    ops: Iterable[OpFigures], limits: DeviceLimits | None, whole_ns: float
) -> LineFigures:
    """Return the sums over `ops`; `whole_ns` is the roofline time of all ops of their variant."""
    listed = list(ops)
    lanes = sum_of_known(op.lanes for op in listed)
    masked_lanes = sum_of_known(op.masked_off for op in listed)
    sectors = sum_of_known(op.sectors for op in listed)
    sector_bytes = sum_of_known(op.sector_bytes for op in listed)
    best_ns = sum(op.best_ns(limits) for op in listed)
    return LineFigures(
        time_share=best_ns / whole_ns if whole_ns else None,
        bytes=sum_of_known(op.bytes for op in listed),
        unique_bytes=sum_of_known(op.unique_bytes for op in listed),
        flops=sum_of_known(op.flops for op in listed),
        masked_share=None if not lanes or masked_lanes is None else masked_lanes / lanes,
        sector_efficiency=(
            None if not sectors or sector_bytes is None else sector_bytes / (32 * sectors)
        ),
        ops=tuple(op.op_index for op in listed),
    )


_SUMS: Final = ("executions", "bytes", "unique_bytes", "flops", "masked_off", "sectors")
_KEYS: Final = ("op_index", "op", "kind", "dtype", "stack_id")
_OP: Final = re.compile(r'\s*(?:%[^="]*? = )?"?(?P<name>[A-Za-z_][\w$]*(?:\.[\w$]+)*)')
_ENDS: Final = named(lambda row: row.kind is Kind.END)
_MODULES: Final = named(lambda row: row.kind is Kind.MODULE)


def _blocks(context: Context) -> Iterable[Block]:
    if not context.source:
        return
    ops = [_ops_of_run(context, run) for run in range(len(context.runs))]
    variants = context.report.variants
    for variant in sorted(range(len(variants)), key=lambda v: (-variants[v].host_ns, v)):
        ops_of_variant = ops[variants[variant].run].get(variant)
        if ops_of_variant:
            yield Block(f"lines/{variant}", partial(_lines_block, context, variant, ops_of_variant))


def _ops_of_run(context: Context, run: int) -> dict[int, list[OpFigures]]:
    """Return the ops of each variant of a run, with sums over its calls, by variant index.

    Each call is weighted by its number of runs. `run` is the run's index.
    """
    ops = context.by_call("ops", run)
    calls = {call.call_id: call for call in context.report.calls if call.run == run}
    is_listed = np.isin(ops.calls, list(calls))
    if not is_listed.any():
        return {}
    ids, inverse = np.unique(ops.calls[is_listed], return_inverse=True)
    calls_of_ids = [calls[call] for call in ids.tolist()]
    weights = _weights(calls_of_ids)[inverse]
    variants = np.array([call.variant for call in calls_of_ids], np.int64)[inverse]
    return _op_sums(ops.table.filter(pa.array(is_listed)), variants, weights)


def _weights(calls: Sequence[Call]) -> Integers:
    """Return the weight of each call: its number of runs, or 1 if its variant never ran."""
    ran = {call.variant for call in calls if call.runs}
    return np.array([call.runs if call.variant in ran else 1 for call in calls], np.int64)


def _op_sums(table: pa.Table, variants: Integers, weights: Integers) -> dict[int, list[OpFigures]]:
    columns = {name: table[name] for name in _SUMS}
    null = pa.scalar(None, pa.int64())
    columns["lanes"] = pc.if_else(pc.is_valid(table["masked_off"]), table["elements"], null)
    columns["sector_bytes"] = pc.if_else(pc.is_valid(table["sectors"]), table["bytes"], null)
    weighted = {name: pc.multiply(column, pa.array(weights)) for name, column in columns.items()}
    keys = {name: table[name] for name in _KEYS}
    grouped = (
        pa.table({"variant": pa.array(variants), **keys, **weighted})
        .group_by(["variant", *_KEYS])
        .aggregate([(name, "sum") for name in weighted])
        .sort_by([("variant", "ascending"), ("op_index", "ascending")])
    )
    by_variant: dict[int, list[OpFigures]] = {}
    for row in grouped.to_pylist():
        sums = {name: row[f"{name}_sum"] for name in weighted}
        figures = OpFigures(**{name: row[name] for name in _KEYS}, **sums)
        by_variant.setdefault(row["variant"], []).append(figures)
    return by_variant


def _lines_block(context: Context, variant: int, ops: Sequence[OpFigures]) -> str:
    report = context.report
    limits = None if report.limits is None else report.limits.limits
    total_ns = sum(op.best_ns(limits) for op in ops)
    columns = [
        {"name": f.name, "unit": f.unit, "label": f.label, "meaning": f.meaning}
        for f in LAYOUT_FIGURES
    ]
    return json_block(
        {
            "measured": False,
            "layout_figures": columns,
            "runs": sum(call.runs for call in report.calls if call.variant == variant),
            "files": _line_figures_by_file(context, variant, ops, limits, total_ns),
            "ops": {
                str(op.op_index): {"op": op.op, **fields_of(line_figures([op], limits, total_ns))}
                for op in ops
            },
            "stages": _stages(context, variant),
        }
    )


def _line_figures_by_file(
    context: Context, variant: int, ops: Sequence[OpFigures], limits: DeviceLimits | None,
    total_ns: float,
) -> list[dict[str, Any]]:  # fmt: skip
    """Return a dict per source file, with the figures of each line that has ops, by line.

    Ops that are inlined at a line count there, too; `own` is true if the line itself has ops.
    """
    ops_by_line: dict[tuple[str, int], list[OpFigures]] = {}
    lines_with_own_ops: set[tuple[str, int]] = set()
    for op in ops:
        locations = _frame_locations(context, op.stack_id)
        lines_with_own_ops.update(locations[:1])
        for location in dict.fromkeys(locations):
            ops_by_line.setdefault(location, []).append(op)
    files: dict[str, dict[str, Any]] = {}
    layouts = kernel_layouts(partial(context.stage, variant), inlined=True)
    for location in sorted(ops_by_line):
        figures = fields_of(line_figures(ops_by_line[location], limits, total_ns))
        file, line = location
        own, layout = location in lines_with_own_ops, fields_of(layouts[location])
        files.setdefault(file, {})[str(line)] = {"own": own, "layout": layout, **figures}
    return [{"path": path, "lines": lines} for path, lines in files.items()]


def _frame_locations(context: Context, stack_id: int | None) -> list[tuple[str, int]]:
    stack_index = context.stack(stack_id)
    frames = () if stack_index is None else context.report.stacks[stack_index]
    return [(file, line) for file, line, _ in frames if file is not None and line is not None]


_STAGES: Final = ("ttir_generic", "ttir", "ttgir_generic")
"""Stages whose ops are those that are evaluated; the TTGIR of a kernel in TTIR has others."""


def _stages(context: Context, variant: int) -> Mapping[str, Mapping[str, int]]:
    """Return `op_index` → line (from 1) in the generic and the pretty IR, by stage name."""
    module = context.module(variant)
    if module is None:
        return {}
    texts = {stage: context.stage(variant, stage) for stage in _STAGES}
    return {
        stage: {str(op): line + 1 for op, line in op_lines(module.ops, text).items()}
        for stage, text in texts.items()
        if text is not None
    }


def op_lines(ops: Iterable[Op], text: str) -> dict[int, int]:
    """Return `op_index` → line (from 0) of the ops of a module in a text of the module.

    The text is MLIR's generic or pretty form: both have one op per line in the same order, and
    `op_index` is an op's position in that order. Ops missing from the pretty form (terminators
    without operands) have no line. Empty if text and ops do not match.
    """
    lines: dict[int, int] = {}
    lines_and_names = list(_op_names(text))
    position = 0
    for op in ops:
        if position < len(lines_and_names) and _has_name(op, lines_and_names[position][1]):
            lines[op.index] = lines_and_names[position][0]
            position += 1
        elif op.name not in _ENDS:
            return {}
    return lines if position == len(lines_and_names) else {}


def _has_name(op: Op, name: str) -> bool:
    return op.name == name or (name == "module" and op.name in _MODULES)


def _op_names(text: str) -> Iterator[tuple[int, str]]:
    """Yield line (from 0) and name of every op in a text of MLIR."""
    for line_number, line in enumerate(text.split("\n")):
        stripped = line.lstrip()
        if not stripped or stripped[0] in "#}^/":
            continue
        match = _OP.match(line)
        if match is not None and ("." in match["name"] or match["name"] == "module"):
            yield line_number, match["name"]


SOURCE: Final = BlockSource(
    name="lines",
    order=20,
    share=0.5,
    noun="kernels' figures by line",
    query="FROM ops",
    blocks=_blocks,
)
