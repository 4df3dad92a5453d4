"""Evaluation of a candidate's logged launches in the judge's own memory.

The log was written by an untrusted process: it lists launches with their arguments, PyTorch's moves
between them, and memory contents that follow from neither (unexplained). The inputs are the
judge's, and the results of kernels are computed here. The launches can also be evaluated on inputs
that the candidate's process never had; unexplained contents, scalars and constants are then those
of the logged run.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.judge.deriving import DerivedBounds, Work
from kvtrace.addons.judge.request import CannotJudge
from kvtrace.backends.triton.modules import module_from
from kvtrace.evaluate import evaluate
from kvtrace.evaluate.arguments import Argument, ScalarArgument, Storage, TensorArgument
from kvtrace.evaluate.observe import Access, Observer, OutOfBounds
from kvtrace.evaluate.reach import follows_addresses
from kvtrace.evaluate.scope import MOST_STEPS
from kvtrace.inputs.cases import Case, numpy_dtype, strided
from kvtrace.ir import Module, Op, Options
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.vocabularies import TORCH_NAMES

#: Bits of NaNs that no operation computes: the contents of memory that was never written.
POISON: Final = {
    "fp64": (np.uint64, 0x7FF8DEAD00C0FFEE), "fp32": (np.uint32, 0x7FC0DEAD),
    "fp16": (np.uint16, 0x7E5D), "bf16": (np.uint16, 0x7FDB),
}  # fmt: skip
_POISON_OF: Final = {"float64": "fp64", "float32": "fp32", "float16": "fp16", "bfloat16": "bf16"}
_LARGEST: Final = 1 << 31


@dataclass
class Memory:
    """Contents of storages during the evaluation of a case, by number, from the inputs on."""

    storages: dict[int, NDArray[np.uint8]] = field(default_factory=dict)
    written_by: dict[int, Op] = field(default_factory=dict)
    #: The first op that writes outside of its tensor's storage, with the tensor's name.
    stray_write: tuple[Op, str] | None = None
    #: Contents that neither launches nor moves explain, by step and argument.
    unexplained: dict[tuple[int, str], NDArray[Any]] = field(default_factory=dict)
    #: Elements that PyTorch moved, and their whole source storage if a kernel has written to it.
    moved: list[tuple[NDArray[Any], NDArray[Any] | None]] = field(default_factory=list)
    modules: dict[str, Module] = field(default_factory=dict)
    #: The compilation target of the kernels.
    target: str = ""
    #: The reason why evaluation stopped.
    reason: str | None = None
    #: Storages whose unexplained contents are changed, to see whether results depend on them.
    disturbed: frozenset[int] = frozenset()
    #: Bounds of the results' errors, if they are derived.
    derived: DerivedBounds | None = None
    #: The work of the evaluations, with its limit.
    work: Work = field(default_factory=lambda: Work(math.inf))

    def view(self, entry: Mapping[str, Any]) -> NDArray[Any]:
        """Return the elements of a logged tensor as a view of its storage.

        Raises:
            CannotJudge: the tensor lies outside of the storage.
        """
        dtype = numpy_dtype(str(entry["dtype"]))
        shape, strides = _as_integers(entry["shape"]), _as_integers(entry["strides"])
        storage = self.storages[int(entry["storage"])]
        start, size = int(entry["offset"]), dtype.itemsize
        last_offset = start + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
        if min((*shape, *strides, start)) < 0 or (
            0 not in shape and (last_offset + 1) * size > storage.size
        ):
            raise CannotJudge("a tensor in the candidate's log is outside of its storage")
        return strided(storage[: storage.size // size * size].view(dtype), shape, strides, start)


class _StoreObserver(Observer):
    """Observer of writes: the last op through each argument, by position, and the first stray one.

    A stray write is outside of its tensor's storage.
    """

    def __init__(self) -> None:
        self.ops: dict[int, Op] = {}
        self.stray: OutOfBounds | None = None

    def access(self, access: Access) -> None:
        if access.kind != "load" and access.argument is not None:
            self.ops[access.argument] = access.op

    def out_of_bounds(self, defect: OutOfBounds) -> None:
        if defect.kind != "load" and defect.rule == "out-of-bounds" and defect.certain:
            self.stray = self.stray or defect


def read_log(file: Path) -> tuple[dict[int, list[dict[str, Any]]], list[dict[str, Any]]]:
    """Return the log's entries by call number, and the candidate's other observed actions.

    Raises:
        CannotJudge: the log has another form.
    """
    entries_by_call: dict[int, list[dict[str, Any]]] = {}
    events: list[dict[str, Any]] = []
    try:
        for line in file.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            if "kind" in entry:
                events.append(entry)
            else:
                entries_by_call.setdefault(int(entry["case"]), []).append(entry)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CannotJudge(f"the log of launches was tampered with: {error!r}") from error
    return entries_by_call, events


def run_launches(
    case: Case, entries: Sequence[Mapping[str, Any]], inputs: Path, folder: Path, target: str,
    work: Work, *, derived: bool = False, disturbed: frozenset[int] = frozenset(),
) -> Memory:  # fmt: skip
    """Evaluate the launches of a case, and return the memory after them.

    Args:
        case: The inputs.
        entries: The launches, and PyTorch's moves between them.
        inputs: The folder of the inputs' contents.
        folder: The folder of the candidate's process, with TTIR and contents.
        target: The compilation target of the kernels.
        work: Counts the evaluations' work, and ends them at its limit.
        derived: Also derive bounds of the results' errors.
        disturbed: Storages whose unexplained contents are changed before the evaluation.

    Raises:
        CannotJudge: the log contradicts itself.
    """
    memory = Memory(target=target, disturbed=disturbed, work=work)
    if derived:
        memory.derived = DerivedBounds(sum("launch" in entry for entry in entries))
    for number, tensor in enumerate(case.tensors):
        content = (inputs / tensor.file).read_bytes()
        memory.storages[number] = np.frombuffer(content, np.uint8).copy()
    for step, entry in enumerate(entries):
        try:
            if "launch" in entry:
                _evaluate_launch(step, entry, folder, memory)
            else:
                _repeat_move(step, entry, folder, memory)
        except (KeyError, TypeError, ValueError, IndexError, OSError) as error:
            raise CannotJudge(f"the log of launches was tampered with: {error!r}") from error
        except CannotJudge:
            raise
        except KvtraceError as error:
            memory.reason = f"{entry.get('launch')} could not be evaluated completely: {error}"
            break
    return memory


def is_never_written(values: NDArray[Any], dtype: str) -> NDArray[np.bool_]:
    """Return for each element whether it has the bits of memory that was never written."""
    name = _POISON_OF.get(dtype)
    if name is None:
        return np.zeros(values.shape, np.bool_)
    bits_type, bits = POISON[name]
    is_blank: NDArray[np.bool_] = np.ascontiguousarray(values).view(bits_type) == bits_type(bits)
    return is_blank.reshape(values.shape)


def _evaluate_launch(step: int, entry: Mapping[str, Any], folder: Path, memory: Memory) -> None:
    digest = _checked_digest(entry["ttir"])
    options = Options(*entry["options"])
    if digest not in memory.modules or memory.modules[digest].options != options:
        text = (folder / f"ttir-{digest}").read_text(encoding="utf-8")
        memory.modules[digest] = module_from(text, entry["file"], memory.target, options)
    module = memory.modules[digest]
    if follows_addresses(module):
        raise KvtraceError(
            "the kernel loads addresses from memory, which belong to another process"
        )
    entries_by_storage: dict[int, Mapping[str, Any]] = {}
    for argument in entry["arguments"]:
        if "storage" in argument:
            entries_by_storage.setdefault(int(argument["storage"]), argument)
    for key, content in entry["contents"].items():
        argument_entry = entries_by_storage[int(key)]
        element = numpy_dtype_of(str(argument_entry["dtype"]))
        _set_contents(
            int(key), content, element, (step, str(argument_entry["name"])), folder, memory
        )
    storages = {n: Storage(len(memory.storages[n]), memory.storages[n]) for n in entries_by_storage}
    arguments = [_evaluator_argument(argument, storages) for argument in entry["arguments"]]
    stores = _StoreObserver()
    x, y, z = (int(extent) for extent in entry["grid"])
    kernel = str(entry["launch"])
    if memory.derived is None or not memory.derived.evaluate(
        module, arguments, (x, y, z), storages, stores, memory.work, kernel
    ):
        evaluate(
            module, arguments, (x, y, z), observers=(stores, memory.work), kernel=kernel,
            most_steps=MOST_STEPS,
        )  # fmt: skip
    if stores.stray is not None and memory.stray_write is None:
        name = str(entry["arguments"][stores.stray.argument]["name"])
        memory.stray_write = stores.stray.op, name
    storage_numbers = [int(a["storage"]) if "storage" in a else None for a in entry["arguments"]]
    for position, op in stores.ops.items():
        number = storage_numbers[position] if position < len(storage_numbers) else None
        if number is not None:
            memory.written_by[number] = op


def _evaluator_argument(entry: Mapping[str, Any], storages: Mapping[int, Storage]) -> Argument:
    if "storage" not in entry:
        return ScalarArgument(str(entry["name"]), entry["value"])
    return TensorArgument(
        str(entry["name"]), storages[int(entry["storage"])], int(entry["offset"]),
        str(entry["dtype"]), _as_integers(entry["shape"]), _as_integers(entry["strides"]),
        bool(entry["padding_nan"]),
    )  # fmt: skip


def _repeat_move(step: int, entry: Mapping[str, Any], folder: Path, memory: Memory) -> None:
    """Repeat a logged move of elements by PyTorch in `memory`."""
    target, sources = entry["moved"], entry.get("sources", ())
    for key, content in entry["contents"].items():
        tensors = [tensor for tensor in (*sources, target) if tensor]
        view = next((tensor for tensor in tensors if int(tensor["storage"]) == int(key)), None)
        element = np.dtype(np.uint8) if view is None else numpy_dtype(str(view["dtype"]))
        _set_contents(int(key), content, element, (step, f"tensor {key}"), folder, memory)
    if target is None:
        return
    number = int(target["storage"])
    source_numbers = [int(source["storage"]) for source in sources]
    if number not in memory.storages:
        memory.storages[number] = np.zeros(_checked_size(entry["bytes"]), np.uint8)
    target_view, values = memory.view(target), [memory.view(source) for source in sources]
    with np.errstate(all="ignore"):
        if entry["picked"] is None:
            target_view[...] = values[0].astype(target_view.dtype) if values else entry["fill"]
        else:
            source_elements = [np.asarray([entry["fill"]]), *(array.ravel() for array in values)]
            table = np.concatenate([array.astype(target_view.dtype) for array in source_elements])
            picked = np.frombuffer(content_of(folder, entry["picked"]), np.int64)
            if picked.size and (picked.min() < 0 or picked.max() >= table.size):
                raise ValueError("an element of none of the sources")
            target_view[...] = table[picked].reshape(target_view.shape)
    if memory.derived is not None:
        memory.derived.note_move(number, source_numbers, target_view, values)
    op = next((memory.written_by[n] for n in source_numbers if n in memory.written_by), None)
    if source_numbers:
        source_dtype = values[0].dtype
        source_storage = memory.storages[source_numbers[0]]
        written_source = (
            None
            if op is None
            else source_storage[
                : source_storage.size // source_dtype.itemsize * source_dtype.itemsize
            ]
        )
        memory.moved.append(
            (
                target_view.copy(),
                None if written_source is None else written_source.view(source_dtype).copy(),
            )
        )
    if op is not None:
        memory.written_by[number] = op


def _set_contents(
    number: int, content: Mapping[str, Any], element: np.dtype[Any], step_and_name: tuple[int, str],
    folder: Path, memory: Memory,
) -> None:  # fmt: skip
    """Set a storage to logged contents; contents that are all NaN are memory never written.

    In such memory, and only there, elements get the bits of `POISON`. Contents of storages in
    `memory.disturbed` are changed.
    """
    size = _checked_size(content["bytes"])
    storage = np.frombuffer(content_of(folder, content["file"]), np.uint8).copy()
    if storage.size != size:
        raise ValueError("contents of another size than their storage")
    if number in memory.disturbed:  # the second highest bit: another magnitude, the same sign
        storage[element.itemsize - 1 :: element.itemsize] ^= 0x40
    values = storage[: size // element.itemsize * element.itemsize].view(element)
    name = _POISON_OF.get(element.name)
    if name is not None and values.size and np.isnan(values.astype(np.float32)).all():
        bits_type, bits = POISON[name]
        storage[: values.nbytes].view(bits_type)[:] = bits_type(bits)
    else:
        memory.unexplained[step_and_name] = values.copy()
    if memory.derived is not None:
        memory.derived.note_contents(
            number, step_and_name[1], memory.unexplained.get(step_and_name)
        )
    memory.storages[number] = storage
    memory.written_by.pop(number, None)


def numpy_dtype_of(short: str) -> np.dtype[Any]:
    """Return NumPy's type for a short type name of Triton; uint8 for unknown names."""
    return numpy_dtype(TORCH_NAMES.get(short, "uint8"))


def launch_entries(entries: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Return the entries of a log that are launches, in order."""
    return (entry for entry in entries if "launch" in entry)


def memory_steps(entries: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the entries that change memory, in order: launches, and moves by PyTorch."""
    return [entry for entry in entries if "launch" in entry or "moved" in entry]


def content_of(folder: Path, digest: Any) -> bytes:
    """Return the contents that the candidate's process has stored under a digest.

    Raises:
        CannotJudge: the file does not exist, or its name has another form.
    """
    try:
        return (folder / f"content-{_checked_digest(digest)}").read_bytes()
    except (OSError, ValueError) as error:
        raise CannotJudge(f"the log of launches was tampered with: {error!r}") from error


def _checked_size(value: Any) -> int:
    size = int(value)
    if not 0 <= size <= _LARGEST:
        raise ValueError(f"a storage of {size} bytes")
    return size


def _as_integers(values: Any) -> tuple[int, ...]:
    return tuple(int(value) for value in values)


def _checked_digest(text: Any) -> str:
    digest = str(text)
    if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
        raise ValueError("the name of a content file is not a digest")
    return digest
