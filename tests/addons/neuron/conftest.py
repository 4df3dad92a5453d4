"""Fixtures of NKI tests that run a function as a kernel."""

from collections.abc import Callable
from typing import Any

import pytest

from kvtrace.addons.neuron.launching import Kernel, Outcome, bound_arguments, execute

Run = Callable[..., Outcome]


def _running(interface: str) -> Run:
    def run(
        function: Any, *arguments: Any, grid: tuple[int, ...] = (1,), **settings: Any
    ) -> Outcome:
        kernel = Kernel(function, interface, target=settings.pop("target", None))
        return execute(kernel, grid, bound_arguments(function, arguments, settings))

    return run


@pytest.fixture
def run_older() -> Run:
    """Run a function as a kernel of the older interface."""
    return _running("older")


@pytest.fixture
def run_newer() -> Run:
    """Run a function as a kernel of the newer interface."""
    return _running("newer")
