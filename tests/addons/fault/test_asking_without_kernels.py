"""`kvtrace fault --now` on ranks of torch.distributed.run that launch no recorded kernel."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from kvtrace.cli import main

pytestmark = [
    pytest.mark.process,
    pytest.mark.costly("a launcher and two ranks import torch; test_ranks.py has the sentences"),
]
pytest.importorskip("torch")

ROOT = Path(__file__).parents[3]
PROGRAM = """
import sys, threading
import torch
from torch import distributed

distributed.init_process_group("gloo")
late = distributed.get_rank() == 1
tensor = torch.ones(8)

def step(number):
    if late and number == 3:
        print("waits", flush=True)
        if sys.argv[1] == "hang":
            threading.Event().wait()
        distributed.broadcast(torch.zeros(16), 0)
    distributed.all_reduce(tensor)

for number in range(9):
    step(number)
"""
SENTENCES = {
    "hang": (
        "sequence 4, rank 0 is in AllReduce.",
        "Rank 1 has not arrived: its last is 3, AllReduce, Python at step, train.py:14.",
    ),
    "order": (
        "sequence 4, rank 0 is in AllReduce; rank 1 is in Broadcast: they do not match",
        "step, train.py:15",
    ),
}


@pytest.fixture
def hanging_job(tmp_path):
    """Return a function that starts a job which hangs in a way, and returns its trace."""
    programs = []

    def start(way):
        (tmp_path / "train.py").write_text(PROGRAM)
        environment = {key: text for key, text in os.environ.items() if not key.startswith("KV")}
        environment |= {
            "KVTRACE": str(tmp_path / "out"), "KVTRACE_FAULTS": "on", "PYTHONPATH": str(ROOT),
            "OMP_NUM_THREADS": "1",
        }  # fmt: skip
        launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]
        program = subprocess.Popen(
            [*launcher, "--standalone", "train.py", way], cwd=tmp_path, env=environment,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
        )  # fmt: skip
        programs.append(program)
        assert program.stdout.readline() == "waits\n"
        return tmp_path / "out"

    yield start
    for program in programs:
        program.kill()
        # Each rank is of a session of its own.
        for pipe in (tmp_path / "out" / "faults").glob("*.ask"):
            with suppress(ProcessLookupError):
                os.kill(int(pipe.name.split(".")[-2]), signal.SIGKILL)
        program.communicate()


@pytest.mark.parametrize("way", SENTENCES)
def test_late_rank_is_named_with_sequence_and_line(way, hanging_job, capsys):
    out = hanging_job(way)
    for _ in range(50):  # the ranks may not have called their last collectives so far
        assert main(["fault", str(out), "--now"]) == 0
        text = capsys.readouterr().out
        if all(sentence in " ".join(text.split()) for sentence in SENTENCES[way]):
            break
        time.sleep(0.1)
    for sentence in SENTENCES[way]:
        assert sentence in " ".join(text.split())
    assert "_invoke_run" not in text  # the launcher is no rank
