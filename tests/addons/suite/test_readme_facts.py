"""What a call's IR says: verdicts, memory that is updated, contents that decide work."""

import shutil

import pytest

from kvtrace.addons.suite.choice import weighed_calls
from kvtrace.addons.suite.readme import facts_of_calls
from kvtrace.cli import main
from kvtrace.schema.trace import select_runs


def facts_by_kernel(selection, **options):
    calls = weighed_calls(selection).calls
    facts = facts_of_calls(selection, [[call] for call in calls], **options)
    return {call.kernel: fact for call, fact in zip(calls, facts, strict=True)}


def test_memory_that_is_read_and_written_is_updated(made):
    facts = facts_by_kernel(made.selection)

    assert facts["double"].updated == ("x",)
    assert facts["scale"].updated == facts["gather"].updated == ()


def test_indices_decide_the_work_of_a_gather(made):
    facts = facts_by_kernel(made.selection)

    assert facts["gather"].leading == ("index",)
    assert facts["scale"].leading == ()


@pytest.mark.process
def test_verdicts_are_those_of_sanitize(made, tmp_path):
    trace = shutil.copytree(made.selection.trace.path, tmp_path / "out")
    judged = facts_by_kernel(made.selection)
    assert main(["sanitize", str(trace)]) == 0

    recorded = facts_by_kernel(select_runs(trace), seconds=0)

    assert recorded["scale"].checks["out-of-bounds"] == "proven"
    for kernel, facts in judged.items():
        assert facts.checks.items() <= recorded[kernel].checks.items(), kernel


def test_without_time_no_call_is_judged(made):
    assert {str(f.checks) for f in facts_by_kernel(made.selection, seconds=0).values()} == {"{}"}
