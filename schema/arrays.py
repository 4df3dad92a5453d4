"""Conversion between Python values and Arrow arrays in recorded programs, without pandas and NumPy.

`pyarrow.array`, `pyarrow.scalar` and `Array.to_numpy` first import pandas if installed, even for a
list of integers. That would cost the program 0.3 s and 36 MB, and happen in a thread: a fork would
inherit locks that are held, and at the interpreter's end the import, and so recording, would fail.
NumPy may be missing; `numpy_arrays.py` is for code that needs NumPy anyway. Memory layouts follow
Arrow's columnar format 1.5.
"""

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import accumulate, chain
from typing import Any, Final

import pyarrow as pa

#: Codes of `array.array`, which raises OverflowError for a number that does not fit.
_CODES: Final[Mapping[pa.DataType, str]] = {
    pa.int8(): "b",
    pa.int16(): "h",
    pa.int32(): "i",
    pa.int64(): "q",
    pa.uint8(): "B",
    pa.uint16(): "H",
    pa.uint32(): "I",
    pa.uint64(): "Q",
    pa.float32(): "f",
    pa.float64(): "d",
}


_LONG: Final = array("l").itemsize == 8  # not on Windows
#: Types by the format codes of memoryview.
_FORMATS: Final[Mapping[str, pa.DataType]] = {
    **{code: kind for kind, code in _CODES.items()},
    "l": pa.int64() if _LONG else pa.int32(),
    "L": pa.uint64() if _LONG else pa.uint32(),
    "?": pa.bool_(),
}
_DIGITS: Final = bytes.maketrans(b"\0\1", b"01")


class UnknownField(ValueError):
    """A value has a field that the struct type lacks."""


def array_of(values: Sequence[Any], wanted: pa.DataType) -> pa.Array:
    """Return an array of type `wanted` with Python values; None is null.

    Surrogates in texts become "?". Whole floats, as in JSON, are accepted as integers.

    Raises:
        TypeError: a value of another type, or a type that no table has.
        UnknownField: a field that a struct does not have.
        ValueError: a key that is null.
        OverflowError: a number that does not fit, or more than 2 GiB of texts.

    """
    absent = sum(value is None for value in values)
    if absent == len(values):
        return pa.nulls(absent, wanted)
    valid = _bits(value is not None for value in values) if absent else None
    from_buffers = partial(pa.Array.from_buffers, wanted, len(values))
    if pa.types.is_dictionary(wanted):
        return _dictionary(values, wanted)
    if pa.types.is_struct(wanted):
        return from_buffers([valid], children=_fields(values, wanted))
    if pa.types.is_list(wanted):
        offsets, items = _joined(values, _listed)
        return from_buffers([valid, offsets], children=[array_of(items, wanted.value_type)])
    if pa.types.is_map(wanted):
        offsets, pairs = _joined(values, _pairs)
        return from_buffers([valid, offsets], children=[_entries(pairs, wanted)])
    if pa.types.is_string(wanted) or pa.types.is_binary(wanted):
        parts = _texts(values) if pa.types.is_string(wanted) else list(map(_bytes, values))
        content = pa.py_buffer(b"".join(parts))
        return from_buffers([valid, _offsets(parts), content])
    if pa.types.is_boolean(wanted):
        return from_buffers([valid, _bits(map(_flag, values))])
    code = "q" if pa.types.is_timestamp(wanted) else _CODES.get(wanted)
    if code is None:
        raise TypeError(f"a trace holds no values of type {wanted}")
    numbers = _numbers(code, [0 if value is None else value for value in values])
    return from_buffers([valid, pa.py_buffer(numbers)])


def array_of_memory(values: Any) -> pa.Array | None:
    """Return an array of an object's buffer of numbers or flags; None if there is no such buffer.

    Contiguous numbers, as in `array.array` and in most NumPy arrays, are not copied.
    """
    try:
        content = memoryview(values)
    except (TypeError, ValueError, BufferError):  # ValueError: NumPy's times and texts
        return None
    kind = _FORMATS.get(content.format)
    if kind is None or content.ndim != 1:
        return None
    if kind == pa.bool_():
        return pa.Array.from_buffers(
            kind, len(content), [None, pa.py_buffer(packed(content.tobytes()))]
        )
    numbers = pa.py_buffer(values if content.c_contiguous else content.tobytes())
    return pa.Array.from_buffers(kind, len(content), [None, numbers])


def memory_of(values: pa.Array) -> Any:
    """Return a memoryview of numbers, or of times in nanoseconds; nulls are arbitrary numbers."""
    code: Any = "q" if pa.types.is_timestamp(values.type) else _CODES[values.type]
    size = values.type.bit_width // 8
    begin = values.offset * size
    content = memoryview(values.buffers()[1] or b"")
    return content[begin : begin + len(values) * size].cast(code)


def comparable(values: pa.Array) -> Sequence[Any]:
    """Return values as comparable Python values: times in nanoseconds, nulls as 0 or ""."""
    if pa.types.is_timestamp(values.type):
        values = values.view(pa.int64())  # a cast would import all of pyarrow.compute
    if values.type in _CODES and not values.null_count:
        numbers: Sequence[Any] = memory_of(values)
        return numbers
    absent = 0 if values.type in _CODES else ""
    return [absent if value is None else value for value in values.to_pylist()]


def _bits(flags: Iterable[Any]) -> pa.Buffer:
    return pa.py_buffer(packed(bytes(map(bool, flags))))


def packed(flags: bytes) -> bytes:
    """Return flags of a byte each packed into bits, the first flag in the lowest bit."""
    digits = flags[::-1].translate(_DIGITS)
    return int(digits or b"0", 2).to_bytes((len(flags) + 7) // 8, "little")


def _offsets(parts: Iterable[Any]) -> pa.Buffer:
    return pa.py_buffer(array("i", accumulate(map(len, parts), initial=0)))


def _joined(
    values: Sequence[Any], items_of: Callable[[Any], Sequence[Any]]
) -> tuple[pa.Buffer, list[Any]]:
    """Return the offsets of values with items, and all items in one list."""
    items = [() if value is None else items_of(value) for value in values]
    return _offsets(items), list(chain.from_iterable(items))


def _listed(value: Any) -> Sequence[Any]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise TypeError(f"a list is expected, not {value!r:.60}")
    return value if isinstance(value, list | tuple) else list(value)


def _pairs(value: Any) -> Sequence[Any]:
    return list(value.items()) if isinstance(value, Mapping) else _listed(value)


def _entries(pairs: Sequence[tuple[Any, Any]], wanted: pa.DataType) -> pa.Array:
    keys = [key for key, _ in pairs]
    if None in keys:
        raise ValueError("a key is null")
    children = [array_of(keys, wanted.key_type)]
    children.append(array_of([item for _, item in pairs], wanted.item_type))
    pair = pa.struct([wanted.key_field, wanted.item_field])
    return pa.Array.from_buffers(pair, len(keys), [None], children=children)


def _fields(values: Sequence[Any], wanted: pa.DataType) -> list[pa.Array]:
    names = {field.name for field in wanted}
    rows = [{} if value is None else value for value in values]
    for row in rows:
        if type(row) is not dict and not isinstance(row, Mapping):
            raise TypeError(f"fields by name are expected, not {row!r:.60}")
        if not names.issuperset(row):
            unknown = sorted(set(row) - names, key=str)
            raise UnknownField(f"has no field {', '.join(map(repr, unknown))}")
    return [array_of([row.get(field.name) for row in rows], field.type) for field in wanted]


def _dictionary(values: Sequence[Any], wanted: pa.DataType) -> pa.Array:
    codes: dict[Any, int] = {}
    places = [None if value is None else codes.setdefault(value, len(codes)) for value in values]
    return pa.DictionaryArray.from_arrays(
        array_of(places, wanted.index_type), array_of(list(codes), wanted.value_type)
    )


def _numbers(code: str, values: list[Any]) -> "array[int] | array[float]":
    try:
        return array(code, values)
    except TypeError:
        if code in "fd":
            raise
        return array(code, list(map(_whole, values)))


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _texts(values: Sequence[str | None]) -> list[bytes]:
    texts = ["" if value is None else value for value in values]
    try:
        return list(map(str.encode, texts))
    except UnicodeEncodeError:  # a file name that is not UTF-8 reaches Python with surrogates
        return [text.encode("utf-8", "replace") for text in texts]


def _bytes(value: Any) -> bytes:
    if value is None:
        return b""
    if not isinstance(value, bytes | bytearray | memoryview):
        raise TypeError(f"bytes are expected, not {value!r:.60}")
    return bytes(value)


def _flag(value: Any) -> bool:
    # NumPy's flags are not of type bool, but have the dtype bool.
    if not isinstance(value, bool | None) and str(getattr(value, "dtype", "")) != "bool":
        raise TypeError(f"True or False is expected, not {value!r:.60}")
    return bool(value)
