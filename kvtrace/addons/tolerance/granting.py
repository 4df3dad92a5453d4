"""Bounds from the condition of a launch's problem, whatever computes the results.

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
    from kvtrace.addons.tolerance.launched import Launched
    from kvtrace.addons.tolerance.references import ReferenceResults
    from kvtrace.evaluate.shadows.errors.exact_values import Numbers
    from kvtrace.evaluate.shadows.errors.tt_memory import StoragePlanes


def with_grants(
    derived: Tolerance, launch: Launched, referred: ReferenceResults | None,
    allowed: GrantedRoundings, *, cancellation: bool,
) -> Tolerance:  # fmt: skip
    """Return the tolerance with the bounds that the problem grants to each output.

    Args:
        derived: the tolerance, with the reference's values if there is a reference.
        launch: the launch.
        referred: the reference; None: the kernel's own formula in exact arithmetic is the problem.
        allowed: the granted precision.
        cancellation: the kernel's formula may lose more.
    """
    elements = {
        tensor.name: tensor.element.name
        for tensor in launch.before()
        if isinstance(tensor, TensorArgument) and tensor.name in derived.outputs
    }
    tf32 = allowed.tf32 is not False and uses_tf32(launch.module)
    coarse, narrow = TF32_STEP if tf32 else 0.0, bool(allowed.narrow)
    # A kernel without intermediate roundings does not need the roundings its inputs' types grant.
    rounded = computes_in_narrow_floats(launch.module)
    types = tuple(elements.values())
    if referred is None:
        exact = {name: output.exact for name, output in derived.outputs.items()}
        inputs, measured = _of_formula(launch, exact, types, coarse, narrow=narrow, rounded=rounded)
    else:
        inputs, measured = referred.conditions(types, coarse, narrow=narrow, rounded=rounded)
        if "" in measured:
            measured = {derived.only.name: measured[""]}
    total = sum(output.exact.size for output in derived.outputs.values())
    scales = deviations_for(derived.chance, total)
    outputs = {}
    for name, output in derived.outputs.items():
        condition = measured[name]
        shaped = Condition(
            condition.stored.reshape(output.exact.shape),
            condition.working.reshape(output.exact.shape),
            condition.length,
            np.reshape(condition.own, output.exact.shape) if np.ndim(condition.own) else 0.0,
        )
        radius = granted(output.expected, shaped, inputs, elements[name], scales)
        # A reference in float64 loses by its condition, too.
        moves = np.where(np.isfinite(shaped.working), shaped.working, 0.0) / inputs.working
        meaning = output.meaning + scales * 2.0**-53 * moves
        outputs[name] = replace(output, granted=radius, meaning=meaning, cancellation=cancellation)
    return replace(derived, outputs=outputs)


def _of_formula(
    launch: Launched, exact: Mapping[str, Numbers], results: tuple[str, ...], coarse: float, *,
    narrow: bool, rounded: bool,
) -> tuple[Inputs, Mapping[str, Condition]]:  # fmt: skip
    """Return the conditions of the kernel's formula in exact arithmetic, from moved inputs."""
    arguments = launch.before()
    read_positions = _read(launch)
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
    places = {
        id(argument.storage): position
        for position, argument in enumerate(arguments)
        if argument in tensors
    }

    def moved(draw: Draw) -> Mapping[str, Numbers]:
        again = launch.before()
        before: dict[int, StoragePlanes] = {}
        for storage, values in contents.items():
            tensor = again[places[storage]]
            assert isinstance(tensor, TensorArgument)
            planes = np.zeros(values.shape, PLANES)
            planes["off"] = _offsets(values, draw.moved(values, units[storage]))
            size = tensor.element.bytes
            before[id(tensor.storage)] = (size, tensor.offset_bytes % size, planes)
        exactly = Deviations(launch.module, before=before, bounded=False)
        evaluate(launch.module, again, launch.grid, kernel=launch.kernel, instrument=exactly)
        memory = exactly.memory
        assert memory is not None
        memory.finish()
        return exact_outputs(again, memory, exact)

    try:
        return inputs, conditions(moved, exact, inputs)
    except Undecided:  # it reads floats as numbers of another type: its own bounds decide
        unknown = {name: np.full(argument.shape, np.inf) for name, argument in exact.items()}
        return inputs, {name: Condition(argument, argument) for name, argument in unknown.items()}


def _read(launch: Launched) -> set[int]:
    """Return the positions of parameters through which a kernel may read memory."""
    sites = [site for site in memory_sites(launch.module) if site.kind != "store"]
    count = len(launch.module.main.arguments)
    return {place for place in range(count) if any(site.reaches(place) for site in sites)}


def _contents(tensor: TensorArgument) -> Numbers:
    """Return all elements of a tensor's storage, as float64."""
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
