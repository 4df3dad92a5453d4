"""Reads that a source line could spare: addresses read before, and lanes that a `where` discards.

- *Again*: a load's accesses are those of an earlier load of the call, program by program and
  iteration by iteration (table `accesses`), and no op of the call writes the buffer.
- *Discarded*: in the IR, a loaded value is used by one `where` alone, which replaces its lanes by
  other values, and the load has another mask than the condition. Example: in
  `tl.where(rows < n, tl.load(p + rows, mask=cols < m), 0)` the mask could be both. A condition
  that is computed of the value itself, as in `where(x > 0, x, 0)`, is none that a mask could be.
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from kvtrace.figures.tables import scratch
from kvtrace.ir import IRSyntaxError, Module, Op, Value, parse
from kvtrace.ir.flow import Flow, flow_of
from kvtrace.ir.model import once_per_module
from kvtrace.ir.ops import KINDS, Kind, effect_of, operands_of, operator_of
from kvtrace.ir.types import TensorType
from kvtrace.schema.columns import without_dictionary

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

_OPS: Final = ("call_id", "op_index", "kind", "stack_id", "bytes", "buffer", "fresh_bytes")
_ACCESSES: Final = (
    "call_id", "op_index", "program", "iteration", "arg", "first", "last", "active", "layout",
)  # fmt: skip
_GENERIC: Final = "ttir_generic"

#: Loads of bytes that ops before them read, each with the earlier loads of as many bytes.
_CANDIDATES: Final = """
    CREATE TEMP TABLE line AS
    SELECT DISTINCT run, stack_id, frames[1].file AS file, frames[1].line AS line FROM stacks;

    CREATE TEMP TABLE pair AS
    SELECT b.run, b.call_id, a.op_index AS first_op, b.op_index AS second_op, b.buffer, b.bytes,
        a.stack_id AS first_stack, b.stack_id AS second_stack
    FROM ops a JOIN ops b ON a.run = b.run AND a.call_id = b.call_id AND a.buffer = b.buffer
        AND a.bytes = b.bytes AND a.op_index < b.op_index
    WHERE a.kind = 'load' AND b.kind = 'load' AND b.fresh_bytes = 0 AND b.bytes > 0
        AND NOT EXISTS (FROM ops w WHERE w.run = b.run AND w.call_id = b.call_id
            AND w.buffer = b.buffer AND w.kind IN ('store', 'atomic'));
"""
_DIGESTS: Final = """
    CREATE TEMP TABLE digest AS
    SELECT run, call_id, op_index, count(*) AS parts, bit_xor(mix) AS mixed, sum(mix) AS added
    FROM (SELECT run, call_id, op_index,
            hash(program, iteration, arg, first, last, active, layout) AS mix FROM accesses)
    GROUP BY ALL;
"""
_AGAIN: Final = """
    SELECT there.file, there.line, before.line AS earlier, p.buffer, max(p.bytes) AS bytes
    FROM pair p
    JOIN digest a ON a.run = p.run AND a.call_id = p.call_id AND a.op_index = p.first_op
    JOIN digest b ON b.run = p.run AND b.call_id = p.call_id AND b.op_index = p.second_op
        AND (a.parts, a.mixed, a.added) = (b.parts, b.mixed, b.added)
    JOIN line before ON before.run = p.run AND before.stack_id = p.first_stack
    JOIN line there ON there.run = p.run AND there.stack_id = p.second_stack
    WHERE there.line IS NOT NULL AND before.line IS NOT NULL
    GROUP BY ALL ORDER BY ALL
"""

_Place = tuple[str, int]


def spare_reads(trace: "Trace", runs: Sequence["Run"]) -> dict[_Place, tuple[str, ...]]:
    """Return sentences on reads that could be spared, by file and line of the load.

    Raises:
        DamagedFile, NewerFormat: as the reader of the trace.

    """
    notes: dict[_Place, dict[str, None]] = {}
    ops = trace.table("ops", runs, list(_OPS))
    if not ops.num_rows:
        return {}
    stacks = trace.table("stacks", runs, ["stack_id", "frames"])
    for place, note in (
        *_read_again(trace, runs, ops, stacks),
        *_discarded(trace, runs, ops, stacks),
    ):
        notes.setdefault(place, {})[note] = None
    return {place: tuple(sentences) for place, sentences in notes.items()}


def _read_again(
    trace: "Trace", runs: Sequence["Run"], ops: pa.Table, stacks: pa.Table
) -> Iterator[tuple[_Place, str]]:
    from kvtrace.text import size

    with scratch() as database:
        database.register("ops", ops)
        database.register("stacks", stacks)
        database.execute(_CANDIDATES)
        calls = database.execute("SELECT DISTINCT call_id FROM pair").fetchall()
        if not calls:
            return
        wanted = pa.array([call for (call,) in calls])
        pieces = [
            piece.filter(pc.is_in(piece["call_id"], wanted))
            for piece in trace.pieces("accesses", runs, list(_ACCESSES))
        ]
        if not pieces:
            return
        database.register("accesses", pa.concat_tables(pieces, promote_options="permissive"))
        database.execute(_DIGESTS)
        for file, line, earlier, buffer, count in database.execute(_AGAIN).fetchall():
            what = "twice" if earlier == line else f"again, after line {earlier}"
            yield (
                (file, line),
                f"reads the same addresses of {buffer} {what} ({size(count)} a launch): keep the "
                "value",
            )


def _discarded(
    trace: "Trace", runs: Sequence["Run"], ops: pa.Table, stacks: pa.Table
) -> Iterator[tuple[_Place, str]]:
    frames = {
        (row["run"], row["stack_id"]): (row["frames"] or [{}])[0] for row in stacks.to_pylist()
    }
    calls: dict[tuple[str, int], int] = {}
    for row in trace.table("calls", runs, ["call_id", "kernel_id"]).to_pylist():
        calls.setdefault((row["run"], row["kernel_id"]), row["call_id"])
    for kernel in trace.table("kernels", runs, ["kernel_id", "stages"]).to_pylist():
        call = calls.get((kernel["run"], kernel["kernel_id"]))
        module = None if call is None else _module(trace, kernel["stages"])
        pairs = () if module is None else discarding(module)
        if not pairs:
            continue
        of_call = pc.and_(
            pc.equal(ops["call_id"], call),
            pc.equal(without_dictionary(ops["run"]), kernel["run"]),
        )
        rows = ops.filter(of_call).select(["op_index", "stack_id"]).to_pylist()
        stack_of = {row["op_index"]: row["stack_id"] for row in rows}
        for load, where in pairs:
            there, by = (frames.get((kernel["run"], stack_of.get(i)), {}) for i in (load, where))
            if there.get("file") and there.get("line") and by.get("line"):
                yield (
                    (there["file"], there["line"]),
                    f"reads lanes that the where of line {by['line']} discards: let its condition "
                    "be part of the mask",
                )


def _module(trace: "Trace", stages: Sequence[Any] | None) -> Module | None:
    hashes = {stage["stage"]: stage["artifact"] for stage in stages or ()}
    content = trace.artifact(hashes.get(_GENERIC))
    try:
        return None if content is None else parse(content.decode("utf-8", "replace"))
    except IRSyntaxError:  # the kernel is not replayed either
        return None


@once_per_module
def discarding(module: Module) -> tuple[tuple[int, int], ...]:
    """Return the indexes of loads whose lanes a `where` discards, each with that of the `where`."""
    flow = flow_of(module)
    pairs = []
    for op in module.ops:
        if effect_of(op) == "load" and op.results and isinstance(op.results[0].type, TensorType):
            where = _only_where(flow, op.results[0])
            if where is not None and not _is_masked_by(op, where) and not _is_of(flow, where, op):
                pairs.append((op.index, where.index))
    return tuple(pairs)


def _only_where(flow: Flow, value: Value) -> Op | None:
    """Return the `where` that alone uses a value, also after conversions; None if there is none."""
    if flow.copies(value):
        return None
    uses = flow.uses(value)
    if len(uses) != 1:
        return None
    (use,) = uses
    if operator_of(use) == "where":
        is_choice = (use.operand("first") is value) != (use.operand("second") is value)
        has_lanes = isinstance(use.operand("condition").type, TensorType)
        return use if is_choice and has_lanes else None
    row = KINDS.get(use.name)
    is_conversion = row is not None and row.kind is Kind.ELEMENTWISE and len(use.operands) == 1
    return _only_where(flow, use.results[0]) if is_conversion else None


def _is_masked_by(load: Op, where: Op) -> bool:
    """Return whether the condition is the load's mask, or a part of it."""
    parts = [value for name, value in operands_of(load) if name == "mask"]
    while parts:
        part = parts.pop()
        if part is where.operand("condition"):
            return True
        if isinstance(part.owner, Op) and operator_of(part.owner) == "&":
            parts += part.owner.operands
    return False


def _is_of(flow: Flow, where: Op, load: Op) -> bool:
    """Return whether the condition is computed of the loaded value."""
    seen: set[int] = set()
    values = [where.operand("condition")]
    while values:
        value = values.pop()
        if value.id in seen:
            continue
        seen.add(value.id)
        if value.owner is load:
            return True
        values += flow.sources(value)
    return False
