"""The browser for the report's first screen."""

from tests.converters.report_page import report_browser

__all__ = ["report_browser"]
