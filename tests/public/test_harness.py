"""The runs of public packages, with a package of our own in the place of one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.public import table
from tests.public.case import Outcome, difference
from tests.public.stand_ins import Finder, StandIn
from tests.public.triton_tests import run_tests

ROOT = Path(__file__).resolve().parents[2]
CASE = "prepare_dcp_local_seq_lens"

KERNEL = """
import transformers
from vllm import _C
from vllm.distributed.parallel_state import get_group
from vllm.triton_utils import tl, triton

@_C.registered("name")
class Cache(_C.Base, get_group):
    pass

@triton.jit
def local(out, lengths, size, rank, interleave, count, room, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    length = tl.load(lengths + at, mask=at < LAST, other=0)
    rest = tl.maximum(length % (size * interleave) - rank * interleave, 0)
    own = length // (size * interleave) * interleave + tl.minimum(rest, interleave)
    tl.store(out + at, tl.where(at < count, own, 0), mask=at < room)

def prepare_dcp_local_seq_lens(out, lengths, count, size, rank, interleave):
    local[(1,)](out, lengths, size, rank, interleave, count, out.shape[0], BLOCK=16)
"""


def package(folder: Path, last: str) -> Path:
    """A package `vllm` that cannot be imported, but for the file of one kernel."""
    place = folder / "vllm" / "v1" / "worker" / "gpu"
    place.mkdir(parents=True)
    (folder / "vllm" / "__init__.py").write_text("raise ImportError('no compiled extension')")
    (place / "cp_utils.py").write_text(KERNEL.replace("LAST", last))
    return folder


def run(folder: Path, *options: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tests.public", "--folder", str(folder), *options]
    return subprocess.run(
        command, cwd=ROOT, env=os.environ | variables, capture_output=True, text=True, check=False
    )


def result_of(folder: Path, last: str) -> tuple[int, dict[str, object], str]:
    source = package(folder / "source", last)
    done = run(folder, "--package", "vllm", "--case", CASE, "--tensors", "int", "--no-interpreter",
               KVTRACE_PUBLIC_VLLM=str(source))  # fmt: skip
    (line,) = (folder / "results.jsonl").read_text().splitlines()
    return done.returncode, json.loads(line), done.stdout


@pytest.mark.process
def test_a_kernel_is_loaded_run_compared_and_judged(tmp_path):
    code, result, told = result_of(tmp_path, "count")
    assert (code, result["status"], result["kernels"]) == (0, "right", ["local"]), result
    assert result["launches"] == 1
    assert set(result["verdicts"]) == {"proven"}
    assert "| vllm | int | 1 | 1 | 1 | 0 | 0 | 0 |" in told


@pytest.mark.process
@pytest.mark.night("six seconds; a kernel that is right stays, above, and differences, below")
def test_harness_reports_a_wrong_result_and_a_violation(tmp_path):
    code, result, told = result_of(tmp_path, "2 * room")
    assert code == 1
    assert result["verdicts"]["violation"]
    assert "out-of-bounds" in told
    assert "NOT LOOKED AT" in told


@pytest.mark.process
def test_missing_package_is_reported_in_one_line(tmp_path):
    done = run(tmp_path, "--package", "sglang", KVTRACE_PUBLIC_SGLANG=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "sglang: not there; install sglang or set KVTRACE_PUBLIC_SGLANG\n"
    )


def test_stand_in_modules_accept_any_use(tmp_path, monkeypatch):
    place = tmp_path / "odd" / "deep"
    place.mkdir(parents=True)
    (place / "kernels.py").write_text(
        "from odd.engine import Base, decorate, LIMIT\n@decorate(1)\nclass K(Base):\n"
        "    def size(self) -> Base | None: return 7\ndecorator = '@triton.jit'\n"
    )
    finder = Finder("odd", tmp_path / "odd", values={"odd.engine": {"LIMIT": 3}})
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    try:
        from odd.deep import kernels
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "odd"]:
            del sys.modules[name]
    assert kernels.LIMIT == 3
    assert kernels.K().size() == 7


def test_harness_finds_functions_that_a_release_has_moved(tmp_path, monkeypatch):
    place = tmp_path / "odd" / "kernels"
    place.mkdir(parents=True)
    (place / "scaling.py").write_text("mark = '@triton.jit'\ndef scale(): return 2\n")
    (place / "others.py").write_text("mark = '@triton.jit'\ndef own(): pass\n")
    (tmp_path / "odd" / "common.py").write_text(
        "from odd.kernels.scaling import scale\ndef own(): pass\n"
    )
    finder = Finder("odd", tmp_path / "odd")
    monkeypatch.setattr(sys, "meta_path", [finder, *sys.meta_path])
    try:
        from odd.common import own, scale
        from odd.gone import scale as moved
        from odd.gone import scaling
    finally:
        for name in [name for name in sys.modules if name.partition(".")[0] == "odd"]:
            del sys.modules[name]
    assert scale() == moved() == scaling.scale() == 2
    assert isinstance(own, StandIn)  # what a stood-in file defines itself stays stood in


@pytest.mark.parametrize(
    ("got", "wanted", "told"),
    [
        (torch.ones(3), torch.ones(3), None),
        (torch.ones(3) * 1.001, torch.ones(3), None),
        (torch.ones(3) * 1.1, torch.ones(3), "root mean square"),
        (torch.arange(3), torch.arange(3) + 1, "3 of 3 elements differ"),
        (torch.ones(3), torch.ones(4), "shape"),
        (torch.tensor([1.0, float("nan")]), torch.ones(2), "infinite or NaN in one only"),
        (torch.tensor([float("inf")]), torch.tensor([-float("inf")]), "infinities differ"),
        (torch.tensor([1.0] * 9999 + [1.2]), torch.ones(10_000), "largest difference"),
    ],
)
def test_difference_between_results_is_described(got, wanted, told):
    found = difference((got,), Outcome((got,), (wanted,)))
    assert found is None if told is None else told in str(found)


def test_known_violation_is_reported_with_its_reason():
    finding = {"verdict": "violation", "rule": "race", "kernel": "k", "file": "f.py", "line": 3,
               "message": "both write"}  # fmt: skip
    results = [{"package": "fla", "case": "c", "tensors": "int", "findings": [finding]}]
    known = [{"package": "fla", "rule": "race", "kernel": "k", "why": "they do"}]
    assert table.violations(results, known)[1] == "  - real: they do"
    assert table.violations(results, [])[1] == "  - NOT LOOKED AT"


@pytest.mark.process
def test_outcomes_of_triton_tests_are_counted(tmp_path):
    place = tmp_path / "language"
    place.mkdir()
    (place / "conftest.py").write_text(
        "import pytest\ndef pytest_addoption(parser):\n"
        "    parser.addoption('--device', default='cuda')\n"
        "@pytest.fixture\ndef device(request): return request.config.getoption('--device')\n"
    )
    (place / "test_core.py").write_text(
        "import pytest, torch, triton, triton.language as tl\n"
        "@triton.jit\ndef add(x, N: tl.constexpr):\n"
        "    at = tl.arange(0, N)\n    tl.store(x + at, tl.load(x + at) + 1)\n"
        "def test_add(device):\n"
        "    x = torch.zeros(16, device=device)\n    add[(1,)](x, N=16)\n    assert x.sum() == 16\n"
        "def test_wrong(device): assert device == 'cuda'\n"
        "def test_skipped(): pytest.skip('no')\n"
    )
    told = run_tests(place, tmp_path)
    assert ": 3, of them 1 passed, 1 failed, 1 skipped;" in told
    assert (tmp_path / "triton-tests").is_dir()  # the trace
