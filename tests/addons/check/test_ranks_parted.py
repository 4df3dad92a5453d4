"""Ranks of a job that part, by digests: a reduction that one of them lost, and none."""

import os
import re
import subprocess
import sys

import pytest

from kvtrace.addons.check.checked_runs import check_runs, check_text
from kvtrace.addons.check.ranks_parted import ranks_parted
from kvtrace.cli import main
from kvtrace.schema.trace import resolve

pytest.importorskip("torch")
pytest.importorskip("triton")

#: Each rank has a batch of its own; the gradient is reduced, and so the weights are equal.
PROGRAM = """
import os, sys, torch, triton, triton.language as tl
import torch.distributed as dist

N = 256
rank, lost = int(os.environ["RANK"]), int(sys.argv[2])
torch.set_default_device("cuda")
dist.init_process_group("nccl", init_method="file://" + sys.argv[1], rank=rank, world_size=2)


@triton.jit
def scaled(x, w, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * tl.load(w + at, mask=at < n), mask=at < n)


@triton.jit
def updated(w, g, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(w + at, mask=at < n) - tl.load(g + at, mask=at < n) / 8
    tl.store(w + at, values, mask=at < n)


w, g = torch.full((N,), 0.5), torch.zeros(N)
for step in range(5):
    x = torch.arange(N) % (5 + step + rank) / 4
    scaled[(2,)](x, w, g, N, BLOCK=128)
    dist.all_reduce(g.clone() if (rank, step) == (1, lost) else g)
    updated[(2,)](w, g, N, BLOCK=128)
dist.destroy_process_group()
"""


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """Return the trace of a job of two ranks; rank 1 loses the reduction of one step."""

    def recorded(lost: int):
        folder = tmp_path_factory.mktemp("job")
        (folder / "train.py").write_text(PROGRAM)
        settings = {
            "KVTRACE": "out", "KVTRACE_DEVICE": "cpu", "KVTRACE_COMPILE": "ttir",
            "KVTRACE_CHECK": "digest", "KVTRACE_MEMORY": "on", "OMP_NUM_THREADS": "1",
            "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2",
        }  # fmt: skip
        words = [sys.executable, "train.py", str(folder / "store"), str(lost)]
        ranks = [
            subprocess.Popen(
                words, cwd=folder, env={**os.environ, **settings, "RANK": rank, "LOCAL_RANK": rank}
            )
            for rank in "01"
        ]
        assert [rank.wait(timeout=300) for rank in ranks] == [0, 0]
        return folder / "out"

    return recorded


@pytest.mark.process
@pytest.mark.costly("records two processes with torch.distributed")
def test_ranks_part_where_one_of_them_lost_the_reduction(job, capsys):
    out = job(lost=3)

    assert main(["check", str(out)]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    line = re.sub(r"\(\S+/", "(", line)
    assert line.startswith(
        "ranks 0, 1: rank 1 and rank 0 have other bytes in g given to launch 4 of updated "
        "(train.py:18), equal at the 3 before: "
    )


@pytest.mark.process
@pytest.mark.costly("records two processes with torch.distributed")
def test_ranks_that_stay_equal_are_said_to_be(job):
    selection = resolve(str(job(lost=-1)))
    checked = check_runs(selection)

    assert not checked.failed
    # At each of five steps w before both launches, g before one, w after it; batches differ.
    assert list(check_text(checked)) == [
        "ranks 0, 1: all 20 results that were equal at the start stayed equal"
    ]
    twice = [*selection.runs, *selection.runs]  # a rank that was started again has its number
    assert ranks_parted(selection.trace, twice) == checked.ranks
