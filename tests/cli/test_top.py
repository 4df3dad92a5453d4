"""`kvtrace top` beside real programs that record: it counts along, and leaves them alone."""

import os
import pty
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate

ROOT = Path(__file__).parents[2]

#: Launches until its standard input ends, and then says how many there were.
PROGRAM = """
import select, sys, time
from functools import partial
import kvtrace
from kvtrace.schema import writer
from tests.capture.killed_program import launch_new_kernels

writer.RunWriter = partial(writer.RunWriter, segment_rows=int(sys.argv[2]))
session = kvtrace.start(sys.argv[1])
call_of = launch_new_kernels(session)
calls = [call_of(number) for number in range(3)]
made = 0
while not select.select([sys.stdin], [], [], 0.002)[0]:
    for _ in range(20):
        now = time.time_ns()
        session.add_launch(calls[made % 3], now, now + 2_000)
        made += 1
kvtrace.stop()
print(made)
"""


class Program:
    def __init__(self, out, rows):
        self.out = out
        self.process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, out, str(rows)],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        end = time.monotonic() + 300
        while not list(out.glob(".journal/run=*/launches-*")):
            assert time.monotonic() < end
            time.sleep(0.05)

    def end(self):
        output, _ = self.process.communicate("", timeout=300)
        return int(output)


@pytest.fixture(params=[10_000, 1 << 20], ids=["sealing", "plain"])
def program(tmp_path, request):
    """A program that seals its segments again and again, or does not."""
    running = Program(tmp_path / "out", request.param)
    yield running
    running.process.kill()
    running.process.wait()
    running.process.stdin.close()
    running.process.stdout.close()


def launches(out):
    """What the page says of the only process."""
    match = re.search(r"^python \d+ +([\d,]+) ", out, re.M)
    return int(match[1].replace(",", "")) if match else 0


@pytest.mark.process
def test_pages_of_a_running_program_are_updated_and_do_not_disturb_it(kvtrace, program):
    counts = []
    for _ in range(12):
        code, out, err = kvtrace("top", program.out, "--once")
        assert (code, err) == (0, "")
        counts.append(launches(out))
        time.sleep(0.15)
    code, out, _ = kvtrace("top", program.out, "--once")
    output = program.end()

    assert "1 process recording" in out
    assert "kernel_2: variant 1, first seen" in out
    assert len(set(counts)) > 3
    assert max(counts) <= output
    trace = open_trace(program.out)
    assert trace.table("launches", columns=["seq"])["seq"].to_pylist() == list(range(output))
    assert trace.runs[0].ending == "stopped"
    assert [p for p in validate(program.out) if p.text] == []


def test_a_triton_programs_kernels_recompiles_and_findings_are_shown(kvtrace, tmp_path, capsys):
    import torch

    import kvtrace as recording
    from tests.backends import live_kernels as kernels

    source, result = torch.randn(1000), torch.zeros(1000)
    with recording.capture(tmp_path / "out", sanitize="warn") as session:
        kernels.copy[(3,)](source, result, 768, BLOCK=256)
        for _ in range(4):
            kernels.copy[(4,)](source, result, 1000, BLOCK=256)
        kernels.copy[(8,)](source, result, 1000, BLOCK=128)
        session.flush()
        code, out, err = kvtrace("top", tmp_path / "out", "--once")

    assert (code, err) == (0, "")
    assert re.search(r"^copy +launched +6 ", out, re.M)
    variants = len(set(re.findall(r"copy: variant (\d)", out)))
    # the first is no recompile, nor is one that is loaded from a cache
    recompiles = len(re.findall(r"copy: variant [2-9], compiled", out))
    assert f"new variants (recompiles: {recompiles}) of the last 60 s: {variants}\n" in out
    assert variants >= 2
    assert re.search(r"findings of the last 60 s: \d\n", out)
    assert "call 1 of copy was launched nevertheless:" in " ".join(out.split())


@pytest.mark.process
def test_a_killed_program_is_shown_as_not_running(kvtrace, program):
    time.sleep(1)
    program.process.kill()
    program.process.wait()

    code, out, err = kvtrace("top", program.out)

    assert (code, err) == (0, "")
    assert "0 processes recording" in out
    assert re.search(r"^python \d+ .* not running$", out, re.M)


def test_top_shows_nothing_of_a_run_that_has_ended(kvtrace, sound_trace):
    code, out, err = kvtrace("top", sound_trace)

    assert (code, err) == (0, "")
    assert "no process that is being recorded here has launched a kernel yet" in out
    assert "ended before and can be shown by kvtrace info" in " ".join(out.split())


@pytest.mark.parametrize("make", ["missing", "file", "empty"])
def test_top_reports_a_bad_path_in_one_sentence(kvtrace, tmp_path, make):
    path = tmp_path / "there"
    if make == "file":
        path.write_text("x")
    elif make == "empty":
        path.mkdir()

    code, out, err = kvtrace("top", path)

    assert (code, out) == (2, "")
    assert re.fullmatch(r"kvtrace: [^\n]+\n", err)


def pages_drawn_by_top(out, end, at_least):
    """Watch in a terminal until so many different pages were drawn, then end it."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(ROOT)
        os.environ["TERM"] = "xterm"
        os.execv(
            sys.executable,
            [sys.executable, "-m", "kvtrace", "top", str(out), "--interval", "0.1"],
        )
    drawn = b""
    limit = time.monotonic() + 300
    ended = False
    while time.monotonic() < limit:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                drawn += os.read(terminal, 1 << 16)
            except OSError:  # it has ended
                break
        page = re.sub(rb"\x1b\[[0-9;?]*[a-zA-Z]", b"\n", drawn).decode(errors="replace")
        pages = re.findall(r"python \d+ +([\d,]+) ", page)
        if len(set(pages)) >= at_least and not ended:
            ended = True
            if end == "q":
                os.write(terminal, b"q")
            else:
                os.kill(pid, signal.SIGINT)
    else:  # it waits for someone to read what it writes
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), [int(n.replace(",", "")) for n in pages], drawn


@pytest.mark.process
@pytest.mark.parametrize("end", ["q", "interrupt"])
def test_terminal_shows_pages_until_q_is_pressed(program, end):
    code, counts, drawn = pages_drawn_by_top(program.out, end, 4)

    assert code == 0, drawn[-2_000:]
    assert counts == sorted(counts)
    assert len(set(counts)) >= 4
    output = program.end()
    assert open_trace(program.out).table("launches", columns=["seq"]).num_rows == output
