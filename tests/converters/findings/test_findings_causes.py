"""Findings by cause: on Llama with Liger's kernels under torch.compile, as an H200 recorded it."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kvtrace.analysis.judging import judge_runs
from kvtrace.cli import main
from kvtrace.converters.findings import Findings, finding_objects, findings_text, sarif
from kvtrace.converters.findings.causes import by_cause, cause_of, is_generated, operators_of
from kvtrace.converters.findings.findings_text import findings_lines
from kvtrace.converters.findings.model import Finding, Operator, RuleText, StackFrame, Tally
from kvtrace.schema.trace import select_runs
from tests.support.replacing import replace

RECORDED = Path(__file__).parents[2] / "fixtures" / "h200" / "llama_liger"
"""The program died of an illegal access of memory, which is what the errors are."""
FROM = "aten.clone, aten.as_strided at file26.py:219"


def judged(folder: Path, *rules: str) -> Findings:
    return judge_runs(select_runs(folder), rules or ("default",))


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("llama") / "trace"
    shutil.copytree(RECORDED, folder)
    return folder


@pytest.fixture(scope="module")
def cached(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As `llama`, with fewer chunks of the loss, so that it survived, and Inductor's cache full."""
    folder = tmp_path_factory.mktemp("cached") / "trace"
    shutil.copytree(RECORDED.with_name("llama_liger_cached"), folder)
    return folder


@pytest.fixture(scope="module")
def found(llama: Path) -> Findings:
    return judged(llama)


# -- the whole of it ----------------------------------------------------------------------------


@pytest.mark.costly("findings of a model; written ones stay by day")
def test_errors_come_first_and_all_of_it_fits_on_a_screen_or_two(found: Findings) -> None:
    text = findings_text(found, width=80)

    assert len(text) < 80
    assert "error[out-of-bounds]" in text[0]
    assert sum("error[" in line for line in text) == 1
    whole = "\n".join(text)
    assert "warning[" not in whole
    assert "53 mask-always-false in generated code (Inductor); --rule mask-always-false" in whole


def test_cause_lists_every_affected_kernel(found: Findings) -> None:
    errors = [each for each in found.listed if each.severity == "error"]
    (group,) = [group for group in by_cause(found).groups if group[0].severity == "error"]

    assert list(group) == errors
    assert {each.kernel for each in errors} == {
        f"triton_poi_fused_{n}" for n in (2, 4, 6, 9, 11, 13)
    }
    block = "\n".join(findings_text(replace(found, listed=group), width=1000))
    for each in errors[1:]:
        assert f"{each.kernel}:24" in block or each.kernel == errors[0].kernel
    assert "seen in:   10 unique calls" in block


def test_a_place_in_generated_code_is_followed_by_operator_and_line(found: Findings) -> None:
    text = "\n".join(findings_text(found, width=1000))
    line = findings_lines(found)[0]

    assert f"from:      {FROM}: liger_cross_entropy_kernel[(end_idx - start_idx,)](" in text
    assert line.endswith(f"(from {FROM})")
    assert "From: aten.clone, aten.as_strided (file26.py:219)" in json.dumps(sarif(found, "0"))


def test_hint_for_generated_code_names_its_mask_and_the_code_to_change(found: Findings) -> None:
    hint = found.listed[0].hint or ""
    assert hint.startswith("the mask admits xindex = 64; in_ptr0 has 64 elements. Inductor wrote")
    assert "pass mask=" not in hint


def test_kernels_with_nothing_to_report_are_one_line(found: Findings) -> None:
    text = findings_text(found, width=1000)

    counts = "\n".join(text)  # other rules may prove more, or leave open

    assert re.search(r"verdicts on unique calls: 10 errors \(\d.*, 53 notes", counts)
    assert re.search(r"^  \d+ kernels with nothing to report: \d+ proven$", counts, re.MULTILINE)
    assert re.search(r"^  \d+ kernels with notes alone: 0 errors, \d+ notes", counts, re.MULTILINE)
    assert len(re.findall(r"^  triton_poi_fused_\d+: [12] error", counts, re.MULTILINE)) == 6
    assert "rms_norm" not in counts


def test_machine_readable_outputs_keep_every_finding(found: Findings) -> None:
    objects = finding_objects(tuple(f for f in found.listed if f.verdict == "violation"))
    errors = [each for each in objects if each["severity"] == "error"]

    assert len(objects) == 63
    assert len({each["cause"] for each in errors}) == 1
    assert errors[0]["operators"][0]["op"] == "aten.clone"
    (run,) = sarif(found, "0")["runs"]
    results = [each for each in run["results"] if each["kind"] == "fail"]
    assert sum(each["properties"]["distinct_calls"] for each in results) == 63
    assert {each["properties"]["cause"] for each in results} == {o["cause"] for o in objects}


@pytest.mark.costly("judges generated kernels; written findings stay by day")
def test_code_from_inductors_cache_is_placed_by_the_line_that_launched_it(cached: Path) -> None:
    """Nothing was generated there, so the graph's nodes alone are known, and no lines."""
    found = judged(cached)
    text = findings_text(found, width=80)
    (error,) = [group for group in by_cause(found).groups if group[0].severity == "error"]

    assert len(text) <= 80
    assert len({each.kernel for each in error}) == len(error) == 7
    assert "52 mask-always-false in generated code (Inductor); --rule mask-always-false" in text
    line = findings_lines(found)[0]
    assert "(from triton_kernel_wrapper_mutation launched at " in line
    assert line.endswith("site-packages/liger_kernel/ops/fused_linear_cross_entropy.py:132)")


def test_unknown_by_one_reason_names_every_rule_that_leaves_it_open() -> None:
    reason = {"verdict": "unknown", "severity": "note", "reason": "it was not kept", **PLACED}
    found = finding(**reason), finding(**reason, finding_id="g", rule="race")
    listed = tuple(replace(each, cause=cause_of(each)) for each in found)
    (line, *_) = findings_text(Findings(listed, analyzed=True), width=1000)

    assert "unknown[out-of-bounds, race]: it was not kept" in line


def test_lints_of_generated_code_are_listed_on_request_and_do_not_fail(
    llama: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["sanitize", str(llama), "--rule", "mask-always-false", "--strict", "--blocks"])
    out = capsys.readouterr().out

    assert code == 0
    assert "note[mask-always-false]" in out
    assert "in generated code (Inductor); --rule" not in out
    assert "53 notes (100.0 %)" in " ".join(out.split())


# -- planted defects ------------------------------------------------------------------------------


def shrunk(llama: Path, folder: Path, kernel: str, arg: str, **to: Any) -> Path:
    """A copy of the trace in which a call gives a kernel less than it was recorded with."""
    shutil.copytree(llama, folder)
    shutil.rmtree(folder / "findings")
    names = {
        row["kernel_id"]: row["name"]
        for row in select_runs(folder).table("kernels", ["kernel_id", "name"]).to_pylist()
    }
    for path in folder.glob("calls/*/*.parquet"):
        table = pq.read_table(path, partitioning=None)
        rows = table["args"].to_pylist()
        for row, kernel_id in zip(rows, table["kernel_id"].to_pylist(), strict=True):
            for each in row:
                if names[kernel_id] == kernel and each["name"] == arg:
                    each.update({k: change(each) for k, change in to.items()})
        place = table.schema.get_field_index("args")
        field = table.schema.field(place)
        changed = table.set_column(place, field, pa.array(rows, field.type))
        pq.write_table(changed.cast(table.schema), path)
    return folder


def less(arg: Any) -> list[int]:
    return [*arg["shape"][:-1], arg["shape"][-1] - 1]


def fewer_bytes(arg: Any) -> int:
    return int(arg["storage_bytes"]) - 64


@pytest.mark.costly("judges generated kernels; written findings stay by day")
def test_a_defect_planted_in_a_generated_kernel_is_reported(llama: Path, tmp_path: Path) -> None:
    kernel = "triton_poi_fused_add_0"
    folder = shrunk(llama, tmp_path / "t", kernel, "in_ptr0", shape=less, storage_bytes=fewer_bytes)
    planted = judged(folder)

    errors = [g for g in by_cause(planted).groups if g[0].severity == "error"]
    (own,) = [group for group in errors if group[0].kernel == kernel]
    assert len(errors) == 2
    assert (own[0].rule, own[0].arg) == ("out-of-bounds", "in_ptr0")
    text = findings_text(planted, width=80)
    assert len(text) < len(findings_text(judged(llama), width=80)) + 31
    assert sum("error[out-of-bounds]" in line for line in text) == 2


@pytest.mark.costly("judges generated kernels; written findings stay by day")
def test_a_warning_planted_in_a_generated_kernel_is_no_lint(llama: Path, tmp_path: Path) -> None:
    kernel = "triton_poi_fused_add_0"
    folder = shrunk(llama, tmp_path / "t", kernel, "in_ptr0", shape=less)
    text = findings_text(judged(folder), width=1000)

    (told,) = [line for line in text if "warning[" in line]
    assert "warning[out-of-view]: load ends" in told


# -- what has one cause ---------------------------------------------------------------------------

OP = Operator("aten.add", None, "model.py", 12, "x + y")


def finding(**facts: Any) -> Finding:
    usual = {
        "finding_id": "f", "rule": "out-of-bounds", "verdict": "violation", "severity": "error",
        "kernel": "triton_poi_fused_add_0", "file": "/cache/i/ab/cabx.py", "line": 24, "column": 9,
        "access": "load", "arg": "in_ptr0", "expression": "in_ptr0 + x0 + 128 * x1",
        "generated": True, "operators": (OP,), "stack": (StackFrame("f.py", 24, 9, "f"),),
    }  # fmt: skip
    return Finding(**{**usual, **facts})


PLACED = {"generated": False, "operators": (), "file": "kernels.py"}


@pytest.mark.parametrize(
    "other",
    [
        finding(kernel="triton_poi_fused_add_7", file="/cache/i/cd/ccdx.py", line=31),
        finding(expression="in_ptr0 + x0 + 4096 * x1"),
        finding(lanes=7, message="another"),
    ],
    ids=["another kernel", "another size", "another witness"],
)
def test_generated_code_has_one_cause_up_to_names_and_sizes(other: Finding) -> None:
    assert cause_of(finding()) == cause_of(other)


@pytest.mark.parametrize(
    "other",
    [
        finding(expression="in_ptr1 + x0 + 128 * x1"),
        finding(operators=(replace(OP, line=13),)),
        finding(operators=(replace(OP, op="aten.mul"),)),
        finding(rule="race"),
        finding(access="store"),
        finding(**PLACED),
    ],
    ids=["expression", "line", "operator", "rule", "access", "program"],
)
def test_another_expression_line_or_rule_is_another_cause(other: Finding) -> None:
    assert cause_of(finding()) != cause_of(other)


@pytest.mark.parametrize("line", [132, 133])
def test_launching_line_is_the_origin_without_a_recorded_line(line: int) -> None:
    def launched(at: int) -> str:
        place = StackFrame("model.py", at, None, None)
        return cause_of(finding(operators=(Operator("node"),), launched_at=place))

    assert (launched(132) == launched(line)) is (line == 132)


def test_in_the_program_a_place_is_a_cause_whatever_the_sizes() -> None:
    first = finding(**PLACED)
    assert cause_of(first) == cause_of(finding(**PLACED, expression="in_ptr0 + x0 + 64 * x1"))
    assert cause_of(first) != cause_of(finding(**PLACED, line=25))


def test_copies_that_inductor_makes_of_a_kernel_have_one_cause() -> None:
    def copy(number: int, definition: int, line: int) -> str:
        name, file = f"_rms_norm_{number}", f"/cache/i/a{number}/ca{number}x.py"
        stack = (StackFrame(file, line, 9, name),)
        place = {"kernel": name, "file": file, "line": line, "stack": stack}
        return cause_of(finding(**{**PLACED, **place}), definition)

    assert copy(0, 18, 30) == copy(1, 40, 52)
    assert copy(0, 18, 30) != copy(1, 40, 53)


def test_two_lines_of_one_generated_kernel_are_both_named() -> None:
    both = (finding(), finding(finding_id="g", line=31))
    listed = tuple(replace(each, cause=cause_of(each), run="r", call=0) for each in both)
    text = findings_text(Findings(listed, analyzed=True))

    assert "  also in:   triton_poi_fused_add_0:31" in text
    assert "  seen in:   1 unique call, 0 launches" in text


def test_what_is_unknown_for_one_reason_is_told_once_with_its_places() -> None:
    reason = "evaluating {} lanes would be more than the budget"
    first, *others = (
        finding(
            verdict="unknown", severity="note", line=line, finding_id=str(line),
            reason=reason.format(line * 1000), **PLACED,
        )
        for line in range(1, 11)
    )  # fmt: skip
    listed = tuple(replace(f, cause=cause_of(f)) for f in (first, *others))
    text = "\n".join(findings_text(Findings(listed, analyzed=True), width=1000))

    assert text.count("unknown[") == 1
    assert "also in:   kernels.py:2:9,3:9,4:9,5:9,6:9,7:9,and 3 more" in text


def test_what_is_unknown_in_generated_code_is_one_reason_whatever_its_arguments() -> None:
    def unknown(arg: str, **facts: Any) -> str:
        reason = f"it depends on the contents of {arg}, which were not recorded"
        return cause_of(finding(verdict="unknown", severity="note", reason=reason, **facts))

    assert unknown("in_ptr0") == unknown("in_ptr3")
    assert unknown("in_ptr0", **PLACED) != unknown("in_ptr3", **PLACED)  # these are the program's


def test_the_worst_kernels_are_counted_one_by_one_and_the_others_together() -> None:
    unknown = Tally("r", 0, "", "race", "unknown", "note", suppressed=False, count=1)
    tallies = [replace(unknown, kernel=f"k{number:02}", count=number + 1) for number in range(20)]
    tallies.append(replace(unknown, kernel="fine", verdict="proven", count=7))
    tallies.append(replace(unknown, kernel="broken", verdict="violation", severity="error"))
    text = findings_text(Findings(tallies=tuple(tallies), analyzed=True))

    kernels = [line.strip().partition(":")[0] for line in text if ": " in line]
    assert kernels[1:-2] == ["broken", *(f"k{number:02}" for number in range(19, 8, -1))]
    assert text[-2:] == [
        "  … and 9 other kernels: 0 errors, 45 unknown, 0 proven",
        "  1 kernel with nothing to report: 7 proven",
    ]


def test_lints_are_only_those_of_generated_code() -> None:
    lint = finding(rule="mask-always-false", severity="note", calls=3)
    own = replace(lint, finding_id="g", severity="warning", **PLACED)
    findings = Findings(tuple(replace(f, cause=cause_of(f)) for f in (lint, own)))

    assert by_cause(findings).lints == (findings.listed[0],)
    assert by_cause(findings).groups == ((findings.listed[1],),)
    assert not by_cause(replace(findings, named=frozenset({"mask-always-false"}))).lints
    assert list(by_cause(findings).lint_lines()) == [
        "3 mask-always-false in generated code (Inductor); --rule mask-always-false lists them"
    ]


def test_a_rule_is_a_lint_where_the_pass_that_judged_by_it_says_so() -> None:
    new = replace(finding(rule="new-rule", severity="note"), cause="c")
    for lint, expected in (("in generated code", (new,)), ("", ())):
        findings = Findings((new,), rules={"new-rule": RuleText(lint=lint)})
        assert by_cause(findings).lints == expected


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        ({"name": "triton_poi_fused_add_0", "origin": "inductor"}, True),
        ({"name": "triton_tem_fused_mm_3", "origin": "inductor", "file": "file3.py"}, True),
        ({"name": "_rms_norm_forward_kernel_0", "origin": "inductor"}, False),
        ({"name": "triton_poi_fused_add_0", "origin": "jit"}, False),
        ({"name": "triton_red_fused_0", "file": "/cache/i/ab/cabc.py"}, True),
        ({"name": "triton_red_fused_0", "file": "/home/user/kernels.py"}, False),
    ],
)
def test_code_inductor_generated_is_distinguished_from_code_it_copied(
    kernel: Any, expected: bool
) -> None:
    assert is_generated(kernel) is expected


def test_operators_that_were_not_recorded_are_read_from_the_name() -> None:
    assert operators_of({"name": "triton_poi_fused_add_mul_3", "origins": None}) == (
        Operator("add_mul"),
    )
    assert operators_of({"name": "triton_poi_fused_10", "origins": None}) == ()
    node = {"op": None, "node": "copy_12", "module": None, "file": None, "line": None, "code": None}
    assert operators_of({"name": "triton_poi_fused_10", "origins": [node]}) == (Operator("copy"),)
    entry = {**node, "op": "aten.add", "module": "m", "file": "a.py", "line": 3, "code": "x + y"}
    assert operators_of({"name": "triton_poi_fused_add_mul_3", "origins": [entry, entry]}) == (
        Operator("aten.add", "m", "a.py", 3, "x + y"),
    )
