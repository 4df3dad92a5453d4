"""`kvtrace report` runs the passes that a trace lacks, where that is quick, and says so."""

import json
import shutil
from pathlib import Path

import pytest

from kvtrace.analysis import missing_passes
from kvtrace.cli import main
from kvtrace.clients.recorded import IR_STAGES, estimated_costs
from kvtrace.schema.trace import open_trace, select_runs
from tests.analysis.reported import passes, report

FIXTURE = Path(__file__).parents[1] / "fixtures" / "h200" / "device"


@pytest.fixture(autouse=True)
def _no_time_limit(monkeypatch):
    """What takes long is no matter of how busy this machine is."""
    monkeypatch.setattr(missing_passes, "MOST_SECONDS", 1e6)


@pytest.fixture
def unanalyzed_trace(tmp_path):
    """A trace of 13 unique calls that no pass has analyzed."""
    derived = shutil.ignore_patterns("part-[a-z]*")  # if somebody looked at the fixture itself
    return Path(shutil.copytree(FIXTURE, tmp_path / "out", ignore=derived))


@pytest.mark.costly("every pass of a trace; each alone stays by day")
def test_missing_passes_run_once_and_are_reported(unanalyzed_trace, capsys):
    report(unanalyzed_trace)

    stdout = capsys.readouterr().out
    assert "analyzed 13 unique calls in " in stdout
    assert passes(unanalyzed_trace) == {"tracer", "profiler", "sanitizer", "order"}

    report(unanalyzed_trace)

    assert "analyzed" not in capsys.readouterr().out


@pytest.mark.costly("every pass of a trace; a profile that evaluates stays by day")
def test_only_the_pass_that_is_missing_is_run(unanalyzed_trace, capsys):
    assert main(["replay", str(unanalyzed_trace)]) == 0
    capsys.readouterr()

    report(unanalyzed_trace)

    assert " s (sanitizer), skip with --no-replay" in capsys.readouterr().out


def test_missing_judgments_use_the_rules_of_the_environment(unanalyzed_trace, monkeypatch):
    monkeypatch.setenv("KVTRACE_RULES", "race")

    report(unanalyzed_trace)

    assert set(open_trace(unanalyzed_trace).table("findings")["rule"].to_pylist()) == {"race"}


def test_missing_passes_are_not_run_with_no_replay(unanalyzed_trace, capsys):
    report(unanalyzed_trace, "--no-replay")

    assert passes(unanalyzed_trace) == set()
    assert "analyzed" not in capsys.readouterr().out


@pytest.mark.costly("evaluates a trace; budgets stay by day")
def test_the_cheapest_calls_are_analyzed_first_within_the_budget(unanalyzed_trace, capsys):
    before = passes(unanalyzed_trace)

    report(unanalyzed_trace, "--budget", "0")

    stdout = capsys.readouterr().out
    assert "analyzed 1 of 13 unique calls in " in stdout
    assert "the cheapest first; the rest" in stdout
    assert f"kvtrace report {unanalyzed_trace} --replay" in stdout
    assert before == set()
    assert passes(unanalyzed_trace) <= {"order"}  # nothing in the trace stands for all calls


@pytest.mark.costly("every pass of a trace; a profile that evaluates stays by day")
def test_the_budget_is_no_limit_with_replay(unanalyzed_trace, capsys):
    report(unanalyzed_trace, "--budget", "0", "--replay")

    assert "analyzed 13 unique calls in " in capsys.readouterr().out
    assert passes(unanalyzed_trace) == {"tracer", "profiler", "sanitizer", "order"}


@pytest.mark.costly("every pass of a trace; a profile that evaluates stays by day")
def test_results_of_sanitize_are_used(unanalyzed_trace, capsys):
    assert main(["sanitize", str(unanalyzed_trace)]) == 0
    capsys.readouterr()

    report(unanalyzed_trace, "--budget", "0")

    assert " s (tracer, profiler), the cheapest" in capsys.readouterr().out
    assert passes(unanalyzed_trace) == {"sanitizer", "order"}


@pytest.mark.costly("every pass of a trace; a profile that evaluates stays by day")
def test_a_trace_that_cannot_be_written_has_the_results_on_its_page(unanalyzed_trace, capsys):
    elsewhere = unanalyzed_trace.parent / "elsewhere"
    elsewhere.mkdir()
    (unanalyzed_trace / "findings").symlink_to(elsewhere)

    report(unanalyzed_trace)

    stdout = capsys.readouterr().out
    assert "analyzed 13 unique calls in " in stdout
    assert "this output alone has the results" in stdout
    assert passes(unanalyzed_trace) == set()
    assert list(elsewhere.iterdir()) == []


def profile(trace, capsys, *options):
    """Return the profile as JSON, and what was said of evaluating calls."""
    assert main(["profile", str(trace), "--json", *options]) == 0
    printed = capsys.readouterr()
    return json.loads(printed.out), printed.err


def derived(profiled):
    """Return the figures derived of each kernel, by name."""
    return {kernel["name"]: kernel["derived"] for kernel in profiled["kernels"]}


def test_a_profile_evaluates_what_it_lacks_once(unanalyzed_trace, capsys):
    without, said = profile(unanalyzed_trace, capsys, "--no-replay")
    assert (without["replayed"], said) == (False, "")
    assert passes(unanalyzed_trace) <= {"order"}

    first, said = profile(unanalyzed_trace, capsys)
    assert "analyzed 13 unique calls in " in said
    assert " s (tracer, profiler), skip with --no-replay" in said
    assert (first["replayed"], first["missing_calls"]) == (True, 0)
    assert passes(unanalyzed_trace) - {"order"} == {"tracer", "profiler"}

    second, said = profile(unanalyzed_trace, capsys)
    assert (derived(second), said) == (derived(first), "")


@pytest.mark.costly("every pass of a trace; a profile that evaluates stays by day")
def test_a_profile_says_which_calls_it_did_not_reach(unanalyzed_trace, capsys, monkeypatch):
    monkeypatch.setenv("KVTRACE_BUDGET", "0")
    some, said = profile(unanalyzed_trace, capsys)
    assert "analyzed 1 of 13 unique calls in " in said
    assert f"kvtrace profile {unanalyzed_trace} --replay" in said
    assert (some["replayed"], some["missing_calls"] > 0) == (True, True)
    assert passes(unanalyzed_trace) <= {"order"}  # nothing in the trace stands for all calls

    every, said = profile(unanalyzed_trace, capsys, "--replay")
    assert "analyzed 13 unique calls in " in said
    assert every["missing_calls"] == 0
    for name, figures in derived(some).items():
        assert figures["bytes"] in (None, derived(every)[name]["bytes"])
    assert main(["profile", str(unanalyzed_trace), "-q"]) == 0
    assert capsys.readouterr().err == ""


def test_a_call_tree_has_the_bytes_of_calls_that_were_not_evaluated_before(
    unanalyzed_trace, capsys
):
    assert main(["profile", str(unanalyzed_trace), "--by", "source"]) == 0
    printed = capsys.readouterr()
    assert "analyzed 13 unique calls in " in printed.err
    assert "iB" in printed.out


def test_costs_are_sizes_of_ir_and_more_for_lanes_of_kernels_that_divide():
    selection = select_runs(FIXTURE.parent / "llama")
    run = selection.runs[0]
    costs = estimated_costs(selection.trace, run)
    assert list(costs.values()) == sorted(costs.values())
    texts = {}
    for row in selection.trace.table("kernels", [run], ["kernel_id", "stages"]).to_pylist():
        ir = [s["artifact"] for s in row["stages"] if s["stage"] in IR_STAGES]
        texts[row["kernel_id"]] = max((selection.trace.artifact(s).decode() for s in ir), key=len)
    calls = selection.trace.table("calls", [run]).to_pylist()
    assert sorted(costs) == sorted(row["call_id"] for row in calls)
    divided = set()
    for row in calls:
        text, cost = texts[row["kernel_id"]], costs[row["call_id"]]
        divides = any(
            "tensor<" in line and ("arith.remsi" in line or "arith.divsi" in line)
            for line in text.splitlines()
        )
        assert cost > len(text) if divides else cost == len(text)
        divided.add(divides)
    assert divided == {False, True}


@pytest.mark.costly("waits for a limit; limits of others stay by day")
def test_a_slow_pass_of_a_diff_is_stopped_and_writes_nothing(unanalyzed_trace, capsys, monkeypatch):
    monkeypatch.setattr(missing_passes, "MOST_SECONDS", 0.0)
    side = str(unanalyzed_trace)

    assert main(["diff", side, side]) == 0

    assert "analyzing 13 unique calls takes more than" in capsys.readouterr().err
    assert passes(unanalyzed_trace) == set()


def test_a_trace_without_ir_is_skipped(tmp_path, capsys):
    from tests.converters.written_trace import Kernel, write_trace

    write_trace(tmp_path / "out", [Kernel(origin="cuda")])

    report(tmp_path / "out")

    assert "analyzed" not in capsys.readouterr().out
    assert passes(tmp_path / "out") == set()
