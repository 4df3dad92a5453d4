"""Fixtures of the converters' tests."""

import pytest

from tests.converters.browsed_report import opened, ranks, report
from tests.converters.finding_rows import INLINED, KERNEL, LOAD, PROVEN, UNKNOWN, VIOLATION
from tests.converters.launch_view import blocks, pages
from tests.converters.report_page import report_browser
from tests.converters.written_trace import add_findings, write_trace

__all__ = ["blocks", "opened", "pages", "ranks", "report", "report_browser"]


@pytest.fixture
def side(tmp_path):
    """A trace with a finding of each verdict."""
    written = write_trace(tmp_path / "t", [KERNEL])
    add_findings(written, [VIOLATION, PROVEN, UNKNOWN], [LOAD, INLINED])
    return written
