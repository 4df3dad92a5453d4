"""Imports of hostile and enormous files: bounded memory and time, one sentence, nothing left."""

import gzip
import os
import re
import resource
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import pytest

from kvtrace.cli import main
from kvtrace.converters.importers.importing import import_files
from kvtrace.converters.importers.registry import BadSource
from kvtrace.progress import shown_by
from kvtrace.schema.trace import open_trace
from tests.support.foreign_traces import write_kineto

HEAD = b'{"deviceProperties": [], "traceEvents": ['
EVENT = b'{"ph": "X", "cat": "kernel", "name": "k", "ts": 1, "dur": 1, "args": {}},\n'
LAST = EVENT.rstrip(b",\n") + b"]}"


def written(path, count):
    """Write a trace of so many kernels."""
    later = EVENT.replace(b'"ts": 1', b'"ts": %d')
    path.write_bytes(HEAD + b"".join(later % (7 * n % 999_983) for n in range(count)) + LAST)
    return path


def run(*words, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "kvtrace", "import", *map(str, words)],
        stderr=subprocess.PIPE, text=True, **options,
    )  # fmt: skip


def processor_seconds(process):
    """Processor time that a running program has taken."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def seconds_of_ended():
    """Processor time of all programs that this process started and that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def test_decompression_bomb_is_refused_early(tmp_path, capsys):
    """A gzip file of repeated members: a few MB that unpack to 2 GB."""
    member = gzip.compress(EVENT * 200_000)
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(HEAD) + member * 150 + gzip.compress(LAST))
    began = time.process_time()

    assert main(["import", str(path), "-o", str(tmp_path / "out")]) == 2

    assert "unpacks to more than 50 times its size" in capsys.readouterr().err
    assert time.process_time() - began < 30
    assert list(tmp_path.iterdir()) == [path]


def test_gigabytes_of_whitespace_are_refused_early(tmp_path):
    path = tmp_path / "blank.json"
    path.write_bytes(b'{"traceEvents":')
    with path.open("ab") as file:
        for _ in range(16):
            file.write(b" " * (8 << 20))
        file.write(b"[]}")

    with pytest.raises(BadSource, match="more than 64 MB of white space"):
        import_files([path], tmp_path / "out", "kineto")


def without_progress(complaint):
    """What is printed on standard error, without the lines that a slow machine has time for."""
    lines = complaint.splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith("kvtrace: import: "))


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux bounds what a process writes to")
def test_a_file_that_takes_more_memory_than_is_allowed_is_refused_with_the_option(tmp_path):
    path = written(tmp_path / "large.json", 300_000)
    small = run(path, "-o", tmp_path / "out", "--memory", 64)
    most = 0
    while small.poll() is None:
        status = Path(f"/proc/{small.pid}/status").read_text()
        found = re.search(r"VmHWM:\s+(\d+) kB", status)  # not getrusage: it has the parent's, too
        most = max(most, int(found[1]) if found else 0)
        time.sleep(0.01)
    complaint = small.communicate()[1]

    assert small.returncode == 2, complaint
    assert without_progress(complaint).count("\n") == 1
    assert "takes more than 64 MB of memory, and nothing was imported" in complaint
    assert "--memory 128" in complaint
    assert not (tmp_path / "out").exists()
    assert 0 < most < 364_000
    assert main(["import", str(path), "-o", str(tmp_path / "out")]) == 0
    assert open_trace(tmp_path / "out").table("gpu_kernels").num_rows == 300_001


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="/proc says what a program has taken")
def test_ctrl_c_ends_an_import_at_once_with_one_sentence(tmp_path):
    path = written(tmp_path / "large.json", 2_000_000)
    process = run(path, "-o", tmp_path / "out")
    while not list(tmp_path.glob(".out.*.tmp")):
        assert process.poll() is None
        time.sleep(0.01)
    begun = processor_seconds(process)
    while (before := processor_seconds(process)) < begun + 0.3:
        assert process.poll() is None
        time.sleep(0.01)
    others = seconds_of_ended()
    process.send_signal(signal.SIGINT)
    complaint = process.communicate()[1]

    assert seconds_of_ended() - others - before < 2
    assert process.returncode == 130
    assert without_progress(complaint) == f"kvtrace: interrupted; nothing of {path} was imported\n"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("packed", [False, True])
def test_progress_reaches_100_percent(packed, tmp_path):
    path = write_kineto(tmp_path, packed=packed)
    places = []

    with shown_by(lambda _title, _percent: nullcontext(lambda *place: places.append(place))):
        import_files([path], tmp_path / "out")

    size = path.stat().st_size
    assert places[-1] == (size, size)
    assert places == sorted(places)


def test_named_pipe_as_input_raises_an_error(tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe")
    assert main(["import", str(tmp_path / "pipe"), "-o", str(tmp_path / "out")]) == 2
    assert "is not a regular file" in capsys.readouterr().err
