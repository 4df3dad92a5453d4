"""Rows as Arrow, for pandas and Polars where they are, as text and in a notebook."""

import sys
from types import ModuleType

import pyarrow as pa
import pytest

from kvtrace.analysis.results import MissingPackage, Rows

ROWS = Rows("things", pa.table({"name": ["<b>", "x\x1b[31m"], "count": [1, None]}))


@pytest.mark.parametrize(("method", "package"), [("to_pandas", "pandas"), ("pl", "polars")])
def test_a_missing_package_is_reported_in_one_sentence(monkeypatch, method, package):
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(MissingPackage, match=f"^{package} is not installed here; .*[.]$"):
        getattr(ROWS, method)()


def test_to_polars_converts_the_arrow_table(monkeypatch):
    polars = ModuleType("polars")
    polars.from_arrow = lambda table: ("frame", table)
    monkeypatch.setitem(sys.modules, "polars", polars)

    assert ROWS.pl() == ROWS.to_polars() == ("frame", ROWS.arrow)


def test_iterating_over_rows_yields_dictionaries():
    assert [row["count"] for row in ROWS] == [1, None]
    assert len(ROWS) == 2


def test_text_has_the_rows_and_no_control_characters():
    lines = repr(ROWS).splitlines()

    assert lines[0] == "things: 2 rows"
    assert lines[1].split() == ["name", "count"]
    assert "\x1b" not in repr(ROWS)


def test_notebook_table_has_escaped_cells():
    page = ROWS._repr_html_()

    assert '<td>&lt;b&gt;</td><td class="number">1</td>' in page
    assert '<td class="number"></td>' in page
    assert "<b>" not in page


def test_only_the_first_of_many_rows_are_shown():
    many = Rows("numbers", pa.table({"n": range(1000)}))

    assert "1,000 rows, the first 10 of them" in repr(many)
    assert repr(many).splitlines()[-1].strip() == "9"
    assert many._repr_html_().count("<tr>") == 11


def test_times_keep_their_nanoseconds():
    times = Rows("times", pa.table({"t": pa.array([1_000_000_001], pa.timestamp("ns", "UTC"))}))

    assert "00:00:01.000000001" in repr(times)
