"""Conversion of tritonparse's logged arguments to `kernels.signature` and `calls.args`."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from kvtrace.converters.importers.json_values import entries, integer, mapping, text
from kvtrace.converters.importers.rows import NONE

#: Triton's names of torch's element types that do not follow from letter and width.
_TYPES: Final = {
    "bool": "i1",
    "bfloat16": "bf16",
    "float8_e4m3fn": "fp8e4nv",
    "float8_e4m3fnuz": "fp8e4b8",
    "float8_e5m2": "fp8e5",
    "float8_e5m2fnuz": "fp8e5b16",
}
_LETTERS: Final = {"float": "fp", "int": "i", "uint": "u"}
#: A type as a kernel's constant, in Triton's metadata.
_DTYPE: Final = re.compile(r"triton\.language\.core\.dtype\('(\w+)'\)")
#: Modulus in bytes of the recorded alignment of data pointers.
_ALIGNED: Final = 16


def element_type(name: str) -> str | None:
    """Return Triton's name of a torch element type (`fp32` for `torch.float32`), or None."""
    torch_name = name.removeprefix("torch.")
    letters = torch_name.rstrip("0123456789")
    triton_name = _TYPES.get(torch_name)
    if triton_name is None and letters in _LETTERS and letters != torch_name:
        triton_name = f"{_LETTERS[letters]}{torch_name[len(letters) :]}"
    return triton_name


def signature(
    logged: Mapping[str, Any], constants: Mapping[str, Any], attributes: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the rows of `kernels.signature`, from the arguments of a launch and its compilation.

    Args:
        logged: The logged arguments by name, in the order of the kernel's parameters.
        constants: Values of constants by position, which is a text such as `(4,)`.
        attributes: Compiler attributes of other parameters by position, such as
            `[["tt.divisibility", 16]]`.

    """
    parameters = []
    for position, (name, value) in enumerate(logged.items()):
        key = f"({position},)"
        is_constant = key in constants
        parameters.append(
            {
                "name": name,
                "type": "constexpr" if is_constant else _type(mapping(value)),
                "constexpr": _literal(constants[key]) if is_constant else None,
                "divisibility": _divisibility(attributes.get(key)),
            }
        )
    return parameters


def arguments(
    logged: Mapping[str, Any], parameters: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the entries of `calls.args` for logged arguments and the kernel's `parameters`.

    `storage_bytes` is null, since logs do not have it.
    """
    args: list[dict[str, Any]] = []
    storages: dict[tuple[str | None, int], int] = {}
    for position, (name, value) in enumerate(logged.items()):
        constant = position < len(parameters) and parameters[position]["type"] == "constexpr"
        entry = _argument(name, mapping(value), constant=constant)
        address = entry.pop("address", None)
        if address is not None and entry["kind"] == "tensor":
            key = (entry["device"], address - entry["offset_bytes"])
            entry["alias_group"] = storages.setdefault(key, position)
            entry["alignment"] = address % _ALIGNED
        args.append(entry)
    return args


def _argument(name: str, logged: Mapping[str, Any], *, constant: bool) -> dict[str, Any]:
    if logged.get("type") == "tensor":
        return _tensor(name, logged)
    if constant:
        return {"name": name, "kind": "constexpr", "scalar": _literal(_value(logged))}
    kind = _type(logged)
    if kind is None:
        return {"name": name, "kind": "other"}
    return {"name": name, "kind": "scalar", "dtype": kind, "scalar": _literal(_value(logged))}


def _tensor(name: str, logged: Mapping[str, Any]) -> dict[str, Any]:
    shape = [integer(size) for size in entries(logged.get("shape"))]
    strides = [integer(stride) for stride in entries(logged.get("stride"))]
    element_bytes, first_element = (
        integer(logged.get("element_size")),
        integer(logged.get("storage_offset")),
    )
    dtype = element_type(text(logged.get("dtype")) or "")
    device = text(logged.get("device"))
    entry: dict[str, Any] = {"name": name, "kind": "tensor", "dtype": dtype, "device": device}
    if (
        dtype is None
        or len(shape) != len(strides)
        or NONE in (*shape, *strides, element_bytes, first_element)
    ):
        return {**entry, "kind": "other"}
    entry |= {"shape": shape, "strides": strides, "offset_bytes": first_element * element_bytes}
    address = text(logged.get("data_ptr"))
    if address is not None:
        entry["address"] = int(address, 16)
    return entry


def _type(logged: Mapping[str, Any]) -> str | None:
    """Return Triton's type of a logged argument (`*fp32`, `i32`), or None if unknown."""
    kind, value = logged.get("type"), logged.get("value")
    if kind == "tensor":
        dtype = element_type(text(logged.get("dtype")) or "")
        return None if dtype is None else f"*{dtype}"
    if kind == "bool":
        return "u1"
    if kind == "int" and isinstance(value, int):
        if -(2**31) <= value < 2**31:
            return "i32"
        return "i64" if value < 2**63 else "u64"
    return "fp32" if kind == "float" else None


def _value(logged: Mapping[str, Any]) -> Any:
    return logged.get("value") if logged.get("type") != "NoneType" else None


def _literal(value: Any) -> str:
    dtype = _DTYPE.fullmatch(value) if isinstance(value, str) else None
    return dtype[1] if dtype else repr(value)


def _divisibility(attributes: Any) -> int | None:
    for pair in entries(attributes):
        if isinstance(pair, list) and len(pair) == 2 and pair[0] == "tt.divisibility":
            divisor = integer(pair[1])
            return divisor if 0 < divisor < 2**31 else None
    return None
