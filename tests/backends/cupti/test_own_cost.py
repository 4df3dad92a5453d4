"""What CUPTI itself takes: launches with its records on, and off."""

import ctypes
import time

import pytest

from kvtrace.backends.cupti import own_cost
from kvtrace.backends.cupti.own_cost import CostUnknown, cost_of


class Driver:
    """Launches take 20 µs, and 60 more while records are on."""

    def __init__(self, refused=""):
        self.recording = True
        self.launched = 0
        self.refused = refused

    def __getattr__(self, name):
        return lambda *_arguments: 1 if name == self.refused else 0

    def cuLaunchKernel(self, *_arguments):
        self.launched += 1
        end = time.perf_counter() + (80e-6 if self.recording else 20e-6)
        while time.perf_counter() < end:
            pass
        return 0

    def switch_off(self):
        self.recording = False


def test_cost_is_the_difference_between_launches_with_and_without_records(monkeypatch):
    monkeypatch.setattr(own_cost, "_BETWEEN", 4096)
    driver = Driver()
    cost = cost_of(driver, ctypes.c_void_p(1), driver.switch_off)
    assert 40_000 < cost < 120_000
    assert driver.launched == 2 * (own_cost._LAUNCHES + own_cost._WARM_UP)


@pytest.mark.parametrize("refused", ["cuModuleLoadData", "cuStreamSynchronize"])
def test_records_are_switched_off_also_after_a_driver_error(refused):
    driver = Driver(refused)
    with pytest.raises(CostUnknown, match=f"{refused} gives error 1"):
        cost_of(driver, ctypes.c_void_p(1), driver.switch_off)
    assert not driver.recording
