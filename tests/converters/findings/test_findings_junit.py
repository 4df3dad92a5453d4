"""Findings as JUnit XML."""

from xml.etree import ElementTree

from kvtrace.converters.findings import junit, read_findings
from tests.converters.finding_rows import KERNEL, LOAD, PROVEN, VIOLATION
from tests.converters.written_trace import SOURCE, add_findings, write_trace
from tests.support.replacing import replace

IGNORED = SOURCE.replace("mask=offsets < n)\n", "mask=offsets < n)  # kvtrace: ignore pads\n", 1)


def document_of(side, **options):
    return ElementTree.fromstring(
        junit(read_findings(side.trace, side.runs, proven=True), **options)
    )


def counts(element):
    return {name: element.get(name) for name in ("tests", "failures", "errors", "skipped")}


def test_a_test_for_each_access_and_rule(side):
    root = document_of(side)
    assert root.tag == "testsuites"
    (suite,) = root
    assert counts(root) == counts(suite)
    assert counts(suite) == {"tests": "2", "failures": "1", "errors": "0", "skipped": "1"}
    failed, skipped = suite
    assert failed.get("classname") == "scale"
    assert failed.get("name") == "out-of-bounds: load of x_ptr at /home/user/kernels.py:12"
    assert (failed.get("file"), failed.get("line")) == ("/home/user/kernels.py", "12")
    failure = failed.find("failure")
    assert failure.get("type") == "error.out-of-bounds"
    assert "lane 104 of program (7, 0, 0)" in failure.text
    assert skipped.find("skipped").get("message").startswith("the index is data")


def test_one_access_in_several_calls_is_one_test_and_fails_if_one_does(side):
    proven = {**PROVEN, "finding_id": "p1", "stack_id": VIOLATION["stack_id"]}
    proven |= {"access": "load", "arg": "x_ptr", "call_id": 1}
    add_findings(side, [VIOLATION, proven], [LOAD])
    root = document_of(side)
    assert counts(root) == {"tests": "1", "failures": "1", "errors": "0", "skipped": "0"}


def test_strict_fails_unknown_findings(side):
    root = document_of(side, strict=True)
    assert counts(root) == {"tests": "2", "failures": "2", "errors": "0", "skipped": "0"}


def test_what_is_suppressed_is_skipped_and_says_why(tmp_path):
    side = write_trace(tmp_path / "t", [replace(KERNEL, source=IGNORED)])
    add_findings(side, [VIOLATION], [LOAD])
    root = document_of(side)
    assert counts(root) == {"tests": "1", "failures": "0", "errors": "0", "skipped": "1"}
    assert root.find(".//skipped").get("message") == "suppressed: pads (1 call)"


def test_notes_are_not_failures(side):
    add_findings(side, [{**VIOLATION, "severity": "note"}], [LOAD])
    assert counts(document_of(side))["failures"] == "0"


def test_texts_that_xml_cannot_hold_are_replaced(tmp_path):
    side = write_trace(tmp_path / "t", [replace(KERNEL, name="a<b>&\x00\x1b\"'")])
    add_findings(
        side,
        [{**VIOLATION, "message": "<x> & \x07 \ud800".encode("utf-8", "replace").decode()}],
        [LOAD],
    )
    (suite,) = document_of(side)
    assert suite.get("name").startswith("a<b>&")


def test_no_findings_give_a_complete_document(tmp_path):
    side = write_trace(tmp_path / "t", [KERNEL])
    add_findings(side, [])
    assert counts(document_of(side)) == {
        "tests": "0",
        "failures": "0",
        "errors": "0",
        "skipped": "0",
    }
