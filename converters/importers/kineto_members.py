"""Members of Kineto's events that columns have, and those that are kept as JSON beside them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from json.encoder import encode_basestring_ascii
from math import isfinite
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeGuard

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import UNSET, UnsetType

from kvtrace.converters.importers.event_rows import EventRows, json_text
from kvtrace.converters.importers.json_values import (
    EXACT,
    all_nanoseconds,
    integer,
    mapping,
    nanoseconds,
    text,
)
from kvtrace.converters.importers.rows import NONE, Integers
from kvtrace.schema.repair import LATEST

#: Arguments of executions that have a column of integers.
_INTEGERS: Final = frozenset(
    {"device", "stream", "correlation", "registers per thread", "shared memory", "bytes"}
    | {"External id"}
)
#: Arguments of executions where 0 stands for none, which the column has as null.
_GRAPHS: Final = frozenset({"graph id", "graph node id"})
_SIZES: Final = frozenset({"grid", "block"})
_ARGUMENTS: Final = _INTEGERS | _GRAPHS | _SIZES
#: Categories that a converter gives back for kernels, copies and fills.
_CATEGORIES: Final = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})
_TEXTS: Final = frozenset({"ph", "cat", "name"})
_PLACES: Final = frozenset({"pid", "tid"})
_LARGEST: Final = 2**63 - 1
#: Columns of 32 bits.
_NARROW: Final = frozenset({"device", "registers per thread"})
_NO_ARGS: Final = msgspec.Raw()
#: An argument of operators in PyTorch 1.8 to 1.10: their Python stacks, which are not imported.
CALL_STACK: Final = "Call stack"
_ID_DEFAULTS: Final = (("correlation", NONE), ("External id", NONE), (CALL_STACK, None))


class Event(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """An event with the keys that Kineto writes, in its order; UNSET for those that it lacks.

    `args` stays JSON, which is empty for an event without this key.
    """

    ph: Any = UNSET
    cat: Any = UNSET
    name: Any = UNSET
    pid: Any = UNSET
    tid: Any = UNSET
    id: Any = UNSET
    ts: Any = UNSET
    dur: Any = UNSET
    s: Any = UNSET
    bp: Any = UNSET
    args: msgspec.Raw = _NO_ARGS

    def members(self) -> dict[str, Any]:
        """Return the event's members other than `args`."""
        return {key: value for key in _KEYS if (value := getattr(self, key)) is not UNSET}

    def arguments(self) -> Any:
        """Return the decoded `args`; {} for an event without this key."""
        if self.args is _NO_ARGS:
            return {}
        try:
            return msgspec.json.decode(self.args)
        except msgspec.MsgspecError:  # halves of a surrogate pair
            return json.loads(bytes(self.args))


class _ExactEvent(Event):
    """An event whose times have more digits than a float."""

    ts: Decimal | msgspec.UnsetType = UNSET
    dur: Decimal | msgspec.UnsetType = UNSET


class _OtherEvent(Event):
    """An event with members that `Event` has no field for, kept in `more`."""

    more: Mapping[str, Any] = MappingProxyType({})

    def members(self) -> dict[str, Any]:
        """Return the event's members other than `args`."""
        return {**super().members(), **self.more}


class _Ids(msgspec.Struct):
    """The arguments of an event that is no execution which have columns, or a meaning."""

    correlation: Any = NONE
    external: Any = msgspec.field(name="External id", default=NONE)
    stack: Any = msgspec.field(name=CALL_STACK, default=None)


_KEYS: Final = tuple(key for key in Event.__struct_fields__ if key != "args")
_DECODERS: Final = {
    exact: msgspec.json.Decoder(list[kind])  # type: ignore[valid-type]
    for exact, kind in ((False, Event), (True, _ExactEvent))
}
_PARTS: Final = attrgetter(
    "ph", "cat", "name", "pid", "tid", "ts", "dur", "id", "s", "bp", "args"
)  # fmt: skip
_NUMBERS: Final = (int, float, Decimal)
_OTHERS: Final = frozenset({"id", "s", "bp"})
#: Numbers that Python writes and JSON does not have; and a key that is not to be there twice.
_UNUSUAL: Final = ("NaN", "Infinity", '"args"')
_IDS: Final = msgspec.json.Decoder(_Ids)
_ALL_IDS: Final = msgspec.json.Decoder(list[_Ids])
_ALL_ARGUMENTS: Final = msgspec.json.Decoder(list[dict[str, Any]])
_NO_IDS: Final = _Ids()


def decode_events(text: str, *, exact: bool) -> list[Event] | None:
    """Return the events of a JSON array; None if one has other keys, or is not strict JSON.

    With `exact`, times are Decimal if one has more digits than a float.
    """
    try:
        events: list[Event] = _DECODERS[False].decode(text)
        if exact and any(type(event.ts) is float and abs(event.ts) >= EXACT for event in events):
            return _DECODERS[True].decode(text)
    except msgspec.MsgspecError:
        return None
    return events


def event_of(value: Any) -> Event:
    """Return a JSON value as an event; TypeError if it is not an object."""
    if not isinstance(value, dict):
        raise TypeError("an event is not an object")
    args = msgspec.Raw(json_text(value["args"]).encode()) if "args" in value else _NO_ARGS
    members = {key: member for key, member in value.items() if key in _KEYS}
    more = {key: value[key] for key in value.keys() - {*_KEYS, "args"}}
    return _OtherEvent(**members, args=args, more=more) if more else Event(**members, args=args)


def ids_of(event: Event) -> _Ids:
    """Return those of an event's arguments that have columns, or a meaning."""
    raw = event.args
    if raw is _NO_ARGS:
        return _NO_IDS
    try:
        return _IDS.decode(raw)
    except msgspec.MsgspecError:  # not an object, or halves of a surrogate pair
        args = mapping(event.arguments())
        return _Ids(*(args.get(key, default) for key, default in _ID_DEFAULTS))


def add_event(events: EventRows, event: Event, record: int) -> tuple[int, int]:
    """Add an event that is no execution, and return its begin and end in ns, or NONE.

    `args` are kept as the file has them, since making a JSON text again takes longer than reading
    one. Raises ValueError if one of its times is not a number of µs.
    """
    values = event.members()
    texts = {key: values[key] for key in _TEXTS & values.keys() if _is_text(values[key])}
    places = {key: values[key] for key in _PLACES & values.keys() if _is_integer(values[key])}
    begin = end = NONE
    if "ts" in values:
        begin = nanoseconds(event.ts)
        if event.ph == "X" and "dur" in values:
            end = begin + nanoseconds(event.dur)
    in_columns = {"ts", *texts, *places}
    if end != NONE:
        in_columns.add("dur")
    ids = ids_of(event)
    events.add(
        texts.get("ph", ""), texts.get("cat"), texts.get("name"), begin, end, record=record,
        process=places.get("pid", NONE), thread=places.get("tid", NONE),
        correlation=ids.correlation if _is_integer(ids.correlation) else NONE,
        external=ids.external if _is_integer(ids.external) else NONE,
        members=_members_text({k: v for k, v in values.items() if k not in in_columns}, event),
    )  # fmt: skip
    return begin, end


class EventKey(NamedTuple):
    """Texts, ids and types of an event's members, which it shares with many other events."""

    ph: Any
    cat: Any
    name: Any
    pid: Any
    tid: Any
    s: Any
    bp: Any
    pid_type: type
    tid_type: type
    ts_type: type
    dur_type: type
    id_type: type

    @property
    def is_common(self) -> bool:
        """Columns have the texts and ids, and the times are numbers."""
        return (
            self.pid_type is self.tid_type is int
            and self.ts_type in _NUMBERS
            and (self.dur_type in _NUMBERS or self.dur_type is UnsetType)
            and _is_integer(self.pid)
            and _is_integer(self.tid)
            and all(map(_is_text, self[:3]))
            and self.name != "args"
        )

    @property
    def is_range(self) -> bool:
        """The events have a duration."""
        return self.ph == "X" and self.dur_type is not UnsetType

    @property
    def prefix(self) -> str | None:
        """JSON of the members that no column has, and a comma; `%d` stands for the id.

        None: it cannot be told by the key alone.
        """
        if self.dur_type is not UnsetType and not self.is_range:
            return None
        parts = [] if self.id_type is UnsetType else ['"id":%d,']
        for key, value in (("s", self.s), ("bp", self.bp)):
            if value is not UNSET:
                if not _is_text(value):
                    return None
                parts.append(f'"{key}":{encode_basestring_ascii(value)},')
        prefix = "".join(parts)
        return prefix if prefix.count("%") == prefix.count("%d") == (self.id_type is int) else None


class EventBatch:
    """Events as columns."""

    def __init__(self, events: Sequence[Event]) -> None:
        """Raises MsgspecError if the `args` of one are no object."""
        ph, cat, name, pid, tid, ts, dur, number, s, bp, args = zip(
            *map(_PARTS, events), strict=True
        )
        types = (map(type, column) for column in (pid, tid, ts, dur, number))
        #: The fields of the `EventKey` of each event.
        self.keys = zip(ph, cat, name, pid, tid, s, bp, *types, strict=True)
        self._events, self._ts, self._dur, self._ids = events, ts, dur, number
        self._args = [str(raw, "utf-8") for raw in args]
        joined = self._joined(range(len(events)))
        self._arguments = _ALL_IDS.decode(joined)
        self._is_plain = not any(text in joined for text in _UNUSUAL)

    def _joined(self, rows: Iterable[int]) -> str:
        return f"[{','.join([self._args[row] or '{}' for row in rows])}]"

    def has_usual_ids(self) -> npt.NDArray[np.bool_]:
        """Return which events have integers, or nothing, as ids, and no text of a stack."""
        return np.array(
            [
                type(ids.correlation) is type(ids.external) is int and ids.stack is None
                for ids in self._arguments
            ],
            bool,
        )

    def times(self, rows: Sequence[int]) -> tuple[Integers, Integers]:
        """Return the begins of rows, and the ends; begins where there is no duration.

        Raises:
            ValueError: one of the times is not a number of µs.

        """
        begins = all_nanoseconds([self._ts[row] for row in rows])
        durations = [self._dur[row] for row in rows]
        lengths = all_nanoseconds([0 if each is UNSET else each for each in durations])
        if begins.size and max(np.abs(begins).max(), np.abs(lengths).max()) > LATEST // 2:
            raise ValueError("an end may be no time")
        return begins, begins + lengths

    def ids(self, rows: Sequence[int]) -> tuple[Integers, Integers]:
        """Return the correlation and external ids of rows; OverflowError beyond 64 bits."""
        ids = [self._arguments[row] for row in rows]
        return (
            np.array([each.correlation for each in ids], np.int64),
            np.array([each.external for each in ids], np.int64),
        )

    def arguments(self, rows: Sequence[int]) -> list[dict[str, Any]]:
        """Return the decoded `args` of rows."""
        return _ALL_ARGUMENTS.decode(self._joined(rows))

    def members(self, rows: Iterable[int], prefixes: Iterable[str | None]) -> list[str | None]:
        """Return the members of rows as JSON, given the `prefix` of the key of each."""
        texts: list[str | None] = []
        for row, prefix in zip(rows, prefixes, strict=True):
            args = self._args[row]
            if prefix is None or not self._is_plain:
                texts.append(_members_text(_without_column(self._events[row]), self._events[row]))
                continue
            if prefix:
                prefix = prefix % self._ids[row] if "%d" in prefix else prefix
            if args:
                texts.append(f'{{{prefix}"args":{{{args[1:-1].strip()}}}}}')
            else:
                texts.append(f"{{{prefix[:-1]}}}" if prefix else None)
        return texts


def _without_column(event: Event) -> dict[str, Any]:
    """Return the members but `args` that no column has, of an event whose key is common."""
    is_range = event.ph == "X"
    return {
        key: value
        for key, value in event.members().items()
        if key in _OTHERS or (key == "dur" and not is_range)
    }


def _members_text(members: dict[str, Any], event: Event) -> str | None:
    """Return members of an event as JSON, and its `args` as in the file; None if it has neither."""
    if event.args is _NO_ARGS:
        return _flat_text(members) if members else None
    args = str(event.args, "utf-8")
    if any(text in args for text in _UNUSUAL) or event.name == "args" or args[0] != "{":
        return json_text({**members, "args": event.arguments()})
    first = f"{_flat_text(members)[1:-1]}," if members else ""
    return f'{{{first}"args":{{{args[1:-1].strip()}}}}}'


def _flat_text(members: Mapping[str, Any]) -> str:
    """Return `json_text` of members, in a third of the time if all are numbers and texts."""
    parts = []
    for key, value in members.items():
        if type(value) is int:
            parts.append(f"{encode_basestring_ascii(key)}:{value}")
        elif type(value) is float and isfinite(value):
            parts.append(f"{encode_basestring_ascii(key)}:{value!r}")
        elif type(value) is str:
            parts.append(f"{encode_basestring_ascii(key)}:{encode_basestring_ascii(value)}")
        else:
            return json_text(members)
    return f"{{{','.join(parts)}}}"


def _is_text(value: Any) -> bool:
    return type(value) is str and value != "" and (value.isascii() or text(value) == value)


def _is_integer(value: Any) -> TypeGuard[int]:
    return type(value) is int and -_LARGEST <= value <= _LARGEST


def execution_members(
    event: Event, arguments: Mapping[str, Any], device: int, stream: int
) -> str | None:
    """Return what no column of `gpu_kernels` has of an execution's event, as a JSON object.

    Args:
        event: The event.
        arguments: Its `args`.
        device: Its column `device`, which a converter gives back as its `pid`.
        stream: Its column `stream`, which a converter gives back as its `tid`.

    """
    args = {
        key: value
        for key, value in arguments.items()
        if not (key in _INTEGERS and type(value) is int and 0 <= value < 2**31)  # nearly all
        and not (key in _ARGUMENTS and _is_in_column(key, value))
    }
    members = {}
    usual = (device, stream, UNSET, UNSET, UNSET)
    if (event.pid, event.tid, event.id, event.s, event.bp) != usual or type(event) is _OtherEvent:
        members = {
            key: value
            for key, value in event.members().items()
            if key not in ("ph", "name", "ts", "dur", "cat")
            and not (key == "pid" and value == device)
            and not (key == "tid" and value == stream)
        }
    if event.cat not in _CATEGORIES:
        members = {"cat": event.cat, **members}
    if type(arguments.get("device")) is int and arguments["device"] != device:
        args["device"] = arguments["device"]  # of a file of several ranks
    # MTIA's events have these as pid, tid and size alone; null says so to a converter.
    if "device" not in arguments and device != NONE:
        args["device"] = None
    if "stream" not in arguments and stream != NONE:
        args["stream"] = None
    if "bytes" not in arguments and integer(arguments.get("size")) != NONE:
        args["bytes"] = None
    if not args:
        return _flat_text(members) if members else None
    first = f"{_flat_text(members)[1:-1]}," if members else ""
    return f'{{{first}"args":{_flat_text(args)}}}'


def _is_in_column(key: str, value: Any) -> bool:
    """Return whether the column of an argument in `_ARGUMENTS` has the value."""
    if key in _SIZES:
        return isinstance(value, list) and len(value) == 3 and all(map(_is_integer, value))
    if not _is_integer(value) or (key in _GRAPHS and not value):
        return False
    return key not in _NARROW or -(2**31) < value < 2**31
