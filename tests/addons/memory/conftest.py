"""Fixtures of the tests of memory."""

from tests.converters.report_page import report_browser
from tests.support.free_driver import free_driver

__all__ = ["free_driver", "report_browser"]
