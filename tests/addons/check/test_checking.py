"""`kvtrace check` on traces of real programs: every form of its answer, and its exit code."""

import inspect
import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch

import kvtrace
from corpus.kernels import oracle_kernels as kernels
from kvtrace.cli import main
from kvtrace.evaluate import evaluate
from kvtrace.evaluate.shadows.errors import analysis
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from tests.addons.check import bad_kernels
from tests.backends.compiled_kernels import check_kernels
from tests.support.json_outputs import assert_as_schema
from tests.support.planting import rewrite_memory, with_other_memory, with_other_ttgir
from tests.support.sarif_shape import violations
from tests.support.warm_python import warm_python

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = Path(__file__).with_name("program.py")


def recorded(folder, *arguments, **variables):
    """Run the program in a process of its own."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("KVTRACE")}
    environment = clean | {"KVTRACE": "out", "PYTHONPATH": str(ROOT)} | variables
    done = warm_python().run(PROGRAM, *arguments, folder=folder, environment=environment)
    assert done.returncode == 0, done.stderr
    return folder / "out"


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    return recorded(tmp_path_factory.mktemp("sound"), KVTRACE_CHECK="first")


@pytest.fixture
def trace(sound, tmp_path):
    return Path(shutil.copytree(sound, tmp_path / "out"))


@pytest.fixture
def planted(trace):
    """The trace of a device that stored 99 in lanes 8 to 11 of the last program of `add`."""
    with_other_memory(trace, "add", ninety_nine)
    assert validate(trace) == []
    return trace


def ninety_nine(content):
    held = np.frombuffer(content, np.float32).copy()
    held[768 + 8 : 768 + 12] = 99
    return held.tobytes()


def printed(capsys, *words):
    code = main(["check", *map(str, words)])
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.mark.process
def test_launches_of_a_correct_program_agree(trace, capsys):
    code, out, _ = printed(capsys, trace)
    assert (code, out) == (0, "5 launches checked: 5 agree with their IR\n")
    opened = open_trace(trace)
    assert validate(trace) == []
    checks = plain_rows(opened.table("checks"))
    assert {row["answer"] for row in checks} == {"agrees"}
    assert [row["name"] for row in checks] == [
        "out",
        "out",
        "y",
        "mean_out",
        "rstd_out",
        "c",
        "out",
    ]
    assert all(row["undecided"] == 0 and row["nearest"] < 1 for row in checks)
    assert opened.table("findings").num_rows == 0
    (run,) = opened.runs
    assert set(opened.passes(run.run_id)["check"]["rules"]) == {"wrong-result", "first-non-finite"}


@pytest.mark.process
def test_differing_launch_is_described_as_text(planted, capsys):
    code, out, _ = printed(capsys, planted)
    assert code == 1
    assert "differs  add (num_warps=8, num_stages=" in out
    assert "launch 0, grid 4 × 1 × 1" in out
    assert (
        "out (f32): 4 of 1,000 elements are beyond their bounds: 1 program, the last along axis 0, "
        "warp 0 alone, lanes 8 to 11" in out
    )
    assert "the farthest in program (3, 0, 0), lane (" in out
    assert "the device has 99, the IR means" in out
    assert out.endswith("5 launches checked: 4 agree with their IR, 1 differ from their IR\n")


@pytest.mark.process
def test_json_has_rows_and_findings(planted, capsys):
    code, out, _ = printed(capsys, planted, "--json")
    found = json.loads(out)
    assert_as_schema(found, "check")
    assert code == 1
    assert found["answers"] == {"agrees": 4, "differs": 1, "not finite": 0, "undecided": 0}
    (row,) = [each for each in found["checks"] if each["answer"] == "differs"]
    assert (row["kernel"], row["seq"], row["name"], row["differing"]) == ("add", 0, "out", 4)
    assert (row["got"], row["worst_bound"]) == (99.0, 0.0)
    assert (row["program_x"], row["program_y"], row["program_z"]) == (3, 0, 0)
    assert row["lane"][0] in range(8, 12)
    assert row["worst_offset"] == 4 * (768 + row["lane"][0])
    assert len(row["map"]) % row["map_columns"] == 0
    assert max(row["map"]) > 1
    (finding,) = found["findings"]
    assert (finding["rule"], finding["verdict"]) == ("wrong-result", "violation")
    assert (finding["arg"], finding["lanes"], finding["access"]) == ("out", 4, "store")


@pytest.mark.process
def test_stages_behind_ttgir_are_reported_as_at_fault(trace, capsys):
    with_other_memory(trace, "add", ninety_nine)

    _, out, _ = printed(capsys, trace)

    assert (
        "\n  at fault is what comes after TTGIR: the TTGIR has the same values as the TTIR\n" in out
    )
    found = json.loads(printed(capsys, trace, "--json")[1])
    told = {(row["answer"], row["stage"], row["stage_reason"]) for row in found["checks"]}
    assert told == {
        ("agrees", None, None),
        ("differs", "behind ttgir", "the TTGIR has the same values as the TTIR"),
    }
    (finding,) = found["findings"]
    assert finding["message"].endswith(
        "; at fault is what comes after TTGIR: the TTGIR has the same values as the TTIR"
    )
    stages = kvtrace.open(trace).check().arrow.column("stage").to_pylist()
    assert set(stages) == {None, "behind ttgir"}


@pytest.mark.process
def test_report_that_runs_missing_checks_shows_the_stage_at_fault(trace, capsys, tmp_path):
    with_other_memory(trace, "add", ninety_nine)

    assert main(["report", str(trace), "-o", str(tmp_path / "page.html")]) == 0

    messages = open_trace(trace).table("findings", columns=["rule", "message"]).to_pylist()
    (told,) = {row["message"] for row in messages if row["rule"] == "wrong-result"}
    assert "; at fault is what comes after TTGIR: " in told


@pytest.mark.process
def test_expected_values_are_computed_once_per_launch(planted, monkeypatch, capsys):
    """And what the TTGIR means, of the launch that differs."""
    computed = []

    def counted(module, *arguments, kernel, **more):
        computed.append(kernel)
        return evaluate(module, *arguments, kernel=kernel, **more)

    monkeypatch.setattr(analysis, "evaluate", counted)
    printed(capsys, planted)
    assert computed.count("add") == 2
    assert len(computed) == 5 + 1


@pytest.mark.process
def test_passes_to_ttgir_are_reported_as_at_fault(trace, capsys):
    """They made a product of the sum, and the device keeps to that."""
    torch.manual_seed(1)
    product = (torch.randn(1000) * torch.randn(1000)).numpy()
    with_other_memory(trace, "add", lambda _: product.tobytes())
    with_other_ttgir(trace, "add", lambda text: text.replace("arith.addf", "arith.mulf"))
    assert validate(trace) == []

    _, out, _ = printed(capsys, trace)

    assert (
        "\n  at fault are Triton's passes from TTIR to TTGIR: the device's results are the TTGIR's "
        "values, which differ from the TTIR's\n" in out
    )


@pytest.mark.process
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda text: text.replace("arith.addf", "arith.addition"), "cannot read the IR"),
        (lambda text: text.replace("arith.addf", "arith.remf"), "differ both"),
    ],
)
def test_stage_at_fault_is_unknown_with_a_reason(trace, change, reason, capsys):
    with_other_memory(trace, "add", ninety_nine)
    with_other_ttgir(trace, "add", change)

    _, out, _ = printed(capsys, trace)

    assert re.search(f"which stage is at fault is unknown: .*{reason}", out)


@pytest.mark.process
def test_kernel_without_ttgir_has_an_unknown_stage_at_fault(tmp_path, capsys):
    cache = str(tmp_path / "cache")  # in the others' are whole kernels
    trace = recorded(
        tmp_path, KVTRACE_CHECK="first", KVTRACE_COMPILE="ttir", TRITON_CACHE_DIR=cache
    )
    with_other_memory(trace, "add", ninety_nine)

    _, out, _ = printed(capsys, trace)

    assert "  which stage is at fault is unknown: the kernel was recorded without TTGIR\n" in out


@pytest.mark.process
def test_sarif_points_to_the_store(planted, capsys):
    code, out, _ = printed(capsys, planted, "--sarif")
    assert code == 1
    document = json.loads(out)
    assert violations(document) == []
    (run,) = document["runs"]
    (result,) = run["results"]
    assert (result["ruleId"], result["level"]) == ("wrong-result", "error")
    lines, first = inspect.getsourcelines(check_kernels.add.fn)
    store = first + next(n for n, line in enumerate(lines) if "tl.store" in line)
    (place,) = [each["physicalLocation"] for each in result["locations"]]
    assert place["region"]["startLine"] == store
    assert place["artifactLocation"]["uri"].endswith("check_kernels.py")
    assert {"wrong-result"} <= {rule["id"] for rule in run["tool"]["driver"]["rules"]}


@pytest.mark.process
def test_second_check_replaces_the_results_of_the_first(planted, capsys):
    for _ in range(2):
        assert printed(capsys, planted)[0] == 1
    assert open_trace(planted).table("findings").num_rows == 1


@pytest.mark.process
def test_launch_without_its_memory_file_is_undecided(trace, capsys):
    rewrite_memory(trace, lambda row: row["seq"] == 0, lambda _sha256: "0" * 64)
    code, out, _ = printed(capsys, trace)
    assert code == 0
    assert "1 × call 0 of add: its recorded memory is not in the trace" in out
    assert "4 agree with their IR, 1 could not be decided" in out


def diffed(capsys, before, after, *words):
    code = main(["diff", str(before), str(after), *words, "--json"])
    said = capsys.readouterr()
    assert said.out, said.err
    return code, json.loads(said.out)


@pytest.mark.process
def test_new_wrong_result_violates_the_rule_on_new_findings(sound, planted, tmp_path, capsys):
    """Neither side was checked or sanitized: the comparison does both."""
    before = Path(shutil.copytree(sound, tmp_path / "before"))
    rule = ("--fail-on", "findings.new")
    code, found = diffed(capsys, before, before, *rule)
    assert (code, found["gate"]["failures"]) == (0, [])
    code, found = diffed(capsys, before, planted, *rule)
    (failure,) = found["gate"]["failures"]
    assert (code, failure["rule"], failure["what"]) == (1, "findings.new", "add")
    assert "wrong-result" in failure["text"]


@pytest.mark.process
def test_checked_side_does_not_count_as_sanitized(planted, capsys):
    assert main(["check", str(planted)]) == 1
    capsys.readouterr()
    assert main(["diff", str(planted), str(planted), "--no-replay"]) == 0
    assert "findings: not judged" in capsys.readouterr().out
    code, found = diffed(capsys, planted, planted)
    assert code == 0
    assert {"out-of-bounds", "wrong-result"} <= set(found["after"]["judged_by"])


@pytest.mark.process
def test_suppression_comment_may_name_a_rule_of_checks(tmp_path, capsys):
    with kvtrace.capture(tmp_path, check="first"):
        kernels.excused[(1,)](torch.ones(64), torch.zeros(64), N=64)
    assert main(["sanitize", str(tmp_path)]) == 0
    assert "wrong-result" not in capsys.readouterr().out
    with_other_memory(tmp_path, "excused", lambda content: bytes(len(content)))
    code, out, _ = printed(capsys, tmp_path, "--sarif")
    (result,) = json.loads(out)["runs"][0]["results"]
    assert (code, result["suppressions"][0]["justification"]) == (1, "a known defect")


@pytest.mark.process
def test_check_without_recorded_launches_says_how_to_record(tmp_path, capsys):
    out = recorded(tmp_path)
    code, said, complaint = printed(capsys, out)
    assert (code, said) == (2, "")
    assert complaint.count("\n") == 1
    assert "no launch recorded for checks" in complaint
    assert "KVTRACE_CHECK=first" in complaint


@pytest.mark.process
def test_json_and_sarif_together_are_an_error(trace, capsys):
    code, out, complaint = printed(capsys, trace, "--json", "--sarif")
    assert (code, out) == (2, "")
    assert "choose one" in complaint


@pytest.mark.process
def test_nan_in_the_thirtieth_trip_of_a_loop_is_located(tmp_path, capsys):
    out = recorded(tmp_path, "train", KVTRACE_CHECK="finite")
    code, said, _ = printed(capsys, out)
    lines, first = inspect.getsourcelines(bad_kernels.log_of_zero.fn)
    bad = first + next(n for n, line in enumerate(lines) if "# bad" in line)
    assert code == 1
    assert "not finite  log_of_zero: launch 30: math.log at " in said
    assert f"bad_kernels.py:{bad} makes -inf of source 0 in program (2, 0, 0), lane (188,)" in said
    code, text, _ = printed(capsys, out, "--json")
    found = json.loads(text)
    assert found["findings"][0]["rule"] == "first-non-finite"
    assert found["findings"][0]["lane"] == [188]
    assert found["answers"]["not finite"] == len(found["findings"])
