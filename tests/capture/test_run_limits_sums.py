"""Recordings that keep sums of what they drop: figures are those of the same launches unlimited."""

import random

import pytest

from kvtrace.capture.session import Session
from kvtrace.figures.part_figures import PartFigures
from kvtrace.figures.steps import program_steps
from kvtrace.figures.times import device_times, host_times
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from kvtrace.settings import settings_from_arguments
from tests.capture.killed_program import arguments, kernel
from tests.support.tiers import some

EPOCH = 1_767_323_045_000_000_000
COUNTS = ("launches", "tuning_launches", "host_ns", "compiling_launches")
DEVICE_COUNTS = ("device_executions", "device_ns", "tuning_executions", "tuning_ns")


class Recordings:
    """Two recordings of the same launches: one without a limit, and one with."""

    def __init__(self, folder, limit):
        self.folders = folder / "all", folder / "limited"
        self.sessions = [
            Session(str(out), settings_from_arguments(**settings))
            for out, settings in zip(self.folders, ({}, {"limit": limit}), strict=True)
        ]
        self.launched = self.executed = 0

    def call(self):
        (call,) = {
            session.add_call(session.add_kernel(kernel(0)), (1, 1, 1), arguments(0), ())
            for session in self.sessions
        }
        return call

    def launch(self, call, begin, end, phase="run"):
        for session in self.sessions:
            with session.in_phase(phase):
                session.add_launch(call, EPOCH + begin, EPOCH + end)
        self.launched += 1
        return self.launched - 1

    def execute(self, call, seq, begin, end):
        row = {"record": self.executed, "call_id": call, "launch_seq": seq, "device": 0}
        row |= {"start": EPOCH + begin, "end": EPOCH + end, "stream": 7}
        self.executed += 1
        for session in self.sessions:
            session._submit(lambda journal: journal.add("gpu_kernels", row))

    def mark(self, begin, end):
        for session in self.sessions:
            session.add_mark("step", EPOCH + begin, EPOCH + end, {})

    def flush(self):
        for session in self.sessions:
            session.flush()

    def traces(self):
        for session in self.sessions:
            session.stop("exit")
        assert validate(self.folders[1]) == []
        return [open_trace(folder) for folder in self.folders]


def figures(trace):
    """The numbers and times of all calls, as texts."""
    runs = trace.runs
    host, device = host_times(trace, runs).calls, device_times(trace, runs).calls
    return [
        sorted(map(repr, rows.select(["call_id", *names]).to_pylist()))
        for rows, names in ((host, COUNTS), (device, DEVICE_COUNTS))
    ]


@pytest.mark.costly("records twice; a limit without trials stays by day")
@pytest.mark.parametrize("seed", some(range(4), 4))
def test_figures_with_trials_are_those_of_an_unlimited_recording(tmp_path, seed):
    choose = random.Random(seed)
    recordings = Recordings(tmp_path, f"sums:{choose.choice((20, 50, 100))} launches")
    call, now = recordings.call(), 0
    for _ in range(40):
        begin = now
        trials = [recordings.launch(call, now + 5 * n, now + 5 * n + 2, "autotune")
                  for n in range(choose.choice((0, 0, 3)))]  # fmt: skip
        now += 100
        holder = recordings.launch(call, begin - 1, now)
        if choose.random() < 0.5:
            recordings.flush()
        for seq in (*trials, holder):
            recordings.execute(call, seq, now + 10, now + 13 + seq % 7)
        for _ in range(choose.randrange(8)):
            now += 10
            recordings.execute(call, recordings.launch(call, now, now + 3), now + 4, now + 9)
        recordings.flush()
    whole, limited = recordings.traces()
    assert limited.table("launches").num_rows < whole.table("launches").num_rows
    assert figures(limited) == figures(whole)


def test_executions_are_not_lost_before_the_first_kernel_and_after_the_last(tmp_path):
    recordings = Recordings(tmp_path, "sums:50 launches")
    for number in range(200):
        recordings.execute(None, None, 10 * number, 10 * number + 5)
    recordings.flush()
    call = recordings.call()
    for number in range(1000):
        recordings.launch(call, 5000 + 10 * number, 5005 + 10 * number)
        if number % 50 == 49:
            recordings.flush()
    whole, limited = recordings.traces()
    assert figures(limited) == figures(whole)
    assert PartFigures(limited, limited.runs[:1]).device_time is not None


@pytest.mark.costly("records many launches; limits of few stay by day")
@pytest.mark.parametrize("limit", ["ring:100 launches", "sums:100 launches"])
def test_steps_of_dropped_launches_are_no_steps(tmp_path, limit):
    recordings = Recordings(tmp_path, limit)
    call = recordings.call()
    for step in range(50):
        begin = 10_000 * step
        for number in range(20):
            recordings.launch(call, begin + 100 * number + 1, begin + 100 * number + 50)
        recordings.mark(begin, begin + 9_000)
        recordings.flush()
    whole, limited = recordings.traces()
    assert program_steps(whole, whole.runs[0]).number == 50
    steps = program_steps(limited, limited.runs[0])
    launches = limited.table("launches").num_rows
    assert launches // 20 - 1 <= steps.number <= launches // 20
