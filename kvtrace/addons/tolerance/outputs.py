"""What a launch writes to: exact numbers, and how far right results may be from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from kvtrace.addons.tolerance.launched import Launched, NotDerived
from kvtrace.evaluate import TensorArgument
from kvtrace.evaluate.shadows.errors.exact_values import exact_values
from kvtrace.evaluate.shadows.errors.roundings import largest_of, meaning_radius
from kvtrace.text import columns

if TYPE_CHECKING:
    from kvtrace.evaluate.arguments import Argument
    from kvtrace.evaluate.shadows.errors.exact_values import Numbers
    from kvtrace.evaluate.shadows.errors.tt_memory import BoundedMemory


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
        granted: how far the problem lets right results be from `expected`, whatever computes them;
            infinity: that is not known.
        cancellation: whether the kernel may lose more than that.
        largest: the largest finite number of the type.

    """

    name: str
    dtype: str
    exact: Numbers
    evaluated: Numbers
    worst: Numbers
    probable: Numbers
    meaning: Numbers
    reference: Numbers | None = None
    granted: Numbers | None = None
    cancellation: bool = False
    largest: float = np.inf

    @property
    def expected(self) -> Numbers:
        """What is compared with: the reference's values, or else the kernel's own meaning."""
        return self.exact if self.reference is None else self.reference

    def radius(self, bound: str = "probable") -> Numbers:
        """Return how far a right result may be from `expected`; infinity: it is not known.

        The kernel's own bound (`probable` or `worst`), and never more than the problem grants.
        """
        radius = self.derived(bound)
        if self.granted is None:
            return radius
        if self.cancellation:
            return np.where(np.isfinite(radius), radius, self.granted)
        if self.reference is None:  # float64 does not say what the formula means there
            return np.where(self.meaning > self.granted, np.inf, np.minimum(radius, self.granted))
        return np.minimum(radius, self.granted)

    def derived(self, bound: str = "probable") -> Numbers:
        """Return how far a device that keeps to the kernel's IR may be from `expected`."""
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
        return int((~np.isfinite(self.radius())).sum())


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
                "" if output.granted is None else _short(output.granted),
                f"{output.as_rtol():.2g}",
                f"{output.undecided:,}" if output.undecided else "",
            ]
            for output in self.outputs.values()
        ]
        head = ["output", "type", "elements", "probable", "worst", "granted", "÷ rms", "undecided"]
        aligned = "\n".join(columns(head, rows))
        return f"{self.kernel}: derived bounds (medians), chance {self.chance:g}\n{aligned}"


def output_of(tensor: TensorArgument, memory: BoundedMemory, open_: set[str]) -> Output:
    """Return what memory holds of a tensor after an evaluation; `open_`: bounds of no use."""
    element = tensor.element
    values = exact_values(tensor, memory, open_)
    return Output(
        tensor.name,
        tensor.dtype,
        values.exact,
        values.evaluated,
        values.worst,
        values.near,
        values.meaning,
        largest=largest_of(element) if element.kind == "f" else np.inf,
    )


def exact_outputs(
    arguments: Sequence[Argument], memory: BoundedMemory, names: Mapping[str, Any]
) -> dict[str, Numbers]:
    """Return the exact numbers of tensors after an evaluation, by name."""
    return {
        each.name: output_of(each, memory, set()).exact
        for each in arguments
        if isinstance(each, TensorArgument) and each.name in names
    }


def _short(radii: Numbers) -> str:
    finite = radii[np.isfinite(radii)]
    return f"{float(np.median(finite)):.2g}" if finite.size else "unknown"
