"""`pipeline-order` on traces of programs: what is found, where it is told, what is left."""

import json
import re
import shutil
from pathlib import Path

import pytest
import torch

import kvtrace
from corpus.kernels import oracle_kernels as kernels
from kvtrace.analysis import judging
from kvtrace.cli import main
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from tests.backends.compiled_kernels import check_kernels
from tests.support.planting import with_other_ttgir

RULE = "pipeline-order"


@pytest.fixture(scope="module")
def two_kernels(tmp_path_factory):
    """Two kernels, one of them with three stages, so that copies go ahead of its products."""
    folder = tmp_path_factory.mktemp("ordering") / "out"
    a, b = torch.randn(64, 256).half(), torch.randn(256, 64).half()
    x = torch.randn(1000)
    with kvtrace.capture(folder):
        kernels.tiled_product[(1, 1)](
            a, b, torch.empty(64, 64), 64, 64, 256, BM=64, BN=64, BK=32, num_stages=3
        )
        for _ in range(2):
            check_kernels.add[(4,)](x, x, torch.empty_like(x), 1000, BLOCK=256)
    return folder


@pytest.fixture
def trace(two_kernels, tmp_path):
    return Path(shutil.copytree(two_kernels, tmp_path / "out"))


@pytest.fixture
def racy_trace(trace):
    """The trace of a compiler that forgets to wait for copies."""
    with_other_ttgir(trace, "tiled_product", without_a_wait)
    return trace


def without_a_wait(text):
    changed, count = re.subn(r"(ttg\.async_wait [^\n]*num = )[1-9]", r"\g<1>99", text, count=1)
    assert count == 1
    return changed


def findings(trace):
    table = plain_rows(open_trace(trace).table("findings"))
    return [row for row in table if row["rule"] == RULE]


def run_sanitize(capsys, *words):
    code = main(["sanitize", *map(str, words)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.mark.process
def test_each_kernel_has_a_verdict(trace, capsys):
    code, _, err = run_sanitize(capsys, trace)

    assert code == 0
    assert "0 errors (0.0 %), 0 unknown (0.0 %), 21 proven (100.0 %)" in err
    assert {(row["verdict"], row["reason"], row["method"]) for row in findings(trace)} == {
        ("proven", None, "states"),
        ("proven", "no op of its TTGIR is asynchronous", "states"),
    }
    assert len(findings(trace)) == 2
    assert validate(trace) == []


@pytest.mark.process
def test_an_ordering_fault_is_an_error_with_its_line(racy_trace, capsys):
    code, out, _ = run_sanitize(capsys, racy_trace, "--json", "--rule", RULE)

    assert code == 1
    (finding,) = json.loads(out)["verdicts"]
    assert (finding["rule"], finding["verdict"], finding["severity"]) == (
        RULE,
        "violation",
        "error",
    )
    assert finding["kernel"] == "tiled_product"
    assert Path(finding["file"]).name == "oracle_kernels.py"
    assert "tl.dot(" in finding["source"]  # which loads the tile
    assert finding["message"].startswith("a product (ttng.warp_group_dot) reads part 0 of ")
    assert finding["message"].endswith("; an evaluation of the TTGIR shows it")
    assert (finding["iteration"], finding["calls"], finding["launches"]) == (0, 1, 1)
    assert finding["other_stack"][0]["line"] < finding["line"]
    assert "num_stages=1" in finding["hint"]
    assert validate(racy_trace) == []


@pytest.mark.process
def test_sarif_has_the_rule_with_its_page(racy_trace, capsys):
    _, out, _ = run_sanitize(capsys, racy_trace, "--sarif", "--rule", RULE)

    (run,) = json.loads(out)["runs"]
    (rule,) = run["tool"]["driver"]["rules"]
    assert rule["id"] == RULE
    assert "## How it is decided" in rule["help"]["markdown"]
    (result,) = run["results"]
    assert result["relatedLocations"]


def test_rule_pipeline_order_can_be_left_out(racy_trace, capsys):
    code, out, _ = run_sanitize(capsys, racy_trace, "--json", "--no-rule", RULE)

    assert (code, json.loads(out)["verdicts"]) == (0, [])
    assert findings(racy_trace) == []


@pytest.mark.process
def test_a_second_judgment_replaces_the_first(racy_trace, trace, two_kernels, capsys):
    assert run_sanitize(capsys, racy_trace)[0] == 1
    with_other_ttgir(racy_trace, "tiled_product", lambda text: text.replace("num = 99", "num = 2"))
    assert run_sanitize(capsys, racy_trace)[0] == 0
    assert {row["verdict"] for row in findings(racy_trace)} == {"proven"}


@pytest.mark.process
def test_unreadable_ttgir_is_judged_unknown(trace, capsys):
    with_other_ttgir(trace, "tiled_product", lambda text: text.replace("arith.addi", "arith.adds"))
    code, out, _ = run_sanitize(capsys, trace, "--json", "--rule", RULE)

    (finding,) = json.loads(out)["verdicts"]
    assert (code, finding["verdict"]) == (0, "unknown")
    assert re.match(r"Triton [\d.]+ cannot read the IR of kernel tiled_product", finding["reason"])
    assert run_sanitize(capsys, trace, "--strict", "--rule", RULE)[0] == 1


def test_without_ttgir_nothing_is_judged_or_written(trace, capsys, monkeypatch):
    opened = open_trace(trace)
    monkeypatch.setattr(judging, "stage_artifact", lambda *_: None)
    judging.judge_kernels(opened, opened.runs[0])

    assert findings(trace) == []
    assert "order" not in open_trace(trace).passes(opened.runs[0].run_id)


def test_ttgir_without_asynchronous_ops_is_judged_without_triton(trace, monkeypatch):
    requests = []
    monkeypatch.setattr(judging, "may_be_asynchronous", lambda _text: False)
    monkeypatch.setattr(
        "kvtrace.backends.triton.recorded_ttgir.subprocess.run", lambda *_, **__: requests.append(1)
    )
    opened = open_trace(trace)
    judging.judge_kernels(opened, opened.runs[0])

    assert requests == []
    assert {row["reason"] for row in findings(trace)} == {"no op of its TTGIR is asynchronous"}


@pytest.mark.process
def test_report_still_judges_accesses_after_pipeline_order_was_judged(racy_trace, capsys):
    """That kernels were judged does not say that calls were."""
    run_sanitize(capsys, racy_trace, "--rule", RULE)
    assert main(["report", str(racy_trace), "-o", str(racy_trace / "report.html")]) == 0
    captured = capsys.readouterr()

    assert "sanitizer" in captured.err + captured.out
    assert open_trace(racy_trace).table("findings").num_rows > 2
