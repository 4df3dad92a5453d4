"""A case: one host function of a public package, called as in serving or training."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch

Tensors = tuple[torch.Tensor, ...]


@dataclass(frozen=True)
class Outcome:
    """What a case gave, and what it should have given.

    Attributes:
        got: tensors from the package.
        wanted: the same from a short reference in torch; None: whatever Triton's interpreter gives
            for `got`, which is run on the same inputs.
        tolerance: largest root mean square of the differences, as a share of that of `wanted`;
            a single element may be off by ten times that share of the largest one. Integers are
            compared exactly.
    """

    got: Tensors
    wanted: Tensors | None = None
    tolerance: float = 5e-3


@dataclass(frozen=True)
class Case:
    """A case by name; `run` is called in a process of its own."""

    package: str
    name: str
    run: Callable[[], Outcome]


#: All cases whose modules have been imported, by package and name.
CASES: dict[str, dict[str, Case]] = {}


def case(package: str) -> Callable[[Callable[[], Outcome]], Callable[[], Outcome]]:
    """Register a function as a case of that package under its own name."""

    def register(function: Callable[[], Outcome]) -> Callable[[], Outcome]:
        add(package, function.__name__, function)
        return function

    return register


def add(package: str, name: str, function: Callable[[], Outcome]) -> None:
    """Register a case under a name of its own."""
    cases = CASES.setdefault(package, {})
    if name in cases:
        raise ValueError(f"there are two cases {name} of {package}")
    cases[name] = Case(package, name, function)


def tensors(*given: Any) -> Tensors:
    """Flatten what a function returned, leaving out what is no tensor."""
    found: list[torch.Tensor] = []
    for value in given:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, tuple | list):
            found.extend(tensors(*value))
    return tuple(found)


def difference(got: Iterable[torch.Tensor], outcome: Outcome) -> str | None:
    """Say how the tensors differ from those that were wanted; None if they do not."""
    found, wanted = tuple(got), outcome.wanted
    assert wanted is not None
    assert all(isinstance(one, torch.Tensor) for one in (*found, *wanted))
    if len(found) != len(wanted):
        return f"{len(found)} tensors, not {len(wanted)}"
    for number, (one, other) in enumerate(zip(found, wanted, strict=True)):
        told = _difference(one.detach(), other.detach(), outcome.tolerance)
        if told is not None:
            return f"result {number}: {told}"
    return None


def _difference(got: torch.Tensor, wanted: torch.Tensor, tolerance: float) -> str | None:
    if got.shape != wanted.shape:
        return f"shape {tuple(got.shape)}, not {tuple(wanted.shape)}"
    if not (got.is_floating_point() and wanted.is_floating_point()):
        unequal = int((got != wanted).sum())
        return f"{unequal} of {got.numel()} elements differ" if unequal else None
    one, other = got.double(), wanted.double()
    finite = other.isfinite()
    if not torch.equal(one.isfinite(), finite):
        return f"{int((one.isfinite() != finite).sum())} elements are infinite or NaN in one only"
    if not torch.equal(one[other.isinf()], other[other.isinf()]):
        return "infinities differ"
    one, other = one[finite], other[finite]
    if not one.numel():
        return None
    off = (one - other).abs()
    mean, scale = off.square().mean().sqrt(), other.square().mean().sqrt()
    if mean > tolerance * scale + 1e-12:
        return f"root mean square of differences {mean:.2e}, of values {scale:.2e}"
    if off.max() > 10 * tolerance * other.abs().max() + 1e-12:
        return f"largest difference {off.max():.2e}, largest value {other.abs().max():.2e}"
    return None
