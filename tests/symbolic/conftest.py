"""Some functions of the language ask Triton's driver for its target."""

import pytest
from triton.runtime import driver

from kvtrace.backends.triton.free_driver import DeviceFreeDriver


@pytest.fixture(autouse=True, scope="module")
def _a_driver():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver, "_active", DeviceFreeDriver("cuda:90"))
        yield
