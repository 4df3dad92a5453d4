"""What the labels of the corpus are compared with: every program run, every byte looked at.

Shares nothing with the rules but the evaluator, which says what each lane of each program touches.
Bounds are recomputed from offsets, races from the programs that touched each byte, overflow from
the same kernel with integers of 64 bits.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from corpus.questions.defects import Sample
from kvtrace.evaluate import Argument, Observer, Storage, TensorArgument, evaluate
from kvtrace.evaluate.arguments import with_storages
from kvtrace.evaluate.errors import DeviceAssertion
from kvtrace.evaluate.instrument import Instrument
from kvtrace.evaluate.observe import Access, FailedAssertion
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import Unknown, to_array
from kvtrace.ir import Module, Op, parse
from tests.support.replacing import replace


@dataclass
class Touched:
    """What one memory op touched: byte offsets from a tensor's data pointer, and by whom."""

    op: Op
    kind: str
    argument: int
    size: int
    offsets: np.ndarray
    programs: np.ndarray


MOST_ELEMENTS = 5_000_000


class TooMany(Exception):
    """A kernel touches more elements than are worth listing."""


class Watcher(Observer):
    """Keeps every element that is touched, and what could not be known."""

    def __init__(self) -> None:
        self.touched: list[Touched] = []
        self.elements = 0
        self.idle: dict[int, Op] = {}
        self.busy: set[int] = set()
        self.unknown: dict[int, tuple[Op, str]] = {}
        self.assertion: FailedAssertion | None = None

    def access(self, access: Access) -> None:
        if access.active == 0:
            self.idle[access.op.index] = access.op
        else:
            self.busy.add(access.op.index)
        found = access.elements()
        sure = access.certain and access.active is not None
        if found is None or not sure:
            if access.active != 0:
                self.unknown[access.op.index] = (access.op, access.reason)
            if found is None:
                return
        if not sure:
            return
        offsets, programs = found
        self.elements += len(offsets)
        if self.elements > MOST_ELEMENTS:
            raise TooMany(access.op.name)
        if len(offsets):
            assert access.argument is not None
            self.touched.append(
                Touched(
                    access.op, access.kind, access.argument, access.element_bytes,
                    np.asarray(offsets, np.int64), np.asarray(programs, np.int64),
                )
            )  # fmt: skip

    def device_assert(self, failure: FailedAssertion) -> None:
        self.assertion = failure


def watched(
    sample: Sample, module: Module | None = None, only: Sequence[int] | None = None
) -> Watcher:
    """Run every program of a sample (or those to look at), the contents as the label has them."""
    chosen = only or sample.look_at or None
    return watched_run(module or sample.module(), sample.bound(), sample.grid, chosen)


def watched_run(
    module: Module, arguments: Sequence[Argument], grid: Sequence[int],
    only: Sequence[int] | None = None,
) -> Watcher:  # fmt: skip
    """Run programs of a grid (None: all)."""
    watcher = Watcher()
    programs = None if only is None else np.array(only, np.int64)
    try:
        evaluate(module, arguments, grid, observers=[watcher], programs=programs)
    except DeviceAssertion:
        assert watcher.assertion is not None
    return watcher


def bytes_of(
    watcher: Watcher, arguments: Sequence[Argument], op: Op, number: int
) -> set[tuple[int, int]]:
    """Storage and byte of all that an op of a program touches, in all its iterations."""
    storages = [getattr(argument, "storage", None) for argument in arguments]
    found = set()
    for part in watcher.touched:
        tensor = arguments[part.argument]
        if part.op.index != op.index or not isinstance(tensor, TensorArgument):
            continue
        storage = storages.index(tensor.storage)  # each binding makes new ones
        for offset in part.offsets[part.programs == number].tolist():
            first = tensor.offset_bytes + offset
            found |= {(storage, first + i) for i in range(part.size)}
    return found


def bounds_broken(sample: Sample, watcher: Watcher) -> set[tuple[str, str]]:
    """Give rule and mark of every op that leaves its tensor's view or storage."""
    arguments = sample.bound()
    found = set()
    for touched in watcher.touched:
        tensor = arguments[touched.argument]
        assert isinstance(tensor, TensorArgument)
        first, last = touched.offsets, touched.offsets + touched.size
        low, high = tensor.storage_bytes
        outside = (first < low) | (last > high)
        low, high = tensor.view_bytes
        beyond = ~outside & ((first < low) | (last > high))
        if outside.any():
            found.add(("out-of-bounds", sample.mark_of(touched.op)))
        if beyond.any():
            found.add(("out-of-view", sample.mark_of(touched.op)))
    return found


def misaligned(sample: Sample, watcher: Watcher) -> set[str]:
    """Give the marks of ops that touch an element at no multiple of its size."""
    arguments = sample.bound()
    found = set()
    for touched in watcher.touched:
        tensor = arguments[touched.argument]
        assert isinstance(tensor, TensorArgument)
        if ((touched.offsets + tensor.offset_bytes) % touched.size).any():
            found.add(sample.mark_of(touched.op))
    return found


def never_active(sample: Sample, watcher: Watcher) -> set[str]:
    """Give the marks of ops that are reached, and whose mask leaves no lane in any program."""
    dead = [op for index, op in watcher.idle.items() if index not in watcher.busy]
    return {sample.mark_of(op) for op in dead}


def stored_past_extents(sample: Sample, watcher: Watcher) -> set[str]:
    """Give the marks of ops that touch more on hardware than where pointers and masks do it."""
    masked = watched(sample, replace(sample.module(), target=""))
    more, fewer = (_elements_by_op(each) for each in (watcher, masked))
    return {
        sample.mark_of(sample.module().ops[op]) for op, found in more.items() if found - fewer[op]
    }


def _elements_by_op(watcher: Watcher) -> dict[int, set[tuple[int, int]]]:
    found: dict[int, set[tuple[int, int]]] = defaultdict(set)
    for touched in watcher.touched:
        found[touched.op.index] |= set(
            zip(touched.offsets.tolist(), touched.programs.tolist(), strict=True)
        )
    return found


class _Maps(Instrument):
    """Notes copies by descriptors that no tensor map could be, and writes that begin below 0."""

    def __init__(self, sample: Sample) -> None:
        super().__init__()
        self.found: set[str] = set()
        self._sample = sample
        self._arguments = sample.bound()

    def wrapped(self, op: Op, step: Any) -> Any:
        if not op.name.startswith("tt.descriptor_"):
            return step
        size = value_type(op.operands[0].type).element.bytes
        number = value_type(op.operands[-1].type)

        def looked(values: list[Any], scope: Any) -> None:
            held = values[op.operands[0].id]
            tensor = self._arguments[held.base.argument]
            assert isinstance(tensor, TensorArgument)
            base, start, *sizes = (
                to_array(each, number).astype(np.int64)
                for each in (held.base.offset, values[op.operands[-1].id], *held.shape,
                             *held.strides[:-1])
            )  # fmt: skip
            rank = len(held.shape)
            whole = [base + tensor.offset_bytes, start * size, *(n * size for n in sizes[rank:])]
            writes = op.name in ("tt.descriptor_store", "tt.descriptor_reduce")
            starts = [to_array(values[each.id], number) for each in op.operands[-rank:]]
            faults = (
                *((address % 16).any() for address in whole),
                *((extent < 1).any() for extent in sizes[:rank]),
                *((start < 0).any() for start in starts if writes),
            )
            if any(faults):
                self.found.add(self._sample.mark_of(op))
            step(values, scope)

        return looked


def unlike_tensor_maps(sample: Sample) -> set[str]:
    """Give the marks of copies by descriptors with an address or extent that no tensor map has."""
    maps = _Maps(sample)
    evaluate(sample.module(), sample.bound(), sample.grid, instrument=maps)
    return maps.found


Toucher = tuple[str, int]
"""How an op touches a byte (it stores, loads, or does so atomically), and the op's index."""


def meetings(sample: Sample, watcher: Watcher) -> list[tuple[Op, int, Op, int]]:
    """Give pairs of ops and programs that touch the same byte, one writing, not both atomic."""
    # One cell for the first byte is enough, as elements of a storage do not straddle here.
    storages: dict[int, dict[int, dict[Toucher, set[int]]]] = defaultdict(dict)
    arguments = sample.bound()
    ops: dict[int, Op] = {}
    for touched in watcher.touched:
        tensor = arguments[touched.argument]
        assert isinstance(tensor, TensorArgument)
        ops[touched.op.index] = touched.op
        cells = storages[id(tensor.storage)]
        toucher = (
            touched.kind if touched.kind in ("store", "load") else "atomic",
            touched.op.index,
        )
        low, high = tensor.storage_bytes
        ours = (touched.offsets >= low) & (touched.offsets + touched.size <= high)
        places = (touched.offsets[ours] + tensor.offset_bytes).tolist()
        for place, program in zip(places, touched.programs[ours].tolist(), strict=True):
            cell = cells.get(place)
            if cell is None:
                cell = cells[place] = {}
            programs = cell.get(toucher)
            if programs is None:
                cell[toucher] = {program}
            else:
                programs.add(program)
    found = {}
    for cells in storages.values():
        for cell in cells.values():
            for op, programs, other, others in _conflicts(cell):
                pair = _two(programs, others)
                if pair is not None:
                    found.setdefault((op, other), (ops[op], pair[0], ops[other], pair[1]))
    return list(found.values())


def _conflicts(
    cell: dict[Toucher, set[int]],
) -> Iterator[tuple[int, set[int], int, set[int]]]:
    for (kind, op), programs in cell.items():
        if kind == "load":
            continue
        for (other_kind, other), others in cell.items():
            if kind == "store" or other_kind == "load":
                yield op, programs, other, others


def _two(programs: set[int], others: set[int]) -> tuple[int, int] | None:
    for program in programs:
        for other in others:
            if program != other:
                return program, other
    return None


def widened(sample: Sample) -> Module:
    """The sample's kernel with every 16- and 32-bit integer made 64 bits wide."""
    from tests.support.compile_ttir import compile_generic

    names = [name for name in sample.kernel.arg_names if name in sample.arguments]
    types = {name: sample._type(name) for name in names}
    signature = types | dict.fromkeys(sample.constexprs, "constexpr")
    text = compile_generic(sample.kernel, signature, sample.constexprs)
    text = _INTEGER_LOAD.sub(_loaded_and_widened, text)
    text = text.replace("!tt.ptr<i32>", "!tt.ptr<KEEP>")
    for narrow in ("i32", "i16"):
        text = text.replace(f"x{narrow}>", "xi64>").replace(f" {narrow}", " i64")
        text = text.replace(f"({narrow}", "(i64").replace(f"<{narrow}>", "<i64>")
    return parse(text.replace("KEEP", "i32"))


_INTEGER_LOAD = re.compile(
    r'(%\w+) = ("tt\.load"[^\n]*?) : \('
    r"((?:tensor<[\dx]+)?!tt\.ptr<i32>[^\n]*) -> (\S*i32>?)( loc[^\n]*)"
)


def _loaded_and_widened(load: re.Match[str]) -> str:
    """Return the text of a load, and behind it what makes its integers wide."""
    name, op, operands, type_, where = load.groups()
    narrow = type_.replace("i32", "KEEP")
    return (
        f"{name}_narrow = {op} : ({operands.replace('i32', 'KEEP')} -> {narrow}{where}\n"
        f'{name} = "arith.extsi"({name}_narrow) : ({narrow}) -> {type_}{where}'
    )


def where_wide_differs(sample: Sample, only: Sequence[int] | None = None) -> bool:
    """Tell whether some address, mask or number of trips changes with 64 bits."""
    narrow = watched(sample, only=only)
    try:
        wide = watched(sample, widened(sample), only)
    except TooMany:
        return True
    return _by_op(narrow, sample.module()) != _by_op(wide, widened(sample))


def _by_op(watcher: Watcher, module: Module) -> dict[int, tuple[bytes, bytes]]:
    """Return offsets and programs of each memory op, by its number among all ops of Triton's."""
    triton_ops = [op.index for op in module.ops if op.name.startswith("tt.")]
    found: dict[int, list[Touched]] = defaultdict(list)
    for touched in watcher.touched:
        found[triton_ops.index(touched.op.index)].append(touched)
    return {
        index: (
            np.concatenate([part.offsets for part in parts]).tobytes(),
            np.concatenate([part.programs for part in parts]).tobytes(),
        )
        for index, parts in found.items()
    }


class _Fill(Instrument):
    """Gives lanes of masked loads without `other` a multiple of a number instead of zero.

    Each load another one, as what they leave has nothing to do with each other: differences of two
    do not cancel.
    """

    def __init__(self, value: float) -> None:
        super().__init__()
        self._value = value

    def wrapped(self, op: Op, step: Any) -> Any:
        if op.name != "tt.load" or len(op.operands) != 2:  # pointer and mask, no `other`
            return step
        mask, result = op.operands[1], op.results[0].id
        type_ = value_type(op.results[0].type)

        def filled(values: list[Any], scope: Any) -> None:
            step(values, scope)
            loaded = values[result]
            active = to_array(values[mask.id], value_type(mask.type))
            shape = (scope.programs, *type_.shape)
            array = np.broadcast_to(to_array(loaded, type_), shape)
            fill = np.asarray(self._value * (1 + op.index)).astype(array.dtype)
            values[result] = np.where(np.broadcast_to(active, shape), array, fill)

        return filled


def with_contents(sample: Sample, seed: int = 0) -> list[Argument]:
    """Give arguments whose storages all hold something: what the label says, or small numbers."""
    rng = np.random.default_rng(seed)
    arguments = list(sample.bound())
    for argument in arguments:
        if not isinstance(argument, TensorArgument) or argument.storage.data is not None:
            continue
        element = np.dtype(argument.element.memory)
        count = -(-argument.storage.nbytes // element.itemsize)
        values = rng.integers(1, 5, count).astype(element)
        argument.storage.data = values.view(np.uint8)[: argument.storage.nbytes].copy()
    return arguments


def stored_with(sample: Sample, fill: float, only: Sequence[int] | None = None) -> list[bytes]:
    """Run a sample on contents, with a value of choice in lanes that have none; give storages."""
    return stored_by(sample.module(), with_contents(sample), sample.grid, fill, only)


def stored_by(
    module: Module, arguments: Sequence[Argument], grid: Sequence[int], fill: float,
    only: Sequence[int] | None = None,
) -> list[bytes]:  # fmt: skip
    """Return all storages as a run leaves copies of them, with `fill` in lanes without a value."""
    storages = {
        a.storage: Storage(a.storage.nbytes, a.storage.data.copy())
        for a in arguments
        if isinstance(a, TensorArgument) and a.storage.data is not None
    }
    copies = with_storages(arguments, storages.__getitem__)
    programs = None if only is None else np.array(only, np.int64)
    with np.errstate(all="ignore"):
        evaluate(module, copies, grid, instrument=_Fill(fill), programs=programs)
    return [storage.data.tobytes() for storage in storages.values()]


class Divisors(Instrument):
    """Notes integer divisions by zero."""

    def __init__(self) -> None:
        super().__init__()
        self.ops: list[Op] = []

    def wrapped(self, op: Op, step: Any) -> Any:
        if op.name not in ("arith.divsi", "arith.remsi", "arith.divui", "arith.remui"):
            return step
        divisor = op.operands[1]
        type_ = value_type(divisor.type)

        def looked(values: list[Any], scope: Any) -> None:
            held = values[divisor.id]
            if not isinstance(held, Unknown) and (np.asarray(to_array(held, type_)) == 0).any():
                self.ops.append(op)
            step(values, scope)

        return looked


def divided_by_zero(sample: Sample, only: Sequence[int] | None = None) -> set[str]:
    """Give the marks of divisions whose divisor was zero in some lane of some program."""
    divisors = Divisors()
    programs = None if only is None else np.array(only, np.int64)
    evaluate(
        sample.module(), sample.bound(), sample.grid, instrument=divisors, programs=programs
    )  # fmt: skip
    return {sample.mark_of(op) for op in divisors.ops}


def linear(program: Sequence[int], grid: Sequence[int]) -> int:
    """Linear id, x fastest, of a program."""
    x, y, _ = (*grid, 1, 1)[:3]
    return program[0] + x * (program[1] + y * program[2])
