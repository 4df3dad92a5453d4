"""References in float64: called with parameters of a kernel, by their names."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.tolerance.launched import NotDerived
from kvtrace.evaluate.condition import (
    FLOATS,
    Condition,
    Draw,
    Inputs,
    are_alike,
    conditions,
    inputs_of,
    own_losses,
)
from kvtrace.evaluate.shadows.errors.roundings import unit_of


@dataclass(frozen=True)
class Referred:
    """A reference, and what it gives for a launch's arguments.

    Attributes:
        reference: the function.
        given: its arguments, as they were before the launch.
        values: its results in float64, by the kernel's parameter; under an empty name, that of the
            only output.

    """

    reference: Callable[..., Any]
    given: Mapping[str, Any]
    values: Mapping[str, NDArray[np.float64]]

    def conditions(
        self, results: tuple[str, ...], coarse: float, *, narrow: bool, rounded: bool
    ) -> tuple[Inputs, Mapping[str, Condition]]:
        """Measure the conditions of its results, by calling it again on inputs that move.

        Args:
            results: types of the kernel's outputs, as MLIR has them.
            coarse: the precision of products that is granted.
            narrow: whether sums in 16 bits are granted.
            rounded: whether the kernel may round to its inputs' types on the way.

        Raises:
            NotDerived: it gives something else each time.

        """
        floats = {name: type_ for name, value in self.given.items() if (type_ := _float_of(value))}
        arrays = [as_array(self.given[name]) for name in floats]
        types = list(floats.values())
        inputs = inputs_of(
            arrays, types, results=results, coarse=coarse, narrow=narrow, rounded=rounded
        )
        units = dict(zip(floats, inputs.units, strict=True))
        again = _called(self.reference, self.given, None, units)
        for name, values in self.values.items():
            if not are_alike(values, again[name]):
                raise NotDerived(
                    "the reference gives other results when it is called again, so how they follow "
                    "its inputs cannot be measured; give it a fixed seed"
                )

        def moved(draw: Draw) -> Mapping[str, NDArray[np.float64]]:
            return _called(self.reference, self.given, draw, units)

        measured = conditions(moved, self.values, inputs)
        if inputs.working != unit_of("f32"):
            return inputs, measured
        own = self._own_losses(units)
        return inputs, {name: replace(each, own=own[name]) for name, each in measured.items()}

    def _own_losses(self, units: Mapping[str, float]) -> dict[str, NDArray[np.float64]]:
        """Measure what it loses in float32; nothing where it does not take that."""

        def both(draw: Draw) -> tuple[dict[str, Any], dict[str, Any]]:
            given = {name: in_float64(value) for name, value in self.given.items()}
            for name in units:
                moved = torch.from_numpy(draw.moved(given[name].numpy(), 1.0))
                given[name] = moved.reshape(given[name].shape).float()
            with by_log_sums():
                rounded = _results(self.reference(**given))
            return rounded, _called(self.reference, given, None, {})

        import torch

        try:
            return own_losses(both, self.values)
        except (RuntimeError, TypeError, ValueError):
            return {name: np.zeros(each.shape) for name, each in self.values.items()}


def by_log_sums() -> Any:
    """Return a mode of torch in which probabilities are logits less the log of a sum of powers.

    So kernels compute a cross entropy: of a nearly certain label, it loses what one rounding of
    its logit does. torch subtracts the maximum first, and loses less.
    """
    import torch
    from torch.overrides import TorchFunctionMode

    functions = torch.nn.functional
    softmaxes = (functions.log_softmax, torch.log_softmax, torch.Tensor.log_softmax)

    class ByLogSums(TorchFunctionMode):  # type: ignore[misc] # torch is not typed here
        def __torch_function__(
            self, function: Any, _types: Any, given: Any = (), named: Any = None
        ) -> Any:
            named = named or {}
            if function in softmaxes:
                axis = named.get("dim", given[1] if len(given) > 1 else None)
                if isinstance(axis, int):
                    x = given[0] if given else named["input"]
                    return x - torch.logsumexp(x, axis, keepdim=True)
            if function is functions.cross_entropy and len(given) == 2:
                x, label = given
                is_plain = not named.get("label_smoothing") and not label.is_floating_point()
                if is_plain and x.is_floating_point():
                    kept = {k: v for k, v in named.items() if k != "label_smoothing"}
                    axis = min(1, x.dim() - 1)
                    less = x - torch.logsumexp(x, axis, keepdim=True)
                    return functions.nll_loss(less, label, **kept)
            return function(*given, **named)

    return ByLogSums()


def referred(reference: Callable[..., Any], given: Mapping[str, Any]) -> Referred:
    """Call a reference.

    Args:
        reference: a function of some of the kernel's parameters, by name. Tensors of floats reach
            it as float64 tensors on the CPU, copied; all else as it is.
        given: the kernel's arguments and constants, as they are before the launch.

    Raises:
        NotDerived: it has a parameter that the kernel lacks, none with names, or returns no tensor.

    """
    try:
        wanted = inspect.signature(reference).parameters
    except ValueError as error:
        raise NotDerived(
            "the reference does not say the names of its parameters; write lambda x: torch.exp(x) "
            "in place of torch.exp"
        ) from error
    passed = {}
    for name, parameter in wanted.items():
        if name in given:
            value = given[name]
            passed[name] = value.detach().cpu().clone() if hasattr(value, "data_ptr") else value
        elif parameter.default is inspect.Parameter.empty:
            raise NotDerived(
                f"the reference has a parameter {name!r}, and the kernel has no argument of that "
                f"name, only {', '.join(given)}"
            )
    return Referred(reference, passed, _called(reference, passed, None, {}))


def _called(
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


def _results(found: Any) -> dict[str, NDArray[np.float64]]:
    if not isinstance(found, Mapping):
        return {"": as_array(found)}
    return {str(name): as_array(values) for name, values in found.items()}


def _float_of(value: Any) -> str | None:
    """Return the type of a tensor's floats, as MLIR has it."""
    return FLOATS.get(str(getattr(value, "dtype", "")).removeprefix("torch."))


def in_float64(value: Any) -> Any:
    """Return a tensor's copy on the CPU, floats in float64; anything else as it is."""
    if not hasattr(value, "data_ptr"):
        return value
    copied = value.detach().cpu().clone()
    return copied.double() if copied.is_floating_point() else copied


def as_array(values: Any) -> Any:
    """Return a tensor, or an array, in float64.

    Raises:
        NotDerived: it is neither.

    """
    if hasattr(values, "detach"):
        values = values.detach().cpu().double().numpy()
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise NotDerived(f"a {type(values).__name__} where numbers were expected") from error
