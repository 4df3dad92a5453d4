"""Offsets of the fields of torch's objects, searched for in this process and checked before use.

torch's C++ objects have no stable layout, and `_operators.c` is built without torch. So fields are
searched for by values that Python knows. Example: of a tensor with the strides (7, 2), the words 7
and 2 are found five words behind those of its sizes. Addresses that may lead nowhere are read by
the system call `write`, which fails where memory is missing. If a field is not found, or at two
places, nothing is recorded.

The callback's own structure cannot be searched for; its members are compared with the header in
torch's package.

Sources and versions: `capture/_layouts.h`.
"""

import ctypes
import os
import platform
import re
import struct
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from kvtrace.capture.arguments import unseen
from kvtrace.schema.descriptors import Descriptor
from kvtrace.schema.errors import KvtraceError

_WORD: Final = 8
_LIBRARY: Final = "libtorch_cpu.so"
_SYS_WRITE: Final = ctypes.c_long(1)  # of x86-64, for which alone operators are recorded
ADD: Final = "_ZN2at17addGlobalCallbackENS_22RecordFunctionCallbackE"
REMOVE: Final = "_ZN2at14removeCallbackEm"
#: Most bytes that are searched of each object: a TensorImpl has 176 in torch 2.13.
_TENSOR_BYTES: Final = 23 * _WORD
_STORAGE_BYTES: Final = 8 * _WORD
_PYTHON_BYTES: Final = 4 * _WORD
#: Bytes of a std::unique_ptr with a deleter beside an address, as c10::UniqueVoidPtr has them.
_DEVICE: Final = 3 * _WORD
#: The index of a std::variant lies behind the largest member, here a std::string.
_CXX_STRING: Final = 32
#: Names and bytes of element types by c10::ScalarType of which a tensor makes torch warn, once.
#: That warning is the program's.
_UNTRIED: Final = {
    8: ("complex32", 4),
    12: ("qint8", 1),
    13: ("quint8", 1),
    14: ("qint32", 4),
    16: ("quint4x2", 1),
    17: ("quint2x4", 1),
}

#: Complex types that are not experimental, of which torch does not warn.
_COMPLEX: Final = ("complex64", "complex128")

_MEMBERS: Final = re.compile(
    r"StartCallback start_[^;]*;\s*EndCallback end_[^;]*;\s*double sampling_prob_[^;]*;\s*"
    r"std::array<bool, static_cast<size_t>\(RecordScope::NUM_SCOPES\)> scopes_[^;]*;\s*"
    r"bool needs_inputs_[^;]*;\s*bool needs_outputs_[^;]*;\s*bool needs_ids_[^;]*;\s*\}"
)
_SCOPES: Final = re.compile(r"enum class \w+ RecordScope : uint8_t \{(.*?)NUM_SCOPES", re.DOTALL)
COMMENT: Final = re.compile(r"//[^\n]*")


class TorchUnknown(KvtraceError):
    """Raised when this torch's objects cannot be read as memory."""

    slug = "torch-unknown"


@dataclass(frozen=True, slots=True)
class Installed:
    """The installed callbacks: `remove` is torch's function, for `handle`.

    `dtypes` has the name of each element type, as `float32`, by torch's number.
    """

    remove: Callable[[int], None]
    handle: int
    dtypes: dict[int, str]


@unseen
def install(native: ModuleType, torch: Any) -> Installed:
    """Install the callbacks of the C module `_operators`, after finding all that they read.

    Raises:
        TorchUnknown: something is not as expected; nothing is installed.

    """
    scopes = _scopes(torch)
    try:
        library = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / _LIBRARY))
        add, remove = getattr(library, ADD), getattr(library, REMOVE)
    except (OSError, AttributeError) as error:
        raise TorchUnknown(f"torch's functions were not found ({error})") from error
    from torch.utils._mode_utils import no_dispatch

    with torch.inference_mode(mode=False), no_dispatch(), _pipe() as memory:
        dtypes, item_bytes = _dtypes(torch)
        tensor = _tensor_offsets(torch, native.INLINE_DIMENSIONS)
        storage = _storage_offsets(torch)
        python = _python_offset(torch)
        add.argtypes, add.restype = [_Callback], ctypes.c_uint64
        remove.argtypes, remove.restype = [ctypes.c_uint64], None
        handle = add(_callback(native, scopes))
        try:
            function, tensor_tag = _function_offsets(native, torch, memory)
            items, list_tag = _list_offset(native, torch, memory, function[0])
        except BaseException:
            remove(handle)
            raise
    native.lay_out_torch(
        *function, items, *tensor, *storage, python, tensor_tag, list_tag, item_bytes
    )
    return Installed(remove, handle, dtypes)


class _Callback(ctypes.Structure):
    """at::RecordFunctionCallback, which torch's function gets by value.

    The flags are a scope each, then whether inputs, outputs and ids are needed.
    """

    _fields_ = (
        ("start", ctypes.c_void_p), ("end", ctypes.c_void_p), ("probability", ctypes.c_double),
        ("flags", ctypes.c_ubyte * 40),
    )  # fmt: skip


def _callback(native: ModuleType, scopes: int) -> _Callback:
    """Return the callback that wants inputs and outputs of operators, torch's first scope."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        raise TorchUnknown("operators are recorded on x86-64 only")
    callback = _Callback(native.BEGINS, native.ENDS, 1.0)
    if not 1 <= scopes <= len(callback.flags) - 3:
        raise TorchUnknown("torch has more scopes than there is room for")
    for flag in (0, scopes, scopes + 1):
        callback.flags[flag] = 1
    return callback


def _scopes(torch: Any) -> int:
    """Return the number of scopes, by torch's header, whose callback has the expected members."""
    header = Path(torch.__file__).parent / "include" / "ATen" / "record_function.h"
    try:
        text = COMMENT.sub("", header.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise TorchUnknown(f"torch's header {header.name} cannot be read ({error})") from error
    listed = _SCOPES.search(text)
    if listed is None or not _MEMBERS.search(text):
        raise TorchUnknown(f"torch {torch.__version__} has another RecordFunctionCallback")
    names = [name.split("=")[0].strip() for name in listed[1].split(",") if name.strip()]
    if names[0] != "FUNCTION":
        raise TorchUnknown(f"torch {torch.__version__} has other scopes of RecordFunction")
    return len(names)


class _Memory:
    """Reading of addresses that may lead nowhere, through a pipe."""

    def __init__(self, reading: int, writing: int) -> None:
        self.ends = (reading, writing)

    def words(self, address: int, count: int) -> tuple[int, ...]:
        """Return the words at an address; () if there is no memory."""
        if not address or address % _WORD:
            return ()
        size = count * _WORD
        library = ctypes.CDLL(None, use_errno=True)
        call = _SYS_WRITE, ctypes.c_long(self.ends[1]), ctypes.c_void_p(address)
        if library.syscall(*call, ctypes.c_size_t(size)) != size:  # as `readable` of _layout.h
            return ()
        return struct.unpack(f"{count}Q", os.read(self.ends[0], size))


@contextmanager
def _pipe() -> Iterator[_Memory]:
    reading, writing = map(Descriptor, os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK))
    try:
        yield _Memory(reading.number, writing.number)
    finally:
        reading.close()
        writing.close()


def _words(address: int, size: int) -> tuple[int, ...]:
    return struct.unpack(f"{size // _WORD}Q", ctypes.string_at(address, size))


def _size(address: int, most: int) -> int:
    """Return the bytes of an object that `malloc` made, which may be less than `most`."""
    try:
        usable = ctypes.CDLL(None).malloc_usable_size
    except AttributeError as error:
        raise TorchUnknown("the sizes of torch's objects are not known here") from error
    usable.restype = ctypes.c_size_t
    return min(int(usable(ctypes.c_void_p(address))) // _WORD * _WORD, most)


def _one(places: list[int], field: str) -> int:
    if len(places) != 1:
        raise TorchUnknown(f"the field of {field} was found at {len(places)} places")
    return places[0]


def _common(searches: list[set[int]], field: str) -> int:
    """Return the only offset at which every search has found its value."""
    return _one(sorted(set.intersection(*searches)), field)


def _at(address: int, size: int, value: int) -> set[int]:
    return {n * _WORD for n, word in enumerate(_words(address, size)) if word == value}


def _strided(torch: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Any:
    storage = torch.zeros(4096, dtype=torch.float32, device="cpu")
    return storage.as_strided(shape, strides, offset)


def _tensor_offsets(torch: Any, inline: int) -> tuple[int, int, int, int, int]:
    """Return a tensor's offsets: storage, dimensions, number of elements, offset, element type.

    Sizes and strides of up to `inline` dimensions lie in the tensor itself.
    """
    samples = [
        _strided(torch, (3, 11), (13, 1), 17),
        _strided(torch, (2, 3, 5, 2, 2, 1, 2), (120, 60, 12, 4, 2, 2, 1), 29),
        _strided(torch, (23,), (2,), 5),
    ]
    size = min(_size(t._cdata, _TENSOR_BYTES) for t in samples)
    storage = _common(
        [_at(t._cdata, size, t.untyped_storage()._cdata) for t in samples], "a tensor's storage"
    )
    offset = _common(
        [_at(t._cdata, size, t.storage_offset()) for t in samples], "a tensor's offset"
    )
    numel = _common([_at(t._cdata, size, t.numel()) for t in samples], "a tensor's elements")
    dimensions = _common([_dimensions(t, inline) for t in samples], "a tensor's sizes")
    return storage, dimensions, numel, offset, _dtype_offset(torch)


def _dimensions(tensor: Any, inline: int) -> set[int]:
    """Return the offsets at which the number of dimensions may be, before sizes and strides."""
    words = _words(tensor._cdata, _size(tensor._cdata, _TENSOR_BYTES))
    count = tensor.dim()
    places = set()
    for n in range(len(words) - 1 - 2 * inline):
        if words[n] != count:
            continue
        if count > inline:
            sizes = _words(words[n + 1], 2 * count * _WORD) if _is_heap(words[n + 1]) else ()
            shape, strides = sizes[:count], sizes[count:]
        else:
            shape = words[n + 1 : n + 1 + count]
            strides = words[n + 1 + inline : n + 1 + inline + count]
        if shape == tuple(tensor.shape) and strides == tensor.stride():
            places.add(n * _WORD)
    return places


def _is_heap(address: int) -> bool:
    """Return whether memory at an address can be read; false for small numbers."""
    with _pipe() as memory:
        return bool(memory.words(address, 14))


def _dtype_offset(torch: Any) -> int:
    """Return where the number of the element type lies: a byte that differs between types only."""
    types = (torch.float32, torch.int64, torch.uint8, torch.bfloat16, torch.bool)
    pairs = [[torch.zeros(1, dtype=dtype, device="cpu") for _ in range(3)] for dtype in types]
    size = min(_size(t._cdata, _TENSOR_BYTES) for same in pairs for t in same)
    contents = [[ctypes.string_at(t._cdata, size) for t in same] for same in pairs]
    # c10::ScalarType: Byte 0, Long 4, Float 6, Bool 11, BFloat16 15
    numbers = (6, 4, 0, 15, 11)
    places = [
        n
        for n in range(0, size, 2)
        if all(
            int.from_bytes(content[n : n + 2], "little") == number
            for same, number in zip(contents, numbers, strict=True)
            for content in same
        )
    ]
    return _one(places, "a tensor's element type")


def _dtypes(torch: Any) -> tuple[dict[int, str], bytes]:
    """Return the names of element types by torch's numbers, and the bytes of an element of each."""
    place, sizes = _dtype_offset(torch), bytearray(256)
    names = {number: name for number, (name, _) in _UNTRIED.items()}
    for number, (_, size) in _UNTRIED.items():
        sizes[number] = size
    for value in {v for v in vars(torch).values() if isinstance(v, torch.dtype)}:
        name = str(value).removeprefix("torch.")
        if name in names.values() or (value.is_complex and name not in _COMPLEX):
            continue
        try:
            tensor = torch.empty(0, dtype=value, device="cpu")
        except (RuntimeError, TypeError, NotImplementedError):
            continue  # no tensor has it
        number = ctypes.string_at(tensor._cdata + place, 1)[0]
        names[number] = name
        sizes[number] = tensor.element_size()
    return names, bytes(sizes)


def _storage_offsets(torch: Any) -> tuple[int, int, int]:
    """Return a storage's offsets: address of its memory, number of bytes, and device."""
    storages = [
        torch.zeros(n, dtype=torch.uint8, device="cpu").untyped_storage() for n in (77, 991)
    ]
    size = min(_size(s._cdata, _STORAGE_BYTES) for s in storages)
    # The context that frees the memory may have the same address, and lies behind.
    data = min(set.intersection(*(_at(s._cdata, size, s.data_ptr()) for s in storages)), default=-1)
    if data < 0:
        raise TorchUnknown("the field of a storage's memory was not found")
    number = _common([_at(s._cdata, size, s.nbytes()) for s in storages], "a storage's size")
    # The device lies behind the address and what frees it; c10::DeviceType has CPU 0, Meta 14.
    kinds = [
        ctypes.string_at(storage._cdata + data + _DEVICE, 1)[0]
        for storage in (*storages, torch.empty(3, device="meta").untyped_storage())
    ]
    if kinds != [0, 0, 14]:
        raise TorchUnknown("the field of a storage's device was not found")
    return data, number, data + _DEVICE


def _python_offset(torch: Any) -> int:
    """Return where a Python object of a tensor has the address of the tensor."""
    tensors = [torch.zeros(1, device="cpu") for _ in range(3)]
    size = min(_PYTHON_BYTES, torch.Tensor.__basicsize__)
    searches = [_at(id(tensor), size, tensor._cdata) for tensor in tensors]
    return _common(searches, "a Python tensor's address")


def _function_offsets(
    native: ModuleType, torch: Any, memory: _Memory
) -> tuple[tuple[int, int, int, int], int]:
    """Return a RecordFunction's offsets: arguments, results, schema, and that it has one.

    The second result is the tag of boxed tensors.
    """
    first, second, result = (torch.ones(1, device="cpu") for _ in range(3))

    def call() -> None:
        torch.add(first, second, out=result)

    found = _searched(native, memory, (first, second, result), ("aten::add", 4, -1), call)
    inputs, outputs, schema, _, tag = found
    if min(inputs, outputs, schema) < 0:
        raise TorchUnknown("the fields of an operator's call were not found")
    return (inputs, outputs, schema, schema + _CXX_STRING), tag


def _list_offset(native: ModuleType, torch: Any, memory: _Memory, inputs: int) -> tuple[int, int]:
    """Return where a list of boxed values has its items, and the tag of boxed lists."""
    first, second, result = (torch.ones(n, device="cpu") for n in (1, 1, 2))

    def call() -> None:
        torch.cat([first, second], out=result)

    found = _searched(native, memory, (first, second, result), ("aten::cat", 3, inputs), call)
    if found[3] < 0:
        raise TorchUnknown("the items of an operator's list were not found")
    return found[3], found[4]


def _searched(
    native: ModuleType,
    memory: _Memory,
    tensors: tuple[Any, Any, Any],
    operator: tuple[str, int, int],
    call: Callable[[], None],
) -> tuple[int, int, int, int, int]:
    """Return what `_operators.c` found in two calls of an operator with these tensors."""
    results = set()
    for _ in range(2):
        native.search_begin(*(tensor._cdata for tensor in tensors), *operator, *memory.ends)
        try:
            call()
        finally:
            results.add(native.search_results())
    if len(results) != 1:
        raise TorchUnknown("torch calls back in different ways")
    *found, starts, ends = results.pop()
    if starts < 1 or starts != ends:
        raise TorchUnknown(f"torch called back {starts} and {ends} times for one operator")
    inputs, outputs, schema, items, tag = found
    return inputs, outputs, schema, items, tag
