"""Whole programs with a limit or sampled: they run as ever, and readers say what is exact."""

import json
import subprocess
import sys

import pytest

from kvtrace.cli import main
from kvtrace.converters.diff import compare
from kvtrace.converters.diff.snapshot import take_snapshot
from kvtrace.converters.info.info import read_overview
from kvtrace.converters.info.live import Live
from kvtrace.converters.info.live_text import page_lines
from kvtrace.converters.profile.profile import read_profile
from kvtrace.schema.following import News
from kvtrace.schema.trace import open_trace, resolve
from kvtrace.schema.validation import validate

pytest.importorskip("triton")


@pytest.fixture(scope="module")
def recorded(autostarting, program, tmp_path_factory):
    """Return the same 201 launches of one call, whole, sampled and limited."""

    def run(**variables):
        folder = tmp_path_factory.mktemp("recorded")
        variables |= {"KVTRACE": "out", "TRITON_DEFAULT_FP_FUSION": "1"}  # unset, Triton 3.9 warns
        done = autostarting.run_warm(program, "threads", folder=folder, **variables)
        assert done.returncode == 0, done.stderr  # its results are right in each thread
        return folder / "out", done.stderr

    return {
        "whole": run(),
        "sampled": run(KVTRACE_SAMPLE="1/20"),
        "limited": run(KVTRACE_LIMIT="100 launches"),
    }


@pytest.mark.process
def test_program_continues_after_the_recording_limit(recorded):
    out, said = recorded["limited"]
    assert said.count("kvtrace:") == 1
    assert (
        "kvtrace: recording has ended: 100 launches were made (KVTRACE_LIMIT=100 launches)" in said
    )
    trace = open_trace(out)
    assert trace.table("launches").num_rows == 100
    assert (trace.runs[0].sealed, trace.runs[0].ending) == (True, "limit")
    assert validate(out) == []


def test_a_sampled_run_counts_every_launch(recorded):
    out, said = recorded["sampled"]
    assert said == ""
    trace = open_trace(out)
    assert 10 <= trace.table("launches").num_rows <= 14
    assert trace.runs[0].settings["sample"] == "1/20"
    assert validate(out) == []
    (kernel,) = read_overview(trace, trace.runs).kernels
    assert kernel.launches == 201
    (profiled,) = read_profile(trace, trace.runs).kernels
    assert (profiled.launches, profiled.runs) == (201, 201)
    (run,) = read_overview(trace, trace.runs).runs
    assert (run.launches, run.phases) == (201, {"run": 201})
    assert any("records 1/20 of its launches in detail" in note for note in trace.notes)


def test_sampled_and_complete_runs_have_equal_launch_counts(recorded):
    whole, sampled = (resolve(str(recorded[way][0])) for way in ("whole", "sampled"))
    difference = compare(whole, sampled)
    for side in (whole, sampled):
        assert take_snapshot(side, "").totals.launches == 201
    assert any("records 1/20 of its launches in detail" in note for note in difference.notes)


def test_top_counts_rows_by_their_weight(recorded):
    trace = open_trace(recorded["sampled"][0])
    names = {
        "kernels": ["kernel_id", "name", "module", "file", "compile_begin", "compile_ns",
                    "load_begin", "cache_hit"],
        "calls": ["call_id", "kernel_id"],
        "launches": ["call_id", "enter", "exit", "thread", "phase", "weight"],
    }  # fmt: skip
    pieces = [(name, trace.table(name, columns=columns)) for name, columns in names.items()]
    live = Live()
    live.add([News(trace.runs[0], True, True, pieces)], 0)
    page = live.page(0)
    assert [line.launches for line in page.kernels] == [201]
    assert [line.state for line in page.processes] == ["recording 1/20 in detail"]
    assert "1 process recording" in " ".join(page_lines(page, "out", 0, 80, 40))


@pytest.mark.parametrize("command", ["info", "profile", "sql", "report"])
def test_each_output_says_that_sampled_times_are_estimates(recorded, command, capsys, tmp_path):
    out = str(recorded["sampled"][0])
    more = {"sql": ["SELECT sum(weight) FROM launches"], "report": ["-o", str(tmp_path / "a.html")]}
    assert main([command, out, *more.get(command, [])]) == 0
    printed = capsys.readouterr()
    told = " ".join((printed.out + printed.err).split())
    assert "launches and executions are exact; times are estimated" in told


@pytest.mark.process
def test_kvtrace_run_has_options_for_limit_and_sample(tmp_path, monkeypatch):
    monkeypatch.setenv("KVTRACE_LIMIT", "7GB")
    monkeypatch.setenv("KVTRACE_SAMPLE", "1/3")  # which holds where the option is not given
    script = tmp_path / "script.py"
    script.write_text("import os, json\nprint(json.dumps(dict(os.environ)))\n")
    command = [sys.executable, "-m", "kvtrace", "run", "-o", str(tmp_path / "out")]
    options = ["--limit", "ring:1h,5GB"]
    done = subprocess.run(
        [*command, *options, str(script)], capture_output=True, text=True, timeout=300, check=True
    )
    variables = json.loads(done.stdout)
    assert variables["KVTRACE_LIMIT"] == "ring:1h,5GB"
    assert variables["KVTRACE_SAMPLE"] == "1/3"


@pytest.mark.parametrize(("option", "value"), [("--limit", "plenty"), ("--sample", "2/3")])
def test_invalid_limit_and_sample_are_reported_in_one_sentence(tmp_path, capsys, option, value):
    assert main(["run", option, value, "script.py"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
