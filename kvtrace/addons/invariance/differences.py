"""`kvtrace diff`: does a changed kernel still compute the same?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import prod
from time import monotonic
from typing import TYPE_CHECKING, Final

import numpy as np

from kvtrace.addons.invariance.text import MEANINGS, versions_text
from kvtrace.addons.invariance.versions import ROUNDINGS, paired_calls, same_meaning
from kvtrace.converters.diff.model import KernelMeaning
from kvtrace.evaluate.arguments import ScalarArgument, TensorArgument
from kvtrace.evaluate.compiler import attribute
from kvtrace.ir.types import FloatType, TensorType
from kvtrace.text import plural

if TYPE_CHECKING:
    from kvtrace.addons.invariance.versions import OutputMeaning
    from kvtrace.addons.invariance.witness import Witness
    from kvtrace.converters.diff.model import Word
    from kvtrace.ir.model import Op
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.schema.trace import Selection

#: Of types with fewer bits than float32: so many units in the last place may be roundings.
_NARROW_ROUNDINGS: Final = 2.0
_NARROW: Final = 32
_IEEE: Final = ("2", "ieee")
_KEPT: Final = ("same", "equal")
_ROUNDED: Final = ("reassociated", "exact")


def kernel_meanings(
    before: Selection, after: Selection, kernels: frozenset[str], seconds: float
) -> tuple[KernelMeaning, ...]:
    """Compare both versions of the kernels of some names, output by output.

    Args:
        before: Runs of the one version.
        after: Runs of the other.
        kernels: Names of kernels.
        seconds: How long; of calls that are left then, nothing is known.

    """
    deadline = monotonic() + seconds
    found: dict[KernelMeaning, None] = {}
    alone: Counter[str] = Counter()
    late: Counter[str] = Counter()
    for call, other in paired_calls(before, after, kernels):
        if other is None:
            alone[call.kernel] += 1
        elif monotonic() > deadline:
            late[call.kernel] += 1
        else:
            found |= dict.fromkeys(_meanings(other, call))
    for counts, why in (
        (late, f"the limit of {seconds:g} s was reached (--meaning)"),
        (alone, "BEFORE has no call of it with the same tensors"),
    ):
        for kernel, count in counts.items():
            text = f"{plural(count, 'call')} not compared: {why}"
            found[KernelMeaning(kernel, None, "unknown", f"unknown: {text}", evidence=text)] = None
    return tuple(found)


def _meanings(first: Call, second: Call) -> Iterator[KernelMeaning]:
    if is_same_call(first, second):
        text = "the same code, launched with the same arguments"
        yield KernelMeaning(second.kernel, None, "same", text, "yes", text)
        return
    for each in same_meaning(first, second):
        yield _meaning(first, second, each)


def is_same_call(first: Call, second: Call) -> bool:
    """Whether two calls have the same TTIR except names and lines, arguments and grid."""
    if first.grid != second.grid or len(first.arguments) != len(second.arguments):
        return False
    return _arguments(first) == _arguments(second) and _code(first) == _code(second)


def _arguments(call: Call) -> list[tuple[object, ...]]:
    """Return a call's scalars, and its tensors by layout and place in memory, without contents."""
    storages: list[object] = []
    found: list[tuple[object, ...]] = []
    for argument in call.arguments:
        if isinstance(argument, ScalarArgument):
            found.append((repr(argument.value),))
            continue
        if argument.storage not in storages:
            storages.append(argument.storage)
        place = storages.index(argument.storage), argument.offset_bytes
        found.append((argument.dtype, argument.shape, argument.strides, *place))
    return found


def _code(call: Call) -> list[tuple[object, ...]]:
    """Return a module's ops without names and places."""
    return [
        (
            op.name,
            sorted((name, str(value)) for name, value in op.attributes.items()),
            [value.id for value in op.operands],
            [(value.id, value.type) for value in op.results],
            [
                [(value.id, value.type) for value in block.arguments]
                for region in op.regions
                for block in region.blocks
            ],
            -1 if op.block is None else op.block.region.owner.index,
        )
        for op in call.module.ops
    ]


def _meaning(first: Call, second: Call, each: OutputMeaning) -> KernelMeaning:
    text = "; ".join((f"{MEANINGS[each.meaning]} (by TTIR)", *versions_text(each)))
    same, evidence = _same(first, second, each)
    return KernelMeaning(each.kernel, each.output, each.meaning, text, same, evidence)


def _same(first: Call, second: Call, each: OutputMeaning) -> tuple[Word, str]:
    """Return whether a user gets the same results, and why in half a line."""
    if each.meaning == "violation":
        if each.witness is None:
            return "no", each.first or "an element is written by one side alone"
        return _differs(first, second, each, each.witness)
    if each.meaning in _KEPT:
        return "yes", MEANINGS[each.meaning]
    if each.meaning not in _ROUNDED:
        return "not known", MEANINGS[each.meaning].removeprefix("unknown: ")
    if narrowed := narrower_ops(first, second):
        return "not known", f"{MEANINGS[each.meaning]}, but {narrowed}"
    worst = max((a.witness.ulps for a in each.apart if a.witness is not None), default=0.0)
    if not worst <= _most_ulps(second, each):
        return (
            "not known",
            f"{MEANINGS[each.meaning]}, but {worst:,.3g} units in the last place off",
        )
    return "yes", MEANINGS[each.meaning]


def _short(value: str) -> str:
    """Return a number by six digits; any other text stays."""
    try:
        return f"{float(value):.6g}"
    except ValueError:
        return value


def _place(call: Call, each: OutputMeaning, element: int) -> str:
    """Return an element's index in each axis; of a tensor with gaps, its place in memory."""
    tensor = _output(call, each)
    if tensor is not None and element < prod(tensor.shape):
        steps = [prod(tensor.shape[axis + 1 :]) for axis in range(len(tensor.shape))]
        if steps == list(tensor.strides):
            return str([int(at) for at in np.unravel_index(element, tensor.shape)])
    return str(element)


def _output(call: Call, each: OutputMeaning) -> TensorArgument | None:
    """Return the argument that an output is, where it goes by the same name."""
    names = [value.name.lstrip("%") for value in call.module.main.arguments]
    for name, argument in zip(names, call.arguments, strict=False):
        if name == each.output and isinstance(argument, TensorArgument):
            return argument
    return None


def _differs(first: Call, second: Call, each: OutputMeaning, witness: Witness) -> tuple[Word, str]:
    """Return whether two values of an element are other results, or may be other roundings."""
    before, after = map(_short, witness.values)
    scalars = _other_scalars(first, second)
    because = f" ({scalars})" if scalars else ""
    text = f"element {_place(second, each, witness.element)} is {after}, was {before}"
    text = f"{text}, on {each.inputs}{because}"
    most = _most_ulps(second, each)
    if not because and witness.is_finite and witness.ulps <= most:
        return "not known", f"{text}: by rounding, or not"
    if not _is_finite(before) and _is_finite(after):
        return "not known", f"{text}: a number where there was none"
    return "no", text


def _most_ulps(call: Call, each: OutputMeaning) -> float:
    """Return how far apart roundings alone may bring an output; -1 of integers."""
    tensor = _output(call, each)
    if tensor is None:
        return 0.0
    if tensor.element.kind != "f":
        return -1.0
    return ROUNDINGS if tensor.element.bits >= _NARROW else _NARROW_ROUNDINGS


def _is_finite(value: str) -> bool:
    return value not in ("nan", "inf", "-inf")


def _other_scalars(first: Call, second: Call) -> str:
    """Say which scalar arguments differ."""
    names = [value.name.lstrip("%") for value in second.module.main.arguments]
    pairs = zip(names, first.arguments, second.arguments, strict=False)
    return ", ".join(
        f"{name} is {theirs.value}, was {mine.value}"
        for name, mine, theirs in pairs
        if isinstance(mine, ScalarArgument)
        and isinstance(theirs, ScalarArgument)
        and mine.value != theirs.value
    )


def narrower_ops(first: Call, second: Call) -> str:
    """Say of which ops AFTER has more that round to few bits; empty where of none."""
    before, after = (
        Counter(filter(None, map(_rounding, call.module.ops))) for call in (first, second)
    )
    more = after - before
    return ", ".join(f"it has {count} more {name}" for name, count in sorted(more.items()))


def _rounding(op: Op) -> str:
    """Name an op that rounds to fewer bits than float32 has; empty for all others."""
    precision = attribute(op, "inputPrecision")
    computes = precision is not None or op.name.partition(".")[0] in ("arith", "math")
    if not computes or not op.operands:
        return ""
    if precision is not None and str(precision) not in _IEEE:
        return f"{op.name} of input precision {precision}"
    for type_ in op.result_types:
        element = type_.element if isinstance(type_, TensorType) else type_
        if isinstance(element, FloatType) and element.width < _NARROW:
            return f"{op.name} to {element}"
    return ""
