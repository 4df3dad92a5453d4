"""`kvtrace.tolerance`: expected results of a kernel, with bounds on a device's deviations.

Bounds from the condition of a problem hold for any correct program. The problem is the reference;
without a reference, the kernel's own formula in exact arithmetic.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from msgspec.structs import replace

from kvtrace.addons.tolerance.condition import (
    Condition,
    Draw,
    Inputs,
    conditions,
    granted_distance,
    inputs_of,
)
from kvtrace.addons.tolerance.launched import (
    NotDerived,
    copied_arguments,
    in_order,
    name_of,
    parameters,
    run,
)
from kvtrace.addons.tolerance.outputs import Tolerance, exact_outputs, output_of
from kvtrace.addons.tolerance.references import ReferenceResults, call_reference
from kvtrace.evaluate import TensorArgument
from kvtrace.evaluate.dialects.tt_dot import dot_form
from kvtrace.evaluate.errors import Undecided
from kvtrace.evaluate.narrow import (
    computes_in_narrow_floats,
    foreign_roundings,
    narrow_sums,
    uses_tf32,
)
from kvtrace.evaluate.order import written_storages
from kvtrace.evaluate.registry import place
from kvtrace.evaluate.shadows.errors.analysis import CHANCE, Deviations
from kvtrace.evaluate.shadows.errors.exact_values import Numbers, held_elements
from kvtrace.evaluate.shadows.errors.planes import PLANES
from kvtrace.evaluate.shadows.errors.roundings import GrantedRoundings, deviations_for, is_float
from kvtrace.evaluate.shadows.errors.tt_dot import TF32_STEP
from kvtrace.evaluate.shadows.errors.tt_memory import BoundedMemory, StoragePlanes
from kvtrace.evaluate.types import value_type
from kvtrace.ir import Module
from kvtrace.ir.memory_sites import read_positions
from kvtrace.ir.ops import computing
from kvtrace.recorded_calls.recorded import Call

_DOTS: Final = computing("dot")


def tolerance(
    kernel: Any,
    *arguments: Any,
    grid: Any,
    reference: Callable[..., Any] | None = None,
    chance: float = CHANCE,
    tf32: bool | None = None,
    narrow: bool | None = None,
    cancellation: bool = False,
    **meta: Any,
) -> Tolerance:
    """Derive bounds on the deviation of a correct device's results, for given inputs.

    Args:
        kernel: a function decorated by `@triton.jit` or `@triton.autotune`.
        arguments: the kernel's arguments in order; tensors on the CPU, or on a GPU.
        grid: a tuple of programs, or a function of the constants that returns a tuple.
        reference: a function whose parameters have names of kernel parameters. It receives tensors
            in float64, and returns the expected output (for several, a dict by parameter).
        chance: probability that a correct result exceeds `probable` in any element.
        tf32: dots may round float32 factors to tf32; None: as the kernel requests.
        narrow: the kernel may keep sums in 16 bits, and round intermediate numbers to types that
            none of its tensors has. None: this does not widen bounds; False: it is forbidden.
        cancellation: the formula may lose more precision than the problem's condition grants.
        meta: constants and options by name, such as `BLOCK=256, num_warps=4`.

    Raises:
        NotDerived: nothing was launched, or the reference does not fit.
        Undecided: the kernel's path depends on its roundings.
    """
    ordered, meta = in_order(kernel, arguments, meta)
    derived, _ = launch_and_derive(
        kernel, copy.deepcopy(ordered), grid, meta, reference=reference, chance=chance,
        granted=GrantedRoundings(tf32, narrow), cancellation=cancellation,
    )  # fmt: skip
    return replace(derived, kernel=name_of(kernel))


def launch_and_derive(
    kernel: Any, given: Sequence[Any], grid: Any, by_name: Mapping[str, Any], *,
    reference: Callable[..., Any] | None, chance: float, granted: GrantedRoundings,
    cancellation: bool,
) -> tuple[Tolerance, dict[str, Any]]:  # fmt: skip
    """Call a reference, launch a kernel on the same arguments, which it may write, and `derive`.

    Also return the arguments, which the launch has written, by their parameters.
    """
    arguments, meta = in_order(kernel, given, by_name)
    by_parameter = dict(zip(parameters(kernel), arguments, strict=False)) | meta
    results = None if reference is None else call_reference(reference, by_parameter)
    launch = run(kernel, arguments, grid, meta)
    derived = derive(launch, results, chance=chance, granted=granted, cancellation=cancellation)
    return derived, by_parameter


def derive(
    launch: Call,
    results: ReferenceResults | None = None,
    *,
    chance: float = CHANCE,
    granted: GrantedRoundings,
    cancellation: bool = False,
) -> Tolerance:
    """Return the tolerance of a finished launch.

    Args:
        launch: the launch.
        results: the reference's results; None: the kernel's own formula in exact arithmetic is
            the reference.
        chance: probability that a correct result exceeds `probable` in any element.
        granted: roundings of the kernel that widen bounds.
        cancellation: the formula may lose more than the problem's condition grants.

    Raises:
        NotDerived: the reference returns other tensors, or other results with each call.
        Undecided: the kernel's path, or the set of written elements, depends on roundings.
        UnfitOp: the IR has an op that no compiler prints in this form.
    """
    bare = _bounds_of_kernel(launch, chance, granted)
    if results is not None:
        bare = _with_reference(bare, results.values)
    return _with_grants(bare, launch, results, granted, cancellation=cancellation)


def _bounds_of_kernel(launch: Call, chance: float, granted: GrantedRoundings) -> Tolerance:
    module, arguments = launch.module, copied_arguments(launch.arguments)
    deviations = Deviations(module, chance=chance, granted=granted)
    memory = deviations.run(arguments, launch.grid, launch.kernel)
    written = written_storages(module, arguments)
    outputs = {
        argument.name: output_of(argument, memory, deviations.open)
        for argument in arguments
        if isinstance(argument, TensorArgument)
        and argument.storage in written
        and argument.element.kind != "b"
    }
    not_granted = tuple(_ungranted_losses(module, memory, granted))
    # Narrow sums that the test leaves open (None) are not granted, but not refused either.
    all_but_refused = GrantedRoundings(granted.tf32, narrow=granted.narrow is not False)
    refused = tuple(_ungranted_losses(module, memory, all_but_refused))
    return Tolerance(launch.kernel, outputs, chance, not_granted, refused, launch)


def _with_reference(derived: Tolerance, results: Mapping[str, Any]) -> Tolerance:
    """Return the tolerance with a reference's results, for the outputs that they name.

    Results are float64 arrays by parameter; the empty name stands for the only output.

    Raises:
        NotDerived: the results are of other tensors, or have other shapes.
    """
    if "" in results:
        results = {derived.only.name: results[""]}
    outputs = dict(derived.outputs)
    for name, values in results.items():
        if name not in outputs:
            written = ", ".join(outputs) or "nothing"
            raise NotDerived(f"the reference returns {name}, but {derived.kernel} writes {written}")
        output = outputs[name]
        if values.size != output.exact.size:
            raise NotDerived(
                f"the reference returns {name} with the shape {list(values.shape)}, but the kernel "
                f"writes {list(output.exact.shape)}"
            )
        outputs[name] = replace(output, reference=values.reshape(output.exact.shape))
    return replace(derived, outputs={name: outputs[name] for name in results})


def _ungranted_losses(
    module: Module, memory: BoundedMemory, granted: GrantedRoundings
) -> list[str]:
    """Return the losses of precision in a kernel's IR that are not granted, as texts."""
    losses = []
    if not granted.narrow:
        losses += [f"a sum kept in 16 bits at {place(op)}" for op in narrow_sums(module)]
        losses += [
            f"a sum kept in memory of 16 bits at {place(op)}"
            for op in module.ops
            if op.index in memory.narrow_sums
        ]
        losses += [
            f"a product summed in 16 bits at {place(op)}"
            for op in module.ops
            if op.name in _DOTS and value_type(op.results[0].type).element.bits == 16
        ]
        losses += [
            f"an intermediate number rounded at {place(op)}" for op in foreign_roundings(module)
        ]
    if granted.tf32 is False:
        dots = [op for op in module.ops if op.name in _DOTS and dot_form(op).tf32]
        losses += [f"a product in tf32 at {place(op)}" for op in dots]
    return list(dict.fromkeys(losses))


# -- bounds from the problem's condition -----------------------------------------------------------


def _with_grants(
    derived: Tolerance, launch: Call, reference: ReferenceResults | None,
    granted: GrantedRoundings, *, cancellation: bool,
) -> Tolerance:  # fmt: skip
    """Return the tolerance with the bounds that the problem's condition grants to each output.

    The problem is the reference, or without one, the kernel's own formula in exact arithmetic.
    """
    elements = {
        tensor.name: tensor.element.name
        for tensor in launch.arguments
        if isinstance(tensor, TensorArgument) and tensor.name in derived.outputs
    }
    tf32 = granted.tf32 is not False and uses_tf32(launch.module)
    product_step, narrow = TF32_STEP if tf32 else 0.0, bool(granted.narrow)
    # A kernel without intermediate roundings does not need the roundings its inputs' types grant.
    rounds_intermediates = computes_in_narrow_floats(launch.module)
    types = tuple(elements.values())
    if reference is None:
        exact = {name: output.exact for name, output in derived.outputs.items()}
        inputs, condition_of = _formula_conditions(
            launch, exact, types, product_step, narrow=narrow, rounded=rounds_intermediates
        )
    else:
        inputs, condition_of = reference.conditions(
            types, product_step, narrow=narrow, rounded=rounds_intermediates
        )
        if "" in condition_of:
            condition_of = {derived.only.name: condition_of[""]}
    total = sum(output.exact.size for output in derived.outputs.values())
    scales = deviations_for(derived.chance, total)
    outputs = {}
    for name, output in derived.outputs.items():
        condition = _reshaped(condition_of[name], output.exact.shape)
        distance = granted_distance(output.expected, condition, inputs, elements[name], scales)
        # A reference in float64 loses by its condition, too.
        working = np.where(np.isfinite(condition.working), condition.working, 0.0)
        meaning = output.meaning + scales * 2.0**-53 * (working / inputs.working)
        outputs[name] = replace(
            output, granted=distance, meaning=meaning, cancellation=cancellation
        )
    return replace(derived, outputs=outputs)


def _reshaped(condition: Condition, shape: tuple[int, ...]) -> Condition:
    stored, working = condition.stored.reshape(shape), condition.working.reshape(shape)
    own = np.reshape(condition.own, shape) if np.ndim(condition.own) else 0.0
    return Condition(stored, working, condition.length, own)


def _formula_conditions(
    launch: Call, exact: Mapping[str, Numbers], results: tuple[str, ...],
    coarse: float, *, narrow: bool, rounded: bool,
) -> tuple[Inputs, Mapping[str, Condition]]:  # fmt: skip
    """Return the conditions of the kernel's exact formula, measured by moving its inputs.

    They are infinite if the kernel reads floats as numbers of another type.
    """
    arguments = launch.arguments
    positions_read = read_positions(launch.module)
    tensors = [
        argument
        for position, argument in enumerate(arguments)
        if position in positions_read
        and isinstance(argument, TensorArgument)
        and is_float(argument.element.name)
    ]
    # By storage, as its first tensor has it.
    contents = {id(tensor.storage): _contents(tensor) for tensor in reversed(tensors)}
    names = [tensor.element.name for tensor in tensors]
    arrays = [np.zeros(tensor.shape) for tensor in tensors]
    inputs = inputs_of(
        arrays, names, results=results, coarse=coarse, narrow=narrow, rounded=rounded
    )
    largest = max((float(_finite(v).max(initial=0.0)) for v in contents.values()), default=0.0)
    inputs = replace(inputs, largest=largest)
    units = dict(zip((id(tensor.storage) for tensor in tensors), inputs.units, strict=True))
    positions = {
        id(argument.storage): position
        for position, argument in enumerate(arguments)
        if argument in tensors
    }

    def moved(draw: Draw) -> Mapping[str, Numbers]:
        arguments_again = copied_arguments(launch.arguments)
        moved_planes: dict[int, StoragePlanes] = {}
        for storage, values in contents.items():
            tensor = arguments_again[positions[storage]]
            assert isinstance(tensor, TensorArgument)
            planes = np.zeros(values.shape, PLANES)
            planes["off"] = _offsets(values, draw.moved(values, units[storage]))
            size = tensor.element.bytes
            moved_planes[id(tensor.storage)] = (size, tensor.offset_bytes % size, planes)
        exact_evaluation = Deviations(launch.module, before=moved_planes, bounded=False)
        memory = exact_evaluation.run(arguments_again, launch.grid, launch.kernel)
        return exact_outputs(arguments_again, memory, exact)

    try:
        return inputs, conditions(moved, exact, inputs)
    except Undecided:  # floats are read as numbers of another type: the kernel's bounds decide
        unbounded = {name: np.full(values.shape, np.inf) for name, values in exact.items()}
        return inputs, {name: Condition(values, values) for name, values in unbounded.items()}


def _contents(tensor: TensorArgument) -> Numbers:
    """Return all elements of a tensor's storage in float64; zeros without data."""
    data = tensor.storage.data
    data = np.zeros(tensor.storage.nbytes, np.uint8) if data is None else data
    return held_elements(tensor, data).astype(np.float64)


def _finite(values: Numbers) -> Numbers:
    return np.asarray(np.abs(values[np.isfinite(values)]))


def _offsets(values: Numbers, moved: Numbers) -> Numbers:
    return np.where(np.isfinite(values), moved - np.where(np.isfinite(values), values, 0.0), 0.0)
