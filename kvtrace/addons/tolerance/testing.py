"""`kvtrace.testing`: comparison of kernels with references, by derived bounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kvtrace.addons.tolerance.closeness import Bound, NotClose, assert_close
from kvtrace.addons.tolerance.deriving import derive
from kvtrace.addons.tolerance.launched import NotDerived, in_order, parameters, run
from kvtrace.addons.tolerance.outputs import Tolerance
from kvtrace.addons.tolerance.references import call_reference
from kvtrace.evaluate.shadows.errors.analysis import CHANCE
from kvtrace.evaluate.shadows.errors.roundings import GrantedRoundings

__all__ = ["Compared", "NotClose", "NotDerived", "against"]


def against(
    reference: Callable[..., Any],
    *,
    chance: float = CHANCE,
    bound: Bound = "probable",
    tf32: bool | None = None,
    narrow: bool | None = None,
    meaning: bool = True,
    cancellation: bool = False,
    undecided: float = 0.0,
) -> Callable[[Any], Compared]:
    """Return a wrapper that compares a kernel's launches with a reference in float64.

        checked = kvtrace.testing.against(lambda x: torch.softmax(x, -1))(softmax)
        checked[(8,)](x, out, 1000, BLOCK=1024)

    A launch writes its tensors as usual, and raises if the results differ from the reference's.

    Args:
        reference: a function whose parameters have names of kernel parameters, as in
            `kvtrace.tolerance`.
        chance: the largest probability that a correct launch fails, if rounding errors are
            independent.
        bound: `probable`, or `worst`, which no correct device ever exceeds.
        tf32: dots may round float32 factors to tf32; None: as the kernel requests.
        narrow: the kernel may keep sums in 16 bits, and round intermediate numbers to types that
            none of its tensors has. None: this does not widen bounds; False: it is forbidden.
        meaning: also require that the kernel's formula equals the reference in exact arithmetic.
        cancellation: the formula may lose more precision than the reference's condition grants.
        undecided: the share of elements that may have no bound.
    """

    def around(kernel: Any) -> Compared:
        granted = GrantedRoundings(tf32, narrow)
        return Compared(
            kernel,
            reference,
            chance,
            bound,
            granted,
            meaning=meaning,
            cancellation=cancellation,
            undecided=undecided,
        )

    return around


class Compared:
    """A kernel whose launches are compared with a reference: `compared[grid](arguments…)`."""

    def __init__(
        self,
        kernel: Any,
        reference: Callable[..., Any],
        chance: float,
        bound: Bound,
        granted: GrantedRoundings,
        *,
        meaning: bool,
        cancellation: bool,
        undecided: float,
    ) -> None:
        self.kernel = kernel
        self._reference = reference
        self._chance = chance
        self._bound = bound
        self._granted = granted
        self._meaning = meaning
        self._cancellation = cancellation
        self._undecided = undecided

    def __getitem__(self, grid: Any) -> Callable[..., Tolerance]:
        """Return a function that launches on a grid, compares, and returns the tolerance."""

        def launch(*arguments: Any, **meta: Any) -> Tolerance:
            return self(*arguments, grid=grid, **meta)

        return launch

    def __call__(self, *given: Any, grid: Any, **by_name: Any) -> Tolerance:
        """Launch, compare, and return the tolerance of the comparison.

        Raises:
            NotClose: the results differ from the reference's; an AssertionError.
            NotDerived: nothing was launched, or the reference does not fit.
            Undecided: the kernel's path depends on its roundings.
        """
        arguments, meta = in_order(self.kernel, given, by_name)
        by_parameter = dict(zip(parameters(self.kernel), arguments, strict=False))
        reference_results = call_reference(self._reference, by_parameter | meta)
        launch = run(self.kernel, arguments, grid, meta)
        derived = derive(
            launch,
            reference_results,
            chance=self._chance,
            granted=self._granted,
            cancellation=self._cancellation,
        )
        actual = {name: (by_parameter | meta)[name] for name in derived.outputs}
        assert_close(
            actual, derived, bound=self._bound, meaning=self._meaning, undecided=self._undecided
        )
        return derived
