"""Bounds from the condition of a launch's problem, which hold for any correct program.

The problem is the reference; without a reference, the kernel's own formula in exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from kvtrace.addons.tolerance.outputs import Tolerance, exact_outputs
from kvtrace.evaluate import TensorArgument, evaluate
from kvtrace.evaluate.condition import (
    Condition,
    Draw,
    Inputs,
    conditions,
    granted,
    inputs_of,
)
from kvtrace.evaluate.errors import Undecided
from kvtrace.evaluate.narrow import computes_in_narrow_floats, uses_tf32
from kvtrace.evaluate.order import memory_sites
from kvtrace.evaluate.rounding import from_memory
from kvtrace.evaluate.shadows.errors.analysis import Deviations
from kvtrace.evaluate.shadows.errors.planes import PLANES
from kvtrace.evaluate.shadows.errors.roundings import (
    GrantedRoundings,
    deviations_for,
    is_float,
)
from kvtrace.evaluate.shadows.errors.tt_dot import TF32_STEP

if TYPE_CHECKING:
    from kvtrace.addons.tolerance.launched import ReplayableLaunch
    from kvtrace.addons.tolerance.references import ReferenceResults
    from kvtrace.evaluate.shadows.errors.exact_values import Numbers
    from kvtrace.evaluate.shadows.errors.tt_memory import StoragePlanes


def with_grants(
    derived: Tolerance, launch: ReplayableLaunch, reference: ReferenceResults | None,
    allowed: GrantedRoundings, *, cancellation: bool,
) -> Tolerance:  # fmt: skip
    """Return the tolerance with the bounds that the problem's condition grants to each output.

    Args:
        derived: the tolerance, with the reference's values if there is a reference.
        launch: the launch.
        reference: the reference's results; None: the kernel's own formula in exact arithmetic is
            the problem.
        allowed: the granted precision.
        cancellation: the kernel's formula may lose more.
    """
    elements = {
        tensor.name: tensor.element.name
        for tensor in launch.before()
        if isinstance(tensor, TensorArgument) and tensor.name in derived.outputs
    }
    tf32 = allowed.tf32 is not False and uses_tf32(launch.module)
    product_step, narrow = TF32_STEP if tf32 else 0.0, bool(allowed.narrow)
    # A kernel without intermediate roundings does not need the roundings its inputs' types grant.
    rounds_intermediates = computes_in_narrow_floats(launch.module)
    types = tuple(elements.values())
    if reference is None:
        exact = {name: output.exact for name, output in derived.outputs.items()}
        inputs, conditions_by_output = _formula_conditions(
            launch, exact, types, product_step, narrow=narrow, rounded=rounds_intermediates
        )
    else:
        inputs, conditions_by_output = reference.conditions(
            types, product_step, narrow=narrow, rounded=rounds_intermediates
        )
        if "" in conditions_by_output:
            conditions_by_output = {derived.only.name: conditions_by_output[""]}
    total = sum(output.exact.size for output in derived.outputs.values())
    scales = deviations_for(derived.chance, total)
    outputs = {}
    for name, output in derived.outputs.items():
        condition = conditions_by_output[name]
        output_condition = Condition(
            condition.stored.reshape(output.exact.shape),
            condition.working.reshape(output.exact.shape),
            condition.length,
            np.reshape(condition.own, output.exact.shape) if np.ndim(condition.own) else 0.0,
        )
        radius = granted(output.expected, output_condition, inputs, elements[name], scales)
        # A reference in float64 loses by its condition, too.
        deviations = (
            np.where(np.isfinite(output_condition.working), output_condition.working, 0.0)
            / inputs.working
        )
        meaning = output.meaning + scales * 2.0**-53 * deviations
        outputs[name] = replace(output, granted=radius, meaning=meaning, cancellation=cancellation)
    return replace(derived, outputs=outputs)


def _formula_conditions(
    launch: ReplayableLaunch, exact: Mapping[str, Numbers], results: tuple[str, ...],
    coarse: float, *, narrow: bool, rounded: bool,
) -> tuple[Inputs, Mapping[str, Condition]]:  # fmt: skip
    """Return the conditions of the kernel's exact formula, measured by moving its inputs.

    They are infinite if the kernel reads floats as numbers of another type.
    """
    arguments = launch.before()
    read_positions = _read_positions(launch)
    tensors = [
        argument
        for position, argument in enumerate(arguments)
        if position in read_positions
        and isinstance(argument, TensorArgument)
        and is_float(argument.element.name)
    ]
    contents = {id(argument.storage): _contents(argument) for argument in reversed(tensors)}
    names = [argument.element.name for argument in tensors]
    arrays = [np.zeros(argument.shape) for argument in tensors]
    inputs = inputs_of(
        arrays, names, results=results, coarse=coarse, narrow=narrow, rounded=rounded
    )
    largest = max(
        (float(_finite(argument).max(initial=0.0)) for argument in contents.values()), default=0.0
    )
    inputs = replace(inputs, largest=largest)
    units = dict(zip((id(argument.storage) for argument in tensors), inputs.units, strict=True))
    positions = {
        id(argument.storage): position
        for position, argument in enumerate(arguments)
        if argument in tensors
    }

    def moved(draw: Draw) -> Mapping[str, Numbers]:
        arguments_again = launch.before()
        moved_planes: dict[int, StoragePlanes] = {}
        for storage, values in contents.items():
            tensor = arguments_again[positions[storage]]
            assert isinstance(tensor, TensorArgument)
            planes = np.zeros(values.shape, PLANES)
            planes["off"] = _offsets(values, draw.moved(values, units[storage]))
            size = tensor.element.bytes
            moved_planes[id(tensor.storage)] = (size, tensor.offset_bytes % size, planes)
        exact_evaluation = Deviations(launch.module, before=moved_planes, bounded=False)
        evaluate(
            launch.module,
            arguments_again,
            launch.grid,
            kernel=launch.kernel,
            instrument=exact_evaluation,
        )
        memory = exact_evaluation.memory
        assert memory is not None
        memory.finish()
        return exact_outputs(arguments_again, memory, exact)

    try:
        return inputs, conditions(moved, exact, inputs)
    except Undecided:  # floats are read as numbers of another type: the kernel's bounds decide
        unknown = {name: np.full(argument.shape, np.inf) for name, argument in exact.items()}
        return inputs, {name: Condition(argument, argument) for name, argument in unknown.items()}


def _read_positions(launch: ReplayableLaunch) -> set[int]:
    """Return the positions of parameters through which a kernel may read memory."""
    sites = [site for site in memory_sites(launch.module) if site.kind != "store"]
    count = len(launch.module.main.arguments)
    return {position for position in range(count) if any(site.reaches(position) for site in sites)}


def _contents(tensor: TensorArgument) -> Numbers:
    """Return all elements of a tensor's storage in float64; zeros without data."""
    size, phase = tensor.element.bytes, tensor.offset_bytes % tensor.element.bytes
    data = tensor.storage.data
    if data is None:
        return np.zeros((tensor.storage.nbytes - phase) // size)
    count = (len(data) - phase) // size
    stored = data[phase : phase + count * size].view(tensor.element.memory)
    return np.array(from_memory(stored, tensor.element), np.float64)


def _finite(values: Numbers) -> Numbers:
    return np.asarray(np.abs(values[np.isfinite(values)]))


def _offsets(values: Numbers, moved: Numbers) -> Numbers:
    return np.where(np.isfinite(values), moved - np.where(np.isfinite(values), values, 0.0), 0.0)
