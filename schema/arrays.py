"""Conversion between Python values and Arrow arrays in recorded programs, without pandas and NumPy.

`pyarrow.array`, `pyarrow.scalar` and `Array.to_numpy` first import pandas if installed, even for a
list of integers (findings/pyarrow_imports_pandas.sh). That would cost the program 0.3 s and 36 MB,
and happen in a thread: a fork would inherit locks that are held, and at the interpreter's end the
import, and so recording, would fail.
NumPy may be missing; `numpy_arrays.py` is for code that needs NumPy anyway. Memory layouts follow
Arrow's columnar format 1.5.
"""

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import accumulate, chain, repeat
from operator import is_, is_not
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


def array_of(values: Sequence[Any], arrow_type: pa.DataType) -> pa.Array:
    """Return an Arrow array of type `arrow_type` with the Python values; None becomes null.

    Surrogates in texts become "?". Integer types accept floats without a fraction, as in JSON.

    Raises:
        TypeError: a value of another type, or a type that no table has.
        UnknownField: a field that a struct does not have.
        ValueError: a key that is null.
        OverflowError: a number that does not fit, or more than 2 GiB of texts.

    """
    null_count = sum(map(is_, values, repeat(None)))
    if null_count == len(values):
        return pa.nulls(null_count, arrow_type)
    validity_bits = _bits(map(is_not, values, repeat(None))) if null_count else None
    from_buffers = partial(pa.Array.from_buffers, arrow_type, len(values))
    if pa.types.is_dictionary(arrow_type):
        return _dictionary_array(values, arrow_type)
    if pa.types.is_struct(arrow_type):
        return from_buffers([validity_bits], children=_struct_children(values, arrow_type))
    if pa.types.is_list(arrow_type):
        offsets, items = _offsets_and_items(values, _as_sequence)
        return from_buffers(
            [validity_bits, offsets], children=[array_of(items, arrow_type.value_type)]
        )
    if pa.types.is_map(arrow_type):
        offsets, pairs = _offsets_and_items(values, _key_value_pairs)
        return from_buffers([validity_bits, offsets], children=[_map_entries(pairs, arrow_type)])
    if pa.types.is_string(arrow_type) or pa.types.is_binary(arrow_type):
        encoded = (
            _utf8_texts(values) if pa.types.is_string(arrow_type) else list(map(_as_bytes, values))
        )
        content = pa.py_buffer(b"".join(encoded))
        return from_buffers([validity_bits, _offsets(encoded), content])
    if pa.types.is_boolean(arrow_type):
        return from_buffers([validity_bits, _bits(map(_as_bool, values))])
    array_code = "q" if pa.types.is_timestamp(arrow_type) else _CODES.get(arrow_type)
    if array_code is None:
        raise TypeError(f"a trace holds no values of type {arrow_type}")
    numbers = _packed_numbers(array_code, [0 if value is None else value for value in values])
    return from_buffers([validity_bits, pa.py_buffer(numbers)])


def array_of_memory(values: Any) -> pa.Array | None:
    """Return an Arrow array of the numbers or flags in an object's 1-D buffer; None without such.

    Contiguous numbers, as in `array.array` and in most NumPy arrays, are not copied.
    """
    try:
        content = memoryview(values)
    except (TypeError, ValueError, BufferError):  # ValueError: NumPy's times and texts
        return None
    arrow_type = _FORMATS.get(content.format)
    if arrow_type is None or content.ndim != 1:
        return None
    if arrow_type == pa.bool_():
        return pa.Array.from_buffers(
            arrow_type, len(content), [None, pa.py_buffer(packed(content.tobytes()))]
        )
    numbers = pa.py_buffer(values if content.c_contiguous else content.tobytes())
    return pa.Array.from_buffers(arrow_type, len(content), [None, numbers])


def memory_of(values: pa.Array) -> Any:
    """Return a memoryview of an array's numbers (times in ns), with any numbers for nulls."""
    array_code: Any = "q" if pa.types.is_timestamp(values.type) else _CODES[values.type]
    item_bytes = values.type.bit_width // 8
    first_byte = values.offset * item_bytes
    content = memoryview(values.buffers()[1] or b"")
    return content[first_byte : first_byte + len(values) * item_bytes].cast(array_code)


def comparable(values: pa.Array) -> Sequence[Any]:
    """Return an array's values for comparisons in Python: times as ns, nulls as 0 or ""."""
    if pa.types.is_timestamp(values.type):
        values = values.view(pa.int64())  # a cast would import all of pyarrow.compute
    if values.type in _CODES and not values.null_count:
        numbers: Sequence[Any] = memory_of(values)
        return numbers
    null_value = 0 if values.type in _CODES else ""
    return [null_value if value is None else value for value in values.to_pylist()]


def _bits(flags: Iterable[Any]) -> pa.Buffer:
    return pa.py_buffer(packed(bytes(map(bool, flags))))


def packed(flags: bytes) -> bytes:
    """Return flags (bytes 0 or 1) packed into bits, the first flag in the lowest bit."""
    binary_digits = flags[::-1].translate(_DIGITS)
    return int(binary_digits or b"0", 2).to_bytes((len(flags) + 7) // 8, "little")


def _offsets(parts: Iterable[Any]) -> pa.Buffer:
    return pa.py_buffer(array("i", accumulate(map(len, parts), initial=0)))


def _offsets_and_items(
    values: Sequence[Any], items_of: Callable[[Any], Sequence[Any]]
) -> tuple[pa.Buffer, list[Any]]:
    """Return Arrow's list offsets (in items) and the concatenated items of all values."""
    items = [() if value is None else items_of(value) for value in values]
    return _offsets(items), list(chain.from_iterable(items))


def _as_sequence(value: Any) -> Sequence[Any]:
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise TypeError(f"a list is expected, not {value!r:.60}")
    return value if isinstance(value, list | tuple) else list(value)


def _key_value_pairs(value: Any) -> Sequence[Any]:
    return list(value.items()) if isinstance(value, Mapping) else _as_sequence(value)


def _map_entries(pairs: Sequence[tuple[Any, Any]], arrow_type: pa.DataType) -> pa.Array:
    keys = [key for key, _ in pairs]
    if None in keys:
        raise ValueError("a key is null")
    children = [array_of(keys, arrow_type.key_type)]
    children.append(array_of([item for _, item in pairs], arrow_type.item_type))
    pair = pa.struct([arrow_type.key_field, arrow_type.item_field])
    return pa.Array.from_buffers(pair, len(keys), [None], children=children)


def _struct_children(values: Sequence[Any], arrow_type: pa.DataType) -> list[pa.Array]:
    names = {field.name for field in arrow_type}
    rows = [{} if value is None else value for value in values]
    for row in rows:
        if type(row) is not dict and not isinstance(row, Mapping):
            raise TypeError(f"fields by name are expected, not {row!r:.60}")
        if not names.issuperset(row):
            unknown = sorted(set(row) - names, key=str)
            raise UnknownField(f"has no field {', '.join(map(repr, unknown))}")
    return [array_of([row.get(field.name) for row in rows], field.type) for field in arrow_type]


def _dictionary_array(values: Sequence[Any], arrow_type: pa.DataType) -> pa.Array:
    distinct = filter(lambda value: value is not None, dict.fromkeys(values))
    codes = {value: number for number, value in enumerate(distinct)}
    indices = list(map(codes.get, values))
    return pa.DictionaryArray.from_arrays(
        array_of(indices, arrow_type.index_type), array_of(list(codes), arrow_type.value_type)
    )


def _packed_numbers(array_code: str, values: list[Any]) -> "array[int] | array[float]":
    try:
        return array(array_code, values)
    except TypeError:
        if array_code in "fd":
            raise
        return array(array_code, list(map(_as_integer, values)))


def _as_integer(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _utf8_texts(values: Sequence[str | None]) -> list[bytes]:
    texts = ["" if value is None else value for value in values]
    try:
        return list(map(str.encode, texts))
    except UnicodeEncodeError:  # a file name that is not UTF-8 reaches Python with surrogates
        return [text.encode("utf-8", "replace") for text in texts]


def _as_bytes(value: Any) -> bytes:
    if value is None:
        return b""
    if not isinstance(value, bytes | bytearray | memoryview):
        raise TypeError(f"bytes are expected, not {value!r:.60}")
    return bytes(value)


def _as_bool(value: Any) -> bool:
    # NumPy's flags are not of type bool, but have the dtype bool.
    if not isinstance(value, bool | None) and str(getattr(value, "dtype", "")) != "bool":
        raise TypeError(f"True or False is expected, not {value!r:.60}")
    return bool(value)
