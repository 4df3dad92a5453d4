"""Elements of outputs that launches of other sizes leave unwritten.

No rule claims that a kernel writes every element, and no formula proves it: launches at a few small
sizes are evaluated, without contents. An output is a tensor that the kernel stores to and never
reads, and that nothing else writes: by its text, the launching function makes it empty for this
launch alone. (Another kernel may write what is left of a tensor.) If every recorded launch wrote it
wholly and a launch of another size does not, that size is bad: with `n // 64` programs for `n`
elements, 65 is, where 64 and 128 were recorded. The padding of extents that are rounded to blocks
may stay unwritten, so these outputs are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Final

import numpy as np
from msgspec import Struct

from kvtrace.converters.findings.envelope import EnvelopeRow
from kvtrace.evaluate import Access, Observer, TensorArgument
from kvtrace.ir import Op
from kvtrace.recorded_calls.recorded import Call
from kvtrace.symbolic.functions import Applied
from kvtrace.symbolic.walk import summarize
from kvtrace.verdicts.replaying import run
from kvtrace.verdicts.sizes.envelope_rows import source_line
from kvtrace.verdicts.sizes.launch_numbers import Ambiguous, Number, call_with, launch_at
from kvtrace.verdicts.sizes.relations import Relations
from kvtrace.verdicts.sizes.sized import SIZE
from kvtrace.verdicts.sizes.ties import divisors_of

_MAX_LANES: Final = 1 << 18
_MAX_RECORDED_LANES: Final = 1 << 20
_MAX_RECORDED_CALLS: Final = 4
_MAX_ELEMENTS: Final = 1 << 20
_MAX_SIZES: Final = 8


class Gap(Struct, frozen=True):
    """Elements of an output that a launch leaves unwritten, as text, and a store to the output."""

    text: str
    op: Op


class _WrittenBytes(Observer):
    """The bytes of outputs that a launch's programs surely store, by the output's position.

    `unknown` has the outputs that may be stored elsewhere, too.
    """

    def __init__(self, call: Call, outputs: Iterable[int]) -> None:
        self.unknown: set[int] = set()
        self.written: dict[int, np.ndarray[tuple[int], np.dtype[np.bool_]]] = {}
        for position in outputs:
            tensor = call.tensor(position)
            self.written[position] = np.zeros(tensor.view_bytes[1], bool)

    def access(self, access: Access) -> None:
        """Add the bytes that a store reaches, if they are known."""
        position = access.argument
        if access.kind != "store" or access.active == 0 or position not in self.written:
            return
        is_certain = access.certain and access.active is not None
        elements = access.elements() if is_certain else None
        if elements is None:
            self.unknown.add(position)
            return
        written = self.written[position]
        for byte in range(access.element_bytes):
            offsets = elements[0] + byte
            written[offsets[(offsets >= 0) & (offsets < len(written))]] = True


def wholly_written(calls: Sequence[Call], names: frozenset[str]) -> frozenset[int]:
    """Return the outputs of which recorded launches of a kernel write every element.

    Launches that take too long to evaluate are left out, also beyond the smallest few.

    Args:
        calls: the launches.
        names: arguments that nothing but these launches writes.

    """
    outputs: frozenset[int] | None = None
    smallest = sorted(calls, key=elements_of)[:_MAX_RECORDED_CALLS]
    for call in smallest:
        outputs = _outputs_of(call, names) if outputs is None else outputs
        gaps = _gaps(call, outputs, _MAX_RECORDED_LANES) if outputs else {}
        outputs = frozenset(p for p in outputs if p in gaps and gaps[p] is None)
    return outputs or frozenset()


def elements_of(call: Call) -> int:
    """Return the number of elements of a launch's tensors."""
    return sum(prod(a.shape) for a in call.arguments if isinstance(a, TensorArgument))


def with_gaps(
    rows: Sequence[EnvelopeRow], relations: Relations, calls: Sequence[Call],
    other_sizes: Callable[[Number], str],
) -> list[EnvelopeRow]:  # fmt: skip
    """Return rows with the tried sizes that leave no element unwritten, or with one that does.

    Args:
        rows: rows of one kernel, of which those without a range are left as they are.
        relations: the relations of its launches, and the one to resize.
        calls: recorded launches.
        other_sizes: the text of the sizes of that launch but one.

    """
    is_proven = any(row.fine for row in rows)
    outputs = wholly_written(calls, relations.outputs) if is_proven else frozenset()
    tried: list[EnvelopeRow] = []
    for row in rows:
        size = relations.number(row.quantity)
        growing = [] if size is None else growing_outputs(relations, outputs, [size])
        if size is not None and growing and row.fine is not None:
            tried.append(_with_gap(row, relations, size, growing, other_sizes(size)))
        else:
            tried.append(row)
    return tried


def _with_gap(
    row: EnvelopeRow, relations: Relations, size: Number, outputs: Sequence[int], others: str
) -> EnvelopeRow:
    assert row.fine is not None
    written: list[int] = []
    for value in _sizes_to_try(relations, size, *row.fine):
        gap = gap_at(relations, outputs, {size: value})
        if isinstance(gap, Gap):
            return EnvelopeRow(
                row.quantity, row.recorded, "rule", value, gap.text, *source_line(gap.op),
                along=row.along, basis=row.basis, base=others, bases=row.bases,
                untried=row.untried,
            )  # fmt: skip
        written += [value] if gap else []
    return replace(row, written=tuple(written))


def gap_at(relations: Relations, outputs: Sequence[int], sizes: Mapping[Number, int]) -> Gap | bool:
    """Return the gap of growing outputs in the launch at sizes, or whether they surely have none.

    Sizes with which another number grows in an unknown way are not tried.
    """
    is_unknown = any(relations.unknown_growth(n, size) for n in relations.base for size in sizes)
    try:
        numbers, _ = launch_at(relations, sizes)
    except Ambiguous:
        return False
    if is_unknown or not outputs:
        return False
    gaps = _gaps(call_with(relations.call, numbers), outputs, _MAX_LANES)
    gap = next((gap for gap in gaps.values() if gap is not None), None)
    return gap or len(gaps) == len(outputs)


def growing_outputs(
    relations: Relations, outputs: Iterable[int], sizes: Iterable[Number]
) -> list[int]:
    """Return the outputs whose extents follow from a size, and are not rounded."""
    growing: list[int] = []
    for size in sizes:
        try:
            terms = relations.at({size: SIZE.term}).terms
        except Ambiguous:
            return []
        for position in outputs:
            extents = [terms[n] for n in terms if n[:2] == ("shape", position)]
            atoms = frozenset().union(*(extent.atoms() for extent in extents))
            if SIZE in atoms and not any(isinstance(atom, Applied) for atom in atoms):
                growing.append(position)
    return growing


def _sizes_to_try(relations: Relations, size: Number, low: int, high: int) -> list[int]:
    """Return small sizes from `low` to `high`: odd, and beyond one and two of the kernel's blocks.

    Example: 1, 3, 33, 65 for blocks of 32, and the recorded size less and plus 1.
    """
    blocks = divisors_of(relations.call.module)
    near = {1, 3, *(count * block + 1 for block in blocks for count in (1, 2))}
    recorded = relations.base[size]
    sizes = sorted(n for n in near if max(low, 1) <= n <= high)
    few = sizes[:: max(-(-len(sizes) // _MAX_SIZES), 1)]
    neighbors = {n for n in (recorded - 1, recorded + 1) if max(low, 1) <= n <= high}
    return sorted({*few, *neighbors} - {*relations.values(size)})


def _outputs_of(call: Call, names: frozenset[str]) -> frozenset[int]:
    """Return the tensors among `names` that a kernel only stores to, alone in their storages."""
    kinds: dict[int | None, set[str]] = {}
    for access in summarize(call.module).accesses:
        kinds.setdefault(access.argument, set()).add(access.kind)
    if None in kinds:
        return frozenset()
    tensors = {p: a for p, a in enumerate(call.arguments) if isinstance(a, TensorArgument)}
    storages = [tensor.storage for tensor in tensors.values()]
    return frozenset(
        position
        for position, tensor in tensors.items()
        if tensor.name in names
        and kinds.get(position) == {"store"}
        and storages.count(tensor.storage) == 1
    )


def _gaps(call: Call, outputs: Iterable[int], lanes: int) -> dict[int, Gap | None]:
    """Return the gaps of outputs in a launch, without those that are not known or never stored."""
    tensors = {p: a for p in outputs if isinstance(a := call.arguments[p], TensorArgument)}
    sizes = {p: prod(tensor.shape) for p, tensor in tensors.items()}
    tried = [p for p in tensors if 0 < sizes[p] <= _MAX_ELEMENTS and tensors[p].view_bytes[0] == 0]
    observer = _WrittenBytes(call, tried)
    if not tried or run(call, (observer,), contents="none", lanes=lanes) is not None:
        return {}
    gaps: dict[int, Gap | None] = {}
    for position in tried:
        tensor, written = tensors[position], observer.written[position]
        first_bytes = np.zeros((), np.int64)
        for extent, stride in zip(tensor.shape, tensor.strides, strict=True):
            steps = np.arange(extent) * (stride * tensor.element.bytes)
            first_bytes = first_bytes[..., None] + steps
        missing = np.argwhere(~written[first_bytes]).tolist()
        if position in observer.unknown or len(missing) == sizes[position]:
            continue
        gaps[position] = _gap(call, position, missing, sizes[position]) if len(missing) else None
    return gaps


def _gap(call: Call, position: int, missing: Sequence[Sequence[int]], count: int) -> Gap:
    name, first = call.arguments[position].name, ", ".join(map(str, missing[0]))
    text = (
        f"{len(missing):,} of {count:,} elements of {name} stay unwritten, "
        f"the first {name}[{first}], and recorded launches wrote all"
    )
    accesses = summarize(call.module).accesses
    return Gap(text, next(access.op for access in accesses if access.argument == position))
