"""The report that tests of its frame and overview open, and what they read off it."""

import pytest

from tests.converters.report_page import (
    opened_page,
    written_page,
)
from tests.support.report_trace import build_report_trace
from tests.support.synthetic_trace import build_synthetic_trace


@pytest.fixture(scope="session")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    return written_page(build_report_trace(folder).path, folder / "report.html")


@pytest.fixture
def opened(report_browser, report):
    with opened_page(report_browser, report) as page:
        yield page


@pytest.fixture(scope="session")
def ranks(tmp_path_factory):
    """Two ranks with device streams and names from hell."""
    folder = tmp_path_factory.mktemp("ranks")
    made = build_synthetic_trace(folder / "out", kernels=12)
    return made, written_page(made.path, folder / "r.html")


def figures(opened):
    values = opened.page.eval_on_selector_all(
        "[data-figure]", "nodes => nodes.map(n => [n.dataset.figure, n.dataset.value])"
    )
    return dict(values)


def rows_of(opened, table, column=1):
    """The text of one column of a table's rows in view."""
    return opened.page.locator(
        f"{table} tbody tr:not(.spacer) td:nth-child({column})"
    ).all_inner_texts()
