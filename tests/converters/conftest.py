"""Fixtures of the converters' tests."""

from tests.converters.report_page import report_browser

__all__ = ["report_browser"]
