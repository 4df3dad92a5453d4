"""Findings: the one reader of the table, and the text and JSON that are made of it."""

import json
import re

import pytest

from kvtrace.converters.findings import finding_objects, findings_text, read_findings
from kvtrace.schema.content import stack_id
from tests.converters.finding_rows import (
    INLINED,
    KERNEL,
    LOAD,
    RACE,
    STORE,
    UNKNOWN,
    VIOLATION,
)
from tests.converters.written_trace import Kernel, Launches, add_findings, write_trace
from tests.support.replacing import replace


def found_in(side, **options):
    return read_findings(side.trace, side.runs, **options)


def test_violations_first_and_proven_ones_only_counted(side):
    findings = found_in(side)
    assert [f.finding_id for f in findings.listed] == ["v0", "u0"]
    assert findings.counts == {
        "scale": {"error": 1, "warning": 0, "note": 0, "unknown": 1, "suppressed": 0, "proven": 1}
    }
    assert findings.total["error"] == 1
    assert findings.analyzed


def test_proven_ones_are_listed_on_request(side):
    findings = found_in(side, proven=True)
    assert [f.finding_id for f in findings.listed] == ["v0", "u0", "p0"]
    assert findings.counts == found_in(side).counts


def test_rule_filter_reads_only_its_findings(side):
    add_findings(side, [VIOLATION, {**UNKNOWN, "rule": "race"}], [LOAD, INLINED])
    findings = found_in(side, rules=["race", "overflow"])
    assert [f.rule for f in findings.listed] == ["race"]
    assert (findings.total["error"], findings.total["unknown"]) == (0, 1)


def test_unknown_verdicts_count_as_failures_only_if_strict(side):
    findings = found_in(side)
    assert (findings.failures(), findings.failures(strict=True)) == (1, 2)
    add_findings(side, [{**VIOLATION, "severity": "note"}, UNKNOWN], [LOAD, INLINED])
    findings = found_in(side)
    assert (findings.failures(), findings.failures(strict=True)) == (0, 1)


def test_a_call_that_was_launched_stands_for_one_that_was_not(tmp_path):
    calls = (Launches(number=0), Launches(number=3))
    written = write_trace(tmp_path / "t", [Kernel(calls=calls)])
    add_findings(written, [VIOLATION, {**VIOLATION, "call_id": 1}], [LOAD])
    (found,) = found_in(written).listed
    assert (found.call, found.calls, found.launches) == (1, 2, 3)


@pytest.mark.parametrize(
    ("launches", "seen"), [("1 of 4", "in one or more of 4 launches"), ("4 of 4", "4 launches")]
)
def test_a_verdict_on_some_contents_is_not_of_all_launches(launches, seen, tmp_path):
    scope = f" [for the contents of launch 3: 1 of 2 distinct contents, {launches} launches]"
    reason = "the mask admits i = 5" + scope
    row = {**VIOLATION, "message": VIOLATION["message"] + scope, "reason": reason}
    written = write_trace(tmp_path / "t", [KERNEL])
    add_findings(written, [row], [LOAD])
    text = " ".join(" ".join(findings_text(found_in(written))).split())
    assert f"seen in: 1 unique call, {seen} hint: the mask admits i = 5: narrow" in text
    assert text.count("the mask admits") == 1


def test_json_objects_have_the_documented_fields(side):
    (first, second) = json.loads(json.dumps(finding_objects(found_in(side).listed)))
    expected = {
        "rule": "out-of-bounds", "verdict": "violation", "kernel": "scale",
        "file": "/home/user/kernels.py", "line": 12, "program": [7, 0, 0], "arg": "x_ptr",
        "address_offset": 4000, "past_end_bytes": 4,
        "expression": "x_ptr + 4 * (128 * program_id(0) + lane)",
        "message": "load ends 4 bytes past the end of x_ptr", "reason": None,
        "severity": "error", "access": "load", "lane": [104], "iteration": None, "call": 0,
        "launches": 4, "suppressed": False, "tensor": "fp32[1000]",
        "invocation": "scale[(8, 1, 1)](x_ptr=fp32[1000], y_ptr=fp32[1000], n=1000, BLOCK=128)",
    }  # fmt: skip
    assert {name: first[name] for name in expected} == expected
    assert second["reason"] == "the index is data that was not recorded"
    assert second["launches"] == 2
    assert [frame["function"] for frame in second["stack"]] == ["inner", "scale"]


def test_text_has_the_format_of_compiler_diagnostics(side):
    text = findings_text(found_in(side))
    assert text[:15] == [
        "/home/user/kernels.py:12:14: error[out-of-bounds]: load ends 4 bytes past the",
        "  end of x_ptr",
        "  11 |     offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)",
        "  12 |     values = tl.load(x_ptr + offsets, mask=offsets < n)",
        "     |              ^",
        "  13 |     tl.store(y_ptr + offsets, values * 2, mask=offsets < n)",
        "  in:        kernel scale",
        "  witness:   lane 104 of program (7, 0, 0) in grid (8, 1, 1) reads byte 4,000 of",
        "             x_ptr (fp32[1000]); 24 lanes over the grid",
        "  address:   x_ptr + 4 * (128 * program_id(0) + lane)",
        "  launch:    scale[(8, 1, 1)](x_ptr=fp32[1000], y_ptr=fp32[1000], n=1000,",
        "             BLOCK=128)",
        "  seen in:   1 unique call, 4 launches",
        "  hint:      pass mask= to the load (and other=), so that lanes past the end are",
        "             off",
    ]
    whole = "\n".join(text)
    assert "/lib/helper.py:3:5: unknown[out-of-bounds]: the index is data that" in whole
    assert "  in:        inner, of kernel scale" in whole
    assert "  called at: /home/user/kernels.py:13:5 scale" in whole
    assert "KVTRACE_TENSORS=int" in whole
    assert text[-5:] == [
        "verdicts on unique calls: 1 error (33.3 %), 1 unknown (33.3 %), 1 proven (33.3",
        "  %)",
        "  scale: 1 error, 1 unknown, 1 proven",
        "unknown because:",
        "       1 × the index is data that was not recorded",
    ]


def test_a_race_names_both_programs_and_both_places(tmp_path):
    side = write_trace(tmp_path / "t", [KERNEL])
    add_findings(side, [RACE], [LOAD, STORE])
    (found,) = found_in(side).listed
    assert (found.program, found.other_program) == ((7, 0, 0), (6, 0, 0))
    assert [frame.line for frame in found.other_stack] == [13]
    text = "\n".join(findings_text(found_in(side)))
    assert "  against:   program (6, 0, 0) at /home/user/kernels.py:13:5" in text
    assert "  nearest:   y_ptr, 16 bytes further on" in text


def test_unknown_findings_list_sufficient_conditions(tmp_path):
    side = write_trace(tmp_path / "t", [KERNEL])
    add_findings(side, [{**UNKNOWN, "assumption": "0 <= index < 999"}], [INLINED])
    assert "  safe if:   0 <= index < 999" in findings_text(found_in(side))


@pytest.mark.parametrize(("tensor", "setting"), [("x_ptr", "all"), ("index", "int")])
def test_the_setting_that_is_advised_records_what_is_missing(tmp_path, tensor, setting):
    """`x_ptr` is of floats, which KVTRACE_TENSORS=int does not record."""
    side = write_trace(tmp_path / "t", [KERNEL])
    reason = f"its address is not tracked; evaluated: depends on the data of {tensor}"
    add_findings(side, [{**UNKNOWN, "reason": reason}], [INLINED])
    (found,) = found_in(side).listed
    assert f"KVTRACE_TENSORS={setting}" in found.hint


@pytest.mark.parametrize(
    "reason",
    [
        "depends on the data of index; the launch itself changes index, in no order that is known",
        "depends on the data of x_ptr, index; the launch itself changes index, in no order that",
        "index_add_ may change elements that an index or mask chooses, not recorded",
    ],
    ids=["changed by the launch", "one of two changed", "an operator's index"],
)
def test_no_recording_is_advised_that_gives_nothing(tmp_path, reason):
    side = write_trace(tmp_path / "t", [KERNEL])
    add_findings(side, [{**UNKNOWN, "reason": reason}], [INLINED])
    (found,) = found_in(side).listed
    assert found.hint is None


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("i = 1; x_ptr has shape [14, 129] and strides [0, 0]",
         "pass its strides, or a contiguous copy (.contiguous())"),
        ("i = 1,000; x_ptr has 1000 elements", "narrow the mask, or pass the size that x_ptr has"),
    ],
)  # fmt: skip
def test_the_hint_for_a_masked_access_says_what_its_mask_admits(tmp_path, given, hint):
    side = write_trace(tmp_path / "t", [KERNEL])
    reason = f"the mask admits {given}"
    add_findings(side, [{**VIOLATION, "reason": reason}], [LOAD])
    (found,) = found_in(side).listed
    assert found.hint == f"{reason}: {hint}"
    text = "\n".join(findings_text(found_in(side), width=1000))
    assert text.count("the mask admits") == 1  # not as the reason, too


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        ("number without a value (a shift by 40 of 32 bits has none)", "shift by less than"),
        ("lane that the load of x_ptr leaves without a value", ""),
    ],
)
def test_the_hint_for_what_has_no_value_says_what_gives_it_one(tmp_path, source, hint):
    side = write_trace(tmp_path / "t", [KERNEL])
    row = {**VIOLATION, "rule": "undefined-lanes", "message": f"a {source} is stored"}
    add_findings(side, [row], [LOAD])
    (found,) = found_in(side).listed
    assert (found.hint or "")[:18] == hint


def test_every_line_fits_the_terminal_and_color_changes_no_text(side):
    long = {**VIOLATION, "message": "word " * 60, "expression": "x + " * 40}
    add_findings(side, [long, UNKNOWN], [LOAD, INLINED])
    plain = findings_text(found_in(side), width=80)
    colored = findings_text(found_in(side), width=80, color=True)
    assert max(map(len, plain)) <= 80
    assert [re.sub("\x1b\\[[0-9;]*m", "", line) for line in colored] == plain
    assert any("\x1b[1;31merror[out-of-bounds]\x1b[0m" in line for line in colored)


def test_a_caret_stays_under_its_column_in_a_line_that_is_cut(tmp_path):
    padding = "a" * 150
    source = f"def scale(x_ptr):\n    {padding} = tl.load(x_ptr)\n"
    frames = [("/home/user/kernels.py", 11, 158, "scale")]
    side = write_trace(tmp_path / "t", [replace(KERNEL, source=source)])
    add_findings(side, [{**VIOLATION, "stack_id": stack_id(frames)}], [frames])
    lines = findings_text(found_in(side))
    at = next(i for i, line in enumerate(lines) if "^" in line)
    assert lines[at - 1][lines[at].index("^") :].startswith("tl.load")
    assert len(lines[at - 1]) <= 80


def test_paths_below_a_folder_are_shown_relative_to_it(side):
    lines = findings_text(found_in(side), base="/home/user")
    assert lines[0].startswith("kernels.py:12:14: error")
    assert any(line.startswith("/lib/helper.py:3:5: unknown") for line in lines)


def test_a_label_is_colored_where_a_long_path_pushes_it_down(tmp_path):
    frames = [(f"/{'long/' * 13}kernels.py", 12, 14, "scale")]
    side = write_trace(tmp_path / "t", [KERNEL])
    add_findings(side, [{**VIOLATION, "stack_id": stack_id(frames)}], [frames])
    first, second, *_ = findings_text(found_in(side), color=True)
    assert first.startswith("\x1b[1m/long/")
    assert second.startswith("  \x1b[1;31merror[out-of-bounds]\x1b[0m: load")


def test_defect_in_several_calls_is_reported_once(tmp_path):
    side = write_trace(tmp_path / "t", [KERNEL])
    again = {**VIOLATION, "finding_id": "v1", "call_id": 1}
    add_findings(side, [VIOLATION, again], [LOAD])
    findings = found_in(side)
    assert len(findings.listed) == 2
    text = findings_text(findings)
    assert sum("error[" in line for line in text) == 1
    assert "  seen in:   2 unique calls, 6 launches" in text


def test_the_same_finding_of_two_ranks_is_one(tmp_path):
    for rank in range(2):
        side = write_trace(tmp_path / "t", [KERNEL], run_id=f"r{rank}", group_id="job")
    side = replace(side, runs=side.trace.select())
    add_findings(side, [VIOLATION], [LOAD])
    (found,) = found_in(side).listed
    assert (found.calls, found.launches) == (2, 8)


def test_no_findings_and_not_analyzed_are_distinguished(tmp_path):
    side = write_trace(tmp_path / "t", [KERNEL])
    assert findings_text(found_in(side)) == [
        "not analyzed yet: kvtrace sanitize fills the findings"
    ]
    add_findings(side, [])
    (line,) = findings_text(found_in(side))
    assert line.endswith("none, as no rule had anything to judge")


def test_a_finding_in_tritons_library_stands_at_the_users_line(tmp_path):
    library = "/env/lib/python3.11/site-packages/triton/language/standard.py"
    called = [(library, 293, 37, None), ("/home/user/kernels.py", 11, 9, "scale")]
    alone = called[:1]
    side = write_trace(tmp_path / "t", [KERNEL])
    rows = [
        {**VIOLATION, "stack_id": stack_id(called)},
        {**VIOLATION, "finding_id": "v1", "stack_id": stack_id(alone)},
    ]
    add_findings(side, rows, [called, alone])

    places = [(found.file, found.line) for found in found_in(side).listed]
    assert sorted(places) == [(library, 293), ("/home/user/kernels.py", 11)]


def test_a_finding_without_a_place_points_at_its_kernel(tmp_path):
    side = write_trace(tmp_path / "t", [KERNEL])
    add_findings(side, [{**UNKNOWN, "stack_id": None, "access": None, "arg": None}])
    text = findings_text(found_in(side))
    assert text[0].startswith("/home/user/kernels.py:10: unknown[out-of-bounds]: the index")
    assert "  10 | def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):" in text


def test_hostile_texts_are_escaped(tmp_path):
    side = write_trace(tmp_path / "t", [replace(KERNEL, name="\x1b[31mred\nline")])
    add_findings(side, [{**VIOLATION, "message": "two\nlines\x07"}], [LOAD])
    text = findings_text(found_in(side))
    assert all(line.isprintable() for line in text)


def test_line_format_has_location_severity_rule_and_text():
    from kvtrace.converters.findings.findings_text import findings_lines
    from kvtrace.converters.findings.model import Finding, Findings

    long = "a store ends past the end of a tensor " * 5
    place = {"kernel": "k", "file": "a/b.py", "line": 7, "column": 3, "message": long.strip()}
    found = Finding("1", "out-of-bounds", "violation", "error", **place)
    assert findings_lines(Findings((found,))) == [
        f"a/b.py:7:3: error[out-of-bounds]: {long.strip()}"
    ]
