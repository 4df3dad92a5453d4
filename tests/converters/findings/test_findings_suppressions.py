"""Comments that say that a finding is meant."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.converters.findings import findings_text, read_findings
from kvtrace.converters.findings.suppressions import ignores_in
from tests.converters.finding_rows import INLINED, KERNEL, LOAD, PROVEN, UNKNOWN, VIOLATION
from tests.converters.written_trace import SOURCE, add_findings, write_trace
from tests.support.replacing import replace

LINES = SOURCE.splitlines()


def commented(line, comment):
    """The kernel's source with a comment at the end of a line, counted from 0."""
    return "\n".join([*LINES[:line], f"{LINES[line]}  # {comment}", *LINES[line + 1 :], ""])


def above(line, comment):
    """The kernel's source with a comment in place of the line above (lines must stay in place)."""
    return "\n".join([*LINES[: line - 1], f"    # {comment}", *LINES[line:], ""])


def read(tmp_path, source, rows=(VIOLATION,), **options):
    side = write_trace(tmp_path / "t", [replace(KERNEL, source=source)])
    add_findings(side, list(rows), [LOAD, INLINED])
    return read_findings(side.trace, side.runs, **options)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (commented(2, "kvtrace: ignore[out-of-bounds] it is padded"), "it is padded"),
        (commented(2, "kvtrace: ignore"), None),
        (commented(2, "noqa: E501  # kvtrace: ignore[race, out-of-bounds]: why not"), "why not"),
        (above(2, "kvtrace: ignore[out-of-bounds] above"), "above"),
    ],
)
def test_a_comment_at_the_line_or_above_it_suppresses(tmp_path, source, reason):
    findings = read(tmp_path, source)
    suppressed = [f for f in findings.listed if f.suppressed]
    assert [(f.rule, f.suppress_reason) for f in suppressed] == [("out-of-bounds", reason)]
    assert (findings.total["error"], findings.failures(strict=True)) == (0, 0)
    assert findings.counts["scale"]["suppressed"] == 1
    text = "\n".join(findings_text(findings, width=1000))
    assert "suppressed[out-of-bounds]: load ends" in text
    assert f"ignored:   {reason or 'no reason given'}" in text
    assert "1 suppressed (100.0 %)" in text


@pytest.mark.parametrize(
    "source",
    [
        commented(2, "kvtrace: ignore[race] for another rule"),
        commented(3, "kvtrace: ignore on another line"),
        commented(2, "kvtrace: ignored"),
        above(1, "kvtrace: ignore two lines above"),
        SOURCE.replace("values =", 'values = "# kvtrace: ignore" and'),
    ],
)
def test_other_comments_do_not_suppress(tmp_path, source):
    assert read(tmp_path, source).failures() == 1


def test_an_unknown_is_suppressed_too(tmp_path):
    source = commented(3, "kvtrace: ignore[out-of-bounds] indices are checked before")
    findings = read(tmp_path, source, [UNKNOWN])
    assert findings.failures(strict=True) == 0
    assert findings.reasons == {}


def test_a_comment_at_the_call_suppresses_what_was_inlined_there(tmp_path):
    inlined = {**VIOLATION, "stack_id": UNKNOWN["stack_id"]}
    assert read(tmp_path, commented(3, "kvtrace: ignore the helper"), [inlined]).failures() == 0


def test_unused_suppression_is_a_note(tmp_path):
    source = commented(3, "kvtrace: ignore[out-of-bounds] it was fixed")
    findings = read(tmp_path, source, [{**PROVEN, "stack_id": VIOLATION["stack_id"]}])
    (note,) = findings.listed
    assert (note.rule, note.severity, note.line, note.kernel) == (
        "unused-ignore", "note", 13, "scale",
    )  # fmt: skip
    assert findings.failures(strict=True) == 0
    assert +findings.total == {"proven": 1}
    assert (
        "/home/user/kernels.py:13: note[unused-ignore]: this comment suppresses"
        in (findings_text(findings)[0])
    )


def test_comment_with_one_used_rule_reports_the_unused_one(tmp_path):
    source = commented(2, "kvtrace: ignore[out-of-bounds, race] both")
    (note,) = [f for f in read(tmp_path, source).listed if f.rule == "unused-ignore"]
    assert "no finding of race here" in note.message


def test_suppression_of_an_unchecked_rule_is_not_reported_as_unused(tmp_path):
    source = commented(3, "kvtrace: ignore[race] atomics would be slower")
    known = ["out-of-bounds", "race"]
    assert read(tmp_path / "a", source, rules=["out-of-bounds"], known_rules=known).failures() == 1
    found = read(tmp_path / "b", source, rules=["out-of-bounds"], known_rules=known)
    assert [f.rule for f in found.listed] == ["out-of-bounds"]


def test_suppression_of_an_unknown_rule_is_reported(tmp_path):
    source = commented(2, "kvtrace: ignore[out-of-bonds] a typing error")
    known = ["out-of-bounds", "race"]
    found = read(tmp_path, source, rules=["out-of-bounds"], known_rules=known)
    (note,) = [f for f in found.listed if f.rule == "unused-ignore"]
    assert note.message == "there is no rule 'out-of-bonds', so this comment suppresses nothing"
    assert found.failures() == 1


def test_comments_in_kernels_that_were_never_launched_are_left_alone(tmp_path):
    other = replace(KERNEL, name="other", line=40, calls=())
    other = replace(other, source=commented(2, "kvtrace: ignore"))
    side = write_trace(tmp_path / "t", [KERNEL, other])
    add_findings(side, [VIOLATION], [LOAD])
    assert [f.rule for f in read_findings(side.trace, side.runs).listed] == ["out-of-bounds"]


def test_a_comment_counts_for_its_whole_statement():
    source = [
        "x = tl.load(",
        "    pointer,  # kvtrace: ignore[a] inside",
        ")",
        "",
        "# kvtrace: ignore[b] above, with",
        "# more words",
        "y = [",
        "    1]",
        "",
        "# kvtrace: ignore[c] far away",
        "",
        "z = 1",
    ]
    found = {i.rules[0]: (i.line, i.first, i.last) for i in ignores_in("f.py", source, 11)}
    assert found == {"a": (12, 11, 13), "b": (15, 15, 18), "c": (20, 20, 20)}


def test_text_that_is_no_whole_python_is_read_line_by_line():
    source = ["   ) # kvtrace: ignore[a]", "  # kvtrace: ignore[b]", "      'open"]
    found = {i.rules[0]: (i.first, i.last) for i in ignores_in("f.py", source)}
    assert found == {"a": (1, 1), "b": (2, 3)}


A_LINE = st.text(st.characters(codec="utf-8"), max_size=30).map(lambda t: "".join(t.splitlines()))


@given(st.lists(A_LINE | st.just("# kvtrace: ignore[x")))
def test_suppressions_accept_any_source(lines):
    for ignore in ignores_in("f.py", lines):
        assert 1 <= ignore.first <= ignore.line <= ignore.last <= len(lines) + 1
