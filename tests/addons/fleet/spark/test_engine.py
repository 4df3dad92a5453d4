"""Passes on Spark, whose rows are those of one process; local, two workers."""

import shutil
from pathlib import Path

import pytest

from kvtrace.addons.fleet.spark.engine import ENGINE, replay_on_spark
from kvtrace.analysis.judging import judge_runs
from kvtrace.cli import main
from kvtrace.clients import Client
from kvtrace.clients.recorded import replay_runs
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.trace import open_trace, select_runs
from tests.addons.fleet.spark.local_spark import MASTER, running_spark, skip_without_spark  # noqa: F401

skip_without_spark()

FIXTURES = Path(__file__).parents[3] / "fixtures" / "h200"
DERIVED = ("findings", "ops", "loops", "accesses", "stacks")


def copies(tmp_path, name):
    places = [tmp_path / "here", tmp_path / "spark"]
    for folder in places:
        shutil.copytree(FIXTURES / name, folder)
    return [select_runs(folder) for folder in places]


def derived(selection):
    """Return all rows of the derived tables by table, without the solver's times."""
    trace = open_trace(selection.trace.path)
    rows_by_table = {}
    for name in DERIVED:
        table = trace.table(name)
        rows = table.drop_columns([c for c in ("solver_ns",) if c in table.column_names])
        rows_by_table[name] = sorted(map(repr, rows.to_pylist()))
    return rows_by_table, {run: trace.passes(run) for run in trace.run_ids}


def test_findings_on_spark_equal_those_of_one_process(tmp_path, spark):
    here, there = copies(tmp_path, "train")
    expected = judge_runs(here, ["all"])
    result = judge_runs(there, ["all"], engine=ENGINE.evaluation(MASTER))
    assert derived(there) == derived(here)
    assert derived(here)[0]["findings"]
    assert sorted(result.not_evaluated) == sorted(expected.not_evaluated)
    assert len(result.listed) == len(expected.listed)


def test_replayed_rows_of_several_runs_are_those_of_one_process(tmp_path, spark):
    here, there = copies(tmp_path, "ranks")
    assert len(here.runs) > 1
    names = ["tracer", "profiler"]
    expected = list(replay_runs(here, names))
    outcomes = list(replay_runs(there, names, engine=ENGINE.evaluation(MASTER)))
    assert [
        (outcome.run, outcome.calls, len(outcome.failures), outcome.errors) for outcome in outcomes
    ] == [
        (outcome.run, outcome.calls, len(outcome.failures), outcome.errors) for outcome in expected
    ]
    rows, passes = derived(there)
    assert rows == derived(here)[0]
    assert rows["ops"]
    for run, settings in derived(here)[1].items():
        assert passes[run]["profiler"]["sectors"] == settings["profiler"]["sectors"]
        for name in names:
            notes = settings[name]["left_out"]
            assert sorted(passes[run][name]["left_out"]) == sorted(notes)


class WholeRun(Client):
    """A client that needs all calls of a run."""

    name = "whole"


def test_client_that_needs_all_calls_is_refused(tmp_path):
    selection = select_runs(FIXTURES / "train")
    with pytest.raises(BadSetting, match="client whole cannot run on Spark: it needs all calls"):
        replay_on_spark(selection, [WholeRun], MASTER)


@pytest.mark.parametrize(
    "words",
    [
        ["sanitize", "--master", "local[2]"],
        ["profile", "--by", "module", "--engine", "spark"],
        ["sql", "SELECT 1", "--engine", "spark", "--memory", "1GB"],
    ],
)
def test_conflicting_options_are_an_error(words, capsys):
    command, *rest = words
    assert main([command, str(FIXTURES / "train"), *rest]) == 2
    assert capsys.readouterr().err.startswith("kvtrace: --")
