"""Arguments of launches as tritonparse logs them: `kernels.signature` and `calls.args` of them."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kvtrace.converters.importers.json_values import entries, integer, mapping, text
from kvtrace.converters.importers.rows import NONE

#: torch's element types that have another short name in Triton's than their first letter and width.
_TYPES: Final = {
    "bool": "i1",
    "bfloat16": "bf16",
    "float8_e4m3fn": "fp8e4nv",
    "float8_e4m3fnuz": "fp8e4b8",
    "float8_e5m2": "fp8e5",
    "float8_e5m2fnuz": "fp8e5b16",
}
_LETTERS: Final = {"float": "fp", "int": "i", "uint": "u"}
#: A type that is given to a kernel, as Triton's metadata has it.
_DTYPE: Final = re.compile(r"triton\.language\.core\.dtype\('(\w+)'\)")
#: Data pointers are known modulo so many bytes.
_ALIGNED: Final = 16


def element_type(name: str) -> str | None:
    """Return Triton's short name of torch's element type: fp32 of `torch.float32`."""
    plain = name.removeprefix("torch.")
    letters = plain.rstrip("0123456789")
    found = _TYPES.get(plain)
    if found is None and letters in _LETTERS and letters != plain:
        found = f"{_LETTERS[letters]}{plain[len(letters) :]}"
    return found


def signature(
    logged: Mapping[str, Any], constants: Mapping[str, Any], attributes: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return a kernel's parameters by the arguments of a launch and by what it was compiled for.

    Args:
        logged: The arguments, in the order of the kernel's parameters.
        constants: Values that were compiled into it, by position as `(4,)`.
        attributes: What was known of the others, such as `[["tt.divisibility", 16]]`.

    """
    found = []
    for position, (name, value) in enumerate(logged.items()):
        key = f"({position},)"
        constant = key in constants
        found.append(
            {
                "name": name,
                "type": "constexpr" if constant else _type(mapping(value)),
                "constexpr": _literal(constants[key]) if constant else None,
                "divisibility": _divisibility(attributes.get(key)),
            }
        )
    return found


def arguments(
    logged: Mapping[str, Any], parameters: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the entries of `calls.args`; `storage_bytes` is null, since no log has it."""
    found: list[dict[str, Any]] = []
    storages: dict[tuple[str | None, int], int] = {}
    for position, (name, given) in enumerate(logged.items()):
        constant = position < len(parameters) and parameters[position]["type"] == "constexpr"
        entry = _argument(name, mapping(given), constant=constant)
        address = entry.pop("address", None)
        if address is not None and entry["kind"] == "tensor":
            key = (entry["device"], address - entry["offset_bytes"])
            entry["alias_group"] = storages.setdefault(key, position)
            entry["alignment"] = address % _ALIGNED
        found.append(entry)
    return found


def _argument(name: str, given: Mapping[str, Any], *, constant: bool) -> dict[str, Any]:
    if given.get("type") == "tensor":
        return _tensor(name, given)
    if constant:
        return {"name": name, "kind": "constexpr", "scalar": _literal(_value(given))}
    kind = _type(given)
    if kind is None:
        return {"name": name, "kind": "other"}
    return {"name": name, "kind": "scalar", "dtype": kind, "scalar": _literal(_value(given))}


def _tensor(name: str, given: Mapping[str, Any]) -> dict[str, Any]:
    shape = [integer(size) for size in entries(given.get("shape"))]
    strides = [integer(stride) for stride in entries(given.get("stride"))]
    width, first = integer(given.get("element_size")), integer(given.get("storage_offset"))
    dtype = element_type(text(given.get("dtype")) or "")
    device = text(given.get("device"))
    entry: dict[str, Any] = {"name": name, "kind": "tensor", "dtype": dtype, "device": device}
    if dtype is None or len(shape) != len(strides) or NONE in (*shape, *strides, width, first):
        return {**entry, "kind": "other"}
    entry |= {"shape": shape, "strides": strides, "offset_bytes": first * width}
    address = text(given.get("data_ptr"))
    if address is not None:
        entry["address"] = int(address, 16)
    return entry


def _type(given: Mapping[str, Any]) -> str | None:
    """Return Triton's type of an argument; None where it is of no kind that is known."""
    kind, value = given.get("type"), given.get("value")
    if kind == "tensor":
        dtype = element_type(text(given.get("dtype")) or "")
        return None if dtype is None else f"*{dtype}"
    if kind == "bool":
        return "u1"
    if kind == "int" and isinstance(value, int):
        if -(2**31) <= value < 2**31:
            return "i32"
        return "i64" if value < 2**63 else "u64"
    return "fp32" if kind == "float" else None


def _value(given: Mapping[str, Any]) -> Any:
    return given.get("value") if given.get("type") != "NoneType" else None


def _literal(value: Any) -> str:
    """Return the text of a value, as Python reads it; of Triton's type its name."""
    named = _DTYPE.fullmatch(value) if isinstance(value, str) else None
    return named[1] if named else repr(value)


def _divisibility(attributes: Any) -> int | None:
    for each in entries(attributes):
        if isinstance(each, list) and len(each) == 2 and each[0] == "tt.divisibility":
            found = integer(each[1])
            return found if 0 < found < 2**31 else None
    return None
