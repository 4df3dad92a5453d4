"""Operators that made an argument's bytes before a launch, from KVTRACE_MEMORY=on.

Where the first compared launch with another result was given other bytes, the operators that wrote
its storage on both sides, then those that wrote what these read, say why: one that only one side
has, another tensor, another layout, the same ones on other inputs, or none since `aten::empty`. A
storage is followed from its creation, or the last launch that wrote it: others had its address.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

from msgspec import Struct

from kvtrace.figures.tables import scratch
from kvtrace.schema.trace import Run, Trace

_TABLES: Final = {
    "launches": ["seq", "call_id", "enter", "addresses"],
    "calls": ["call_id", "args"],
    "digests": ["seq", "arg", "when", "digest", "lines"],
    "allocations": ["address", "begin"],
    "operations": ["record", "operator_id", "begin", "end", "addresses"],
    "operators": ["operator_id", "name", "tensors", "stack_id"],
    "stacks": ["stack_id", "frames"],
}
#: Most operators in a sentence, and most storages, and calls on each, that are followed.
_NAMED: Final = 5
_FOLLOWED: Final = 32
#: Tensors of operators, each with the address of its storage, and the call's number among those of
#: its operator. Roles differ from those in schemas: collectives write all of their tensors, and
#: operators such as zeros_like read no element. Tensors of set_, which only hands a storage on, and
#: those without elements are left out.
_TOUCHED: Final = """
    CREATE TEMPORARY TABLE touched AS
    SELECT record, epoch_ns(begin) AS begin, epoch_ns("end") AS returned, operator_id, tensor,
        ordinal, tensor.name || ' of ' || split_part(name, '.', 1) AS parameter,
        CASE WHEN name LIKE 'c10d::%' THEN 'written' WHEN name LIKE 'aten::%_like%' AND
            tensor.role = 'read' THEN 'unread' ELSE tensor.role END AS role,
        address - tensor.offset_bytes AS storage
    FROM (
        SELECT record, begin, "end", operator_id, name, unnest(tensors) AS tensor,
            unnest(addresses) AS address, (row_number() OVER (PARTITION BY name ORDER BY record),
                count(*) OVER (PARTITION BY name)) AS ordinal
        FROM operations JOIN operators USING (operator_id)
    ) WHERE address != 0 AND name NOT LIKE 'aten::set_.%'
"""
#: Storages that launches got; null: any. The launch did not write a storage without a digest after
#: it, or with the digest of before, if that is of all bytes.
_GIVEN: Final = """
    CREATE TEMPORARY TABLE given AS
    WITH parameters AS (
        SELECT call_id, number, args[number].offset_bytes AS begins, len(list_filter(
            args[:number], lambda a: a.kind IN ('tensor', 'descriptor'))) AS position
        FROM (SELECT call_id, args, unnest(range(1, len(args) + 1)) AS number FROM calls)
        WHERE args[number].kind IN ('tensor', 'descriptor')
    ), digested AS (
        SELECT seq, arg + 1 AS number, NOT bool_or("when" = 'after') OR (
            count(digest) = 2 AND min(digest) = max(digest) AND max(lines) = 1) AS is_kept
        FROM digests GROUP BY ALL
    )
    SELECT seq, number, epoch_ns(enter) AS begin, addresses[position] - begins AS storage,
        coalesce(bool_or(is_kept) OVER (PARTITION BY seq, storage), false) AS is_unwritten
    FROM launches LEFT JOIN parameters USING (call_id) LEFT JOIN digested USING (seq, number)
"""
#: Operators on a storage since it was made, and launches (no record) that may have written it. None
#: if its memory was allocated again after that: no operator made what is there.
_EVENTS: Final = """
    WITH events AS (
        SELECT begin, returned, record, operator_id AS number, ordinal, role FROM touched
        WHERE begin < $until AND role IN ('written', 'created') AND storage = $storage
        UNION ALL SELECT begin, NULL, NULL, seq, NULL, 'written' FROM given
        WHERE begin < $until AND coalesce(storage, $storage) = $storage AND NOT is_unwritten
    ), made AS (
        SELECT max(begin) AS begin, max(returned) AS returned FROM events WHERE role = 'created'
    )
    SELECT events.begin, record, number, ordinal FROM events JOIN made ON events.begin >= made.begin
    WHERE NOT EXISTS (
        SELECT * FROM allocations WHERE address = $storage
            AND epoch_ns(begin) > made.returned AND epoch_ns(begin) < $until
    ) ORDER BY events.begin, record
"""
#: A number of Python's is an operator's input of 64 bits, at an address that others had.
_READ: Final = """
    SELECT record, storage, begin, parameter, role = 'read' AND tensor.device IS NOT NULL
    FROM touched WHERE list_contains($records, record) AND role IN ('read', 'written')
        AND storage != $storage AND NOT (tensor.device IS NULL AND len(tensor.shape) = 0
            AND tensor.dtype IN ('fp64', 'i64', 'i1', 'c128')) ORDER BY rowid
"""
_OPERATORS: Final = """
    SELECT operator_id, (coalesce(name, ''), coalesce(tensors, []), frame.file, frame.line)
    FROM operators LEFT JOIN (
        SELECT stack_id, list_filter(frames, lambda f: NOT contains(f.file, '/torch/'))[1] AS frame
        FROM stacks
    ) USING (stack_id)
"""


class Input(NamedTuple):
    """A storage that a launch (name "") or an operator's parameter got at the time `until`.

    `is_suspect`: it is on a device, and read, so that the host does not fill it.
    """

    storage: int
    until: int
    name: str = ""
    is_suspect: bool = True


class Operation(Struct, frozen=True):
    """A call of an operator; `ordinal` is its number among such calls, and their count."""

    begin: int
    name: str
    tensors: Sequence[Mapping[str, Any]]
    file: str | None
    line: int | None
    ordinal: tuple[int, int] = (0, 0)
    inputs: Sequence[Input] = ()

    @property
    def text(self) -> str:
        """Its name and line."""
        place = f" at {self.file}:{self.line}" if self.file else ""
        return f"{self.name.partition('.')[0]}{place}"


class Writers(Struct, frozen=True):
    """Operations that made or wrote a storage, in their order, since a launch last wrote it.

    The last `_FOLLOWED` operations are known. `source` is the name of the last launch that may have
    written it, "" if none did since its creation, None if that is not known.
    """

    operations: Sequence[Operation] = ()
    source: str | None = None

    def unwritten_text(self, subject: str, when: str = "") -> str:
        """Return a sentence on a storage that nothing wrote since its creation; "" if one did."""
        is_empty = all(call.name.startswith("aten::empty") for call in self.operations)
        if self.source != "" or not is_empty:
            return ""
        return (
            f"no recorded operator or launch wrote {subject} since {self.operations[0].text} made "
            f"it{when}: uninitialized memory, unless the host or an extension wrote it"
        )


#: A launch, by `launches.seq`, and the names of launches with equal results on both sides.
Launch = tuple[Trace, Run, int, Mapping[int, str]]


def writers_text(sides: Sequence[Launch], arg: int, name: str, names: tuple[str, str]) -> str:
    """Return a sentence on who made the bytes of argument `name` on both `sides`; "" if unknown."""
    calls, unwritten, followed = dict[int, Operation](), "", set[tuple[int, int]]()
    with scratch() as first, scratch() as second:
        old_memory, new_memory = _Memory(first, sides[0]), _Memory(second, sides[1])
        pairs = [*zip(old_memory.argument(arg), new_memory.argument(arg), strict=False)]
        for old_input, new_input in pairs:  # to which those that operators read are added
            before, after = old_memory.writers(old_input), new_memory.writers(new_input)
            state = new_input.storage, max((call.begin for call in after.operations), default=0)
            if None in (before.source, after.source) or state in followed:
                continue
            followed.add(state)
            made = new_input.name
            subject = f"{made}, from which {name} was computed," if made else name
            if text := storage_text(subject, before, after, names):
                is_on_host = not sides[1][1].devices
                return text + "; what the host itself writes is not recorded" * is_on_host
            if new_input.is_suspect:
                unwritten = unwritten or after.unwritten_text(subject)
            calls |= {call.begin: call for call in after.operations}
            both = zip(before.operations, after.operations, strict=False)
            inputs = (zip(old.inputs, new.inputs, strict=False) for old, new in both)
            pairs += [*chain.from_iterable(inputs)][: _FOLLOWED - len(pairs)]
    if unwritten or not calls:
        return unwritten
    listed = list(dict.fromkeys(call.text for _, call in sorted(calls.items(), reverse=True)))
    more = f", {len(listed) - _NAMED} more" if len(listed) > _NAMED else ""
    return (
        f"the same operators computed {name} ({', '.join(listed[:_NAMED])}{more}), so one got "
        "other scalars, random numbers or inputs, as from the host, or is not deterministic"
    )


class _Memory:
    """Events of a run's memory until a launch, by storage."""

    def __init__(self, database: Any, launch: Launch) -> None:
        trace, run, self._seq, self._labels = launch
        for name, columns in _TABLES.items():
            database.register(name, trace.table(name, (run,), columns))
        database.execute(_TOUCHED)
        database.execute(_GIVEN)
        self._database = database
        self._operators: dict[int, tuple[Any, Any, Any, Any]]
        self._operators = dict(database.execute(_OPERATORS).fetchall())

    def argument(self, arg: int) -> list[Input]:
        """Return the storage of an argument at the launch, if it is known."""
        query = "SELECT storage, begin FROM given WHERE seq = ? AND number = ?"
        rows = self._database.execute(query, (self._seq, arg + 1)).fetchall()
        return [Input(*row) for row in rows if row[0] is not None]

    def writers(self, given: Input) -> Writers:
        """Return who wrote a storage, as far as it is known."""
        values = {"storage": given.storage, "until": given.until}
        events = self._database.execute(_EVENTS, values).fetchall()
        since = max((n for n, event in enumerate(events, 1) if event[1] is None), default=0)
        chosen = events[since:][-_FOLLOWED:]
        others: dict[int, list[Input]] = {}
        read = {"records": [event[1] for event in chosen], "storage": given.storage}
        for record, *place in self._database.execute(_READ, read).fetchall():
            others.setdefault(record, []).append(Input(*place))
        calls = [
            Operation(begin, *self._operators[number], ordinal, others.get(record, ()))
            for begin, record, number, ordinal in chosen
        ]
        source = self._labels.get(events[since - 1][2]) if since else "" if events else None
        return Writers(calls, source)


def storage_text(subject: str, before: Writers, after: Writers, names: tuple[str, str]) -> str:
    """Return a sentence on the first difference of who wrote one storage; "" without one."""
    old_calls, new_calls = before.operations, after.operations
    if before.source != after.source:
        then, now = (side.source or side.operations[-1].text for side in (before, after))
        return f"{subject} is what {now} left {names[1]}, and what {then} left {names[0]}"
    are_whole = _FOLLOWED not in (len(old_calls), len(new_calls))
    if are_whole:
        difference = "" if after.source else _creation_text(old_calls[0], new_calls[0], names)
        difference = difference or _operators_text(before, after, names)
        if difference:
            return f"{subject} was {difference}"
    for old, new in zip(old_calls, new_calls, strict=False):
        if old.name != new.name and are_whole:
            return f"{subject} was computed by {new.text} {names[1]} where {old.text} came before"
        if names[1] == "now" and (text := _other_tensors(old, new)):  # ranks have their own batches
            return f"{subject} was computed by {new.text}, {text}"
    return ""


def _creation_text(old: Operation, new: Operation, names: tuple[str, str]) -> str:
    """Return a phrase if another call of one operator made a storage; "" if not."""
    (old_number, old_count), (number, count) = old.ordinal, new.ordinal
    is_other_call = old_number != number and old_count == count and old.name == new.name
    if not is_other_call or _other_tensors(old, new):
        return ""
    return (
        f"made by call {number} of {new.text} {names[1]}, by call {old_number} {names[0]}: another "
        "tensor is handed over, or they are made in another order"
    )


def _operators_text(before: Writers, after: Writers, names: tuple[str, str]) -> str:
    """Return a phrase on operators that one side has more often; "" without any."""
    old_calls, new_calls = before.operations, after.operations
    old_counts, new_counts = (Counter(c.name for c in calls) for calls in (old_calls, new_calls))
    added, removed = new_counts - old_counts, old_counts - new_counts
    only = "" if added and removed else "only "
    texts = []
    if added:
        texts.append(f"by {_last_extra(new_calls, old_calls, added).text} {only}{names[1]}")
    if removed:
        texts.append(f"by {_last_extra(old_calls, new_calls, removed).text} {only}{names[0]}")
    if not texts:
        return ""
    unwritten = after.unwritten_text("it") or before.unwritten_text("it", f" {names[0]}")
    return f"computed {', '.join(texts)}{'; ' * bool(unwritten)}{unwritten}"


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
        for key in ("dtype", "shape", "strides", "offset_bytes"):
            if old.name == new.name and before[key] != after[key]:
                tensor = after["name"] or "result"
                return f"whose {tensor} has {key} {after[key]}, before {before[key]}"
    return ""
