"""A kernel of the corpus with arguments and what NumPy gives for them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kvtrace.addons.neuron.launching import Kernel, Outcome, bound_arguments, execute


@dataclass(frozen=True)
class Case:
    """`arguments` makes a kernel's arguments from random numbers, `reference` its result.

    `tolerance` is the largest difference, relative to the largest element of the reference.
    """

    kernel: Kernel
    arguments: Callable[[np.random.Generator], tuple[Any, ...]]
    reference: Callable[..., Any]
    grid: tuple[int, ...] = (1,)
    tolerance: float = 1e-5
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The kernel's name, and which interface it is written for."""
        return f"{self.kernel.__name__}-{self.kernel.interface}"

    def run(self) -> tuple[Outcome, Any]:
        """Run the kernel; give the outcome and the reference."""
        given = self.arguments(np.random.default_rng(7))
        bound = bound_arguments(self.kernel.function, given, self.settings)
        return execute(self.kernel, self.grid, bound), self.reference(*given)


def normal(*shape: int, dtype: Any = np.float32) -> Callable[[np.random.Generator], Any]:
    """Make an array of normal numbers."""
    return lambda random: random.standard_normal(shape).astype(np.float32).astype(dtype)


def each(*makers: Callable[[np.random.Generator], Any]) -> Callable[..., tuple[Any, ...]]:
    """Make one argument of each maker, in order."""
    return lambda random: tuple(make(random) for make in makers)
