"""`kvtrace.tolerance`: expected results of a kernel, with bounds on a device's deviations."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from kvtrace.addons.tolerance.granting import with_grants
from kvtrace.addons.tolerance.launched import (
    NotDerived,
    ReplayableLaunch,
    in_order,
    name_of,
    parameters,
    run,
)
from kvtrace.addons.tolerance.outputs import Tolerance, output_of
from kvtrace.addons.tolerance.references import ReferenceResults, call_reference
from kvtrace.evaluate import TensorArgument, evaluate
from kvtrace.evaluate.dialects.tt_dot import dot_form
from kvtrace.evaluate.errors import UNFIT, UnfitOp
from kvtrace.evaluate.narrow import foreign_roundings, narrow_sums
from kvtrace.evaluate.order import written_storages
from kvtrace.evaluate.registry import place
from kvtrace.evaluate.shadows.errors.analysis import CHANCE, Deviations
from kvtrace.evaluate.shadows.errors.roundings import GrantedRoundings
from kvtrace.evaluate.types import value_type
from kvtrace.ir.ops import computing

if TYPE_CHECKING:
    from kvtrace.ir import Module

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
    copies = copy.deepcopy(ordered)
    names = list(parameters(kernel))
    reference_results = None
    if reference is not None:
        reference_results = call_reference(
            reference, dict(zip(names, ordered, strict=False)) | meta
        )
    launch = run(kernel, copies, grid, meta)
    granted = GrantedRoundings(tf32, narrow)
    derived = derive(
        launch, reference_results, chance=chance, granted=granted, cancellation=cancellation
    )
    return replace(derived, kernel=name_of(kernel))


def derive(
    launch: ReplayableLaunch,
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
    return with_grants(bare, launch, results, granted, cancellation=cancellation)


def _bounds_of_kernel(
    launch: ReplayableLaunch, chance: float, granted: GrantedRoundings
) -> Tolerance:
    module, arguments = launch.module, launch.before()
    deviations = Deviations(module, chance=chance, granted=granted)
    try:
        evaluate(module, arguments, launch.grid, kernel=launch.kernel, instrument=deviations)
    except UNFIT as error:
        raise UnfitOp(launch.kernel, error) from error
    memory = deviations.memory
    assert memory is not None
    memory.finish()
    written = written_storages(module, arguments)
    outputs = {
        argument.name: output_of(argument, memory, deviations.open)
        for argument in arguments
        if isinstance(argument, TensorArgument)
        and argument.storage in written
        and argument.element.kind != "b"
    }
    not_granted = tuple(_forbidden_losses(module, granted))
    with_narrow_by_default = GrantedRoundings(
        granted.tf32, narrow=True if granted.narrow is None else granted.narrow
    )
    refused = tuple(_forbidden_losses(module, with_narrow_by_default))
    return Tolerance(launch.kernel, outputs, chance, not_granted, refused, launch)


def _with_reference(derived: Tolerance, results: Mapping[str, Any]) -> Tolerance:
    """Return the tolerance with a reference's results, for the outputs that they name.

    Args:
        derived: the tolerance.
        results: float64 arrays by parameter; the empty name stands for the only output.

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


def _forbidden_losses(module: Module, granted: GrantedRoundings) -> list[str]:
    """Return the losses of precision in a kernel's IR that are not granted, as texts."""
    losses = []
    if not granted.narrow:
        losses += [f"a sum kept in 16 bits at {place(op)}" for op in narrow_sums(module)]
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
