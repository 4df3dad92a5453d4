"""Recordings of a part of a program: exactly its launches, and nothing that they refer to lacks."""

import os
import signal
import subprocess
import sys
import time
from itertools import groupby

import numpy as np
import pytest

import kvtrace
from kvtrace.backends.cupti.host_events import within
from kvtrace.capture import api
from kvtrace.capture.session import Session
from kvtrace.capture.windows import Window
from kvtrace.cli import main
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from kvtrace.settings import RecordedPart, settings_from_arguments
from tests.capture.killed_program import arguments, kernel
from tests.capture.recorders import Adapter, Kernel, calls, recorder_of

PROGRAM = """
import os, signal, sys, time
import torch, triton, triton.language as tl
import kvtrace

@triton.jit
def plus_one(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < n) + 1, mask=lanes < n)

def launch(size):
    x = torch.arange(size, dtype=torch.float32)
    out = torch.empty_like(x)
    plus_one[(triton.cdiv(size, 64),)](x, out, size, BLOCK=64)
    assert torch.equal(out, x + 1)

for i in range(30):
    way = sys.argv[1]
    if way == "ranges":
        with kvtrace.mark("step"):
            launch(101 + 2 * i)
    elif way == "instants":
        kvtrace.mark("step")
        launch(101 + 2 * i)
    elif way == "signals":
        if i in (10, 21):
            os.kill(os.getpid(), signal.SIGUSR2)
        launch(101 + 2 * i)
    else:
        launch(101 + 2 * i)
"""


@pytest.fixture(autouse=True)
def handlers():
    """Give each test the signal's default, and take its own handler back."""
    yield
    for number in (signal.SIGUSR1, signal.SIGUSR2):
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture
def recorded(tmp_path):
    """Return a function that runs the program with a window: its trace's folder, what it said."""
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)

    def run(way, window, *options):
        out = tmp_path / f"{way}-{len(list(tmp_path.iterdir()))}"
        command = [sys.executable, "-m", "kvtrace", "run", "-o", str(out), *options]
        done = subprocess.run(
            [*command, "--window", window, str(script), way],
            capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return out, done.stderr

    return run


def sizes(out):
    """Return the argument n of each launch's call, in the order of launches."""
    trace = open_trace(out)
    of_call = {
        row["call_id"]: int(next(a["scalar"] for a in row["args"] if a["name"] == "n"))
        for row in plain_rows(trace.table("calls"))
    }
    return [of_call[call] for call in trace.table("launches")["call_id"].to_pylist()]


LIKE_STEPS = pytest.mark.night("as the cases of steps and of signals, which stay")


@pytest.mark.process
@pytest.mark.parametrize(
    ("way", "window"),
    [
        ("ranges", "steps:10-20"),
        pytest.param("instants", "steps:step:10-20", marks=LIKE_STEPS),
        ("signals", "signal:USR2"),
    ],
)
def test_exactly_the_launches_of_the_window_are_recorded_with_their_ir(
    recorded, capsys, way, window
):
    pytest.importorskip("triton")
    out, said = recorded(way, window)
    assert said == ""
    assert sizes(out) == list(range(121, 142, 2))
    trace = open_trace(out)
    (variant,) = plain_rows(trace.table("kernels"))  # compiled in step 0, before the window
    stages = {stage["stage"]: stage["artifact"] for stage in variant["stages"]}
    assert b"tt.store" in trace.artifact(stages["ttir"])
    (frame, *_) = plain_rows(trace.table("stacks"))[0]["frames"]
    assert frame["function"] == "launch"
    assert validate(out) == []
    assert trace.runs[0].settings["window"] == window
    assert main(["info", str(out)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert f"records a part of the program (KVTRACE_WINDOW={window})" in told


@pytest.mark.process
@pytest.mark.parametrize(
    ("window", "reason"),
    [
        ("steps:10-20", "since the program set kvtrace.mark('step') 0 times, and step 10"),
        pytest.param("time:1h-2h", "since the program ended after ", marks=LIKE_STEPS),
        pytest.param(
            "mark:epoch", "since the program never entered kvtrace.mark('epoch')", marks=LIKE_STEPS
        ),
        ("signal:USR1", "since no signal USR1 arrived"),
    ],
)
def test_a_window_that_never_opens_is_reported_at_the_end(recorded, window, reason):
    pytest.importorskip("triton")
    out, said = recorded("unmarked", window)
    assert not out.exists()
    assert said.count("kvtrace:") == 1
    assert f"kvtrace: KVTRACE_WINDOW={window}: nothing was recorded, {reason}" in said


def test_a_stored_launcher_of_a_kernel_is_recorded_only_within_the_window():
    recorder = recorder_of()

    class Compiled(Kernel):
        src = None

        def __getitem__(self, grid):
            return lambda *args: args

    Compiled.src = type("Source", (), {"fn": None})()
    Compiled.__getitem__ = recorder.wrap_getitem(Compiled.__getitem__, Adapter())
    compiled = Compiled()
    recorder.active = False
    launch = compiled[(1, 1, 1)]
    assert launch(1) == (1,)
    assert calls(recorder) == []
    recorder.active = True
    assert launch(1) == (1,)
    assert calls(recorder) == [0]
    recorder.active = False
    assert launch(1) == (1,)
    assert calls(recorder) == []
    assert recorder.dropped == 0
    recorder.active = True
    recorder.end()
    assert launch(1) == (1,)
    assert (calls(recorder), recorder.dropped) == ([], 1)


class Program:
    """Launches one call as often as it is told."""

    def __init__(self, out, **settings):
        self.session = Session(str(out), settings_from_arguments(**settings))
        variant = self.session.add_kernel(kernel(0))
        self.call = self.session.add_call(variant, (1, 1, 1), arguments(0), ())

    def launch(self, times=1):
        for _ in range(times):
            now = time.time_ns()
            self.session.add_launch(self.call, now, now + 1)


def launches(out):
    return open_trace(out).table("launches").num_rows


def test_time_is_recorded_between_its_two_ends(tmp_path):
    program = Program(tmp_path / "out", window="time:0.3s-0.6s")
    recorder = program.session.recorder
    seen = []
    while not seen or seen[-1][0] or not any(is_open for is_open, _ in seen):
        seen.append((program.session.records_launches, recorder.active))
        program.launch()
        time.sleep(0.01)
    program.session.stop("exit")
    count = sum(is_open for is_open, _ in seen)
    between = sum(is_open != active for is_open, active in seen)  # as the thread is scheduled
    for states in zip(*seen, strict=True):
        assert [state for state, _ in groupby(states)] in ([False, True, False], [False, True])
    assert abs(launches(tmp_path / "out") - count) <= 2 + between


def test_a_mark_is_the_window_while_it_is_open(tmp_path, monkeypatch):
    program = Program(tmp_path / "out", window="mark:steady")
    monkeypatch.setattr(api, "_current", program.session)
    program.launch()
    with kvtrace.mark("other"):
        program.launch()
    for _ in range(2):
        with kvtrace.mark("steady"):
            program.launch()
            with kvtrace.mark("steady"), kvtrace.mark("inner"):
                program.launch()
            program.launch()
        program.launch()
    kvtrace.mark("steady")  # an instant has no length
    program.launch()
    program.session.stop("exit")
    trace = open_trace(tmp_path / "out")
    assert launches(tmp_path / "out") == 6
    names = trace.table("marks")["name"].to_pylist()
    assert sorted(names) == ["inner", "inner", "steady", "steady", "steady", "steady"]
    assert trace.runs[0].settings["window"] == "mark:steady"


@pytest.mark.process
def test_a_fork_continues_the_window_of_its_parent(tmp_path, monkeypatch):
    program = Program(tmp_path / "out", window="mark:steady")
    monkeypatch.setattr(api, "_current", program.session)
    with kvtrace.mark("steady"):
        child = os.fork()
        if not child:
            try:
                assert program.session.records_launches
                program.call = program.session.add_call(
                    program.session.add_kernel(kernel(0)), (1, 1, 1), arguments(0), ()
                )
                program.launch(3)
                program.session.stop("exit")
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        program.launch()
    program.session.stop("exit")
    assert launches(tmp_path / "out") == 4


@pytest.mark.parametrize("how", ["python", "c"])
def test_a_handler_of_the_program_stays(tmp_path, capfd, how):
    received = []
    if how == "python":
        signal.signal(signal.SIGUSR2, lambda *_: received.append(1))
    else:
        import faulthandler

        log = (tmp_path / "log").open("w")
        faulthandler.register(signal.SIGUSR2, file=log)
    program = Program(tmp_path / "out", window="signal:USR2")
    os.kill(os.getpid(), signal.SIGUSR2)
    program.launch()
    program.session.stop("exit")
    if how == "python":
        assert received == [1]
    else:
        faulthandler.unregister(signal.SIGUSR2)
        assert "most recent call first" in (tmp_path / "log").read_text()
    assert launches(tmp_path / "out") == 0
    assert "records nothing: the program handles this signal itself" in capfd.readouterr().err


def test_a_signal_after_the_end_does_not_end_the_program(tmp_path):
    for name in ("first", "second"):  # the second replaces kvtrace's own handler
        program = Program(tmp_path / name, window="signal:USR2")
        os.kill(os.getpid(), signal.SIGUSR2)
        program.launch()
        program.session.stop("exit")
        assert launches(tmp_path / name) == 1
    os.kill(os.getpid(), signal.SIGUSR2)
    assert not program.session.records_launches


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("steps:10-20", RecordedPart("steps", "step", 10, 20)),
        ("steps:3-", RecordedPart("steps", "step", 3)),
        ("steps:train: a:0-0", RecordedPart("steps", "train: a", 0, 0)),
        ("time:60s-1.5min", RecordedPart("time", "", 60, 90)),
        ("time:0s-", RecordedPart("time")),
        ("mark:steady state", RecordedPart("mark", "steady state")),
        ("signal:SIGUSR1", RecordedPart("signal", "USR1")),
        ("", None),
    ],
)
def test_windows_that_are_valid(text, part):
    assert settings_from_arguments(window=text).recorded_part == part


@pytest.mark.parametrize(
    "text",
    ["steps:20-10", "steps:10", "time:9s-1s", "time:1s-1s", "time:1GB-2GB", "time:1-2", "mark:",
     "signal:INT", "signal:KILL", "10-20", "ring:time:1s-2s"],
)  # fmt: skip
def test_an_invalid_window_is_named_in_one_sentence(text):
    with pytest.raises(BadSetting, match="the setting window is steps:FIRST-LAST") as caught:
        settings_from_arguments(window=text)
    assert repr(text) in str(caught.value)


def test_window_of_steps_is_open_from_its_first_to_its_last():
    window = Window("steps:2:4", RecordedPart("steps", "step", 2, 4), lambda: None)
    is_open = []
    for _ in range(7):
        window.mark("step")
        is_open.append(window.is_open)
        window.mark("other")
        window.leave("step")

    assert is_open == [False, False, True, True, True, False, False]
    assert [len(times) for times in window.spans()] == [1, 1]


def test_executions_count_that_were_requested_while_the_window_was_open():
    window = Window("mark:a", RecordedPart("mark", "a"), lambda: None)
    times = [time.time_ns()]
    for _ in range(2):
        window.enter("a")
        times.append(time.time_ns())
        window.leave("a")
        time.sleep(0.001)
        times.append(time.time_ns())
    window.enter("a")
    times.append(time.time_ns())
    assert within(window, np.array(times)).tolist() == [False, True, False, True, False, True]
    assert within(window, np.array([], np.int64)).tolist() == []
    assert within(None, np.array(times)).all()
