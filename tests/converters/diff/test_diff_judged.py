"""Findings in a difference: new, gone, suppressed, and sides that were not judged alike."""

from dataclasses import replace

from kvtrace.converters.diff import (
    compare,
    difference_markdown,
    difference_object,
    difference_text,
)
from kvtrace.converters.diff.page import comparison_object
from tests.converters.compared_kernels import LINE_3, SCALE, finding
from tests.converters.written_trace import (
    add_findings,
    write_trace,
)


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


def test_findings_are_not_compared_if_one_side_is_not_analyzed(tmp_path):
    a = write_trace(tmp_path / "a", [SCALE])
    b = write_trace(tmp_path / "b", [SCALE])
    add_findings(b, [finding("x", LINE_3)], [LINE_3], rules=["out-of-bounds"])
    found = compare(a, b)
    assert found.empty
    assert (found.before.judged_by, found.after.judged_by) == (None, ("out-of-bounds",))
    assert_not_judged(found, "before")


def test_findings_are_not_reported_equal_if_no_side_is_analyzed(tmp_path):
    found = compare(*(write_trace(tmp_path / name, [SCALE]) for name in "ab"))
    assert_not_judged(found, "before and after")


def assert_not_judged(found, sides):
    """The text, the Markdown, the JSON and the page all say so."""
    told = f"findings: not judged in {sides}, so none are compared (kvtrace sanitize)"
    assert any("findings: not judged" in line for line in difference_text(found, width=200)[:10])
    assert told in difference_text(found, width=200)
    assert told in difference_markdown(found)
    form = difference_object(found)
    assert None in (form["before"]["judged_by"], form["after"]["judged_by"])
    assert comparison_object(found)["unjudged"] == told


def test_findings_of_rules_unchecked_on_one_side_are_not_compared(tmp_path):
    a, b = (write_trace(tmp_path / name, [SCALE]) for name in "ab")
    add_findings(a, [finding("x", LINE_3)], [LINE_3], rules=["out-of-bounds"])
    add_findings(
        b,
        [finding("x", LINE_3), finding("y", LINE_3, rule="race")],
        [LINE_3],
        rules=("out-of-bounds", "race"),
    )
    found = compare(a, b)
    assert found.findings == ()
    assert "findings of race are not compared: only after was judged by them" in found.notes
