"""Rows as DataFrames, and as text."""

import re
import shutil
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import kvtrace
from kvtrace.analysis.results import Rows
from kvtrace.schema.errors import BadSetting, MissingPackage

ROWS = Rows("things", pa.table({"name": ["<b>", "x\x1b[31m"], "count": [1, None]}))


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_a_missing_package_is_reported_in_one_sentence(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)

    with pytest.raises(MissingPackage, match=f"^{package} is not installed here; .*[.]$"):
        ROWS.df(package)


def test_a_data_frame_of_an_unknown_package_is_refused():
    with pytest.raises(BadSetting, match=r"^df has no package 'spark'; use 'pandas', .*"):
        ROWS.df("spark")


def test_df_arrow_is_the_table():
    assert ROWS.df("arrow").equals(ROWS.arrow)


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_data_frames_have_the_rows(package):
    pytest.importorskip(package)

    frame = ROWS.df(package)

    assert list(frame.columns) == ["name", "count"]
    assert frame["name"].to_list() == [row["name"] for row in ROWS]


def test_names_that_differ_in_the_middle_alone_look_different():
    names = [f"triton_poi_fused_{way}_{'x' * 40}" for way in ("add" * 20, "mul" * 20)]
    names = [f"{'a' * 40}{name}" for name in names]
    kernels = Rows("kernels", pa.table({"name": names, **{f"c{i}": [1, 2] for i in range(60)}}))

    text = repr(kernels)
    _, _, _, *lines = text.splitlines()

    assert lines[0].split()[0] != lines[1].split()[0]
    assert "more columns: " in text
    assert all(f"c{i}" in text for i in range(60))
    assert all(name in repr(kernels[i]).replace("\n", "").replace(" ", "")
               for i, name in enumerate(names))  # fmt: skip


def test_iterating_over_rows_yields_dictionaries():
    assert [row["count"] for row in ROWS] == [1, None]
    assert len(ROWS) == 2


def test_text_has_the_rows_and_no_control_characters():
    lines = repr(ROWS).splitlines()

    assert lines[0] == "things: 2 rows"
    assert lines[1].split() == ["name", "count"]
    assert "\x1b" not in repr(ROWS)


def test_only_the_first_of_many_rows_are_shown():
    many = Rows("numbers", pa.table({"n": range(1000)}))

    assert "1,000 rows, the first 10 of them" in repr(many)
    assert repr(many).splitlines()[-1].strip() == "9"


def test_times_keep_their_nanoseconds():
    times = Rows("times", pa.table({"t": pa.array([1_000_000_001], pa.timestamp("ns", "UTC"))}))

    assert "00:00:01.000000001" in repr(times)


def test_notebooks_show_rows_as_a_table_of_all_columns():
    html = ROWS._repr_html_()

    assert html.startswith("<p>things: 2 rows</p><table><tr><th>name</th><th>count</th></tr>")
    assert "<td>&lt;b&gt;</td><td>1</td>" in html
    assert "\x1b" not in html


def test_notebooks_show_findings_with_their_severity_in_color(tmp_path):
    fixture = Path(__file__).parents[1] / "fixtures" / "missing_mask"
    trace = kvtrace.open(shutil.copytree(fixture, tmp_path / "out"))

    html = trace.sanitize()._repr_html_()

    assert re.search(r':6:21: <b style="color:#\w{6}">error\[out-of-bounds\]</b>: load ends', html)
    assert "mask=index &lt; size)" in html
