"""Findings as text, JSON and SARIF."""

import json
from dataclasses import replace

import pytest

from kvtrace.converters.findings import (
    finding_objects,
    findings_text,
    read_findings,
    sarif,
)
from kvtrace.schema.content import stack_id
from tests.converters.written_trace import Kernel, Launches, add_findings, write_trace

LOAD = [("/home/user/kernels.py", 12, 14, "scale")]
INLINED = [("/lib/helper.py", 3, 5, "inner"), ("/home/user/kernels.py", 13, 5, "scale")]
KERNEL = Kernel(calls=(Launches(number=4), Launches(number=2, shape=(999,), scalar="999")))

VIOLATION = {
    "finding_id": "v0", "call_id": 0, "op_index": 7, "rule": "out-of-bounds",
    "verdict": "violation", "severity": "error", "access": "load", "stack_id": stack_id(LOAD),
    "program_x": 7, "program_y": 0, "program_z": 0, "iteration": None, "lane": [104],
    "arg": "x_ptr", "address_offset": 4000, "past_end_bytes": 4, "lanes": 24,
    "expression": "x_ptr + 4 * (128 * program_id(0) + lane)", "method": "evaluated",
    "message": "load ends 4 bytes past the end of x_ptr",
}  # fmt: skip
PROVEN = {
    "finding_id": "p0", "call_id": 0, "op_index": 9, "rule": "out-of-bounds",
    "verdict": "proven", "severity": "note", "access": "store", "arg": "y_ptr",
    "stack_id": stack_id(INLINED), "message": "store stays inside its tensor for this call",
}  # fmt: skip
UNKNOWN = {
    "finding_id": "u0", "call_id": 1, "op_index": 9, "rule": "out-of-bounds",
    "verdict": "unknown", "severity": "note", "access": "store", "arg": "y_ptr",
    "stack_id": stack_id(INLINED), "reason": "the index is data that was not recorded",
}  # fmt: skip


@pytest.fixture
def side(tmp_path):
    written = write_trace(tmp_path / "t", [KERNEL])
    add_findings(written, [VIOLATION, PROVEN, UNKNOWN], [LOAD, INLINED])
    return written


def found_in(side, **options):
    return read_findings(side.trace, side.runs, **options)


def test_violations_first_and_proven_ones_only_counted(side):
    findings = found_in(side)
    assert [f.finding_id for f in findings.listed] == ["v0", "u0"]
    assert findings.counts == {"scale": {"violation": 1, "unknown": 1, "proven": 1}}
    assert findings.violations == 1
    assert findings.analysed


def test_proven_ones_are_listed_on_request(side):
    assert [f.finding_id for f in found_in(side, proven=True).listed] == ["v0", "u0", "p0"]


def test_json_objects_hold_what_the_contract_names(side):
    (first, second) = json.loads(json.dumps(finding_objects(found_in(side).listed)))
    expected = {
        "rule": "out-of-bounds", "verdict": "violation", "kernel": "scale",
        "file": "/home/user/kernels.py", "line": 12, "program": [7, 0, 0], "arg": "x_ptr",
        "address_offset": 4000, "past_end_bytes": 4,
        "expression": "x_ptr + 4 * (128 * program_id(0) + lane)",
        "message": "load ends 4 bytes past the end of x_ptr", "reason": None,
        "severity": "error", "access": "load", "lane": [104], "iteration": None, "call": 0,
        "launches": 4,
    }  # fmt: skip
    assert {name: first[name] for name in expected} == expected
    assert second["reason"] == "the index is data that was not recorded"
    assert second["launches"] == 2
    assert [frame["function"] for frame in second["stack"]] == ["inner", "scale"]


def test_text_reads_like_a_compilers(side):
    lines = findings_text(found_in(side))
    assert lines[:8] == [
        "/home/user/kernels.py:12: error: out-of-bounds: load of x_ptr in scale",
        "     12 |     values = tl.load(x_ptr + offsets, mask=offsets < n)",
        "  load ends 4 bytes past the end of x_ptr",
        "  witness: program (7, 0, 0) of grid (8, 1, 1), lane [104]",
        "  byte offset 4,000 of x_ptr (fp32[1000]); 24 lanes over the grid",
        "  address: x_ptr + 4 * (128 * program_id(0) + lane)",
        "  in 1 distinct call, 4 launches",
        "  hint: pass mask= to the load (and other=), so that lanes past the end are off",
    ]
    text = "\n".join(lines)
    assert "/lib/helper.py:3: unknown: out-of-bounds: store of y_ptr in scale" in text
    assert "  called from /home/user/kernels.py:13 scale" in text
    assert "KVTRACE_TENSORS=int" in text
    assert lines[-2:] == [
        "verdicts on the accesses of distinct calls: 1 violation, 1 unknown, 1 proven",
        "  scale: 1 violation, 1 unknown, 1 proven",
    ]


def test_one_defect_in_several_calls_is_told_once(tmp_path):
    side = write_trace(tmp_path / "t", [KERNEL])
    again = {**VIOLATION, "finding_id": "v1", "call_id": 1}
    add_findings(side, [VIOLATION, again], [LOAD])
    findings = found_in(side)
    assert len(findings.listed) == 2
    text = findings_text(findings)
    assert sum("error:" in line for line in text) == 1
    assert "  in 2 distinct calls, 6 launches" in text


def test_the_same_finding_of_two_ranks_is_one(tmp_path):
    for rank in range(2):
        side = write_trace(tmp_path / "t", [KERNEL], run_id=f"r{rank}", group_id="job")
    side = replace(side, runs=side.trace.select())
    add_findings(side, [VIOLATION], [LOAD])
    (found,) = found_in(side).listed
    assert found.launches == 8


def test_nothing_found_and_not_analysed_are_told_apart(tmp_path):
    side = write_trace(tmp_path / "t", [KERNEL])
    assert findings_text(found_in(side)) == [
        "not analysed yet: kvtrace sanitize fills the findings"
    ]
    add_findings(side, [])
    (line,) = findings_text(found_in(side))
    assert line.endswith("0 violation, 0 unknown, 0 proven")


def test_a_finding_without_a_place_points_at_its_kernel(tmp_path):
    side = write_trace(tmp_path / "t", [KERNEL])
    add_findings(side, [{**UNKNOWN, "stack_id": None, "access": None, "arg": None}])
    assert findings_text(found_in(side))[0] == (
        "/home/user/kernels.py:10: unknown: out-of-bounds: access in scale"
    )


def test_hostile_texts_are_escaped(tmp_path):
    side = write_trace(tmp_path / "t", [replace(KERNEL, name="\x1b[31mred\nline")])
    add_findings(side, [{**VIOLATION, "message": "two\nlines\x07"}], [LOAD])
    text = findings_text(found_in(side))
    assert all(line.isprintable() for line in text)


def test_sarif_has_a_result_for_each_defect(side):
    log = json.loads(json.dumps(sarif(found_in(side, proven=True).listed, "0.1.0")))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert run["tool"]["driver"]["rules"] == [{"id": "out-of-bounds"}]
    kinds = [(result["kind"], result["level"]) for result in run["results"]]
    assert kinds == [("fail", "error"), ("review", "none"), ("pass", "none")]
    place = run["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "file:///home/user/kernels.py"
    assert place["region"] == {"startLine": 12, "startColumn": 14}
    assert run["results"][0]["message"]["text"].startswith("scale: load ends")
