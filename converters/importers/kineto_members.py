"""Members of Kineto's events that columns have, and those that are kept as JSON beside them."""

import re
from collections.abc import Callable, Mapping
from json.encoder import encode_basestring_ascii
from typing import Any, Final, TypeGuard

from kvtrace.converters.importers.event_rows import EventRows, json_text
from kvtrace.converters.importers.json_stream import JsonFile
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
#: Categories that a converter gives back for kernels, copies and fills.
_CATEGORIES: Final = frozenset({"kernel", "gpu_memcpy", "gpu_memset"})
_TEXTS: Final = frozenset({"ph", "cat", "name"})
_PLACES: Final = frozenset({"pid", "tid"})
_LARGEST: Final = 2**63 - 1
#: Columns of 32 bits.
_NARROW: Final = frozenset({"device", "registers per thread"})
#: Numbers that Python writes and JSON does not have.
_NOT_JSON: Final = re.compile("NaN|Infinity")
#: An argument of operators in PyTorch 1.8 to 1.10: their Python stacks, which are not imported.
CALL_STACK: Final = "Call stack"


class KeptEvents:
    """Events that are not executions, on their way to `tool_events`.

    Nearly all events have the keys, texts and ids of an event before them, so that these are
    checked once. `args` are kept as the file has them where they are the last member, since making
    a JSON text again takes longer than reading one.
    """

    def __init__(self, events: EventRows, is_host_range: Callable[[str, str], bool]) -> None:
        self._events = events
        self._is_host_range = is_host_range
        #: By the keys, texts and ids of events that have a time, and only values that columns can
        #: have: the number of the shape, whether they are ranges of stacks, and the keys of other
        #: members.
        self._shapes: dict[tuple[Any, ...], tuple[int, bool, tuple[str, ...]]] = {}

    def add(
        self, event: Mapping[str, Any], record: int, source: JsonFile
    ) -> tuple[int, int] | None:
        """Add an event, and return its begin and end in ns; NONE for those that it does not have.

        Returns None if the event was also noted as a range of its thread's stacks: one whose
        category and name `is_host_range` accepts, without a text of a stack in its `args`.

        Args:
            event: The event, which `source.entries()` just yielded.
            record: The event's number in the file.
            source: The file.

        Raises:
            ValueError: one of its times is not a number of µs.

        """
        get = event.get
        process, thread, args = get("pid"), get("tid"), get("args")
        if type(process) is not int or type(thread) is not int:  # 1.0 and True equal 1
            return self._add_uncommon(event, record, source)
        try:
            shape = self._shapes.get(
                (tuple(event), get("ph"), get("cat"), get("name"), process, thread)
            )
        except TypeError:
            shape = None  # an object or array, which no column has
        if shape is None:
            return self._add_uncommon(event, record, source)
        number, is_host, others = shape
        correlation = external = NONE
        if type(args) is dict:
            if is_host and CALL_STACK in args:
                return self._add_uncommon(event, record, source)
            correlation, external = args.get("correlation", NONE), args.get("External id", NONE)
        begin = nanoseconds(event["ts"])
        end = begin + nanoseconds(event["dur"]) if "dur" in event and "dur" not in others else NONE
        self._events.add_of_shape(
            number, begin, end, record,
            correlation if _is_integer(correlation) else NONE,
            external if _is_integer(external) else NONE,
            _members_text({key: event[key] for key in others}, source) if others else None,
        )  # fmt: skip
        return None if is_host else (begin, end)

    def _add_uncommon(
        self, event: Mapping[str, Any], record: int, source: JsonFile
    ) -> tuple[int, int]:
        texts = {key: event[key] for key in _TEXTS & event.keys() if _is_text(event[key])}
        places = {key: event[key] for key in _PLACES & event.keys() if _is_integer(event[key])}
        begin = end = NONE
        if "ts" in event:
            begin = nanoseconds(event["ts"])
            if event.get("ph") == "X" and "dur" in event:
                end = begin + nanoseconds(event["dur"])
        in_columns = {"ts", *texts, *places}
        if end != NONE:
            in_columns.add("dur")
        members = {key: value for key, value in event.items() if key not in in_columns}
        args = mapping(event.get("args"))
        correlation, external = args.get("correlation"), args.get("External id")
        phase, category, name = texts.get("ph", ""), texts.get("cat"), texts.get("name")
        process, thread = places.get("pid", NONE), places.get("tid", NONE)
        self._events.add(
            phase, category, name, begin, end, record=record, process=process, thread=thread,
            correlation=correlation if _is_integer(correlation) else NONE,
            external=external if _is_integer(external) else NONE,
            members=_members_text(members, source) if members else None,
        )  # fmt: skip
        if "ts" in event and len(texts) == len(_TEXTS) and len(places) == len(_PLACES):
            shape = (phase, category, name, process, thread)
            is_host = end != NONE and self._is_host_range(texts["cat"], texts["name"])
            number = self._events.shape(*shape, is_host=is_host)
            self._shapes[(tuple(event), *shape)] = number, is_host, tuple(members)
        return begin, end


def _members_text(members: dict[str, Any], source: JsonFile) -> str:
    """Return members of the event that `source` just yielded as JSON, `args` as in the file."""
    if type(members.get("args")) is not dict:
        return _flat_text(members)
    first = ""
    if len(members) > 1:
        others = {key: value for key, value in members.items() if key != "args"}
        if any(isinstance(value, dict | list) for value in others.values()):
            return json_text(members)
        first = _flat_text(others)[1:-1] + ","
    text = source.last_member('"args"')
    if text is None or _NOT_JSON.search(text):
        return json_text(members)
    return f'{{{first}"args":{text}}}'


def _flat_text(members: Mapping[str, Any]) -> str:
    """Return `json_text` of members, in a third of the time if all are integers and texts."""
    parts = []
    for key, value in members.items():
        if type(value) is int:
            parts.append(f"{encode_basestring_ascii(key)}:{value}")
        elif type(value) is str:
            parts.append(f"{encode_basestring_ascii(key)}:{encode_basestring_ascii(value)}")
        else:
            return json_text(members)
    return f"{{{','.join(parts)}}}"


def _is_text(value: Any) -> bool:
    return type(value) is str and value != "" and (value.isascii() or text(value) == value)


def _is_integer(value: Any) -> TypeGuard[int]:
    return type(value) is int and -_LARGEST <= value <= _LARGEST


def execution_members(event: Mapping[str, Any], device: int, stream: int) -> str | None:
    """Return what no column of `gpu_kernels` has of an execution's event, as a JSON object.

    Args:
        event: The event.
        device: Its column `device`, which a converter gives back as its `pid`.
        stream: Its column `stream`, which a converter gives back as its `tid`.

    """
    event_args = mapping(event.get("args"))
    args = {
        key: value
        for key, value in event_args.items()
        if not (key in _INTEGERS and _is_in_column(key, value))
        and not (key in _GRAPHS and _is_integer(value) and value)
        and not (key in _SIZES and _is_size(value))
    }
    members = {
        key: value
        for key, value in event.items()
        if key not in ("ph", "name", "ts", "dur", "args")
        and not (key == "cat" and value in _CATEGORIES)
        and not (key == "pid" and value == device)
        and not (key == "tid" and value == stream)
    }
    # MTIA's events have these as pid, tid and size alone; null says so to a converter.
    others = {"device": device, "stream": stream, "bytes": integer(event_args.get("size"))}
    if type(event_args.get("device")) is int and event_args["device"] != device:
        args["device"] = event_args["device"]  # of a file of several ranks
    args |= {key: None for key in others if key not in event_args and others[key] != NONE}
    if args:
        members["args"] = args
    return json_text(members) if members else None


def _is_size(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(map(_is_integer, value))


def _is_in_column(key: str, value: Any) -> bool:
    return _is_integer(value) and (key not in _NARROW or -(2**31) < value < 2**31)
