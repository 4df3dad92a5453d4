"""What the evaluator sees a launch do is a finding, whether or not calls are judged."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
import torch

import kvtrace
from corpus.kernels import gluon_kernels
from kvtrace.analysis.missing_passes import run_missing_passes
from kvtrace.cli import main
from kvtrace.converters.findings import read_findings
from kvtrace.evaluate import Deadlock, DeviceAssertion
from kvtrace.evaluate.dialects import scf
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace, resolve
from tests.backends import live_kernels as kernels


def launch_twice(source, chosen, result):
    """Launch a gather on good indices, then on one that is out of bounds: one unique call."""
    kernels.gather[(4,)](source, chosen, result, 1000, BLOCK=256)
    chosen[17] = 1003
    kernels.gather[(4,)](source, chosen, result, 1000, BLOCK=256)


@pytest.fixture
def tensors():
    return torch.randn(1000), torch.arange(1000), torch.zeros(1000)


def listed_findings(out: Path, verdict: str = "violation"):
    trace = open_trace(out)
    return [f for f in read_findings(trace, trace.runs).listed if f.verdict == verdict]


def messages(out: Path, code: str) -> list[tuple[str, str]]:
    rows = plain_rows(open_trace(out).table("messages"))
    return [(row["level"], row["text"]) for row in rows if row["code"] == code]


def sanitize(out: Path, capsys, *options: str) -> tuple[int, str]:
    capsys.readouterr()
    code = main(["sanitize", str(out), *options])
    return code, capsys.readouterr().out


@pytest.mark.parametrize(
    ("settings", "method"),
    [
        ({"tensors": "none"}, "observed"),
        ({"tensors": "none", "mode": "ops"}, "observed"),
        ({}, "affine"),
        ({"tensors": "int"}, "affine"),
    ],
)
def test_a_defect_of_a_second_launch_is_listed_by_sanitize(
    tmp_path, tensors, capsys, settings, method
):
    """By judging where its indices were recorded, and else because it was seen."""
    with kvtrace.capture(tmp_path, **settings):
        launch_twice(*tensors)

    for _ in range(2):  # judging again must not lose it
        code, out = sanitize(tmp_path, capsys, "--json", "--all")
        assert code == 1
        (finding,) = [row for row in json.loads(out)["verdicts"] if row["verdict"] == "violation"]
        assert (finding["rule"], finding["method"], finding["kernel"]) == (
            "out-of-bounds", method, "gather",
        )  # fmt: skip
        assert (finding["program"], finding["lane"]) == ([0, 0, 0], [17])
        assert finding["lanes"] == (1 if method == "observed" else None)
        assert (finding["arg"], finding["address_offset"], finding["line"]) == ("source", 4012, 29)
        assert (finding["call"], finding["calls"], finding["launches"]) == (0, 1, 2)
        same = (finding["line"], finding["column"], finding["rule"])
        others = [
            f for f in json.loads(out)["verdicts"] if (f["line"], f["column"], f["rule"]) == same
        ]
        assert others == [finding]  # neither proven nor unknown as well


def test_an_observed_defect_is_in_every_output(tmp_path, tensors, capsys):
    with kvtrace.capture(tmp_path / "out", tensors="none"):
        launch_twice(*tensors)

    code, text = sanitize(
        tmp_path / "out", capsys, "--blocks", "--junit", str(tmp_path / "junit.xml")
    )
    assert code == 1
    assert "error[out-of-bounds]: load ends 16 bytes" in text
    assert "decided:   seen while the program ran" in text
    assert "seen in:   1 unique call, in one or more of 2 launches" in text
    assert "verdicts on unique calls: 1 error (" in text
    (failure,) = ElementTree.parse(tmp_path / "junit.xml").getroot().iter("failure")
    assert "past the end of source" in failure.get("message")
    log = json.loads(sanitize(tmp_path / "out", capsys, "--sarif")[1])
    assert [result["level"] for result in log["runs"][0]["results"]] == ["error"]


def test_sql_has_one_row_per_observed_defect(tmp_path, tensors, capsys):
    source, chosen, result = tensors
    with kvtrace.capture(tmp_path, tensors="none"):
        kernels.copy[(4,)](source, result, 1000, BLOCK=256)
        launch_twice(source, chosen, result)
    assert sanitize(tmp_path, capsys)[0] == 1
    query = "SELECT call_id, verdict, method FROM findings WHERE rule = 'out-of-bounds' ORDER BY 1"
    assert main(["sql", str(tmp_path), query, "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    found = [
        (row["call_id"], row["method"] == "observed") for row in rows if row["verdict"] != "proven"
    ]
    assert found == [(0, False), (1, True)]
    assert len(rows) == 2 + 3


def test_a_defect_that_judging_finds_too_is_one_finding(tmp_path, tensors, capsys):
    source, _, result = tensors
    with kvtrace.capture(tmp_path):
        for _ in range(3):
            kernels.copy[(4,)](source, result, 1000, BLOCK=256)

    assert [f.method for f in listed_findings(tmp_path)] == ["observed"]
    code, out = sanitize(tmp_path, capsys, "--json")
    (finding,) = json.loads(out)["verdicts"]
    assert code == 1
    assert finding["method"] != "observed"
    assert (finding["calls"], finding["launches"], finding["lanes"]) == (1, 3, 24)
    trace = open_trace(tmp_path)
    assert read_findings(trace, trace.runs).failures() == 1


def test_the_message_is_of_the_first_access_and_sanitize_counts_lanes(tmp_path, tensors, capfd):
    source, _, result = tensors
    with kvtrace.capture(tmp_path):
        kernels.copy[(5,)](source, result, 1000, BLOCK=256)

    ((level, text),) = messages(tmp_path, "out-of-bounds")
    (finding,) = listed_findings(tmp_path)
    assert level == finding.severity == "error"
    assert text in capfd.readouterr().err.replace("\n", " ")
    assert finding.lanes == 280
    assert "a load ends 4 bytes past the end of source of shape (1000,)" in text
    assert "(given zero; the program continues)" in text


def test_an_access_before_the_tensor_is_described_in_words(tmp_path):
    storage = torch.arange(1000)
    result = torch.zeros(1000)
    chosen = torch.full((1000,), -1)
    with kvtrace.capture(tmp_path):
        kernels.gather[(4,)](storage, chosen, result, 1000, BLOCK=256)
    ((_, text),) = messages(tmp_path, "out-of-bounds")
    assert "a load starts 8 bytes before the start of source of shape (1000,)" in text


def test_sanitize_raise_raises_observed_defects(tmp_path, tensors):
    with (
        kvtrace.capture(tmp_path, sanitize="raise"),
        pytest.raises(kvtrace.KernelDefect, match=r"error\[out-of-bounds\]: load ends") as raised,
    ):
        launch_twice(*tensors)

    (finding,) = raised.value.findings
    assert (finding["arg"], finding["lane"], finding["method"]) == ("source", (17,), "observed")
    assert [f.method for f in listed_findings(tmp_path)] == ["observed"]
    assert [level for level, _ in messages(tmp_path, "out-of-bounds")] == ["info"]
    assert messages(tmp_path, "capture-failure") == []


def test_sanitize_warn_reports_an_observed_defect_once(tmp_path, tensors, capsys):
    source, chosen, result = tensors
    with kvtrace.capture(tmp_path, sanitize="warn"):
        launch_twice(source, chosen, result)
        kernels.gather[(4,)](source, chosen, result, 1000, BLOCK=256)

    stderr = capsys.readouterr().err
    assert stderr.count("gather was launched with a defect:") == 1
    assert stderr.count("error[out-of-bounds]") == 1
    assert result[17] == 0
    assert [level for level, _ in messages(tmp_path, "out-of-bounds")] == ["info"]
    assert len(plain_rows(open_trace(tmp_path).table("launches"))) == 3


@pytest.mark.parametrize("asked", ["off", "raise"])
def test_an_assertion_that_failed_is_a_finding(tmp_path, tensors, asked, capsys):
    """The launch raises, so nothing but the sighting has its call recorded."""
    chosen = tensors[1]
    chosen[5] = 2000
    error = kvtrace.KernelDefect if asked == "raise" else DeviceAssertion
    settings = {"sanitize": asked, "tensors": "none"}
    with kvtrace.capture(tmp_path, **settings), pytest.raises(error) as raised:
        kernels.asserting[(1,)](chosen, chosen.clone(), BLOCK=8, debug=True)

    if asked == "raise":
        assert isinstance(raised.value.__context__, DeviceAssertion)
    code, out = sanitize(tmp_path, capsys, "--json")
    (finding,) = json.loads(out)["verdicts"]
    assert (code, finding["rule"], finding["lane"]) == (1, "device-assert", [5])
    assert "an index is too large" in finding["message"]
    assert finding["kernel"] == "asserting"


def test_observed_defects_obey_comments_and_the_choice_of_rules(tmp_path, tensors, capsys):
    source, _, result = tensors
    with kvtrace.capture(tmp_path / "a", sanitize="raise"):
        kernels.copy_on_purpose[(4,)](source, result, 1000, BLOCK=256)
    assert sanitize(tmp_path / "a", capsys)[0] == 0
    assert [f.suppressed for f in listed_findings(tmp_path / "a")] == [True]

    with kvtrace.capture(tmp_path / "b", sanitize="raise", rules="-out-of-bounds"):
        launch_twice(*tensors)
    assert listed_findings(tmp_path / "b") == []


def test_verdicts_that_depend_on_a_load_out_of_bounds_are_unknown(tmp_path, tensors):
    """The second load's address is made of the zero that the evaluator gives for the first."""
    source, _, result = tensors
    chosen = torch.arange(4, 900)
    with kvtrace.capture(tmp_path):
        kernels.gather[(4,)](source[4:][:0], chosen, result, 1000, BLOCK=256)
    trace = open_trace(tmp_path)
    findings = {f.arg: f for f in read_findings(trace, trace.runs).listed}
    assert findings["chosen"].verdict == "violation"
    assert findings["source"].verdict == "unknown"
    assert "is itself out of bounds" in findings["source"].reason


def test_kernel_whose_accesses_were_optimized_away_is_judged(tmp_path, tensors, capsys):
    """The compiler deletes a load that nobody uses, out of bounds or not."""
    with kvtrace.capture(tmp_path):
        kernels.unused[(1,)](tensors[0], BLOCK=2048)
    code, out = sanitize(tmp_path, capsys, "--blocks")
    assert code == 0
    assert "unknown[out-of-bounds]: nothing to judge" in out
    assert "0 errors, 1 unknown, 1 proven" in out  # of what its TTGIR has under way
    assert sanitize(tmp_path, capsys, "--strict")[0] == 1


def test_defects_after_a_skipped_launch_are_not_reported(tmp_path, tensors, capsys):
    source, chosen, result = tensors
    with kvtrace.capture(tmp_path, tensors="all", sanitize="raise"):
        kernels.gather[(4,)](source, chosen, result, 1000, BLOCK=256)
        gluon_kernels.copy_in_clusters("cpu")
        chosen[17] = 1003  # what the kernel in Gluon may have been to make right
        kernels.gather[(4,)](source, chosen, result, 1000, BLOCK=256)
    assert messages(tmp_path, "out-of-bounds") == []
    assert sanitize(tmp_path, capsys)[0] == 0
    assert listed_findings(tmp_path) == []
    reasons = [finding.reason for finding in listed_findings(tmp_path, "unknown")]
    assert any("1 of 2 launches lack recorded contents" in reason for reason in reasons)


def test_kernels_that_are_not_recorded_leave_no_finding(tmp_path, tensors):
    with kvtrace.capture(tmp_path, kernels="copy"):
        launch_twice(*tensors)
        kernels.copy[(3,)](tensors[0], tensors[2], 768, BLOCK=256)
    assert plain_rows(open_trace(tmp_path).table("findings")) == []


def test_report_judges_runs_that_have_only_observed_defects(tmp_path, tensors):
    with kvtrace.capture(tmp_path, tensors="none"):
        launch_twice(*tensors)
    selection = resolve(str(tmp_path))
    assert any("sanitizer" in message for message in run_missing_passes(selection, seconds=None))
    trace = open_trace(tmp_path)
    assert set(trace.passes(trace.runs[0].run_id)) >= {"observed", "sanitizer"}
    assert [f.method for f in listed_findings(tmp_path)] == ["observed"]


def chased(step):
    following = torch.tensor([3, 4, 9, 5, 2, 7], dtype=torch.int32)
    kernels.chase[(1,)](following, torch.zeros(6), torch.zeros(1), STEP=step)


def test_a_loop_whose_values_return_ends_with_an_error_and_its_defects(tmp_path):
    with kvtrace.capture(tmp_path), pytest.raises(Deadlock, match="sequence of 4 trips"):
        chased(0.0)

    assert [level for level, _ in messages(tmp_path, "out-of-bounds")] == ["error"] * 2
    assert {f.rule for f in listed_findings(tmp_path)} == {"out-of-bounds"}
    assert open_trace(tmp_path).table("launches").num_rows == 1


def test_a_loop_that_may_not_end_is_told_while_it_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(scf, "LONG_LOOP", 8)
    with kvtrace.capture(tmp_path):
        chased(1.0)

    ((level, text),) = messages(tmp_path, "long-loop")
    assert level == "warning"
    assert "in kernel chase still runs after 8 trips" in text
    assert len(messages(tmp_path, "out-of-bounds")) == 2
    assert {f.rule for f in listed_findings(tmp_path)} == {"out-of-bounds"}
    assert open_trace(tmp_path).table("calls").num_rows == 1
