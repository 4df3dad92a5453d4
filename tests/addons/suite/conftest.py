"""What tests of suites share."""

from tests.converters.report_page import report_browser

__all__ = ["report_browser"]
