"""Configurations of a run's trials, and the grids that a suite's calls have with them."""

import json

import pytest

from kvtrace.addons.suite.model import BadSuite, Entry, Suite, write_index
from kvtrace.addons.suite.tuning import FILE, write_configurations
from kvtrace.schema.errors import BadSetting
from tests.converters.written_trace import Kernel, Launches, write_trace

RUN = "20260102T030405-0001"


def configurations_of(folder, calls_by_block, call_id, *, run=RUN):
    """Write a trace with calls by block, and a suite of one of them; return its configurations."""
    kernels = [
        Kernel(block=block, num_warps=warps, calls=tuple(calls))
        for (block, warps), calls in calls_by_block.items()
    ]
    selection = write_trace(folder / "trace", kernels)
    suite = folder / "suite"
    suite.mkdir()
    entry = Entry("001-scale", "scale", "scale", (f"{run}/{call_id}",), 1, None, None, 1.0, {})
    write_index(Suite("1.0", {}, "launches", 1, None, (entry,)), suite)
    written = write_configurations(suite, selection.trace)
    content = json.loads((suite / FILE).read_text())
    assert written == len(content)
    return content.get("001-scale", {}).get("configurations")


def tried(programs, n=1000):
    return Launches(
        shape=(n,), scalar=str(n), grid=(programs, 1, 1), number=3, device_us=9, phase="autotune"
    )


def launched(programs, n):
    return Launches(shape=(n,), scalar=str(n), grid=(programs, 1, 1))


def test_grid_at_other_sizes_follows_from_the_trials(tmp_path):
    configurations = configurations_of(
        tmp_path,
        {(64, 4): [tried(16)], (128, 4): [tried(8), launched(40, 5000)], (128, 8): [tried(8)]},
        2,
    )

    assert configurations == [
        {"constants": {"BLOCK": 64}, "options": {"num_warps": 4}, "grid": [79, 1, 1]},
        {"constants": {"BLOCK": 128}, "options": {"num_warps": 8}, "grid": [40, 1, 1]},
    ]


def test_grid_at_the_sizes_that_were_tried_is_the_recorded_one(tmp_path):
    configurations = configurations_of(
        tmp_path, {(64, 4): [tried(5)], (128, 4): [tried(3), launched(3, 1000)]}, 2
    )

    assert configurations == [{"constants": {"BLOCK": 64}, "options": {}, "grid": [5, 1, 1]}]


def test_number_times_a_factor_is_kept_and_a_grid_without_constants_stays(tmp_path):
    twice = configurations_of(
        tmp_path / "twice", {(64, 4): [tried(32)], (128, 4): [tried(16), launched(80, 5000)]}, 2
    )
    fixed = configurations_of(
        tmp_path / "fixed", {(64, 4): [tried(132)], (128, 4): [tried(132), launched(132, 5000)]}, 2
    )

    assert [one["grid"] for one in twice] == [[158, 1, 1]]
    assert [one["grid"] for one in fixed] == [[132, 1, 1]]


def test_grid_that_no_factor_explains_is_left_out(tmp_path):
    assert not configurations_of(
        tmp_path, {(64, 4): [tried(17)], (128, 4): [tried(8), launched(40, 5000)]}, 2
    )


def test_constant_that_was_not_tried_with_the_calls_own_is_left_out(tmp_path):
    assert not configurations_of(
        tmp_path, {(64, 4): [tried(16)], (256, 4): [launched(20, 5000)]}, 1
    )


def test_run_without_trials_has_no_configurations(tmp_path):
    assert configurations_of(tmp_path, {(64, 4): [launched(16, 1000)]}, 0) is None


def test_another_trace_and_no_suite_are_said(tmp_path):
    with pytest.raises(BadSetting, match="has none of the runs"):
        configurations_of(tmp_path, {(64, 4): [launched(16, 1000)]}, 0, run="20200101T000000-0001")
    trace = write_trace(tmp_path / "other", [Kernel()]).trace
    with pytest.raises(BadSuite, match="no suite"):
        write_configurations(tmp_path, trace)
