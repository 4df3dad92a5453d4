"""Comparison of changed kernels for `kvtrace diff`: whether both versions compute the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from math import prod
from time import thread_time
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow.compute as pc
from msgspec import Struct, structs

from kvtrace.addons.invariance.input_kinds import INPUTS, OPTIONAL
from kvtrace.addons.invariance.kernels import Kernel
from kvtrace.addons.invariance.text import MEANINGS, versions_text
from kvtrace.addons.invariance.version_values import ROUNDINGS
from kvtrace.addons.invariance.versions import same_meaning
from kvtrace.addons.invariance.witness import is_finite
from kvtrace.converters.diff.model import KernelMeaning
from kvtrace.evaluate.arguments import ScalarArgument, TensorArgument
from kvtrace.ir.model import attribute
from kvtrace.ir.ops import COMBINING, ELEMENTWISE, UNROUNDED, computing
from kvtrace.ir.types import FloatType, element_of
from kvtrace.recorded_calls.reading import calls_of
from kvtrace.recorded_calls.recorded import Call, UnreadyCall
from kvtrace.schema.launch_flags import are_trials
from kvtrace.text import plural

if TYPE_CHECKING:
    from kvtrace.addons.invariance.input_kinds import Inputs
    from kvtrace.addons.invariance.versions import Meaning, OutputMeaning
    from kvtrace.addons.invariance.witness import Witness
    from kvtrace.converters.diff.model import Word
    from kvtrace.ir.model import Op
    from kvtrace.schema.trace import Run, Selection, Trace

    _Key = tuple[object, ...]

#: Units in the last place up to which values of a type narrower than float32 may be roundings.
_NARROW_ROUNDINGS: Final = 2.0
_NARROW: Final = 32
_IEEE: Final = ("2", "ieee")
#: Input precisions of `tt.dot` by the numbers that a text may have in place of names.
_PRECISIONS: Final = {"0": "tf32", "1": "tf32x3", "2": "ieee", "3": "bf16x3", "4": "bf16x6"}
_KEPT: Final = ("same", "equal")
_ROUNDED: Final = ("reassociated", "exact")
#: The bound of sums and products of the same n terms in two orders, for all inputs in its range.
_BOUND_OF_SUMS: Final = (
    "each sum of n terms within n * 2^-23 of the sum of their magnitudes, each product of itself, "
    "for all inputs for which nothing on the way overflows or vanishes"
)
_ROUNDED_OPS: Final = (ELEMENTWISE - UNROUNDED) | computing("dot")
#: Compile options that decide how floats are rounded, and how they are summed.
_ROUNDING: Final = (
    "enable_fp_fusion", "enable_reflect_ftz", "allow_flush_denorm", "ptx_options", "arch",
    "triton_version",
)  # fmt: skip
_ORDERING: Final = ("num_warps", "num_ctas")
_UNRECORDED: Final = "its contents before the launch, which the program may set, are not compared"
_ALONE: Final = "BEFORE has no such call of this kernel"
_REMOVED: Final = "AFTER has no such call of this kernel"
_SHARED_OTHERWISE: Final = "BEFORE and AFTER divide the work among calls in other ways"


def kernel_meanings(
    before: Selection, after: Selection, kernels: Mapping[str, str], seconds: float
) -> tuple[KernelMeaning, ...]:
    """Compare both versions of some kernels, output by output.

    Args:
        before: Runs of the first version.
        after: Runs of the second version.
        kernels: The kernels' names in AFTER, each with its name in BEFORE.
        seconds: CPU time limit; calls that are not reached are "unknown".

    """
    deadline = thread_time() + seconds
    meanings: dict[KernelMeaning, None] = {}
    calls = paired_calls(before, after, kernels)
    uncompared = Counter(
        (call.kernel, f"the call in AFTER cannot be evaluated: {call.reason}")
        for call in calls.unready_after
    )
    removed = Counter(call.kernel for call in calls.unpaired_before)
    removed -= Counter(kernels[call.kernel] for call in calls.unready_after)
    reasons = {call.kernel: call.reason for call in calls.unready_before}
    for pair in calls.pairs:
        kernel = pair.after.kernel
        if pair.before is None:
            reason = reasons.get(kernels[kernel])
            explanation = f"the call in BEFORE cannot be evaluated: {reason}" if reason else _ALONE
            uncompared[kernel, explanation] += 1
        elif removed[kernels[kernel]] and _key_of_all(pair.before) != _key_of_all(pair.after):
            uncompared[kernel, _SHARED_OTHERWISE] += 1
        elif thread_time() > deadline:
            explanation = f"the limit of {seconds:g} s was reached (--meaning)"
            uncompared[kernel, explanation] += 1
        else:
            meanings |= dict.fromkeys(_meanings(pair.before, pair.after))
    for kernel, name in kernels.items():
        if removed[name]:
            uncompared[kernel, _REMOVED] += removed[name]
    for (kernel, explanation), count in uncompared.items():
        text = f"{plural(count, 'call')} not compared: {explanation.removesuffix('.')}"
        meanings[KernelMeaning(kernel, None, "unknown", f"unknown: {text}", evidence=text)] = None
    return tuple(meanings)


def _meanings(first: Call, second: Call) -> Iterator[KernelMeaning]:
    options = _other_compilation(first, second)
    if is_same_call(first, second):
        text = "the same code, launched with the same arguments"
        answer: Meaning = "same"
        if options:
            answer, text = "reassociated", f"{text}, but {options}: {_BOUND_OF_SUMS}"
        yield KernelMeaning(second.kernel, None, answer, text, "yes", text)
        return
    for meaning in same_meaning(first, second):
        if options and meaning.meaning in _KEPT:
            bound = f"{options}: {_BOUND_OF_SUMS}"
            meaning = structs.replace(meaning, meaning="reassociated", bound=bound)
        yield _meaning(first, second, meaning)


def _meaning(first: Call, second: Call, meaning: OutputMeaning) -> KernelMeaning:
    text = "; ".join((f"{MEANINGS[meaning.meaning]} (by their IR)", *versions_text(meaning)))
    same, evidence = _answer(first, second, meaning)
    return KernelMeaning(second.kernel, meaning.output, meaning.meaning, text, same, evidence)


def _answer(first: Call, second: Call, meaning: OutputMeaning) -> tuple[Word, str]:
    """Return (answer, evidence): whether an output has the same values in both versions."""
    word, evidence = _answer_by_values(first, second, meaning)
    doubt = _handed_otherwise(first, second) if word == "no" else ""
    if doubt:
        return "not known", f"{evidence}, but {doubt}"
    precisions = _changed_precisions(first, second) if word == "not known" else ""
    return word, f"{evidence}; {precisions}" if precisions else evidence


def _handed_otherwise(first: Call, second: Call) -> str:
    """Return why the program may hand over other contents to the second version; "" if nothing."""
    kernels = Kernel(first), Kernel(second)
    before, after = (kernel.names for kernel in kernels)
    if before != after and sorted(before) == sorted(after):
        order = f"its parameters are now in the order {', '.join(after)}"
        return f"{order}, and callers may hand them over so"
    layouts = first.argument_layouts, second.argument_layouts
    storages = [[layout[3] for layout in side if len(layout) > 1] for side in layouts]
    if storages[0] != storages[1]:
        return "tensors that share memory in one version alone may hold the same in the other"
    scalars, others = first.scalars, second.scalars
    strides = {step for tensor in kernels[1].tensors.values() for step in tensor.strides}
    is_reordered = scalars != others and Counter(scalars.values()) == Counter(others.values())
    if is_reordered and {value for _, value in scalars.items() ^ others.items()} <= strides:
        return "it has the same strides in another order, and elements may lie so"
    return ""


def _answer_by_values(first: Call, second: Call, meaning: OutputMeaning) -> tuple[Word, str]:
    if meaning.meaning == "violation":
        answer: tuple[Word, str] = ("no", meaning.first or "only one version writes some element")
        if meaning.witness is not None:
            answer = _answer_by_witness(first, second, meaning, meaning.witness)
        alone_read = _alone_read(first, second, meaning) if answer[0] == "no" else ""
        return ("not known", f"{answer[1]}, but {alone_read}") if alone_read else answer
    if meaning.meaning in _KEPT:
        return "yes", MEANINGS[meaning.meaning]
    if meaning.meaning not in _ROUNDED:
        return "not known", MEANINGS[meaning.meaning].removeprefix("unknown: ")
    if untried_inputs := _untried(meaning):
        return "not known", f"{MEANINGS[meaning.meaning]}, but not evaluated on {untried_inputs[0]}"
    if narrower := narrower_ops(first, second):
        return "not known", f"{MEANINGS[meaning.meaning]}, but {narrower}"
    for apart in meaning.apart:
        witness = apart.witness
        if witness is None or apart.accuracy is not None:
            continue
        if not witness.ulps <= _ulps_of_roundings(first, meaning):
            text = _witness_text(first, meaning, witness, apart.inputs)
            return "not known", f"{MEANINGS[meaning.meaning]}, but {text}"
    if meaning.bound is not None:
        return "yes", f"{MEANINGS[meaning.meaning]}: {meaning.bound}"
    if meaning.meaning == "reassociated":
        return "yes", f"{MEANINGS[meaning.meaning]}: {_BOUND_OF_SUMS}"
    return "not known", f"{MEANINGS[meaning.meaning]}, but no bound of the roundings is derived"


def _untried(meaning: OutputMeaning) -> list[Inputs]:
    """Return the kinds of inputs on which versions with equal formulas were not evaluated.

    One version may overflow on such inputs. Empty if only the order of sums differs.
    """
    if meaning.meaning != "exact":
        return []
    tried = {difference.inputs for difference in meaning.apart} | OPTIONAL
    return [inputs for inputs in INPUTS if inputs not in tried]


def _short(value: str) -> str:
    """Return a number's text with six digits; any other text is returned unchanged."""
    try:
        return f"{float(value):.6g}"
    except ValueError:
        return value


def _index(tensor: TensorArgument | None, element: int) -> str:
    """Return an element's index in each axis, as text; in a tensor with gaps, its offset."""
    if tensor is not None and element < prod(tensor.shape):
        steps = [prod(tensor.shape[axis + 1 :]) for axis in range(len(tensor.shape))]
        if steps == list(tensor.strides):
            return str([int(at) for at in np.unravel_index(element, tensor.shape)])
    return str(element)


def _output(first: Call, meaning: OutputMeaning) -> TensorArgument | None:
    """Return the tensor of BEFORE's call that has the output's name, or None."""
    return Kernel(first).tensors.get(meaning.output)


def _answer_by_witness(
    first: Call, second: Call, meaning: OutputMeaning, witness: Witness
) -> tuple[Word, str]:
    """Return the answer and its evidence for an element with two values.

    "not known" if the values may be roundings of one number, or only the first one is not finite.
    """
    scalars = _changed_scalars(first, second)
    scalars_text = f" ({scalars})" if scalars else ""
    text = _witness_text(first, meaning, witness, meaning.inputs) + scalars_text
    is_rounding = witness.is_finite and witness.ulps <= _ulps_of_roundings(first, meaning)
    if is_rounding and not scalars_text:
        return "not known", f"{text}: this may be rounding"
    was_finite, is_now_finite = map(is_finite, witness.values)
    if is_now_finite and not was_finite:
        return "not known", f"{text}: before, the value was not finite"
    return "no", text


def _witness_text(call: Call, meaning: OutputMeaning, witness: Witness, inputs: Inputs) -> str:
    before, after = map(_short, witness.values)
    before, after = witness.values if before == after else (before, after)
    index = _index(_output(call, meaning), witness.element)
    return f"element {index} is {after}, was {before}, on {inputs}"


def _alone_read(first: Call, second: Call, meaning: OutputMeaning) -> str:
    """Return the text on an output that one version alone loads or atomically updates; else ""."""
    kernels = Kernel(first), Kernel(second)
    positions = {k.names.index(meaning.output) for k in kernels if meaning.output in k.names}
    reading = [
        any(a.kind != "store" and a.argument in positions for a in kernel.summary.accesses)
        for kernel in kernels
    ]
    return f"one version alone reads {meaning.output}: {_UNRECORDED}" if sum(reading) == 1 else ""


def _ulps_of_roundings(first: Call, meaning: OutputMeaning) -> float:
    """Return the units in the last place that roundings may explain; -1 for integers."""
    tensor = _output(first, meaning)
    if tensor is None:
        return 0.0
    if tensor.element.kind != "f":
        return -1.0
    return ROUNDINGS if tensor.element.bits >= _NARROW else _NARROW_ROUNDINGS


def _changed_scalars(first: Call, second: Call) -> str:
    """Return the text of the scalar arguments that differ, with both values; else ""."""
    pairs = zip(Kernel(second).names, first.arguments, second.arguments, strict=False)
    return ", ".join(
        f"{name} is {after.value}, was {before.value}"
        for name, before, after in pairs
        if isinstance(before, ScalarArgument)
        and isinstance(after, ScalarArgument)
        and before.value != after.value
    )


def narrower_ops(first: Call, second: Call) -> str:
    """Return the text of the ops that round to few bits and that AFTER has more of; else ""."""
    before, after = (
        Counter(filter(None, map(_rounding, call.module.ops))) for call in (first, second)
    )
    additional = after - before
    return ", ".join(f"it has {count} more {name}" for name, count in sorted(additional.items()))


def _other_compilation(first: Call, second: Call) -> str:
    """Return the options by which equal ops of two calls may give other bits; "" if none may."""
    ops = [op for call in (first, second) for op in call.module.ops if op.name in _ROUNDED_OPS]
    floats = [op for op in ops if isinstance(element_of(op.result_types[0]), FloatType)]
    reorders = any(
        op.name not in ELEMENTWISE or (op.block and op.block.region.owner.name in COMBINING)
        for op in floats
    )
    names = (*_ROUNDING, *(_ORDERING if reorders else ())) if floats else ()
    before, after = (
        {"num_warps": call.warps, "num_ctas": call.ctas, **call.module.options.recorded}
        for call in (first, second)
    )
    return ", ".join(
        f"{name} is {after.get(name, 'unset')}, was {before.get(name, 'unset')}"
        for name in names
        if before.get(name) != after.get(name)
    )


def _changed_precisions(first: Call, second: Call) -> str:
    """Return the text of the input precisions of products that only one version has; else ""."""
    before, after = (
        Counter(
            str(precision)
            for op in call.module.ops
            if (precision := attribute(op, "inputPrecision")) is not None
        )
        for call in (first, second)
    )
    old, new = (
        ", ".join(sorted(_PRECISIONS.get(name, name) for name in part))
        for part in (before - after, after - before)
    )
    return f"the input precision of its products is {new}, was {old}" if old and new else ""


def _rounding(op: Op) -> str:
    """Return the text of an op that rounds to fewer bits than float32 has; else ""."""
    precision = attribute(op, "inputPrecision")
    computes = precision is not None or op.name.partition(".")[0] in ("arith", "math")
    if not computes or not op.operands:
        return ""
    if precision is not None and str(precision) not in _IEEE:
        return f"{op.name} of input precision {precision}"
    for type_ in op.result_types:
        element = element_of(type_)
        if isinstance(element, FloatType) and element.width < _NARROW:
            return f"{op.name} to {element}"
    return ""


class CallPair(Struct, frozen=True):
    """A call of AFTER and the call of BEFORE that its results are compared with; None: no call."""

    before: Call | None
    after: Call


class CallPairs(Struct, frozen=True):
    """The pairs of two versions of a program, and the calls of each that cannot be evaluated.

    `unpaired_before` are calls of BEFORE, but for an autotuner's trials, that AFTER does not make.
    """

    pairs: tuple[CallPair, ...]
    unready_before: tuple[UnreadyCall, ...]
    unready_after: tuple[UnreadyCall, ...]
    unpaired_before: tuple[Call, ...] = ()


def paired_calls(before: Selection, after: Selection, kernels: Mapping[str, str]) -> CallPairs:
    """Pair each call of AFTER with the most similar call of BEFORE.

    Both calls of a pair have tensors of the same element types, shapes and strides. Calls with the
    same grid and scalars are paired first, then those with the same floats, then the others, as a
    scalar may be the change. A call of BEFORE is in at most one pair, rather no trial's.

    Args:
        before: Runs of the first version.
        after: Runs of the second version.
        kernels: The kernels' names in AFTER, each with its name in BEFORE.
    """
    after_calls, unready_after, trials_after = _calls(after, kernels)
    unpaired_before, unready_before, trials = _calls(before, {*kernels.values()})
    trials |= trials_after
    unpaired_before.sort(key=lambda call: id(call) in trials)

    def key_of_variant(call: Call) -> _Key:
        return (*_key_of_all(call), id(call) in trials, call.warps, call.ctas)

    partners: dict[int, Call] = {}
    for key in (key_of_variant, _key_of_all, _key_of_floats, _key_of_tensors):
        unpaired: dict[_Key, list[Call]] = {}
        for before_call in unpaired_before:
            unpaired.setdefault((before_call.kernel, *key(before_call)), []).append(before_call)
        for index, call in enumerate(after_calls):
            matches = unpaired.get((kernels[call.kernel], *key(call)))
            if index not in partners and matches:
                partners[index] = matches.pop(0)
        unpaired_before = [before_call for matches in unpaired.values() for before_call in matches]
    pairs = tuple(CallPair(partners.get(index), call) for index, call in enumerate(after_calls))
    removed = tuple(call for call in unpaired_before if id(call) not in trials)
    return CallPairs(pairs, unready_before, unready_after, removed)


def _calls(
    selection: Selection, kernels: Collection[str]
) -> tuple[list[Call], tuple[UnreadyCall, ...], set[int]]:
    """Return the calls of some kernels, those not evaluable, and ids of objects: trials alone."""
    ready: list[Call] = []
    unready: list[UnreadyCall] = []
    trials: set[int] = set()
    for run in selection.runs:
        trial_ids = _trial_calls(selection.trace, run)
        for call in calls_of(selection.trace, run):
            if call.kernel not in kernels:
                continue
            if isinstance(call, UnreadyCall):
                unready.append(call)
                continue
            ready.append(call)
            if call.call_id in trial_ids:
                trials.add(id(call))
    return ready, tuple(unready), trials


def _trial_calls(trace: Trace, run: Run) -> set[int]:
    """Return the ids of calls that were launched by autotuners and warm-ups alone."""
    ids: tuple[set[int], set[int]] = (set(), set())
    for launches in trace.pieces("launches", [run], ["call_id", "phase"]):
        are_of_trials = are_trials(launches)
        for call_ids, chosen in zip(ids, (pc.invert(are_of_trials), are_of_trials), strict=True):
            call_ids.update(launches["call_id"].filter(chosen).unique().to_pylist())
    return ids[1] - ids[0]


def _key_of_all(call: Call) -> _Key:
    return (*_key_of_tensors(call), call.grid, *call.scalars.values())


def _key_of_floats(call: Call) -> _Key:
    floats = [value for value in call.scalars.values() if isinstance(value, float)]
    return (*_key_of_tensors(call), *floats)


def _key_of_tensors(call: Call) -> _Key:
    return tuple(layout[:3] for layout in call.argument_layouts if len(layout) > 1)


def is_same_call(first: Call, second: Call) -> bool:
    """Return whether two calls have the same TTIR without names and lines, arguments and grid."""
    if first.grid != second.grid or len(first.arguments) != len(second.arguments):
        return False
    return first.argument_layouts == second.argument_layouts and _code(first) == _code(second)


def _code(call: Call) -> list[_Key]:
    """Return the ops of a kernel as comparable tuples, without names and source lines."""
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
