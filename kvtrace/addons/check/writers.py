"""Operators that made an argument's bytes before a launch, from KVTRACE_MEMORY=on.

Where the first compared launch with another result was given other bytes, the operators that wrote
its storage, and those that wrote what these read, say why: one that only one side has, one that was
given other tensors, the same ones on other inputs, or none at all since `aten::empty`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import duckdb

from kvtrace.figures.tables import scratch
from kvtrace.schema.trace import Run, Trace

_TABLES: Final = {
    "launches": ["seq", "enter", "addresses"],
    "operations": ["record", "operator_id", "begin", "addresses"],
    "operators": ["operator_id", "name", "tensors", "stack_id"],
    "stacks": ["stack_id", "frames"],
}
#: Most operators in a sentence, and most storages, and calls on each, that are followed.
_NAMED: Final = 5
_FOLLOWED: Final = 32
#: Tensors of operators, each with the address of its storage. Collectives write what they are
#: given, which their schemas do not say; those like zeros_like read no element; set_ hands a
#: storage on; without elements none is there.
_TOUCHED: Final = """
    CREATE TEMPORARY TABLE touched AS
    SELECT record, epoch_ns(begin) AS begin, operator_id, tensor,
        CASE WHEN name LIKE 'c10d::%' THEN 'written' WHEN name LIKE 'aten::%_like%' AND
            tensor.role = 'read' THEN 'unread' ELSE tensor.role END AS role,
        address - tensor.offset_bytes AS storage
    FROM (
        SELECT record, begin, operator_id, name, unnest(tensors) AS tensor,
            unnest(addresses) AS address
        FROM operations JOIN operators USING (operator_id)
    ) WHERE address != 0 AND name NOT LIKE 'aten::set_.%'
"""
_ARGUMENT: Final = """
    SELECT addresses[$position] - $offset, $bytes, epoch_ns(enter) FROM launches WHERE seq = $seq
"""
#: Operators on a storage since it was made, and launches (no record).
_EVENTS: Final = """
    WITH events AS (
        SELECT begin, record, operator_id, role FROM touched
        WHERE begin < $until AND role IN ('written', 'created') AND storage = $storage
        UNION ALL SELECT epoch_ns(enter), NULL, NULL, 'written' FROM launches
        WHERE epoch_ns(enter) < $until AND (addresses IS NULL OR
                len(list_filter(addresses, lambda a: a >= $storage AND a < $storage + $bytes)) > 0)
    )
    SELECT begin, record, operator_id FROM events
    WHERE begin >= (SELECT max(begin) FROM events WHERE role = 'created') ORDER BY begin, record
"""
_READ: Final = """
    SELECT storage, coalesce(tensor.storage_bytes, 1), begin, tensor.name, role FROM touched
    WHERE list_contains($records, record) AND role IN ('read', 'written') ORDER BY begin, record
"""
_OPERATORS: Final = """
    SELECT operator_id, coalesce(name, ''), coalesce(tensors, []), frame.file, frame.line
    FROM operators LEFT JOIN (
        SELECT stack_id, list_filter(frames, lambda f: NOT contains(f.file, '/torch/'))[1] AS frame
        FROM stacks
    ) USING (stack_id)
"""
#: What two calls of an operator may have of a tensor, besides its address.
_LAYOUT: Final = ("dtype", "shape", "strides", "offset_bytes")


@dataclass(frozen=True, slots=True)
class Operation:
    """A call of an operator: its tensors, and the line that called it."""

    begin: int
    name: str
    tensors: Sequence[Mapping[str, Any]]
    file: str | None
    line: int | None

    @property
    def text(self) -> str:
        """Its name and line."""
        place = f" at {self.file}:{self.line}" if self.file else ""
        return f"{self.name.partition('.')[0]}{place}"


@dataclass(frozen=True, slots=True)
class Writers:
    """Operations that made an argument's bytes, in their order; () if a launch wrote it last.

    `unwritten` is the first tensor that none wrote since its creation, of those that were read: its
    name ("" for the argument) and its creation. `is_cut`: of a storage, earlier ones are left out.
    """

    operations: Sequence[Operation] = ()
    unwritten: tuple[str, Operation] | None = None
    is_cut: bool = False


def written_by(
    trace: Trace, run: Run, seq: int, args: Sequence[Mapping[str, Any]], arg: int
) -> Writers:
    """Return the operations that made an argument's bytes before a launch."""
    pointers = [n for n, row in enumerate(args) if row["kind"] in ("tensor", "descriptor")]
    if arg not in pointers or args[arg]["offset_bytes"] is None:
        return Writers()
    values = {
        "seq": seq,
        "position": pointers.index(arg) + 1,
        "offset": args[arg]["offset_bytes"],
        "bytes": args[arg]["storage_bytes"] or 1,
    }
    with scratch() as database:
        for name, columns in _TABLES.items():
            database.register(name, trace.table(name, (run,), columns))
        database.execute(_TOUCHED)
        place = database.execute(_ARGUMENT, values).fetchone()
        return _followed(database, place) if place and place[0] is not None else Writers()


def _followed(database: duckdb.DuckDBPyConnection, place: tuple[int, int, int]) -> Writers:
    """Follow a storage (address, bytes, until when) to operators and what they read.

    A launch that may have written a storage ends its way: digests say what it left.
    """
    operators = {row[0]: row[1:] for row in database.execute(_OPERATORS).fetchall()}
    storages: list[tuple[int, int, int, str, str]] = [(*place, "", "read")]
    operations, unwritten, is_cut = dict[int, Operation](), None, False
    for storage, size, until, tensor, role in storages:
        values = {"storage": storage, "bytes": size, "until": until}
        events = database.execute(_EVENTS, values).fetchall()
        last_launch = max((n for n, event in enumerate(events, 1) if event[1] is None), default=0)
        calls = {
            record: Operation(begin, *operators[key])
            for begin, record, key in events[last_launch:][-_FOLLOWED:]
        }
        is_cut |= len(events) - last_launch > _FOLLOWED
        if calls and not last_launch and unwritten is None and role == "read":
            is_empty = all(call.name.startswith("aten::empty") for call in calls.values())
            unwritten = (tensor, next(iter(calls.values()))) if is_empty else None
        operations |= calls
        for read in database.execute(_READ, {"records": list(calls)}).fetchall():
            is_new = all(read[0] != other[0] for other in storages)
            storages += [read] if is_new and len(storages) < _FOLLOWED else []
    return Writers(sorted(operations.values(), key=lambda call: call.begin), unwritten, is_cut)


def writers_text(name: str, before: Writers, after: Writers, names: tuple[str, str]) -> str:
    """Return a sentence on who made an argument's bytes on both sides; "" if not known.

    `names` are those of the sides.
    """
    sides = before.operations, after.operations
    counts = [Counter(call.name for call in side) for side in sides]
    if all(sides) and counts[0] != counts[1]:
        if before.is_cut or after.is_cut:
            return ""
        texts = [
            f"{_last_extra(side, other, extra).text} only {when}"
            for side, other, extra, when in (
                (sides[1], sides[0], counts[1] - counts[0], names[1]),
                (sides[0], sides[1], counts[0] - counts[1], names[0]),
            )
            if extra
        ]
        return f"{name} was computed by {' and '.join(texts)}"
    for writers, when in ((after, names[1]), (before, names[0])):
        if writers.unwritten is not None:
            tensor, made = writers.unwritten
            text = f"{tensor}, from which {name} was computed," if tensor else name
            since = f"since {made.text} made it" + ("" if when == "now" else f" {when}")
            return (
                f"no recorded operator or launch wrote {text} {since}: uninitialized memory, "
                "unless the host or an extension wrote it"
            )
    if not all(sides):
        return ""
    if names[1] == "now":  # ranks have batches of their own
        for old, new in zip(*sides, strict=True):
            if text := _other_tensors(old, new):
                return f"{name} was computed by {new.text}, {text}"
    listed = list(dict.fromkeys(call.text for call in reversed(sides[1])))
    more = f", {len(listed) - _NAMED} more" if len(listed) > _NAMED else ""
    return (
        f"the same operators computed {name} ({', '.join(listed[:_NAMED])}{more}), so one got "
        "other inputs or random numbers, or is not deterministic"
    )


def _last_extra(
    side: Sequence[Operation], other: Sequence[Operation], extra: Counter[str]
) -> Operation:
    """Return the last call of an extra operator, at a line that the other side has less often."""
    lines = Counter((call.name, call.line) for call in side)
    lines -= Counter((call.name, call.line) for call in other)
    calls = [call for call in side if call.name in extra]
    return max(calls, key=lambda call: ((call.name, call.line) in lines, call.begin))


def _other_tensors(old: Operation, new: Operation) -> str:
    """Return a phrase on the first tensor of a call that has another layout; "" if none has."""
    for before, after in zip(old.tensors, new.tensors, strict=False):
        for key in _LAYOUT:
            if old.name == new.name and before[key] != after[key]:
                tensor = after["name"] or "result"
                return f"whose {tensor} has {key} {after[key]}, before {before[key]}"
    return ""
