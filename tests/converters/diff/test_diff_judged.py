"""Findings in a difference: new, gone, suppressed, and sides that were not judged alike."""

from kvtrace.converters.diff import compare, difference_text
from tests.converters.compared_kernels import LINE_3, SCALE, finding
from tests.converters.written_trace import (
    add_findings,
    write_trace,
)
from tests.support.replacing import replace


def test_new_finding_is_a_difference_and_an_unchanged_one_is_not(tmp_path):
    a = write_trace(tmp_path / "a", [SCALE])
    b = write_trace(tmp_path / "b", [replace(SCALE, line=20)])
    lasting = {**finding("before", LINE_3)}
    moved = [("/home/user/kernels.py", 22, 14, "scale")]
    add_findings(a, [lasting], [LINE_3])
    new = finding("new", [("/home/user/kernels.py", 23, 5, "scale")], access="store", arg="y_ptr")
    stacks = [moved, [("/home/user/kernels.py", 23, 5, "scale")]]
    add_findings(b, [finding("after", moved), new], stacks)
    found = compare(a, b)
    assert [(f.status, f.finding.finding_id) for f in found.findings] == [("new", "new")]
    assert not found.empty
    text = "\n".join(difference_text(found))
    assert "+ new: error: out-of-bounds: store of y_ptr in scale" in text
    assert "tl.store(y_ptr + offsets, values * 2, mask=offsets < n)" in text


def test_finding_that_only_before_has_is_listed_as_fixed(tmp_path):
    a = write_trace(tmp_path / "a", [SCALE])
    b = write_trace(tmp_path / "b", [SCALE])
    add_findings(a, [finding("x", LINE_3)], [LINE_3])
    add_findings(b, [finding("x", LINE_3, verdict="proven", severity="note")], [LINE_3])
    assert [f.status for f in compare(a, b).findings] == ["gone"]


def test_a_finding_that_a_comment_suppresses_is_no_difference(tmp_path):
    marked = SCALE.source.replace("offsets < n)\n", "offsets < n)  # kvtrace: ignore pads\n", 1)
    a = write_trace(tmp_path / "a", [SCALE])
    b = write_trace(tmp_path / "b", [replace(SCALE, source=marked)])
    add_findings(a, [])
    add_findings(b, [finding("x", LINE_3)], [LINE_3])
    assert compare(a, b).findings == ()
