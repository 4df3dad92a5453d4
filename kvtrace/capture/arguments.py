"""Arguments of launches: identities of arguments of uncommon types, and the records of all.

Tensors are read by the attributes of torch's tensors (`data_ptr`, `shape`, `stride`, `dtype`,
`untyped_storage`), so every object that a launcher accepts as a tensor is recorded as a tensor.
"""

import functools
import math
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import replace
from struct import Struct
from typing import Any, Final, ParamSpec, TypeVar

from kvtrace.capture.records import ArgumentRecord, Parameter, capped
from kvtrace.forks import Lock
from kvtrace.schema.vocabularies import SHORT_NAMES

#: Most bytes of an element of a kernel's tensors.
_MOST_ELEMENT_BYTES: Final = 8

#: Deepest value within tuples, lists and constants that is read, as `MOST_NESTED` of `_hot_key.h`.
MOST_NESTED: Final = 128

#: Most objects of unknown kind that are numbered at a time.
_ODD_OBJECTS: Final = 1000

_double = Struct("=d")

P = ParamSpec("P")
R = TypeVar("R")

#: Address of a tensor's data, and first and one-past-last address of the bytes that it spans.
Span = tuple[int, int, int]

#: Result of `Identities.__call__`.
Identity = (
    tuple[bytes, tuple[Span, ...] | None] | tuple[bytes, tuple[Span, ...] | None, tuple[str, ...]]
)

#: Most tensors whose storages are remembered.
_STORAGES: Final = 10_000


class KnownStorages:
    """Storages of tensors that were arguments and are still alive.

    They provide the size of the memory that arguments without a storage point to.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, int, Any]] = {}

    def note(self, value: Any) -> None:
        """Store the storage of a tensor argument for as long as the tensor lives."""
        if not hasattr(value, "untyped_storage") or len(self._known) >= _STORAGES:
            return
        address_of(value)  # wrappers answer from here on
        storage, address = value.untyped_storage(), id(value)
        try:
            reference = weakref.ref(value, lambda _: self._known.pop(address, None))
        except TypeError:
            return
        self._known[address] = (storage.data_ptr(), storage.nbytes(), reference)

    def around(self, pointer: int) -> tuple[int, int] | None:
        """Return (address, bytes) of the storage that contains a pointer, or None."""
        for start, size, reference in tuple(self._known.values()):
            if start <= pointer < start + size and reference() is not None:
                return start, size
        return None


class Identities:
    """A function from an argument of uncommon type to bytes that are equal for equal arguments.

    An object of unknown type is numbered for as long as it lives. An object that allows no weak
    reference is distinguished by its type alone, which is reported once. `storages` are those of
    earlier arguments: the room around a pointer without a shape is part of its identity.
    """

    def __init__(self, unclear: Callable[[str], None]) -> None:
        """`unclear` is called with a sentence on arguments that could not be distinguished."""
        self.storages = KnownStorages()
        self._unclear = unclear
        self._lock = Lock()
        self._odd: dict[int, tuple[int, Any]] = {}
        self._next = 0

    def __call__(self, value: Any, /) -> Identity:
        """Return the identity and the spans of an argument, as `adapters.Describe` says.

        The third entry is left out where no fields distinguish objects of the value's type.
        """
        pointers: list[Span] = []
        if type(value).__name__ == "dtype":
            return self._bytes(value, pointers), None
        identity, fields = self._bytes(value, pointers), _fields(value)
        return (identity, tuple(pointers), fields) if fields else (identity, tuple(pointers))

    def _bytes(self, value: Any, pointers: list[Span], depth: int = 0) -> bytes:
        if depth > MOST_NESTED:
            raise RecursionError(f"an argument is nested more than {MOST_NESTED} deep")
        kind = type(value)
        name = f"{kind.__module__}.{kind.__qualname__}".encode("utf-8", "surrogatepass")
        return name + b"(" + self._inner(value, pointers, depth + 1) + b")"

    def _inner(self, value: Any, pointers: list[Span], depth: int) -> bytes:
        if value is None or isinstance(value, bool | int):
            return repr(None if value is None else value.__index__()).encode()
        if isinstance(value, float):
            return _double.pack(value)
        if isinstance(value, str | bytes):
            return repr(value).encode("utf-8", "surrogatepass")
        if isinstance(value, tuple | list):
            return b",".join([self._bytes(item, pointers, depth) for item in value])
        if is_tensor(value):
            return self._tensor(value, pointers)
        if is_descriptor(value):
            properties = [value.base, *descriptor_shape(value)]
            identity = b",".join([self._bytes(item, pointers, depth) for item in properties])
            tensor = pointers[-1]
            addressed = span_of(tensor[0], value.shape, value.strides, value.base)
            pointers.append(addressed)
            if tensor[1] <= addressed[1] and addressed[2] <= tensor[2]:
                return identity
            record = _tensor_record("", value.base)  # what is addressed may leave the storage
            return identity + f",{record.offset_bytes},{record.storage_bytes}".encode()
        return self._other(value, pointers, depth)

    def _tensor(self, value: Any, pointers: list[Span]) -> bytes:
        pointer = address_of(value)
        shape, strides = shape_of(value), strides_of(value)
        device = getattr(value, "device", None)
        identity = f"{value.dtype}|{shape}|{strides}|{device}|{pointer & 15}"
        storage = self.storages.around(pointer) if shape is None or strides is None else None
        if storage is None:
            pointers.append(span_of(pointer, shape, strides, value))
        else:
            start, size = storage
            pointers.append((pointer, start, start + size))
            identity += f"|{pointer - start}|{size}"
        return identity.encode()

    def _other(self, value: Any, pointers: list[Span], depth: int) -> bytes:
        kind = type(value)
        if kind.__name__ == "dtype":  # torch's, Triton's and NumPy's are named by their text
            return str(value).encode()
        if kind.__name__ == "constexpr" and hasattr(value, "value"):
            return self._bytes(value.value, pointers, depth)
        if hasattr(value, "cache_key") and hasattr(value, "fn"):  # a jitted function
            return f"{value.fn.__module__}.{value.fn.__qualname__}:{value.cache_key}".encode()
        if hasattr(value, "dtype") and hasattr(value, "tobytes") and hasattr(value, "shape"):
            return f"{value.dtype}{value.shape}".encode() + bytes(value.tobytes())  # NumPy's
        return self._numbered(value)

    def _numbered(self, value: Any) -> bytes:
        address = id(value)
        with self._lock:
            numbered = self._odd.get(address)
            if numbered is not None:
                return b"#%d" % numbered[0]
            try:
                reference = weakref.ref(value, lambda _: self._odd.pop(address, None))
            except TypeError:
                reference = None
            if reference is None or len(self._odd) >= _ODD_OBJECTS:
                kind = type(value)
                self._unclear(
                    f"arguments of type {kind.__module__}.{kind.__qualname__} look the same"
                )
                return b"?"
            self._next += 1
            self._odd[address] = (self._next, reference)
            return b"#%d" % self._next


def _fields(value: Any) -> tuple[str, ...]:
    """Return the names of the fields by which the hot path tells such values apart.

    () if it has to call `Identities`, as for Gluon's descriptors, whose layout is compared as text.
    """
    if is_tensor(value):
        return ()
    if type(value).__name__ == "constexpr" and hasattr(value, "value"):
        return ("value",)
    if not is_descriptor(value) or hasattr(value, "layout"):
        return ()
    names = ("base", "shape", "strides", "block_shape", "padding", "round_f32_to_tf32")
    return tuple(name for name in names if hasattr(value, name))


def argument_records(
    parameters: Sequence[Parameter],
    values: Sequence[Any],
    known_storages: KnownStorages | None = None,
) -> tuple[ArgumentRecord, ...]:
    """Return the record of each argument, in the order of the flattened signature.

    `values` are flattened by `flattened`. Their storages are added to `known`, in which pointers
    without a storage are looked up. Arguments in one storage have the same `alias_group`.
    """
    known_storages = KnownStorages() if known_storages is None else known_storages
    for value in values:
        known_storages.note(value)
    storages: dict[Any, int] = {}
    memories: dict[int, tuple[int, int]] = {}
    records: list[ArgumentRecord] = []
    for position, (parameter, value) in enumerate(zip(parameters, values, strict=True)):
        record = _record(parameter, value)
        storage_key = _storage_key(value)
        if record.kind == "tensor" and record.storage_bytes is None:
            pointer = int(value.data_ptr())
            storage = known_storages.around(pointer)
            if storage is not None:
                storage_key, size = storage
                record = replace(record, offset_bytes=pointer - storage_key, storage_bytes=size)
        if storage_key is not None:
            record = replace(record, alias_group=storages.setdefault(storage_key, position))
        if record.storage_bytes and record.offset_bytes is not None:
            begin = int(tensor_of(value).data_ptr()) - record.offset_bytes
            memories[position] = begin, begin + record.storage_bytes
        records.append(record)
    return tuple(_joined(records, memories))


def _joined(
    records: list[ArgumentRecord], memories: dict[int, tuple[int, int]]
) -> list[ArgumentRecord]:
    """Return the records with storages that overlap, as those of NumPy's slices, as one.

    `memories` are the first and one-past-last address of storages, by the argument's position.
    """
    groups: list[list[int]] = []
    end = 0
    for position in sorted(memories, key=memories.__getitem__):
        if not groups or memories[position][0] >= end:
            groups.append([])
        groups[-1].append(position)
        end = max(end, memories[position][1])
    for group in groups:
        if len({memories[position] for position in group}) == 1:
            continue
        begin, end = memories[group[0]][0], max(memories[position][1] for position in group)
        for position in group:
            offset = (records[position].offset_bytes or 0) + memories[position][0] - begin
            records[position] = replace(
                records[position],
                offset_bytes=offset,
                storage_bytes=end - begin,
                alias_group=min(group),
            )
    return records


def flattened(name: str, kind: Any, value: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield (name, type, value) of a parameter, or of each element of a tuple parameter in order.

    `kind` is Triton's type of the parameter: text, or a tuple of types for a tuple.
    """
    if not isinstance(kind, tuple | list):
        yield name, str(kind), value
        return
    for index, inner in enumerate(kind):
        item = value[index] if isinstance(value, tuple | list) and index < len(value) else None
        yield from flattened(f"{name}.{index}", inner, item)


def addresses_of(records: Sequence[ArgumentRecord], values: Sequence[Any]) -> tuple[int, ...]:
    """Return the data pointers of the arguments that are tensors or descriptors, in their order."""
    tensors = [
        value.base if record.kind == "descriptor" else value
        for record, value in zip(records, values, strict=True)
        if record.kind in ("tensor", "descriptor")
    ]
    return tuple(int(tensor.data_ptr()) for tensor in tensors)


def literal(value: Any) -> str:
    """Return a scalar, text or tuple as a Python literal; other objects as their name or type."""
    if type(value).__name__ == "constexpr" and hasattr(value, "value"):
        value = value.value
    if isinstance(value, bool) or value is None:
        return repr(value)
    if isinstance(value, int):
        return repr(int(value))
    if isinstance(value, float):
        return repr(float(value)) if math.isfinite(value) else str(float(value))
    if isinstance(value, str):
        return capped(repr(value))
    if isinstance(value, tuple | list):
        return capped("(" + "".join(f"{literal(item)}, " for item in value).rstrip() + ")")
    if hasattr(value, "cache_key") and hasattr(value, "fn"):
        return f"{value.fn.__module__}.{value.fn.__qualname__}"
    if hasattr(value, "item") and hasattr(value, "dtype") and not is_tensor(value):
        return literal(value.item())
    if type(value).__name__ == "dtype":
        return str(value)
    kind = type(value)
    return f"<{kind.__module__}.{kind.__qualname__}>"  # its own text may hold an address


def unseen(function: Callable[P, R]) -> Callable[P, R]:
    """Keep what a function asks of tensors from each `__torch_function__` of the program's.

    Modes have one (`TorchFunctionMode`, `DebugMode`), and subclasses of tensors.
    """

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        core = getattr(sys.modules.get("torch"), "_C", None)
        guard: Callable[[], Any] = getattr(core, "DisableTorchFunction", nullcontext)
        with guard():
            return function(*args, **kwargs)

    return run


def address_of(tensor: Any) -> int:
    """Return a tensor's data pointer, and let subclasses answer that have no memory of their own.

    The answers of such a wrapper's `__torch_function__` are all that can be recorded of it, so
    `unseen` ends early.
    """
    pointer, torch = int(tensor.data_ptr()), sys.modules.get("torch")
    if pointer or torch is None or not torch._C._is_torch_function_all_disabled():
        return pointer
    if not isinstance(tensor, torch.Tensor) or type(tensor) is torch.Tensor or not tensor.numel():
        return pointer
    torch._C._set_torch_function_state(torch._C._TorchFunctionState.ENABLED)
    return int(tensor.data_ptr())


def is_tensor(value: Any) -> bool:
    """Return whether the value has a data pointer and an element type, as a tensor has."""
    return hasattr(value, "data_ptr") and hasattr(value, "dtype")


def is_descriptor(value: Any) -> bool:
    """Return whether the value is a tensor descriptor that was made on the host."""
    return wraps_tensor(value) and hasattr(value, "block_shape") and hasattr(value, "strides")


def wraps_tensor(value: Any) -> bool:
    """Return whether the value is one of Triton's descriptors or reinterpreted tensors.

    What other objects call `base` may be anything, as NumPy's owner of the memory that an array
    views, or a tensor made anew each time: a kernel gets `data_ptr()` of the object itself.
    """
    return hasattr(value, "base") and type(value).__module__.partition(".")[0] == "triton"


def tensor_of(value: Any) -> Any:
    """Return the tensor that one of Triton's own objects wraps, else the value itself."""
    return value.base if wraps_tensor(value) else value


def descriptor_shape(value: Any) -> list[Any]:
    """Return the properties that distinguish two descriptors of the same tensor."""
    return [
        tuple(value.shape),
        tuple(value.strides),
        tuple(value.block_shape),
        str(getattr(value, "padding", "")),
        str(getattr(value, "layout", "")),
        _rounding_text(value),
    ]


def short_dtype(dtype: Any) -> str:
    """Return Triton's short name, as `fp16`, of an element type of torch or Triton."""
    name = str(dtype).removeprefix("torch.")
    return SHORT_NAMES.get(name, name)


def shape_of(value: Any) -> tuple[int, ...] | None:
    """Return the shape of a tensor, or None if the tensor has none."""
    shape = getattr(value, "shape", None)
    return None if shape is None else tuple(int(size) for size in shape)


def strides_of(value: Any) -> tuple[int, ...] | None:
    """Return the strides of a tensor in elements, or None if the tensor has none."""
    strides = getattr(value, "stride", None)
    if strides is None:
        return None
    return tuple(int(step) for step in (strides() if callable(strides) else strides))


def span_of(
    address: int, shape: Sequence[int] | None, strides: Sequence[int] | None, value: Any
) -> Span:
    """Return the bytes that a tensor's view spans, holes included; without a shape, none."""
    if shape is None or strides is None or 0 in shape:
        return address, address, address
    reaches = [(size - 1) * step for size, step in zip(shape, strides, strict=True)]
    above = 1 + sum(reach for reach in reaches if reach > 0)
    below = sum(reach for reach in reaches if reach < 0)
    item = _element_bytes(value)
    return address, address + below * item, address + above * item


def _element_bytes(value: Any) -> int:
    """Return the bytes of a tensor's element; the most that any has if the tensor does not say."""
    if hasattr(value.dtype, "itemsize"):
        return int(value.dtype.itemsize)
    return int(value.element_size()) if hasattr(value, "element_size") else _MOST_ELEMENT_BYTES


def _rounding_text(descriptor: Any) -> str:
    """Return the descriptor's setting `round_f32_to_tf32` as text; "" before Triton 3.7."""
    rounds = getattr(descriptor, "round_f32_to_tf32", None)
    return "" if rounds is None else f" round_f32_to_tf32={bool(rounds)}"


def _record(parameter: Parameter, value: Any) -> ArgumentRecord:
    name = parameter.name
    if parameter.type == "constexpr":
        text = literal(value) if parameter.constexpr is None else parameter.constexpr
        return ArgumentRecord(name, "constexpr", scalar=text)
    if is_descriptor(value):
        inner = _tensor_record(name, value.base)
        text = capped(
            f"shape={tuple(value.shape)} strides={tuple(value.strides)} "
            f"block_shape={tuple(value.block_shape)} "
            f"padding={str(getattr(value, 'padding', 'zero'))!r}" + _rounding_text(value)
        )
        return replace(inner, kind="descriptor", scalar=text)
    if is_tensor(value):
        return _tensor_record(name, value)
    if isinstance(value, bool | int | float):
        return ArgumentRecord(name, "scalar", dtype=parameter.type, scalar=literal(value))
    return ArgumentRecord(name, "other", dtype=parameter.type, scalar=literal(value))


def _tensor_record(name: str, value: Any) -> ArgumentRecord:
    dtype = value.dtype
    pointer = value.data_ptr()
    base = tensor_of(value)
    size, offset = None, None
    if hasattr(base, "untyped_storage"):
        untyped = base.untyped_storage()
        # The pointer of a view without elements is null, wherever in a storage it begins.
        size, offset = (untyped.nbytes(), pointer - untyped.data_ptr()) if pointer else (0, 0)
        if not 0 <= offset <= size:  # another storage than the one that the pointer points into
            size, offset = None, None
    return ArgumentRecord(
        name,
        "tensor",
        dtype=short_dtype(dtype),
        device=str(getattr(value, "device", "")) or None,
        shape=shape_of(value),
        strides=strides_of(value),
        offset_bytes=offset,
        storage_bytes=size,
        alignment=pointer % 16,
    )


def _storage_key(value: Any) -> int | None:
    base = tensor_of(value)
    if not is_tensor(value) and not is_descriptor(value):
        return None
    if hasattr(base, "untyped_storage"):
        return int(base.untyped_storage().data_ptr() if base.data_ptr() else 0) or id(base)
    return int(base.data_ptr()) if hasattr(base, "data_ptr") else None
