"""Members of Kineto's events that columns have, and those that are kept as JSON beside them."""

from collections.abc import Mapping
from typing import Any, Final, TypeGuard

from kvtrace.converters.importers.event_rows import EventRows, json_text
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
#: Arguments of other events that have a column of integers.
_IDS: Final = frozenset({"correlation", "External id"})
_COLUMNS: Final = _TEXTS | _PLACES | {"ts", "dur", "args"}
_LARGEST: Final = 2**63 - 1


def add_event(events: EventRows, event: Mapping[str, Any], record: int) -> None:
    """Add an event that is not an execution to `events`; `record` is its number in the file.

    Raises ValueError if one of its times is not a number of µs.
    """
    members = {key: value for key, value in event.items() if key not in _COLUMNS}
    phase, category, name = event.get("ph"), event.get("cat"), event.get("name")
    process, thread = event.get("pid"), event.get("tid")
    begin = end = correlation = external = NONE
    if "ts" in event:
        begin = nanoseconds(event["ts"])
        if phase == "X" and "dur" in event:
            end = begin + nanoseconds(event["dur"])
    if end == NONE and "dur" in event:
        members["dur"] = event["dur"]
    if not (_is_text(phase) and _is_text(category) and _is_text(name)):
        members |= {key: event[key] for key in _TEXTS & event.keys() if not _is_text(event[key])}
        phase, category, name = (
            each if _is_text(each) else None for each in (phase, category, name)
        )
    if not (_is_integer(process) and _is_integer(thread)):
        members |= {k: event[k] for k in _PLACES & event.keys() if not _is_integer(event[k])}
    args = event.get("args")
    if type(args) is dict:
        if _is_integer(args.get("correlation")):
            correlation = args["correlation"]
        if _is_integer(args.get("External id")):
            external = args["External id"]
        members["args"] = {
            key: value for key, value in args.items() if key not in _IDS or not _is_integer(value)
        }
    elif "args" in event:
        members["args"] = args
    events.add(
        phase or "", category, name, begin, end, record=record,
        process=process if _is_integer(process) else NONE,
        thread=thread if _is_integer(thread) else NONE,
        correlation=correlation, external=external, members=members or None,
    )  # fmt: skip


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
