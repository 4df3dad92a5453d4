"""Fixtures of NKI tests that run a function as a kernel."""

from collections.abc import Callable
from typing import Any

import pytest

from kvtrace.addons.neuron.launching import Kernel, Outcome, bound_arguments, execute
from kvtrace.addons.neuron.newer.tensors import NkiTensor
from kvtrace.addons.neuron.older.tiles import Tile
from kvtrace.addons.neuron.tensors import Tensor

Run = Callable[..., Outcome]


def _running(kind: type[Tensor]) -> Run:
    def run(
        function: Any, *arguments: Any, grid: tuple[int, ...] = (1,), **settings: Any
    ) -> Outcome:
        kernel = Kernel(function, kind, target=settings.pop("target", None))
        return execute(kernel, grid, bound_arguments(function, arguments, settings))

    return run


@pytest.fixture
def run_older() -> Run:
    """Run a function as a kernel of the older interface."""
    return _running(Tile)


@pytest.fixture
def run_newer() -> Run:
    """Run a function as a kernel of the newer interface."""
    return _running(NkiTensor)
