import os
import threading
from pathlib import Path

import pytest

from kvtrace.addons.fault.stacks import Pipe


@pytest.fixture
def fifo(tmp_path):
    path = tmp_path / "host.1.ask"
    os.mkfifo(path)
    return path


def test_pipe_waits_for_a_request_and_for_the_next_one(fifo):
    pipe, requests = Pipe(str(fifo)), []
    reader = threading.Thread(
        target=lambda: requests.extend(pipe.await_request() for _ in range(2)), daemon=True
    )
    reader.start()
    for expected in (1, 2):
        reader.join(0.2)
        assert len(requests) == expected - 1  # it waits, and does not spin, while nobody writes
        with fifo.open("wb") as writer:
            writer.write(b"1")
        while len(requests) < expected:
            reader.join(0.01)
    assert requests == [True, True]
    pipe.close()
    assert not pipe.is_open


def test_file_of_the_program_under_the_same_number_is_left_alone(fifo, tmp_path):
    """A program that becomes a daemon closes all descriptors, and opens files of its own."""
    pipe = Pipe(str(fifo))
    (number,) = [
        int(link.name)
        for link in Path("/proc/self/fd").iterdir()
        if link.resolve() == fifo.resolve()
    ]
    own = tmp_path / "own"
    own.write_text("content")
    with own.open("rb", buffering=0) as file:
        os.dup2(file.fileno(), number)
        assert not pipe.await_request()
        pipe.close()
        assert file.tell() == 0
        assert os.read(number, 7) == b"content"
    os.close(number)


def test_file_in_place_of_the_pipe_ends_the_thread(tmp_path):
    path = tmp_path / "host.1.ask"
    path.touch()
    assert not Pipe(str(path)).await_request()
