"""Triton's driver, where there is no GPU: some functions of the language ask it for its target."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def free_driver() -> Iterator[None]:
    """Have kvtrace's driver of an H100 answer what kernels ask while they are compiled."""
    from triton.runtime import driver

    from kvtrace.backends.triton.free_driver import DeviceFreeDriver

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "_active", DeviceFreeDriver("cuda:90"))
        yield
