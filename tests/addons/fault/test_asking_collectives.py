"""`kvtrace fault --now` on four ranks, one of which calls its collectives in another order."""

import os
import signal
from pathlib import Path

import pytest

from kvtrace.cli import main
from tests.support.warm_python import warm_python

pytestmark = [
    pytest.mark.process,
    pytest.mark.costly("four processes start torch's gloo; test_ranks.py has the sentences alone"),
]
pytest.importorskip("torch")

ROOT = Path(__file__).parents[3]
#: Each rank ends two collectives. Then rank 2 broadcasts where the others reduce, and all wait.
PROGRAM = """
import os, sys, threading, time
import torch
from torch import distributed
import kvtrace
from kvtrace.backends.flight_recorder import last_requests
from tests.capture.killed_program import launch_one_call

rank = int(os.environ["RANK"])
session = kvtrace.start(os.environ["KVTRACE"])
session.add_launch(launch_one_call(session)(0), 1, 2)
session.flush()
store = distributed.FileStore(sys.argv[1], 4)
distributed.init_process_group("gloo", store=store, rank=rank, world_size=4)
tensor = torch.ones(4)

def say_when_all_have_called():
    while not any(not row["is_done"] and row["sequence"] == 3 for row in last_requests()):
        time.sleep(0.01)
    store.add("called", 1)
    while store.add("called", 0) < 4:
        time.sleep(0.01)
    print("waits", flush=True)

def step():
    if rank == 2:
        distributed.broadcast(tensor, 0)
    else:
        distributed.all_reduce(tensor)
    threading.Event().wait()

distributed.all_reduce(tensor)
distributed.broadcast(tensor, 1)
threading.Thread(target=say_when_all_have_called, daemon=True).start()
step()
"""
SENTENCE = (
    "In process group 0 (default_pg), sequence 3, ranks 0, 1 and 3 are in AllReduce; rank 2 is in "
    "Broadcast: they do not match, and never end."
)


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """Folder of a job of four ranks that hang; they are killed at the end."""
    folder = tmp_path_factory.mktemp("job")
    (folder / "train.py").write_text(PROGRAM)
    environment = {
        name: text for name, text in os.environ.items() if not name.startswith("KVTRACE")
    }
    environment |= {
        "KVTRACE": str(folder / "out"), "KVTRACE_FAULTS": "on", "PYTHONPATH": str(ROOT),
        "WORLD_SIZE": "4", "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    programs = [
        warm_python().start(
            "train.py",
            folder / "store",
            folder=folder,
            environment=environment | {"RANK": str(rank)},
        )
        for rank in range(4)
    ]
    try:
        for program in programs:
            assert program.stdout.readline() == "waits\n", program.stderr.read()
        yield folder / "out"
    finally:
        for program in programs:
            os.kill(program.pid, signal.SIGKILL)
            with program:
                program.wait()


def test_rank_that_calls_another_operation_is_named_with_the_sequence_and_all_ranks(job, capsys):
    assert main(["fault", str(job), "--now"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert SENTENCE in text
    for rank in range(4):
        assert f"rank {rank}, process" in text
    assert "has not arrived" not in text


def test_the_same_is_said_of_the_trace_later(job, capsys):
    assert main(["fault", str(job), "--now"]) == 0
    capsys.readouterr()
    assert main(["fault", str(job)]) == 0
    assert SENTENCE in " ".join(capsys.readouterr().out.split())
