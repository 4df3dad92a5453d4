"""Fixtures of checked launches, and of their views."""

from tests.converters.report_page import report_browser
from tests.support.autotuned_by_inductor import autotuner
from tests.support.free_driver import free_driver

__all__ = ["autotuner", "free_driver", "report_browser"]
