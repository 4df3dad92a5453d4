"""The browser for the report's first screen, and a limit of memory for damaged dumps."""

import resource
from pathlib import Path

import pytest

from tests.converters.report_page import report_browser

__all__ = ["report_browser"]


@pytest.fixture
def one_more_gibibyte():
    """This process may take at most 1 GiB more than it has; else there is a MemoryError."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (1 << 30), limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, limits)
