"""The arguments of a recorded call: its row of `calls.args` as tensors and numbers.

What an argument's record does not have is unknown: `TensorArgument.unknown` says in whose place
something was assumed, and rules that read it prove nothing (`kvtrace.verdicts.unknown_fields`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
from msgspec.structs import replace

from kvtrace.evaluate import Argument, ScalarArgument, Storage, TensorArgument
from kvtrace.evaluate.errors import UnsupportedOp
from kvtrace.evaluate.types import element_of_short_name
from kvtrace.ir.types import Type
from kvtrace.recorded_calls.host_descriptors import descriptor_arguments
from kvtrace.schema.contents import alias_group, least_storage_bytes
from kvtrace.schema.errors import KvtraceError

#: A function that returns the content of an artifact, None if it was not recorded.
ContentOf = Callable[[str], bytes | None]
#: Limit of characters of a value in a message.
_MAX_CHARACTERS: Final = 40
#: Bytes modulo which an argument's alignment is recorded.
_ALIGNED: Final = 16
#: Fields in whose place something is assumed where they are null.
_ASSUMED: Final = ("alias_group", "alignment", "shape", "strides", "storage_bytes")
#: Kinds of arguments that are in memory.
_IN_MEMORY: Final = ("tensor", "descriptor")


class CannotReplay(KvtraceError):
    """The error of a call whose record lacks data for the evaluation."""

    slug = "cannot-replay"


def call_arguments(
    content: ContentOf,
    args: list[dict[str, Any]],
    signature: list[dict[str, Any]],
    parameters: tuple[Type, ...],
) -> tuple[Argument, ...]:
    """Return the IR function's arguments, for all parameters but constexpr."""
    if signature and not args:
        raise CannotReplay("the trace does not have the arguments of the call (args)")
    if args and not signature:
        raise CannotReplay("the trace does not have the parameters of the kernel (signature)")
    if len(args) != len(signature):
        raise CannotReplay(f"{len(args)} arguments were recorded for {len(signature)} parameters")
    args = [_named(position, arg, signature[position]) for position, arg in enumerate(args)]
    tensors = [arg for arg in args if arg["kind"] in _IN_MEMORY]
    if len(tensors) > 1 and any(arg["alias_group"] is None for arg in tensors):
        content = _unknown_content  # what one of them had, the kernel may write through another
    storages = _storages(content, args)
    arguments: list[Argument] = []
    for position, (arg, parameter) in enumerate(zip(args, signature, strict=True)):
        if parameter["type"] == "constexpr":
            continue
        if arg["kind"] == "descriptor":
            storage = storages[alias_group(position, arg)]
            tensor, *rest = descriptor_arguments(arg, storage, parameters[len(arguments) :])
            arguments += [replace(tensor, **_assumed_facts(arg)), *rest]
        else:
            arguments.append(_argument(position, arg, storages))
    if len(arguments) < len(parameters):
        raise CannotReplay(f"the IR has {len(parameters)} parameters, the call {len(arguments)}")
    return tuple(arguments)


def _unknown_content(_: str) -> None:
    """Return the content of an artifact that the kernel may have changed: none."""


def _named(position: int, arg: Mapping[str, Any], parameter: Mapping[str, Any]) -> dict[str, Any]:
    """Return an argument with a name for messages: its own, its parameter's, or its number.

    Raises:
        CannotReplay: what memory it is cannot be told from its record.
    """
    if arg is None or arg["kind"] is None:
        name = (arg or {}).get("name") or parameter["name"] or position
        raise CannotReplay(f"the trace does not have the kind of the argument {name}")
    name = arg["name"] or parameter["name"] or f"argument {position}"
    if arg["kind"] in _IN_MEMORY:
        _check_memory(name, arg)
    return {**arg, "name": name}


def _check_memory(name: str, arg: Mapping[str, Any]) -> None:
    dtype, shape, strides = arg["dtype"], arg["shape"], arg["strides"]
    if dtype is None:
        raise CannotReplay(f"the trace does not have the dtype of the argument {name}")
    try:
        element_of_short_name(dtype)
    except UnsupportedOp as error:
        raise CannotReplay(
            f"argument {name} has the dtype {dtype!r}, which is not known"
        ) from error
    for column, sizes in (("shape", shape), ("strides", strides)):
        if sizes is not None and None in sizes:
            raise CannotReplay(
                f"the trace does not have all of the {column} of the argument {name}"
            )
    if None not in (shape, strides) and len(shape) != len(strides):
        raise CannotReplay(f"argument {name} has {len(strides)} strides for {len(shape)} axes")


def _assumed_facts(arg: Mapping[str, Any]) -> dict[str, Any]:
    """Return `storage_phase` and `unknown` of a tensor.

    A pointer has neither shape nor strides, and nothing but its storage is its view.
    """
    unknown = {name for name in _ASSUMED if arg[name] is None}
    if arg["shape"] is None and arg["strides"] is None:
        unknown -= {"shape", "strides"}
    is_placed = None not in (arg["alignment"], arg["offset_bytes"])
    phase = (arg["alignment"] - arg["offset_bytes"]) % _ALIGNED if is_placed else 0
    return {"storage_phase": phase, "unknown": frozenset(unknown)}


def _storages(content: ContentOf, args: list[dict[str, Any]]) -> dict[int, Storage]:
    """Return new, writable storages of a call's tensors, by alias group."""
    storages: dict[int, Storage] = {}
    for position, arg in enumerate(args):
        if arg["kind"] not in _IN_MEMORY:
            continue
        contents = content(arg["value_artifact"]) if arg["value_artifact"] else None
        group, size = alias_group(position, arg), arg["storage_bytes"]
        if size is None:
            storages.setdefault(group, Storage(least_storage_bytes(args, position)))
            continue
        if size < 0 or (contents is not None and len(contents) != size):
            raise CannotReplay(f"the storage of {arg['name']} cannot have {size:,} bytes")
        if group not in storages or (contents and storages[group].data is None):
            data = None if contents is None else np.frombuffer(contents, np.uint8).copy()
            storages[group] = Storage(size, data)
    return storages


def _argument(position: int, arg: dict[str, Any], storages: dict[int, Storage]) -> Argument:
    if arg["kind"] == "tensor":
        shape, strides = _shape_and_strides(arg)
        return TensorArgument(
            name=arg["name"],
            storage=storages[alias_group(position, arg)],
            offset_bytes=arg["offset_bytes"],
            dtype=arg["dtype"],
            shape=shape,
            strides=strides,
            **_assumed_facts(arg),
        )
    if arg["kind"] == "scalar":
        if arg["scalar"] is None:
            raise CannotReplay(f"the trace does not have the value of the argument {arg['name']}")
        return ScalarArgument(arg["name"], _literal(arg["name"], arg["scalar"]))
    raise CannotReplay(f"argument {arg['name']} is a {arg['kind']}, which is not replayed yet")


def _shape_and_strides(arg: dict[str, Any]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return a tensor's shape and strides; a pointer without a shape spans its storage's rest."""
    is_tensor = arg["shape"] is not None and arg["strides"] is not None
    if arg["offset_bytes"] is None or (arg["storage_bytes"] is None and not is_tensor):
        raise CannotReplay(
            f"argument {arg['name']} is a pointer into unknown memory: it was passed "
            "with only a type and an address, and does not point into a tensor argument"
        )
    if is_tensor:
        return tuple(arg["shape"]), tuple(arg["strides"])
    size = element_of_short_name(arg["dtype"]).bytes
    return ((arg["storage_bytes"] - arg["offset_bytes"]) // size,), (1,)


def _literal(name: str, text: str) -> int | float | bool:
    """Return the number of a `repr`, without `ast`, as threads may judge while they run.

    Python 3.11 fails when two threads parse at once ("AST constructor recursion depth mismatch").
    """
    if text in ("True", "False"):
        return text == "True"
    number_type = int if text.removeprefix("-").isdecimal() else float
    try:
        return number_type(text)
    except ValueError as error:
        shortened = text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]}…"
        raise CannotReplay(
            f"argument {name} has the value {shortened}, which is not a number"
        ) from error
