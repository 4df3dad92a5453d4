"""All kernels here are compiled for a GPU that is not there."""

import pytest

from tests.support.free_driver import free_driver

__all__ = ["free_driver"]


@pytest.fixture(autouse=True, scope="module")
def _compiled_for_it(free_driver: None) -> None:
    pass
