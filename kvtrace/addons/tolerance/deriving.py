"""`kvtrace.tolerance`: what a kernel's results should be, and how far a device may be off."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from kvtrace.addons.tolerance.granting import with_grants
from kvtrace.addons.tolerance.launched import Launched, NotDerived, name_of, parameters, run
from kvtrace.addons.tolerance.outputs import Tolerance, output_of
from kvtrace.addons.tolerance.references import Referred, referred
from kvtrace.evaluate import TensorArgument, evaluate
from kvtrace.evaluate.dialects.tt_dot import dot_form
from kvtrace.evaluate.errors import UNFIT, UnfitOp
from kvtrace.evaluate.narrow import foreign_roundings, narrow_sums
from kvtrace.evaluate.order import written_storages
from kvtrace.evaluate.registry import place
from kvtrace.evaluate.shadows.errors.analysis import CHANCE, Deviations
from kvtrace.evaluate.shadows.errors.roundings import Granted
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
    """Derive how far a right device's results may be off, for a kernel and these inputs.

        derived = kvtrace.tolerance(softmax, x, out, 1000, grid=(8,), BLOCK=1024)
        derived["out"].probable, derived["out"].worst

    The launch works on copies: the tensors that are handed over stay as they are.

    Args:
        kernel: what `@triton.jit` or `@triton.autotune` made.
        arguments: its arguments in order; tensors on the CPU, or on a GPU.
        grid: a tuple of programs, or a function of the constants that returns one.
        reference: a function of parameters of the kernel, by their names, that is given tensors in
            float64, and returns what the output should be (a dict by parameter, if several).
        chance: how likely a right result may be beyond `probable`, in all elements together.
        tf32: whether dots may cut float32 factors to tf32; None: as the kernel asks.
        narrow: whether the kernel may keep sums in 16 bits, and round numbers on the way to types
            that none of its tensors has. None: that does not widen bounds; False: it must not.
        cancellation: whether its formula may lose more than the problem's condition grants.
        meta: constants and options by name, as `BLOCK=256, num_warps=4`.

    Raises:
        NotDerived: nothing was launched, or the reference does not fit.
        Undecided: the kernel's path depends on its roundings.

    """
    given = copy.deepcopy(list(arguments))
    names = list(parameters(kernel))
    wanted = None
    if reference is not None:
        wanted = referred(reference, dict(zip(names, arguments, strict=False)) | meta)
    ran = run(kernel, given, grid, meta)
    granted = Granted(tf32, narrow)
    derived = derive(ran, wanted, chance=chance, granted=granted, cancellation=cancellation)
    return replace(derived, kernel=name_of(kernel))


def derive(
    launch: Launched,
    wanted: Referred | None = None,
    *,
    chance: float = CHANCE,
    granted: Granted,
    cancellation: bool = False,
) -> Tolerance:
    """Derive the tolerance of a launch.

    Args:
        launch: what was launched.
        wanted: the reference; None: the kernel's own formula in exact arithmetic is one.
        chance: how likely a right result may be beyond `probable`, in all elements together.
        granted: what of the kernel's own roundings counts.
        cancellation: whether its formula may lose more than the problem's condition grants.

    Raises:
        NotDerived: the reference gives other tensors, or other results each time.
        Undecided: the kernel's path, or what it leaves in memory, depends on roundings.
        UnfitOp: its IR is not as a compiler prints it.

    """
    bare = _own_bounds(launch, chance, granted)
    if wanted is not None:
        bare = _with_reference(bare, wanted.values)
    return with_grants(bare, launch, wanted, granted, cancellation=cancellation)


def _own_bounds(launch: Launched, chance: float, granted: Granted) -> Tolerance:
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
    lost = tuple(_not_granted(module, granted))
    strict = Granted(granted.tf32, narrow=True if granted.narrow is None else granted.narrow)
    refused = tuple(_not_granted(module, strict))
    return Tolerance(launch.kernel, outputs, chance, lost, refused, launch)


def _with_reference(derived: Tolerance, wanted: Mapping[str, Any]) -> Tolerance:
    """Put a reference's results beside.

    Args:
        derived: what was derived.
        wanted: float64 arrays by parameter; under an empty name, that of the only output.

    Raises:
        NotDerived: they are of other tensors, or of other shapes.

    """
    if "" in wanted:
        wanted = {derived.only.name: wanted[""]}
    outputs = dict(derived.outputs)
    for name, values in wanted.items():
        if name not in outputs:
            known = ", ".join(outputs) or "nothing"
            raise NotDerived(f"the reference gives {name}, and {derived.kernel} writes {known}")
        found = outputs[name]
        if values.size != found.exact.size:
            raise NotDerived(
                f"the reference gives {name} with the shape {list(values.shape)}, and the kernel "
                f"writes {list(found.exact.shape)}"
            )
        outputs[name] = replace(found, reference=values.reshape(found.exact.shape))
    return replace(derived, outputs={name: outputs[name] for name in wanted})


def _not_granted(module: Module, granted: Granted) -> list[str]:
    """Say what a kernel loses, by its IR, that does not count."""
    found = []
    if not granted.narrow:
        found += [f"a sum kept in 16 bits at {place(op)}" for op in narrow_sums(module)]
        found += [
            f"a product summed in 16 bits at {place(op)}"
            for op in module.ops
            if op.name in _DOTS and value_type(op.results[0].type).element.bits == 16
        ]
        found += [f"a number rounded on the way at {place(op)}" for op in foreign_roundings(module)]
    if granted.tf32 is False:
        dots = [op for op in module.ops if op.name in _DOTS and dot_form(op).tf32]
        found += [f"a product in tf32 at {place(op)}" for op in dots]
    return list(dict.fromkeys(found))
