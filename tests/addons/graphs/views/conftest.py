"""Fixtures of the tests of views."""

from tests.converters.report_page import report_browser

__all__ = ["report_browser"]
