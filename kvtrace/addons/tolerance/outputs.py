"""Outputs of a launch: exact results, and bounds on a correct result's distance from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from kvtrace.addons.tolerance.launched import NotDerived
from kvtrace.evaluate import TensorArgument
from kvtrace.evaluate.arguments import Argument
from kvtrace.evaluate.shadows.errors.exact_values import Numbers, exact_values
from kvtrace.evaluate.shadows.errors.roundings import largest_of, meaning_radius
from kvtrace.evaluate.shadows.errors.tt_memory import BoundedMemory
from kvtrace.recorded_calls.recorded import Call
from kvtrace.text import columns


class Output(Struct, frozen=True):
    """A tensor that a launch writes, as float64 arrays of its shape.

    Attributes:
        name: the parameter.
        dtype: the element type in Triton's short form: fp32, bf16 …
        exact: the kernel's results in exact arithmetic.
        evaluated: the evaluator's results, rounded as the IR says.
        worst: the largest possible distance of a device's result from `exact`; infinity: unknown.
        probable: the distance exceeded only with the stated chance; at most `worst`.
        meaning: the largest distance of `exact` from the source's formula, whose constants are
            not rounded.
        reference: the reference's results; None without a reference.
        granted: the distance from `expected` that the problem's condition allows to any correct
            result; infinity: unknown.
        cancellation: the kernel may lose more than `granted`.
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
        """The values to compare with: the reference's, or else `exact`."""
        return self.exact if self.reference is None else self.reference

    def radius(self, bound: str = "probable") -> Numbers:
        """Return a correct result's largest distance from `expected`; infinity if unknown.

        This is the kernel's own bound (`probable` or `worst`), limited by `granted` unless
        `cancellation` is allowed.
        """
        radius = self.derived(bound)
        if self.granted is None:
            return radius
        if self.cancellation:
            return np.where(np.isfinite(radius), radius, self.granted)
        if self.reference is None:  # float64 is too inexact for the formula
            return np.where(self.meaning > self.granted, np.inf, np.minimum(radius, self.granted))
        return np.minimum(radius, self.granted)

    def derived(self, bound: str = "probable") -> Numbers:
        """Return the largest distance from `expected` on a device that follows the kernel's IR."""
        radius: Numbers = getattr(self, bound)
        return radius if self.reference is None else radius + self.meaning_radius()

    def meaning_radius(self) -> Numbers:
        """Return the largest allowed distance of the kernel's exact results from the reference."""
        return meaning_radius(self.meaning, self.expected)

    def as_rtol(self, bound: str = "probable") -> float:
        """Return the largest radius relative to the root mean square of `expected`.

        0 if that is 0.
        """
        size = self.expected[np.isfinite(self.expected)]
        scale = float(np.sqrt(np.mean(size * size))) if size.size else 0.0
        radii = self.radius(bound)
        radii = radii[np.isfinite(radii)]
        return float(radii.max(initial=0.0)) / scale if scale else 0.0

    @property
    def undecided(self) -> int:
        """The number of elements without a known bound."""
        return int((~np.isfinite(self.radius())).sum())


class Tolerance(Struct, frozen=True):
    """The expected results of a launch, with bounds.

    Attributes:
        kernel: the kernel's name.
        outputs: written tensors by parameter.
        chance: the largest probability that a correct result exceeds `probable` anywhere, if
            rounding errors are independent.
        not_granted: losses of precision that the test did not grant, with source locations.
        refused: losses of precision that the test forbids.
        launch: the launch.
    """

    kernel: str
    outputs: Mapping[str, Output]
    chance: float
    not_granted: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    launch: Call | None = None

    def __getitem__(self, name: str) -> Output:
        """Return an output by its parameter."""
        return self.outputs[name]

    @property
    def only(self) -> Output:
        """The only output.

        Raises:
            NotDerived: there are several outputs, or none.

        """
        if len(self.outputs) != 1:
            names = ", ".join(self.outputs) or "nothing"
            raise NotDerived(f"{self.kernel} writes {names}; name the tensor to compare")
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
    """Return a tensor's output after an evaluation; bounds of planes in `open_` are unknown."""
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
    """Return the exact results of the named tensors after an evaluation."""
    return {
        tensor.name: output_of(tensor, memory, set()).exact
        for tensor in arguments
        if isinstance(tensor, TensorArgument) and tensor.name in names
    }


def _short(radii: Numbers) -> str:
    finite = radii[np.isfinite(radii)]
    return f"{float(np.median(finite)):.2g}" if finite.size else "unknown"
