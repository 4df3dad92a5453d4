"""Ranks of one job, on the processor: torchrun with gloo, to the end and with one rank killed."""

import multiprocessing
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

import kvtrace
from kvtrace.capture import groups
from kvtrace.converters.timeline import perfetto
from kvtrace.schema.recovery import recover
from kvtrace.schema.trace import open_trace, resolve

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

PROGRAM = Path(__file__).parents[1] / "gpu" / "rank_training.py"
TORCHRUN = ("-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", PROGRAM)
SECONDS = 1.6  # a flush comes every half second


def run_ranks_to_the_end(autostarting, folder):
    done = autostarting.run(*TORCHRUN, "4", folder=folder, KVTRACE="out", OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stderr


def killed(autostarting, folder):
    """Kill rank 1 in the middle of its training; torchrun then ends the other."""
    process = subprocess.Popen(
        [str(autostarting.python), *map(str, TORCHRUN), "1000000"],
        cwd=folder,
        env=autostarting.environment({"KVTRACE": "out", "OMP_NUM_THREADS": "1"}),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    begun = None
    for line in process.stdout:
        words = line.split()
        if words[:2] != ["rank", "1"] or len(words) != 6:
            continue
        begun = begun or time.monotonic()
        if time.monotonic() - begun > SECONDS:
            os.kill(int(words[3]), signal.SIGKILL)
            break
    process.communicate(timeout=300)
    assert process.returncode


@pytest.fixture(scope="module")
def finished(autostarting, tmp_path_factory):
    """The folder of a job that ran to its end."""
    folder = tmp_path_factory.mktemp("finished")
    run_ranks_to_the_end(autostarting, folder)
    return folder


@pytest.mark.process
def test_each_rank_is_a_run_of_one_group(finished):
    trace = open_trace(finished / "out")
    runs = trace.select()
    assert sorted((run.rank, run.world_size) for run in runs) == [(0, 2), (1, 2)]
    assert len(trace.runs) == 2  # torchrun itself launches nothing
    assert all(run.sealed and run.ending == "exit" for run in runs)
    for run in runs:
        assert trace.table("launches", [run]).num_rows == 8
        kernels = set(trace.table("kernels", [run])["name"].to_pylist())
        assert kernels == {"squared_relu", "squared_relu_backward"}


@pytest.mark.process
def test_timeline_file_has_a_process_for_each_rank(finished, tmp_path):
    selection = resolve(str(finished / "out"))
    done = perfetto.CONVERTER.convert(selection, tmp_path / "t", {})
    assert done.notes[0].startswith("2 runs: 16 launches")
    content = (tmp_path / "t").read_bytes()
    assert b"rank 0 \xc2\xb7 rank_training.py" in content
    assert b"rank 1 \xc2\xb7 rank_training.py" in content


@pytest.mark.process
@pytest.mark.night("8 s; test_capture_programs.py kills programs that are no ranks at each push")
def test_a_killed_rank_leaves_all_traces_readable_and_recoverable(autostarting, tmp_path):
    killed(autostarting, tmp_path)
    out = tmp_path / "out"
    trace = open_trace(out)
    launches = {run.rank: trace.table("launches", [run]).num_rows for run in trace.select()}
    assert launches.keys() == {0, 1}
    # the other one, which loses its peer and is sent SIGTERM, may have come to its own end
    ended = {run.rank: run.sealed for run in trace.runs}
    assert not ended[1]
    # when it is recovered, then both are sealed, with what the killed one's spool has besides
    assert len(recover(out).sealed) == list(ended.values()).count(False)
    trace = open_trace(out)
    again = {run.rank: trace.table("launches", [run]).num_rows for run in trace.select()}
    assert min(again.values()) > 8  # those of a round that had not ended are in the spool
    for rank, count in launches.items():
        # a sealed run has no spool; else the spool has what its journal had not
        assert again[rank] == count if ended[rank] else again[rank] >= count
        [run] = [run for run in trace.select() if run.rank == rank]
        numbers = trace.table("launches", [run], columns=["seq"]).column("seq").to_pylist()
        assert numbers == list(range(again[rank]))  # none was taken in twice, and none is missing
    assert all(run.sealed for run in trace.runs)
    assert {run.rank: run.ending for run in trace.runs}[1] == "killed"


def _put_group_id(answer):
    answer.put(groups.group_id({}))


@pytest.mark.process
def test_child_processes_share_a_group_without_any_variable():
    context = multiprocessing.get_context("fork")
    answer = context.Queue()
    children = [context.Process(target=_put_group_id, args=(answer,)) for _ in range(2)]
    for child in children:
        child.start()
    found = {answer.get(timeout=300) for _ in children}
    for child in children:
        child.join()
    assert len(found) == 1
    assert found != {None}
    # and a process that nobody of Python's started stands alone
    assert groups.group_id({}) is None


def test_recording_in_code_passes_its_group_to_child_processes(tmp_path, monkeypatch):
    monkeypatch.delenv(groups.VARIABLE, raising=False)
    seen = []
    for name in ("first", "second"):
        with kvtrace.capture(tmp_path / name):
            kvtrace.mark("here")
            seen.append(os.environ[groups.VARIABLE])
        assert groups.VARIABLE not in os.environ
    assert [open_trace(tmp_path / name).runs[0].group_id for name in ("first", "second")] == seen
    assert seen[0] != seen[1]


def test_ranks_are_those_of_torch_distributed(monkeypatch):
    assert groups.rank_facts({"RANK": "3", "WORLD_SIZE": "4"}) == {"rank": 3, "world_size": 4}
    assert groups.rank_facts({"RANK": "x"}) == {}
    store = torch.distributed.HashStore()
    torch.distributed.init_process_group("gloo", store=store, rank=0, world_size=1)
    try:
        assert groups.rank_facts({"RANK": "3"}) == {"rank": 0, "world_size": 1}
    finally:
        torch.distributed.destroy_process_group()


@pytest.mark.parametrize(
    ("environment", "group"),
    [
        ({"SLURM_JOB_ID": "5", "SLURM_STEP_ID": "1"}, "job-5.1"),
        ({"SLURM_JOB_ID": "5", "TORCHELASTIC_RUN_ID": "r"}, "job-r"),
        ({}, "inherited"),
    ],
)
def test_ranks_of_several_hosts_share_the_jobs_number(environment, group):
    several = {"WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "4", groups.VARIABLE: "inherited"}
    assert groups.group_id(several | environment) == group
