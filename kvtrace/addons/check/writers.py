"""Operators that wrote an argument's storage before a launch, from KVTRACE_MEMORY=on.

Where the first compared launch with another result was given other bytes, its storage's operators
say why: one that only one side has, the same ones on other inputs, or none since `aten::empty`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kvtrace.figures.tables import scratch
from kvtrace.schema.trace import Run, Trace

_TABLES: Final = {
    "launches": ["seq", "enter", "addresses"],
    "operations": ["operator_id", "begin", "addresses"],
    "operators": ["operator_id", "name", "tensors", "stack_id"],
    "stacks": ["stack_id", "frames"],
}
#: Most operators in a sentence.
_NAMED: Final = 3
#: Operators on the storage of a launch's argument since it was made, and launches (no name).
_EVENTS: Final = """
    WITH place AS (
        SELECT enter AS until, addresses[$position] - $offset AS storage FROM launches
        WHERE seq = $seq
    ), touched AS (
        SELECT begin, name, stack_id, unnest(tensors) AS tensor, unnest(addresses) AS address
        FROM operations JOIN operators USING (operator_id)
    ), events AS (
        SELECT begin, name, tensor.role, stack_id FROM touched, place
        WHERE begin < until AND tensor.role IN ('written', 'created')
            AND address - tensor.offset_bytes = storage
        UNION ALL SELECT enter, NULL, 'written', NULL FROM launches, place WHERE enter < until
            AND (addresses IS NULL
                OR len(list_filter(addresses, lambda a: a >= storage AND a < storage + $bytes)) > 0)
    )
    SELECT name, role, frame.file, frame.line FROM events LEFT JOIN (
        SELECT stack_id, list_filter(frames, lambda f: NOT contains(f.file, '/torch/'))[1] AS frame
        FROM stacks
    ) USING (stack_id)
    WHERE begin >= (SELECT max(begin) FROM events WHERE role = 'created') ORDER BY begin
"""
_Event = tuple[str | None, str, str | None, int | None]


def written_by(
    trace: Trace, run: Run, seq: int, args: Sequence[Mapping[str, Any]], arg: int
) -> list[_Event]:
    """Return operators and launches (None) that may have written an argument before a launch."""
    pointers = [n for n, row in enumerate(args) if row["kind"] in ("tensor", "descriptor")]
    if arg not in pointers or args[arg]["offset_bytes"] is None:
        return []
    values = {
        "seq": seq,
        "position": pointers.index(arg) + 1,
        "offset": args[arg]["offset_bytes"],
        "bytes": args[arg]["storage_bytes"] or 1,
    }
    with scratch() as database:
        for name, columns in _TABLES.items():
            database.register(name, trace.table(name, (run,), columns))
        return database.execute(_EVENTS, values).fetchall()


def writers_text(
    name: str, before: Sequence[_Event], after: Sequence[_Event], names: tuple[str, str]
) -> str:
    """Return a sentence on who wrote an argument's storage on both sides; "" if not known.

    `names` are those of the sides.
    """
    for events, side in ((after, names[1]), (before, names[0])):
        if events and all((op or "").startswith("aten::empty") for op, *_ in events):
            made = f"since {_text(events[0])} made it" + ("" if side == "now" else f" {side}")
            return f"no recorded operator or launch wrote {name} {made}: uninitialized memory"
    sides = [[event for event in events if event[0]] for events in (before, after)]
    if not all(sides) or before[-1][0] is None or after[-1][0] is None:
        return ""
    counts_of_sides = [Counter(op for op, *_ in events) for events in sides]
    if counts_of_sides[0] == counts_of_sides[1]:
        listed = ", ".join(map(_text, sides[1][-_NAMED:]))
        return (
            f"the same operators wrote {name} ({listed}), so one got other inputs or random "
            "numbers, or is not deterministic"
        )
    extra = {
        f"only {names[1]}": (sides[1], counts_of_sides[1] - counts_of_sides[0]),
        f"only {names[0]}": (sides[0], counts_of_sides[0] - counts_of_sides[1]),
    }
    texts = [
        f"{_text(next(event for event in reversed(events) if event[0] in counts))} {when}"
        for when, (events, counts) in extra.items()
        if counts
    ]
    return f"{name} was written by {' and '.join(texts)}"


def _text(event: _Event) -> str:
    name, _, file, line = event
    return f"{(name or '').partition('.')[0]}" + (f" at {file}:{line}" if file else "")
