"""Collectives of ranks in comparisons: by transfer, whatever they waited before."""

import pytest

from kvtrace.converters.diff.compare import compare
from kvtrace.converters.diff.executions import WAITING
from kvtrace.converters.diff.gate import Gate, read_rules
from kvtrace.schema.trace import Selection
from tests.support.simulated_ranks import Step, changed, planned, simulated, write_ranks

STEPS = 12
USUAL = planned(3, STEPS)


@pytest.fixture
def sides(tmp_path):
    def written(*plans):
        named = zip(("before", "after"), plans, strict=True)
        return [write_ranks(tmp_path / name, simulated(plan)) for name, plan in named]

    return written


def collective(difference):
    (time,) = [time for time in difference.times if "nccl" in time.name]
    return time


@pytest.mark.costly("simulates and compares ranks; another of the file stays by day")
def test_lateness_of_another_rank_is_no_slower_collective(sides):
    # given a program of which one rank computes longer, so that collectives take five times as long
    before, after = sides(USUAL, changed(USUAL, 2, range(STEPS), work=40))
    gate = Gate(read_rules(["time>+10%"]))
    difference = compare(before, after, gate=gate)
    # then they take as long as before, and the waiting is a row of its own
    time = collective(difference)
    assert time.before.device_ns == time.after.device_ns
    assert not any("nccl" in failure.what for failure in gate.failures)
    assert [r.kernel for r in difference.headline if r.level == "time" and "nccl" in r.kernel] == []
    (waiting,) = [row for row in difference.device.rows if (row.name, row.kind) == WAITING]
    assert waiting.after.device_ns > 5 * time.after.device_ns > 0


def test_slower_transfer_is_worse(sides):
    slow = [[Step(transfer=30)] * STEPS for _ in range(3)]
    gate = Gate(read_rules(["time>+10%"]))
    difference = compare(*sides(USUAL, slow), gate=gate)
    time = collective(difference)
    assert time.after.device_ns == 10 * time.before.device_ns
    assert [failure.what for failure in gate.failures] == [time.name]


def test_collectives_of_single_ranks_are_not_compared(sides):
    # given the early and the late rank of one job
    _, job = sides(USUAL, changed(USUAL, 2, range(STEPS), work=40))
    early, late = (Selection(job.trace, (run,)) for run in (job.runs[0], job.runs[2]))
    gate = Gate(read_rules(["time>+10%"]))
    difference = compare(late, early, gate=gate)
    # then the early rank's collectives, which are mostly waiting, are not worse
    assert [time for time in difference.times if "nccl" in time.name] == []
    assert not any("nccl" in failure.what for failure in gate.failures)
    assert any(
        note.startswith("times of collectives are not compared") for note in difference.notes
    )


def test_rows_with_waiting_add_up_to_all_device_time(sides):
    before, after = sides(USUAL, changed(USUAL, 0, range(3), pause=50))
    device = compare(before, after).device
    for side, total in (("before", device.before_ns), ("after", device.after_ns)):
        assert total == sum(
            getattr(row, side).device_ns for row in device.rows if getattr(row, side)
        )
    executions = [
        end - start
        for run in after.runs
        for table in after.trace.pieces("gpu_kernels", [run], ["start", "end"])
        for start, end in zip(
            *(table[name].cast("int64").to_pylist() for name in ("start", "end")), strict=True
        )
    ]
    assert device.after_ns == sum(executions)
