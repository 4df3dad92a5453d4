"""Members of Kineto's events that columns have, and those that are kept as JSON beside them."""

from collections.abc import Callable, Mapping
from json.encoder import encode_basestring_ascii
from typing import Any, Final, TypeGuard

from kvtrace.converters.importers.event_rows import EventRows, json_text
from kvtrace.converters.importers.json_stream import JsonFile
from kvtrace.converters.importers.json_values import mapping, nanoseconds, text
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
_COLUMNS: Final = _TEXTS | _PLACES | {"ts", "dur", "args"}
_COLUMN_COUNT: Final = len(_COLUMNS)
_LARGEST: Final = 2**63 - 1
#: An argument of operators in PyTorch 1.8 to 1.10: their Python stacks, which are not imported.
CALL_STACK: Final = "Call stack"


class KeptEvents:
    """Events that are not executions, on their way to `tool_events`.

    Nearly all events are ranges with the same members, of which `args` is the last, and whose name
    and thread an event before them has. The `args` of those are kept as the file has them, for
    making a JSON text again takes longer than reading one.
    """

    def __init__(self, events: EventRows, is_host_range: Callable[[str, str], bool]) -> None:
        self._events = events
        self._is_host_range = is_host_range
        #: Numbers of shapes of ranges that have all of `_COLUMNS`, with values that the columns can
        #: have, and whether they are ranges of stacks.
        self._shapes: dict[tuple[Any, ...], tuple[int, bool]] = {}

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
        if not (
            len(event) == _COLUMN_COUNT
            and "ts" in event
            and "dur" in event
            and type(args) is dict
            and type(process) is int  # not 1.0 or True, which equal 1
            and type(thread) is int
        ):
            return self._add_uncommon(event, record, source)
        try:
            shape = self._shapes.get((get("ph"), get("cat"), get("name"), process, thread))
        except TypeError:
            shape = None  # an object or array, which no column has
        if shape is None or (shape[1] and CALL_STACK in args):
            return self._add_uncommon(event, record, source)
        text = source.last_member('"args"')
        if text is None:
            return self._add_uncommon(event, record, source)
        begin = nanoseconds(event["ts"])
        end = begin + nanoseconds(event["dur"])
        correlation, external = args.get("correlation", NONE), args.get("External id", NONE)
        self._events.add_of_shape(
            shape[0], begin, end, record,
            correlation if _is_integer(correlation) else NONE,
            external if _is_integer(external) else NONE,
            f'{{"args":{text}}}',
        )  # fmt: skip
        return None if shape[1] else (begin, end)

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
        if in_columns | {"args"} == _COLUMNS:  # so that none of the texts is missing
            shape = (phase, category, name, process, thread)
            is_host = self._is_host_range(category or "", name or "")
            self._shapes[shape] = self._events.shape(*shape, is_host=is_host), is_host
        return begin, end


def _members_text(members: dict[str, Any], source: JsonFile) -> str:
    """Return members of the event that `source` just yielded as JSON, `args` as in the file."""
    if type(members.get("args")) is not dict:
        return _flat_text(members)
    others = {key: value for key, value in members.items() if key != "args"}
    if any(isinstance(value, dict | list) for value in others.values()):
        return json_text(members)
    text = source.last_member('"args"')
    if text is None:
        return json_text(members)
    return f'{_flat_text(others)[:-1]}{"," if others else ""}"args":{text}}}'


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
    args = {
        key: value
        for key, value in mapping(event.get("args")).items()
        if not (key in _INTEGERS and type(value) is int)
        and not (key in _GRAPHS and type(value) is int and value)
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
    if args:
        members["args"] = args
    return json_text(members) if members else None


def _is_size(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(type(size) is int for size in value)
