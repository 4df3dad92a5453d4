"""Findings as SARIF 2.1.0."""

import copy
import json
from pathlib import Path

import pytest

from docs_site.rules import pages_of
from kvtrace.converters.findings import read_findings, sarif
from kvtrace.converters.findings.model import StackFrame
from kvtrace.converters.findings.sarif import _location, rule_pages
from kvtrace.schema.content import stack_id
from tests.converters.finding_rows import (
    INLINED,
    KERNEL,
    LOAD,
    PROVEN,
    RACE,
    STORE,
    UNKNOWN,
    VIOLATION,
)
from tests.converters.written_trace import SOURCE, add_findings, write_trace
from tests.support.replacing import replace
from tests.support.sarif_shape import violations

RULES = Path(__file__).parents[3] / "docs" / "rules"
IGNORED = SOURCE.replace("mask=offsets < n)\n", "mask=offsets < n)  # kvtrace: ignore pads\n", 1)
ODD_PLACES = ["C:\\code\\my kernels.py", "<stdin>", "über/ä b#c%.py", "/x/y z.py"]


def log_of(side, **options):
    findings = read_findings(side.trace, side.runs, proven=True)
    return json.loads(json.dumps(sarif(findings, "0.1.0", **options)))


@pytest.fixture
def side(tmp_path):
    written = write_trace(tmp_path / "t", [KERNEL])
    add_findings(written, [VIOLATION, PROVEN, UNKNOWN, RACE], [LOAD, STORE, INLINED])
    return written


@pytest.mark.parametrize("root", [None, "/home/user", "/home/user/", "/elsewhere"])
def test_a_log_with_everything_is_valid(side, root):
    assert violations(log_of(side, root=root)) == []


def test_a_log_with_nothing_is_valid(tmp_path):
    side = write_trace(tmp_path / "t", [KERNEL])
    add_findings(side, [])
    assert violations(log_of(side)) == []


def test_a_load_that_the_compiler_removed_is_a_notification(side):
    findings = read_findings(side.trace, side.runs)
    log = sarif(replace(findings, not_evaluated=("line 5: the compiler removed this load",)), "0.1")
    (notification,) = log["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    assert notification["message"]["text"] == "line 5: the compiler removed this load"


@pytest.mark.parametrize("path", ODD_PLACES)
def test_paths_of_all_kinds_give_valid_references(tmp_path, path):
    side = write_trace(tmp_path / "t", [KERNEL])
    frames = [(path, None, None, "scale")]
    add_findings(side, [{**VIOLATION, "stack_id": stack_id(frames)}], [frames])
    assert violations(log_of(side)) == []


def test_schema_check_detects_invalid_logs(side):
    log = log_of(side)
    wrong = {
        "kind": "failed", "level": "fatal", "occurrenceCount": 0, "ruleIndex": 0, "extra": 1,
        "codeFlows": [{"threadFlows": []}], "suppressions": [{"status": "accepted"}],
    }  # fmt: skip
    for name, value in wrong.items():
        broken = copy.deepcopy(log)
        broken["runs"][0]["results"][0][name] = value
        assert violations(broken), name
    del log["runs"][0]["results"][0]["message"]
    assert violations(log)


def test_each_defect_has_one_result_of_its_kind(side):
    (run,) = log_of(side)["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert rules == ["out-of-bounds", "race"]
    kinds = [(r["ruleId"], r["kind"], r["level"]) for r in run["results"]]
    assert kinds == [
        ("race", "fail", "error"),
        ("out-of-bounds", "fail", "error"),
        ("out-of-bounds", "review", "none"),
        ("out-of-bounds", "pass", "none"),
    ]
    assert run["results"][1]["message"]["text"].startswith("scale: load ends 4 bytes past")
    assert "lane 104 of program (7, 0, 0)" in run["results"][1]["message"]["text"]


def test_places_below_the_checkout_are_relative_to_it(side):
    (run,) = log_of(side, root="/home/user")["runs"]
    place = run["results"][1]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "kernels.py", "uriBaseId": "SRCROOT"}
    assert place["region"]["startLine"] == 12
    assert place["region"]["startColumn"] == 14
    assert run["originalUriBaseIds"] == {"SRCROOT": {"uri": "file:///home/user/"}}
    (run,) = log_of(side)["runs"]
    place = run["results"][1]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "file:///home/user/kernels.py"}


@pytest.mark.parametrize(
    ("source", "column", "marked"),
    [
        ("x = tl.load(a + (b * 2)) + 1", 5, "tl.load(a + (b * 2))"),
        ("tl.store(p, tl.load(q), mask=m)", 13, "tl.load(q)"),
        ("x = tl.load(  ", 5, "tl.load("),
        ("f(x + y)", 7, "y"),
    ],
)
def test_a_region_ends_with_the_call_that_begins_it(source, column, marked):
    place = StackFrame("a.py", 3, column, None)
    region = _location(place, None, source)["physicalLocation"]["region"]
    assert source[region["startColumn"] - 1 : region["endColumn"] - 1] == marked


@pytest.mark.parametrize(
    ("column", "source", "columns"),
    [
        (5, None, (5, 6)),
        (50, "x = 1", (50, 51)),
        (None, "    x = 1  ", (5, 10)),
        (None, None, (None, None)),
        (None, "  ", (None, None)),
    ],
)
def test_a_region_with_a_column_has_its_end(column, source, columns):
    place = StackFrame("a.py", 3, column, None)
    region = _location(place, None, source)["physicalLocation"]["region"]
    assert (region.get("startColumn"), region.get("endColumn")) == columns


def test_every_region_of_a_log_with_columns_ends(side):
    text = json.dumps(log_of(side))
    assert text.count('"startColumn"') == text.count('"endColumn"') > 5


def test_help_text_of_a_rule_is_its_documentation_page(side):
    (run,) = log_of(side)["runs"]
    helps = {rule["id"]: rule["help"]["markdown"] for rule in run["tool"]["driver"]["rules"]}
    page = (RULES / "race.md").read_text(encoding="utf-8")
    assert "## How to suppress it" in helps["race"]
    assert "](README.md)" not in helps["race"]
    assert page.splitlines()[2] in helps["race"]


def test_installed_pages_are_those_of_the_documentation():
    assert rule_pages() == pages_of(RULES), "make docs writes them"
    assert "double[(4,)](torch.ones(1000)" in rule_pages()["out-of-bounds"]


def test_what_was_inlined_is_a_code_flow_and_a_race_has_a_second_place(side):
    race, _, unknown, _ = log_of(side)["runs"][0]["results"]
    (flow,) = unknown["codeFlows"]
    steps = flow["threadFlows"][0]["locations"]
    assert [(s["nestingLevel"], s["location"]["message"]["text"]) for s in steps] == [
        (0, "scale"),
        (1, "inner"),
    ]
    (other,) = race["relatedLocations"]
    assert other["message"]["text"] == "the access of program (6, 0, 0)"
    assert other["physicalLocation"]["region"]["startLine"] == 13


def test_what_a_comment_suppresses_is_suppressed_in_source(tmp_path):
    side = write_trace(tmp_path / "t", [replace(KERNEL, source=IGNORED)])
    add_findings(side, [VIOLATION], [LOAD])
    log = log_of(side)
    assert violations(log) == []
    (result,) = log["runs"][0]["results"]
    assert result["suppressions"] == [
        {"kind": "inSource", "status": "accepted", "justification": "pads"}
    ]


def test_rules_have_the_descriptions_of_their_pass(tmp_path):
    import pyarrow as pa

    from kvtrace.schema.tables import TABLES

    side = write_trace(tmp_path / "t", [KERNEL])
    (run,) = side.runs
    table = pa.Table.from_pylist([], schema=TABLES["findings"].schema)
    said = {"race": {"severity": "error", "summary": "two programs meet", "hint": "use atomics"}}
    side.trace.add_derived(run.run_id, "sanitizer", {"findings": table}, {"rules": said})
    (rule,) = log_of(side)["runs"][0]["tool"]["driver"]["rules"]
    assert rule["shortDescription"] == {"text": "Two programs meet."}
    assert "Use atomics." in rule["help"]["text"]
    assert rule["help"]["markdown"].endswith(rule_pages()["race"])
    assert rule["defaultConfiguration"] == {"level": "error"}
