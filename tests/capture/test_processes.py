"""Programs that a recording starts, beside a program that does as it likes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kvtrace.capture.processes import output_of

ROOT = Path(__file__).parents[2]


@pytest.mark.process
def test_output_of_a_program_is_read_whole_and_a_program_that_hangs_is_ended():
    environment = dict(os.environ)
    many = ["sh", "-c", "yes | head -n 100000; echo lost >&2"]
    assert output_of(many, environment, 60) == b"y\n" * 100_000
    assert output_of(["sh", "-c", "exit 3"], environment, 60) is None
    with pytest.raises(TimeoutError):
        output_of(["sleep", "600"], environment, 0.01)
    with pytest.raises(FileNotFoundError):
        output_of(["no-such-program-at-all"], environment, 60)


@pytest.mark.process
def test_no_program_that_was_started_is_left():
    program = """if True:
        import os
        from kvtrace.capture.processes import output_of
        for words, seconds in ((["true"], 60), (["false"], 60), (["sleep", "600"], 0.01)):
            try:
                output_of(words, dict(os.environ), seconds)
            except TimeoutError:
                print("ended")
        try:
            os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            print("none")
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=300)
    assert done.stdout.split() == [b"ended", b"none"], done.stderr


WAITING = """
import os, sys, threading
from kvtrace.capture.processes import output_of

fifo, folder = sys.argv[1:]
words = ["sh", "-c", f"cat {fifo}; echo much"]
failures = []
def read():
    try:
        output_of(words, dict(os.environ), 60)
    except OSError as error:
        failures.append(error)
reading = threading.Thread(target=read)
reading.start()
writer = os.open(fifo, os.O_WRONLY)  # the other process has begun
os.dup2(writer, 1)
os.closerange(3, 2000)
files = [os.open(f"{folder}/{number}", os.O_RDWR | os.O_CREAT) for number in range(40)]
for file in files:
    os.write(file, b"the program's")
    os.lseek(file, 0, os.SEEK_SET)
os.close(1)  # the other process goes on
reading.join()
assert len(failures) == 1
for file in files:
    assert os.read(file, 99) == b"the program's", file
"""


@pytest.mark.process
def test_pipe_of_git_that_the_program_closed_is_not_closed_again(tmp_path):
    files = tmp_path / "files"
    files.mkdir()
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    done = subprocess.run(
        [sys.executable, "-c", WAITING, fifo, files], cwd=ROOT, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
