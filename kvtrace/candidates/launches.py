"""The log of a candidate's launches, evaluated anew on memory of our own.

The log is what a process left that nobody trusts: it says which kernels were launched on what, and
what memory held that no launch wrote. Inputs are ours, and what kernels write is computed here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.backends.triton.modules import module_from
from kvtrace.candidates.comparing import numpy_dtype
from kvtrace.candidates.inputs import Case
from kvtrace.candidates.request import CannotJudge
from kvtrace.evaluate import evaluate
from kvtrace.evaluate.arguments import Argument, ScalarArgument, Storage, TensorArgument
from kvtrace.evaluate.observe import Access, Observer
from kvtrace.evaluate.reach import follows_addresses
from kvtrace.evaluate.scope import MOST_STEPS
from kvtrace.ir import Module, Op
from kvtrace.schema.errors import KvtraceError

#: Bits of NaNs that nothing computes: what memory holds that was allocated and never written.
POISON: Final = {
    "fp64": (np.uint64, 0x7FF8DEAD00C0FFEE), "fp32": (np.uint32, 0x7FC0DEAD),
    "fp16": (np.uint16, 0x7E5D), "bf16": (np.uint16, 0x7FDB),
}  # fmt: skip
_POISON_OF: Final = {"float64": "fp64", "float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}
_LARGEST: Final = 1 << 31
_FLOATS: Final = ("float32", "float16", "bfloat16", "float64")


@dataclass
class Memory:
    """What storages hold in one case, by number; those of inputs come first, from 0."""

    held: dict[int, NDArray[np.uint8]] = field(default_factory=dict)
    written_by: dict[int, Op] = field(default_factory=dict)
    #: Storages whose contents the candidate made otherwise than by kernels: argument and contents.
    from_host: dict[int, tuple[str, NDArray[Any]]] = field(default_factory=dict)
    #: Contents by launch and argument, to see whether they depend on the inputs' values.
    contents: dict[tuple[int, str], str] = field(default_factory=dict)
    modules: dict[str, Module] = field(default_factory=dict)
    #: What kernels are compiled for.
    target: str = ""
    reason: str | None = None

    def view(self, entry: Mapping[str, Any]) -> NDArray[Any]:
        """Return a returned tensor's elements.

        Raises:
            CannotJudge: it is no view of a storage.

        """
        dtype = numpy_dtype(str(entry["dtype"]))
        shape, strides = _sizes(entry["shape"]), _sizes(entry["strides"])
        held = self.held[int(entry["storage"])]
        start, size = int(entry["offset"]), dtype.itemsize
        last = start + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
        if min((*shape, *strides, start)) < 0 or (0 not in shape and (last + 1) * size > held.size):
            raise CannotJudge("a result that the candidate returned lies outside of its storage")
        whole = held[: held.size // size * size].view(dtype)[start:]
        steps = tuple(step * size for step in strides)
        return np.lib.stride_tricks.as_strided(whole, shape, steps).copy()


class _Stores(Observer):
    """Hears which op writes through which argument."""

    def __init__(self) -> None:
        self.ops: dict[int, Op] = {}

    def access(self, access: Access) -> None:
        if access.kind != "load" and access.argument is not None:
            self.ops[access.argument] = access.op


def entries_of(log: Path) -> dict[int, list[dict[str, Any]]]:
    """Return the log's entries by case, in order.

    Raises:
        CannotJudge: it is not as it should be.

    """
    found: dict[int, list[dict[str, Any]]] = {}
    try:
        for line in log.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            found.setdefault(int(entry["case"]), []).append(entry)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CannotJudge(f"the log of launches was tampered with: {error!r}") from error
    return found


def run_launches(
    case: Case, entries: Sequence[Mapping[str, Any]], inputs: Path, folder: Path, target: str
) -> Memory:
    """Evaluate the launches of a case, and return what memory holds then.

    Args:
        case: Its inputs, whose contents are in `inputs`.
        entries: Its launches.
        inputs: Where contents of inputs are.
        folder: Where the candidate's process left TTIR and contents.
        target: What its kernels are compiled for.

    Raises:
        CannotJudge: the log says what cannot be.

    """
    memory = Memory(target=target)
    for number, tensor in enumerate(case.tensors):
        content = (inputs / tensor.file).read_bytes()
        memory.held[number] = np.frombuffer(content, np.uint8).copy()
    for at, entry in enumerate(entries):
        try:
            _launch(at, entry, folder, memory)
        except (KeyError, TypeError, ValueError, OSError) as error:
            raise CannotJudge(f"the log of launches was tampered with: {error!r}") from error
        except KvtraceError as error:
            if isinstance(error, CannotJudge):
                raise
            memory.reason = f"{entry.get('launch')} was not evaluated to its end: {error}"
            break
    return memory


def poisoned(values: NDArray[Any], dtype: str) -> NDArray[np.bool_]:
    """Return where elements hold what memory holds that was never written."""
    name = _POISON_OF.get(dtype)
    if name is None:
        return np.zeros(values.shape, np.bool_)
    kind, bits = POISON[name]
    blank: NDArray[np.bool_] = np.ascontiguousarray(values).view(kind) == kind(bits)
    return blank.reshape(values.shape)


def _launch(at: int, entry: Mapping[str, Any], folder: Path, memory: Memory) -> None:
    digest = _digest(entry["ttir"])
    if digest not in memory.modules:
        text = (folder / f"ttir-{digest}").read_text(encoding="utf-8")
        memory.modules[digest] = module_from(text, entry["file"], memory.target)
    module = memory.modules[digest]
    if follows_addresses(module):
        raise KvtraceError("it reads addresses out of memory, which are another process's here")
    dtypes: dict[int, tuple[str, str]] = {}
    for each in entry["arguments"]:
        if "storage" in each:
            dtypes.setdefault(int(each["storage"]), (str(each["dtype"]), str(each["name"])))
    for key, content in entry["contents"].items():
        _take(at, int(key), content, dtypes[int(key)], folder, memory)
    storages = {n: Storage(len(memory.held[n]), memory.held[n]) for n in dtypes}
    arguments = [_argument(each, storages) for each in entry["arguments"]]
    stores = _Stores()
    x, y, z = (int(extent) for extent in entry["grid"])
    evaluate(
        module, arguments, (x, y, z), observers=(stores,), kernel=str(entry["launch"]),
        most_steps=MOST_STEPS,
    )  # fmt: skip
    numbers = [int(each["storage"]) if "storage" in each else None for each in entry["arguments"]]
    for argument, op in stores.ops.items():
        number = numbers[argument] if argument < len(numbers) else None
        if number is not None:
            memory.written_by[number] = op


def _argument(each: Mapping[str, Any], storages: Mapping[int, Storage]) -> Argument:
    if "storage" not in each:
        return ScalarArgument(str(each["name"]), each["value"])
    return TensorArgument(
        str(each["name"]), storages[int(each["storage"])], int(each["offset"]), str(each["dtype"]),
        _sizes(each["shape"]), _sizes(each["strides"]), bool(each["padding_nan"]),
    )  # fmt: skip


def _take(
    at: int, number: int, content: Mapping[str, Any], what: tuple[str, str], folder: Path,
    memory: Memory,
) -> None:  # fmt: skip
    """Take contents that no launch wrote: unwritten memory is poisoned, the rest looked at."""
    dtype, name = what
    digest, size = _digest(content["file"]), int(content["bytes"])
    if not 0 <= size <= _LARGEST:
        raise ValueError(f"a storage of {size} bytes")
    held = np.frombuffer((folder / f"content-{digest}").read_bytes(), np.uint8).copy()
    if held.size != size:
        raise ValueError("contents of another size than their storage")
    memory.contents[at, name] = digest
    element = numpy_dtype_of(dtype)
    values = held[: size // element.itemsize * element.itemsize].view(element)
    if dtype in POISON and values.size and np.isnan(values.astype(np.float32)).all():
        kind, bits = POISON[dtype]
        held[: values.nbytes].view(kind)[:] = kind(bits)
    elif values.size and (values != values[0]).any() and not _copied(values, memory):
        memory.from_host[number] = name, values.copy()
    memory.held[number] = held


def _copied(values: NDArray[Any], memory: Memory) -> bool:
    """Whether values are all among those of one storage, or zero: moved, cast or padded."""
    found = np.unique(values)
    for held in memory.held.values():
        for source in (*_FLOATS, "int64", "int32"):
            for between in (source, *_FLOATS[1:3]):  # there and back, as of .half().float()
                with np.errstate(all="ignore"):
                    cast = _elements(held, source).astype(numpy_dtype(between))
                    known = np.unique(cast.astype(values.dtype))
                if np.isin(found, np.append(known, np.zeros(1, values.dtype))).all():
                    return True
    return False


def same_elements(values: NDArray[Any], memory: Memory) -> bool:
    """Whether returned values are copies of what kernels wrote, each at most as often as there."""
    found, counts = np.unique(values, return_counts=True)
    for number in memory.written_by:
        for source in _FLOATS:
            with np.errstate(all="ignore"):
                known = _elements(memory.held[number], source).astype(values.dtype)
            written, times = np.unique(known, return_counts=True)
            places = np.searchsorted(written, found).clip(0, max(len(written) - 1, 0))
            if len(written) and ((written[places] == found) & (counts <= times[places])).all():
                return True
    return False


def _elements(held: NDArray[np.uint8], dtype: str) -> NDArray[Any]:
    element = numpy_dtype(dtype)
    return held[: held.size // element.itemsize * element.itemsize].view(element)


def numpy_dtype_of(short: str) -> np.dtype[Any]:
    """Return NumPy's type for Triton's short name of one; bytes where there is none."""
    kinds = {"fp": "float", "i": "int", "u": "uint"}
    if short == "bf16":
        return numpy_dtype("bfloat16")
    for prefix, name in kinds.items():
        bits = short.removeprefix(prefix)
        if short.startswith(prefix) and bits in ("8", "16", "32", "64"):
            return np.dtype(f"{name}{bits}") if f"{name}{bits}" != "float8" else np.dtype("uint8")
    return np.dtype("uint8")


def launches_in(entries: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Give the entries that are launches."""
    return (entry for entry in entries if "launch" in entry)


def _sizes(given: Any) -> tuple[int, ...]:
    return tuple(int(each) for each in given)


def _digest(text: Any) -> str:
    digest = str(text)
    if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
        raise ValueError("a name of a file that is none of ours")
    return digest
