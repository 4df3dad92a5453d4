"""Members of Kineto's events that columns have, and those that are kept as JSON beside them."""

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from json.encoder import encode_basestring_ascii
from math import isfinite
from types import MappingProxyType
from typing import Any, Final, TypeGuard

import msgspec
from msgspec import UNSET

from kvtrace.converters.importers.event_rows import EventRows, json_text
from kvtrace.converters.importers.json_values import integer, mapping, nanoseconds, text
from kvtrace.converters.importers.rows import NONE

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
_IDS: Final = msgspec.json.Decoder(_Ids)
_NO_IDS: Final = _Ids()


def decode_events(text: str, *, exact: bool) -> list[Event] | None:
    """Return the events of a JSON array; None if one has other keys, or is not strict JSON.

    With `exact`, times are Decimal.
    """
    try:
        return _DECODERS[exact].decode(text)
    except msgspec.MsgspecError:
        return None


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


class KeptEvents:
    """Events that are not executions, on their way to `tool_events`.

    Nearly all events have the keys, texts and ids of an event before them, so that these are
    checked once. `args` are kept as the file has them, since making a JSON text again takes longer
    than reading one.
    """

    def __init__(self, events: EventRows, is_host_range: Callable[[str, str], bool]) -> None:
        self._events = events
        self._is_host_range = is_host_range
        #: By the keys, texts and ids of events that have a time, and only values that columns can
        #: have: the number of the shape, whether they are ranges of stacks, and the keys of other
        #: members than `args`.
        self._shapes: dict[tuple[Any, ...], tuple[int, bool, tuple[str, ...]]] = {}

    def add(self, event: Event, record: int) -> tuple[int, int] | None:
        """Add an event, and return its begin and end in ns; NONE for those that it does not have.

        Returns None if the event was also noted as a range of its thread's stacks: one whose
        category and name `is_host_range` accepts, without a text of a stack in its `args`.

        Raises:
            ValueError: one of its times is not a number of µs.

        """
        process, thread, ts, dur = event.pid, event.tid, event.ts, event.dur
        if type(process) is not int or type(thread) is not int or ts is UNSET:  # 1.0, True equal 1
            return self._add_uncommon(event, record)
        key = (
            event.ph, event.cat, event.name, process, thread,
            dur is UNSET, event.id is UNSET, event.s is UNSET, event.bp is UNSET,
        )  # fmt: skip
        try:
            shape = self._shapes.get(key)
        except TypeError:
            shape = None  # an object or array, which no column has
        if shape is None or type(event) is _OtherEvent:
            return self._add_uncommon(event, record, key)
        number, is_host, others = shape
        ids = ids_of(event)
        if is_host and ids.stack is not None:
            return self._add_uncommon(event, record)
        begin = nanoseconds(ts)
        end = NONE if dur is UNSET or "dur" in others else begin + nanoseconds(dur)
        one, other = ids.correlation, ids.external  # nearly all events are added here: no calls
        self._events.add_of_shape(
            number, begin, end, record,
            one if type(one) is int and -_LARGEST <= one <= _LARGEST else NONE,
            other if type(other) is int and -_LARGEST <= other <= _LARGEST else NONE,
            _members_text({key: getattr(event, key) for key in others} if others else {}, event),
        )  # fmt: skip
        return None if is_host else (begin, end)

    def _add_uncommon(
        self, event: Event, record: int, key: tuple[Any, ...] | None = None
    ) -> tuple[int, int]:
        """Add an event as `add` does, and its shape by its key if it may be one of many."""
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
        members = {key: value for key, value in values.items() if key not in in_columns}
        ids = ids_of(event)
        phase, category, name = texts.get("ph", ""), texts.get("cat"), texts.get("name")
        process, thread = places.get("pid", NONE), places.get("tid", NONE)
        self._events.add(
            phase, category, name, begin, end, record=record, process=process, thread=thread,
            correlation=ids.correlation if _is_integer(ids.correlation) else NONE,
            external=ids.external if _is_integer(ids.external) else NONE,
            members=_members_text(members, event),
        )  # fmt: skip
        if key is not None and len(texts) == len(_TEXTS) and len(places) == len(_PLACES):
            is_host = end != NONE and self._is_host_range(texts["cat"], texts["name"])
            shape = self._events.shape(phase, category, name, process, thread, is_host=is_host)
            if type(event) is not _OtherEvent:
                self._shapes[key] = shape, is_host, tuple(members)
        return begin, end


def _members_text(members: dict[str, Any], event: Event) -> str | None:
    """Return members of an event as JSON, and its `args` as in the file; None if it has neither."""
    if event.args is _NO_ARGS:
        return _flat_text(members) if members else None
    args = str(event.args, "utf-8")
    # Numbers that Python writes and JSON does not have; and a key that is not to be there twice.
    is_plain = '"args"' not in args and "NaN" not in args and "Infinity" not in args
    if not is_plain or event.name == "args" or args[0] != "{":
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
        if key not in _ARGUMENTS
        or not (
            (type(value) is int and 0 < value < 2**31 and key not in _SIZES)  # nearly all
            or _is_in_column(key, value)
        )
    }
    members = {
        key: value
        for key, value in event.members().items()
        if key not in ("ph", "name", "ts", "dur")
        and not (key == "cat" and value in _CATEGORIES)
        and not (key == "pid" and value == device)
        and not (key == "tid" and value == stream)
    }
    # MTIA's events have these as pid, tid and size alone; null says so to a converter.
    others = {"device": device, "stream": stream, "bytes": integer(arguments.get("size"))}
    if type(arguments.get("device")) is int and arguments["device"] != device:
        args["device"] = arguments["device"]  # of a file of several ranks
    args |= {key: None for key in others if key not in arguments and others[key] != NONE}
    if not args:
        return _flat_text(members) if members else None
    first = f"{_flat_text(members)[1:-1]}," if members else ""
    return f'{{{first}"args":{_flat_text(args)}}}'


def _is_size(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(map(_is_integer, value))


def _is_in_column(key: str, value: Any) -> bool:
    """Return whether the column of an argument in `_ARGUMENTS` has the value."""
    if key in _SIZES:
        return _is_size(value)
    if not _is_integer(value) or (key in _GRAPHS and not value):
        return False
    return key not in _NARROW or -(2**31) < value < 2**31
