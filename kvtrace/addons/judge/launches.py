"""The log of a candidate's launches, evaluated again on our own memory.

The log is what a process left that nobody trusts: it says which kernels were launched on what, what
PyTorch moved between them, and what memory held that neither explains. Inputs are ours, and what
kernels write is computed here, also on inputs that the candidate's process never had: contents that
nothing explains, scalars and constants are then those of the recorded run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.judge.comparing import numpy_dtype, strided
from kvtrace.addons.judge.deriving import DerivedBounds
from kvtrace.addons.judge.inputs import Case
from kvtrace.addons.judge.request import CannotJudge
from kvtrace.backends.triton.modules import module_from
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


@dataclass
class Memory:
    """What storages hold in one case, by number; those of inputs come first, from 0."""

    held: dict[int, NDArray[np.uint8]] = field(default_factory=dict)
    written_by: dict[int, Op] = field(default_factory=dict)
    #: Contents that neither launches nor moves gave, by launch and argument: the values.
    made: dict[tuple[int, str], NDArray[Any]] = field(default_factory=dict)
    #: What PyTorch moved, and all of the storage that it is from, if a kernel has written to that.
    moved: list[tuple[NDArray[Any], NDArray[Any] | None]] = field(default_factory=list)
    modules: dict[str, Module] = field(default_factory=dict)
    #: What kernels are compiled for.
    target: str = ""
    reason: str | None = None
    #: Storages whose unexplained contents are changed: results must not follow from them.
    disturbed: frozenset[int] = frozenset()
    #: How far results may be off; None: it is not asked for.
    derived: DerivedBounds | None = None

    def view(self, entry: Mapping[str, Any]) -> NDArray[Any]:
        """Return a tensor's elements, as a view of its storage.

        Raises:
            CannotJudge: it is not a view of a storage.

        """
        dtype = numpy_dtype(str(entry["dtype"]))
        shape, strides = _sizes(entry["shape"]), _sizes(entry["strides"])
        held = self.held[int(entry["storage"])]
        start, size = int(entry["offset"]), dtype.itemsize
        last = start + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
        if min((*shape, *strides, start)) < 0 or (0 not in shape and (last + 1) * size > held.size):
            raise CannotJudge("a tensor of the candidate lies outside of its storage")
        return strided(held[: held.size // size * size].view(dtype), shape, strides, start)


class _Stores(Observer):
    """Notes which op writes through which argument."""

    def __init__(self) -> None:
        self.ops: dict[int, Op] = {}

    def access(self, access: Access) -> None:
        if access.kind != "load" and access.argument is not None:
            self.ops[access.argument] = access.op


def read_log(file: Path) -> tuple[dict[int, list[dict[str, Any]]], list[dict[str, Any]]]:
    """Return the log's entries by case, in order, and what else the candidate was seen to do.

    Raises:
        CannotJudge: it is not as it should be.

    """
    log: dict[int, list[dict[str, Any]]] = {}
    events: list[dict[str, Any]] = []
    try:
        for line in file.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            if "kind" in entry:
                events.append(entry)
            else:
                log.setdefault(int(entry["case"]), []).append(entry)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CannotJudge(f"the log of launches was tampered with: {error!r}") from error
    return log, events


def run_launches(
    case: Case, entries: Sequence[Mapping[str, Any]], inputs: Path, folder: Path, target: str,
    *, derived: bool = False, disturbed: frozenset[int] = frozenset(),
) -> Memory:  # fmt: skip
    """Evaluate the launches of a case, and return what memory holds then.

    Args:
        case: Its inputs, whose contents are in `inputs`.
        entries: Its launches, and what PyTorch moved between them.
        inputs: Where contents of inputs are.
        folder: Where the candidate's process left TTIR and contents.
        target: What its kernels are compiled for.
        derived: Whether to derive how far results may be off.
        disturbed: Storages whose unexplained contents are changed.

    Raises:
        CannotJudge: the log says what cannot be.

    """
    memory = Memory(target=target, disturbed=disturbed)
    if derived:
        memory.derived = DerivedBounds(sum("launch" in entry for entry in entries))
    for number, tensor in enumerate(case.tensors):
        content = (inputs / tensor.file).read_bytes()
        memory.held[number] = np.frombuffer(content, np.uint8).copy()
    for at, entry in enumerate(entries):
        try:
            if "launch" in entry:
                _launch(at, entry, folder, memory)
            else:
                _move(at, entry, folder, memory)
        except (KeyError, TypeError, ValueError, IndexError, OSError) as error:
            raise CannotJudge(f"the log of launches was tampered with: {error!r}") from error
        except CannotJudge:
            raise
        except KvtraceError as error:
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
    passed: dict[int, Mapping[str, Any]] = {}
    for each in entry["arguments"]:
        if "storage" in each:
            passed.setdefault(int(each["storage"]), each)
    for key, content in entry["contents"].items():
        first = passed[int(key)]
        element = numpy_dtype_of(str(first["dtype"]))
        _take(int(key), content, element, (at, str(first["name"])), folder, memory)
    storages = {n: Storage(len(memory.held[n]), memory.held[n]) for n in passed}
    arguments = [_argument(each, storages) for each in entry["arguments"]]
    stores = _Stores()
    x, y, z = (int(extent) for extent in entry["grid"])
    kernel = str(entry["launch"])
    if memory.derived is None or not memory.derived.evaluate(
        module, arguments, (x, y, z), storages, stores, kernel
    ):
        evaluate(
            module, arguments, (x, y, z), observers=(stores,), kernel=kernel, most_steps=MOST_STEPS
        )
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


def _move(at: int, entry: Mapping[str, Any], folder: Path, memory: Memory) -> None:
    """Move elements as PyTorch did, which computes nothing."""
    target, sources = entry["moved"], entry.get("sources", ())
    for key, content in entry["contents"].items():
        views = [each for each in (*sources, target) if each]
        held = next((each for each in views if int(each["storage"]) == int(key)), None)
        element = np.dtype(np.uint8) if held is None else numpy_dtype(str(held["dtype"]))
        _take(int(key), content, element, (at, f"tensor {key}"), folder, memory)
    if target is None:
        return
    number = int(target["storage"])
    taken = [int(each["storage"]) for each in sources]
    if number not in memory.held:
        memory.held[number] = np.zeros(_size(entry["bytes"]), np.uint8)
    into, values = memory.view(target), [memory.view(each) for each in sources]
    with np.errstate(all="ignore"):
        if entry["picked"] is None:
            into[...] = values[0].astype(into.dtype) if values else entry["fill"]
        else:
            flat = [np.asarray([entry["fill"]]), *(each.ravel() for each in values)]
            table = np.concatenate([each.astype(into.dtype) for each in flat])
            picked = np.frombuffer(content_of(folder, entry["picked"]), np.int64)
            if picked.size and (picked.min() < 0 or picked.max() >= table.size):
                raise ValueError("an element of none of the sources")
            into[...] = table[picked].reshape(into.shape)
    if memory.derived is not None:
        memory.derived.note_move(number, taken, into, values)
    op = next((memory.written_by[each] for each in taken if each in memory.written_by), None)
    if taken:
        kind = values[0].dtype
        whole = memory.held[taken[0]]
        written = None if op is None else whole[: whole.size // kind.itemsize * kind.itemsize]
        memory.moved.append((into.copy(), None if written is None else written.view(kind).copy()))
    if op is not None:
        memory.written_by[number] = op


def _take(
    number: int, content: Mapping[str, Any], element: np.dtype[Any], what: tuple[int, str],
    folder: Path, memory: Memory,
) -> None:  # fmt: skip
    """Take contents that nothing explains; memory that is only allocated is poisoned."""
    size = _size(content["bytes"])
    held = np.frombuffer(content_of(folder, content["file"]), np.uint8).copy()
    if held.size != size:
        raise ValueError("contents of another size than their storage")
    if number in memory.disturbed:  # the second highest bit: far away, and not negative
        held[element.itemsize - 1 :: element.itemsize] ^= 0x40
    values = held[: size // element.itemsize * element.itemsize].view(element)
    name = _POISON_OF.get(element.name)
    if name is not None and values.size and np.isnan(values.astype(np.float32)).all():
        kind, bits = POISON[name]
        held[: values.nbytes].view(kind)[:] = kind(bits)
    else:
        memory.made[what] = values.copy()
    if memory.derived is not None:
        memory.derived.note_contents(number, what[1], memory.made.get(what))
    memory.held[number] = held
    memory.written_by.pop(number, None)


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


def launch_entries(entries: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Give the entries that are launches."""
    return (entry for entry in entries if "launch" in entry)


def memory_steps(entries: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the entries that change memory, in order: launches, and what PyTorch moved."""
    return [entry for entry in entries if "launch" in entry or "moved" in entry]


def content_of(folder: Path, digest: Any) -> bytes:
    """Return contents that the candidate's process left.

    Raises:
        CannotJudge: it names a file otherwise than we do.

    """
    try:
        return (folder / f"content-{_digest(digest)}").read_bytes()
    except (OSError, ValueError) as error:
        raise CannotJudge(f"the log of launches was tampered with: {error!r}") from error


def _size(given: Any) -> int:
    size = int(given)
    if not 0 <= size <= _LARGEST:
        raise ValueError(f"a storage of {size} bytes")
    return size


def _sizes(given: Any) -> tuple[int, ...]:
    return tuple(int(each) for each in given)


def _digest(text: Any) -> str:
    digest = str(text)
    if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
        raise ValueError("the name of a file that the request does not have")
    return digest
