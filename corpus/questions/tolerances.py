"""Attacks on derived tolerances: a kernel, its reference, and the truth about its results.

The truth does not use derived tolerances. kvtrace's evaluator runs the kernel as a mere
interpreter, and its result is compared with the reference in float64. Right is what is off by no
more than a good float32 algorithm (the reference in float32, or `good`) is off on these inputs and
on some that differ from them by a rounding, times 16, and the rounding to the result's type. Whole
numbers may be off as far as the good algorithm's.
"""

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

import kvtrace
import kvtrace.testing
from corpus.case import Answer, Case
from kvtrace.addons.tolerance.launched import NotDerived
from kvtrace.addons.tolerance.testing import NotClose
from kvtrace.evaluate.errors import Undecided

DRAWS = 2
"""How many sets of inputs each attack is asked about."""

SLACK = 16
"""How many times the error of a good float32 algorithm is still right."""


@dataclass(frozen=True)
class Launch:
    """Arguments of one launch by name, in the kernel's order."""

    arguments: Mapping[str, Any]
    grid: tuple[int, ...]
    outputs: tuple[str, ...] = ("out",)
    meta: Mapping[str, Any] = field(default_factory=dict)


Reference = Callable[..., Any]


@dataclass(frozen=True)
class Attack:
    """A kernel that is right or wrong, with draws of inputs, a reference, and the truth."""

    name: str
    right: bool
    why: str
    kernel: Any
    draw: Callable[[torch.Generator], Launch]
    reference: Reference
    good: Reference | None = None
    """A good float32 algorithm, where the reference in float32 is none."""
    unit: float = 2.0**-24
    """The precision that types or grants allow: half a unit in the last place."""
    grants: Mapping[str, Any] = field(default_factory=dict)
    alone: bool = False
    """The case is also asked without a reference."""

    def launches(self) -> list[Launch]:
        """Return the launches of all draws; equal draws at each call."""
        return [self.draw(torch.Generator().manual_seed(seed)) for seed in range(DRAWS)]

    def answer_beside(self) -> Answer:
        """Return the answer of `kvtrace.testing.against`, with the reference."""

        def one(launch: Launch) -> None:
            checked = kvtrace.testing.against(self.reference, **self.grants)(self.kernel)
            checked[launch.grid](*launch.arguments.values(), **launch.meta)

        return worst_answer(one, self.launches())

    def answer_without(self) -> Answer:
        """Return the answer of `kvtrace.assert_close`, with a tolerance without reference."""
        grants = dict(self.grants)
        meaning = grants.pop("meaning", True)

        def one(launch: Launch) -> None:
            values = launch.arguments.values()
            derived = kvtrace.tolerance(
                self.kernel, *values, grid=launch.grid, **grants, **launch.meta
            )
            evaluate_launch(self.kernel, launch)
            for name in launch.outputs:
                kvtrace.assert_close(launch.arguments[name], derived, name=name, meaning=meaning)

        return worst_answer(one, self.launches())

    def truth(self) -> bool:
        """Return whether the results of all draws are as accurate as a good algorithm's."""
        return max(self.errors()) <= 1

    def errors(self) -> list[float]:
        """Return each draw's largest error, as a multiple of a good algorithm's error."""
        return [self.error(launch) for launch in self.launches()]

    def error(self, launch: Launch) -> float:
        """Return a launch's largest error, as a multiple of a good algorithm's error."""
        exact = self.expected(self.reference, launch, torch.float64, 0.0, None)
        generator = torch.Generator().manual_seed(99)
        good = self.good or self.reference
        lost = {name: torch.zeros_like(value) for name, value in exact.items()}
        has_integers = any(not launch.arguments[n].is_floating_point() for n in launch.outputs)
        # Each draw decides a tie of whole numbers by chance.
        for unit in (0.0, *(self.unit,) * (40 if has_integers else 7)):
            near = self.expected(good, launch, torch.float32, unit, generator)
            for name, value in near.items():
                off = (value.double() - exact[name].double()).abs().nan_to_num(0.0, posinf=0.0)
                lost[name] = torch.maximum(lost[name], off.to(lost[name].dtype))
        evaluate_launch(self.kernel, launch)
        return max(
            error_ratio(launch.arguments[name], exact[name], lost[name]) for name in launch.outputs
        )

    def expected(
        self,
        function: Reference,
        launch: Launch,
        kind: torch.dtype,
        unit: float,
        generator: torch.Generator | None,
    ) -> dict[str, torch.Tensor]:
        """Return a function's outputs for inputs of type `kind`, perturbed by up to `unit`."""
        code = function.__code__
        expected = code.co_varnames[: code.co_argcount]
        arguments = {**launch.meta, **launch.arguments}
        results = function(**{n: perturbed(arguments[n], kind, unit, generator) for n in expected})
        return results if isinstance(results, dict) else {launch.outputs[0]: results}


def perturbed(value: Any, kind: torch.dtype, unit: float, generator: torch.Generator | None) -> Any:
    """Return floats as type `kind`, each multiplied by a random 1 ± `unit`; other values as is."""
    if not isinstance(value, torch.Tensor) or not value.is_floating_point():
        return value
    wide = value.to(kind)
    if not unit:
        return wide
    noise = torch.rand(wide.shape, generator=generator, dtype=torch.float64) * 2 - 1
    return (wide.double() * (1 + unit * noise)).to(kind)


def error_ratio(actual: torch.Tensor, exact: torch.Tensor, lost: torch.Tensor) -> float:
    """Return an output's largest error, as a multiple of the error `lost` that is right."""
    exact = exact.reshape(actual.shape)
    if not actual.is_floating_point():
        off = (actual.double() - exact.double()).abs()
        return float("inf") if bool((off > lost.reshape(actual.shape).double()).any()) else 0.0
    kind = torch.finfo(actual.dtype)
    allowed = SLACK * lost.reshape(actual.shape).double() + 4 * 2.0**-24 * exact.abs()
    allowed += exact.abs() * kind.eps / 2 * 1.01 + kind.smallest_normal * kind.eps
    off = (actual.double() - exact.double()).abs() / allowed
    same = (actual.double() == exact.to(actual.dtype).double()) | (actual.isnan() & exact.isnan())
    return float(torch.where(same, 0.0, off.nan_to_num(float("inf"), posinf=float("inf"))).max())


def evaluate_launch(kernel: Any, launch: Launch) -> None:
    """Evaluate a launch with kvtrace; its outputs are written to the launch's tensors."""
    with tempfile.TemporaryDirectory() as folder, kvtrace.capture(folder):
        kernel[launch.grid](*launch.arguments.values(), **launch.meta)


def worst_answer(ask: Callable[[Launch], None], launches: list[Launch]) -> Answer:
    """Return no if a draw fails, else unknown if no bound is derived for a draw, else yes."""
    answers = []
    for launch in launches:
        try:
            ask(launch)
            answers.append(Answer.YES)
        except NotClose as failure:
            certain = failure.differences or failure.refused
            answers.append(Answer.NO if certain else Answer.UNKNOWN)
        except (NotDerived, Undecided):
            answers.append(Answer.UNKNOWN)
    return next(answer for answer in (Answer.NO, Answer.UNKNOWN, Answer.YES) if answer in answers)


def cases(attacks: list[Attack]) -> list[Case]:
    """Return the cases of attacks with a reference, and without one if an attack says so."""
    attack_cases = []
    for attack in attacks:
        attack_cases.append(
            Case(attack.name, attack.right, attack.why, attack.answer_beside, attack.truth)
        )
        if attack.alone:
            name = f"{attack.name}, no reference"
            attack_cases.append(
                Case(name, attack.right, attack.why, attack.answer_without, None, "its twin's")
            )
    return attack_cases
