"""`kvtrace.tolerance`: what a kernel's results should be, and how far a device may be off."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.tolerance.launches import Launched, NotDerived, name_of, parameters, run
from kvtrace.addons.tolerance.references import referred
from kvtrace.evaluate import TensorArgument, evaluate
from kvtrace.evaluate.dialects.tt_dot import dot_form
from kvtrace.evaluate.errors import UNFIT, UnfitOp
from kvtrace.evaluate.narrow import foreign_roundings, narrow_sums
from kvtrace.evaluate.order import written_storages
from kvtrace.evaluate.registry import place
from kvtrace.evaluate.rounding import from_memory
from kvtrace.evaluate.shadows.deviation.deviations import CHANCE, Deviations
from kvtrace.evaluate.shadows.deviation.planes import PLANES
from kvtrace.evaluate.shadows.deviation.roundings import Granted, meaning_radius
from kvtrace.evaluate.types import value_type
from kvtrace.ir.ops import computing
from kvtrace.text import columns

if TYPE_CHECKING:
    from kvtrace.evaluate.shadows.deviation.tt_memory import DeviatingMemory
    from kvtrace.ir import Module

Numbers = NDArray[np.float64]

_DOTS: Final = computing("dot")


@dataclass(frozen=True)
class Output:
    """One tensor that a launch writes to: float64 arrays of its shape.

    Attributes:
        name: the parameter.
        dtype: its elements' type, as Triton shortens it: fp32, bf16 …
        exact: what the kernel means in exact arithmetic.
        evaluated: what the evaluator gives, which rounds as the IR says.
        worst: how far a device may be from `exact` in the worst case; infinity: not known.
        probable: how far it may be except with the stated chance; never more than `worst`.
        meaning: how far `exact` may be from what the source means, for constants are rounded.
        reference: what the reference gives; None: there is none.

    """

    name: str
    dtype: str
    exact: Numbers
    evaluated: Numbers
    worst: Numbers
    probable: Numbers
    meaning: Numbers
    reference: Numbers | None = None

    @property
    def expected(self) -> Numbers:
        """What is compared with: the reference's values, or else the kernel's own meaning."""
        return self.exact if self.reference is None else self.reference

    def radius(self, bound: str = "probable") -> Numbers:
        """Return how far a right device may be from `expected`: `probable` or `worst`."""
        radius: Numbers = getattr(self, bound)
        return radius if self.reference is None else radius + self.meaning_radius()

    def meaning_radius(self) -> Numbers:
        """Return how far the kernel's meaning may be from the reference's."""
        return meaning_radius(self.meaning, self.expected)

    def as_rtol(self, bound: str = "probable") -> float:
        """Return the derived bound as one number: the largest radius by the root mean square."""
        size = self.expected[np.isfinite(self.expected)]
        scale = float(np.sqrt(np.mean(size * size))) if size.size else 0.0
        radii = self.radius(bound)
        radii = radii[np.isfinite(radii)]
        return float(radii.max(initial=0.0)) / scale if scale else 0.0

    @property
    def undecided(self) -> int:
        """Of how many elements no bound is known."""
        return int((~np.isfinite(self.probable)).sum())


@dataclass(frozen=True)
class Tolerance:
    """What a launch's results should be.

    Attributes:
        kernel: its name.
        outputs: what it writes to, by parameter.
        chance: how likely a right result is beyond `probable` anywhere, at most, if roundings err
            independently of each other.
        not_granted: what the kernel loses and its test did not grant, with its place in the source.
        refused: those of them that its test says must not be.
        launch: the launch that it was derived for.

    """

    kernel: str
    outputs: Mapping[str, Output]
    chance: float
    not_granted: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    launch: Launched | None = field(default=None, repr=False)

    def __getitem__(self, name: str) -> Output:
        """Return an output by its parameter."""
        return self.outputs[name]

    @property
    def only(self) -> Output:
        """The one output.

        Raises:
            NotDerived: there are several, or none.

        """
        if len(self.outputs) != 1:
            names = ", ".join(self.outputs) or "nothing"
            raise NotDerived(f"{self.kernel} writes {names}; say which tensor is meant")
        return next(iter(self.outputs.values()))

    def __str__(self) -> str:
        rows = [
            [
                output.name,
                output.dtype,
                f"{output.exact.size:,}",
                _short(output.probable),
                _short(output.worst),
                f"{output.as_rtol():.2g}",
                f"{output.undecided:,}" if output.undecided else "",
            ]
            for output in self.outputs.values()
        ]
        head = ["output", "type", "elements", "probable", "worst", "÷ rms", "undecided"]
        aligned = "\n".join(columns(head, rows))
        return f"{self.kernel}: derived bounds (medians), chance {self.chance:g}\n{aligned}"


def tolerance(
    kernel: Any,
    *arguments: Any,
    grid: Any,
    reference: Callable[..., Any] | None = None,
    chance: float = CHANCE,
    tf32: bool | None = None,
    narrow: bool | None = None,
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
    derived = derive(ran, chance=chance, granted=granted)
    derived = replace(derived, kernel=name_of(kernel))
    return derived if wanted is None else with_reference(derived, wanted)


def derive(launch: Launched, *, chance: float = CHANCE, granted: Granted) -> Tolerance:
    """Derive the tolerance of a launch.

    Raises:
        Undecided: the kernel's path, or what it leaves in memory, depends on roundings.
        UnfitOp: its IR is not as a compiler prints it.

    """
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
        argument.name: _output(argument, memory, deviations.open)
        for argument in arguments
        if isinstance(argument, TensorArgument)
        and argument.storage in written
        and argument.element.kind != "b"
    }
    lost = tuple(_not_granted(module, granted))
    strict = Granted(granted.tf32, narrow=True if granted.narrow is None else granted.narrow)
    refused = tuple(_not_granted(module, strict))
    return Tolerance(launch.kernel, outputs, chance, lost, refused, launch)


def with_reference(derived: Tolerance, wanted: Mapping[str, Any]) -> Tolerance:
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


def _output(tensor: TensorArgument, memory: DeviatingMemory, open_: set[str]) -> Output:
    element = tensor.element
    size, phase = element.bytes, tensor.offset_bytes % element.bytes
    held = memory.bytes_of(tensor.storage)
    count = (len(held) - phase) // size
    flat = from_memory(held[phase : phase + count * size].view(element.memory), element)
    evaluated = _viewed(flat, tensor, phase).astype(np.float64)
    kept = memory.planes.kept.get(id(tensor.storage))
    if kept is None:
        planes = np.zeros(evaluated.shape, PLANES)
    elif kept[:2] != (size, phase):
        raise NotDerived(f"{tensor.name} is written as elements of another size than its own")
    else:
        planes = _viewed(kept[2], tensor, phase)
    bounds = {
        plane: np.full(evaluated.shape, np.inf) if plane in open_ else np.array(planes[plane])
        for plane in ("worst", "near", "meaning")
    }
    return Output(
        tensor.name,
        tensor.dtype,
        evaluated + planes["off"],
        evaluated,
        bounds["worst"],
        bounds["near"],
        bounds["meaning"],
    )


def _viewed(flat: NDArray[Any], tensor: TensorArgument, phase: int) -> NDArray[Any]:
    """Return a tensor's elements of all of its storage."""
    start = (tensor.offset_bytes - phase) // tensor.element.bytes
    steps = tuple(stride * flat.itemsize for stride in tensor.strides)
    view = np.lib.stride_tricks.as_strided(flat[start:], tensor.shape, steps)
    return np.array(view)


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


def _short(radii: Numbers) -> str:
    finite = radii[np.isfinite(radii)]
    return f"{float(np.median(finite)):.2g}" if finite.size else "unknown"
