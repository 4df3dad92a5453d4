"""Reference functions, called in float64 with kernel arguments by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from kvtrace.addons.tolerance.condition import (
    FLOATS,
    Condition,
    Draw,
    Inputs,
    are_alike,
    conditions,
    inputs_of,
    reference_losses,
)
from kvtrace.addons.tolerance.launched import NotDerived
from kvtrace.addons.tolerance.log_sums import by_log_sums
from kvtrace.evaluate.shadows.errors.roundings import unit_of


class ReferenceResults(Struct, frozen=True):
    """A reference function, and its results for a launch's arguments.

    Attributes:
        reference: the function.
        given: the function's arguments, as before the launch.
        values: the results in float64, by kernel parameter; "" is the name of a single result.
    """

    reference: Callable[..., Any]
    arguments: Mapping[str, Any]
    values: Mapping[str, NDArray[np.float64]]

    def conditions(
        self, results: tuple[str, ...], coarse: float, *, narrow: bool, rounded: bool
    ) -> tuple[Inputs, Mapping[str, Condition]]:
        """Return the inputs, and the results' conditions: their change when the inputs are moved.

        Args:
            results: MLIR types of the kernel's outputs.
            coarse: the granted precision of products.
            narrow: sums in 16 bits are granted.
            rounded: the kernel may round intermediate numbers to its inputs' types.

        Raises:
            NotDerived: the reference returns other results with each call.
        """
        floats = {
            name: type_ for name, value in self.arguments.items() if (type_ := _float_of(value))
        }
        arrays = [as_array(self.arguments[name]) for name in floats]
        types = list(floats.values())
        inputs = inputs_of(
            arrays, types, results=results, coarse=coarse, narrow=narrow, rounded=rounded
        )
        units = dict(zip(floats, inputs.units, strict=True))
        repeated_results = _call_in_float64(self.reference, self.arguments, None, units)
        for name, values in self.values.items():
            if not are_alike(values, repeated_results[name]):
                raise NotDerived(
                    "the reference returns other results when it is called again, so the effect "
                    "of the inputs cannot be measured; use a fixed seed in the reference"
                )

        def moved(draw: Draw) -> Mapping[str, NDArray[np.float64]]:
            return _call_in_float64(self.reference, self.arguments, draw, units)

        measured = conditions(moved, self.values, inputs)
        if inputs.working != unit_of("f32"):
            return inputs, measured
        float32_losses = self._own_losses(units, measured, inputs)
        return inputs, {
            name: replace(condition, own=float32_losses[name])
            for name, condition in measured.items()
        }

    def _own_losses(
        self, units: Mapping[str, float], measured: Mapping[str, Condition], inputs: Inputs
    ) -> dict[str, NDArray[np.float64]]:
        """Return the reference's losses in float32.

        Zeros if the reference does not accept float32.
        """

        def both(draw: Draw) -> tuple[dict[str, Any], dict[str, Any]]:
            given = {name: in_float64(value) for name, value in self.arguments.items()}
            for name in units:
                moved = torch.from_numpy(draw.moved(given[name].numpy(), 1.0))
                given[name] = moved.reshape(given[name].shape).float()
            with by_log_sums():
                rounded = _results(self.reference(**given))
            return rounded, _call_in_float64(self.reference, given, None, {})

        import torch

        try:
            return reference_losses(both, self.values, measured, inputs)
        except (RuntimeError, TypeError, ValueError):
            return {name: np.zeros(result.shape) for name, result in self.values.items()}


def call_reference(reference: Callable[..., Any], given: Mapping[str, Any]) -> ReferenceResults:
    """Call a reference with kernel arguments, and return its results.

    Args:
        reference: a function of some of the kernel's parameters, by name. Float tensors are passed
            as float64 copies on the CPU, other arguments unchanged.
        given: the kernel's arguments and constants before the launch.

    Raises:
        NotDerived: the reference has a parameter that the kernel lacks, has parameters without
            names, or returns no tensor.
    """
    try:
        reference_parameters = inspect.signature(reference).parameters
    except ValueError as error:
        raise NotDerived(
            "the reference has no names of parameters; write lambda x: torch.exp(x) in place of "
            "torch.exp"
        ) from error
    reference_arguments = {}
    for name, parameter in reference_parameters.items():
        if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
            raise NotDerived(
                f"the reference takes any arguments ({parameter}), and gets the kernel's by name: "
                f"write the names that it needs, as in lambda {', '.join(given)}: …"
            )
        if name in given:
            value = given[name]
            reference_arguments[name] = (
                value.detach().cpu().clone() if hasattr(value, "data_ptr") else value
            )
        elif parameter.default is inspect.Parameter.empty:
            raise NotDerived(
                f"the reference has a parameter {name!r}, and the kernel has no argument of that "
                f"name, only {', '.join(given)}"
            )
    return ReferenceResults(
        reference, reference_arguments, _call_in_float64(reference, reference_arguments, None, {})
    )


def _call_in_float64(
    reference: Callable[..., Any], given: Mapping[str, Any], draw: Draw | None,
    units: Mapping[str, float],
) -> dict[str, NDArray[np.float64]]:  # fmt: skip
    wide = {name: in_float64(value) for name, value in given.items()}
    if draw is not None:
        import torch

        for name, unit in units.items():
            moved = draw.moved(wide[name].numpy(), unit)
            wide[name] = torch.from_numpy(np.ascontiguousarray(moved)).reshape(wide[name].shape)
    return _results(reference(**wide))


def _results(returned: Any) -> dict[str, NDArray[np.float64]]:
    if not isinstance(returned, Mapping):
        return {"": as_array(returned)}
    return {str(name): as_array(values) for name, values in returned.items()}


def _float_of(value: Any) -> str | None:
    """Return the MLIR type of a float tensor's elements; None for other values."""
    return FLOATS.get(str(getattr(value, "dtype", "")).removeprefix("torch."))


def in_float64(value: Any) -> Any:
    """Return a CPU copy of a tensor, with floats in float64.

    Other values are returned unchanged.
    """
    if not hasattr(value, "data_ptr"):
        return value
    copied_arguments = value.detach().cpu().clone()
    return copied_arguments.double() if copied_arguments.is_floating_point() else copied_arguments


def as_array(values: Any) -> Any:
    """Return a tensor, array or number as a NumPy array in float64.

    Raises:
        NotDerived: the value has no numbers.
    """
    if hasattr(values, "detach"):
        values = values.detach().cpu().double().numpy()
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise NotDerived(
            f"expected a tensor or an array, found a {type(values).__name__}"
        ) from error
