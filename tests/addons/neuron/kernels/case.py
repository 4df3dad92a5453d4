"""Test cases of the corpus: a kernel, its arguments and NumPy's result."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kvtrace.addons.neuron.launching import Kernel, Outcome, bound_arguments, execute


@dataclass(frozen=True)
class Case:
    """A kernel, a function that makes its arguments, and the function that it must be equal to.

    `tolerance` is the maximum difference, relative to the largest element of the reference.
    """

    kernel: Kernel
    arguments: Callable[[np.random.Generator], tuple[Any, ...]]
    reference: Callable[..., Any]
    grid: tuple[int, ...] = (1,)
    tolerance: float = 1e-5
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The names of the kernel and of its interface."""
        return f"{self.kernel.__name__}-{self.kernel.interface}"

    def run(self) -> tuple[Outcome, Any]:
        """Run the kernel; return the outcome and the reference's result."""
        arguments = self.arguments(np.random.default_rng(7))
        bound = bound_arguments(self.kernel.function, arguments, self.settings)
        return execute(self.kernel, self.grid, bound), self.reference(*arguments)


def normal(*shape: int, dtype: Any = np.float32) -> Callable[[np.random.Generator], Any]:
    """Return a function that makes an array of normally distributed numbers."""
    return lambda random: random.standard_normal(shape).astype(np.float32).astype(dtype)


def arguments_of(*makers: Callable[[np.random.Generator], Any]) -> Callable[..., tuple[Any, ...]]:
    """Return a function that makes one argument with each of some functions."""
    return lambda random: tuple(make(random) for make in makers)
