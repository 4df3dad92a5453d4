"""The first NaN that `KVTRACE_CHECK=finite` recorded, as an entry of `kvtrace fault`."""

import json
import shutil

import pytest
import torch

import kvtrace
from kvtrace.addons.fault.asking import Answer
from kvtrace.addons.fault.dumps import explained
from kvtrace.cli import main
from kvtrace.schema.trace import open_trace
from tests.addons.check import bad_kernels as kernels


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    """Launches of which the second is the first that makes a NaN, and the third makes another."""
    out = tmp_path_factory.mktemp("nan") / "out"
    x, bad = torch.full((1000,), 2.0), torch.full((1000,), 2.0)
    bad[999] = 0.0
    with kvtrace.capture(out, check="finite"):
        for values in (x, bad, bad):
            kernels.zero_by_zero[(4,)](values, torch.zeros(1000), 1000, BLOCK=256)
    return out


def test_first_nan_is_an_entry_with_launch_tensor_and_command(trace, capsys):
    assert main(["fault", str(trace)]) == 1
    text = capsys.readouterr().out
    (run,) = open_trace(trace).runs
    assert text.startswith("first NaN, in kernel zero_by_zero\n")
    assert f"call 0 of run {run.run_id}, launch 1\n" in text
    assert "out had no NaN before the launch, and one after it" in text
    assert f"  run       kvtrace check {trace}/{run.run_id}\n" in text
    assert "No GPU fault" not in text


def test_json_has_the_launch(trace, capsys):
    assert main(["fault", str(trace), "--json"]) == 1
    (launch,) = json.loads(capsys.readouterr().out)
    assert (launch["exception"], launch["kernel"]) == ("first NaN", "zero_by_zero")
    assert (launch["launch_seq"], launch["arguments"]) == (1, ["out"])


def test_first_nan_of_a_process_that_hangs_follows_it(trace):
    """Processes that were asked now: a NaN of a run that ended before is none of theirs."""
    (run,) = open_trace(trace).runs
    silent = Answer(notes=["no Python stacks came"])
    for number, has_nan in ((run.pid, True), (run.pid + 1, False)):
        found = explained(trace, None, None, asked={f"host.{number}": silent})
        lines = list(found.text())
        assert lines[:2] == [f"process host.{number}", "  note      no Python stacks came"]
        assert lines[2:4] == (["", "first NaN, in kernel zero_by_zero"] if has_nan else [])


def test_finding_of_the_check_is_repeated(trace, tmp_path):
    out = shutil.copytree(trace, tmp_path / "out")
    assert main(["check", str(out)]) == 1
    (launch,) = explained(out, None, None).non_finite
    (cause,) = launch.causes
    assert "arith.divf" in cause
    assert "bad_kernels.py" in cause


def test_launches_that_were_kept_for_other_checks_are_no_entry(tmp_path, capsys):
    x = torch.full((1000,), 2.0)
    with kvtrace.capture(tmp_path / "out", check="first"):
        kernels.zero_by_zero[(4,)](x, torch.zeros(1000), 1000, BLOCK=256)
    assert main(["fault", str(tmp_path / "out")]) == 0
    assert "No GPU fault" in capsys.readouterr().out
