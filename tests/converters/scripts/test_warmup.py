"""Launches that waited for their kernel, and the script that compiles what they needed ahead."""

import json
import os
import shutil
from pathlib import Path

import pytest

from kvtrace.cli import main
from tests.support.tiers import needs
from tests.support.warm_python import warm_python

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
if torch.cuda.is_available():
    pytest.skip("this machine has a GPU", allow_module_level=True)

KERNELS = """
import triton
import triton.language as tl


@triton.jit
def scale(x, y, n, rows: tl.int32, factor, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = lanes < n
    tl.store(y + lanes, tl.load(x + lanes, mask=inside) * factor + rows, mask=inside)


@triton.autotune([triton.Config({"BLOCK": 32}, num_warps=2)], key=["n"])
@triton.jit
def tuned(pair, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(pair[1] + lanes, tl.load(pair[0] + lanes, mask=lanes < n), mask=lanes < n)


@triton.jit
def tiled(source, target, BLOCK: tl.constexpr):
    target.store([0, 0], source.load([0, 0]))
"""

SERVER = """
import sys
import kvtrace, torch
from kernels import scale, tiled, tuned
from triton.tools.tensor_descriptor import TensorDescriptor


def ask(n, rows, offset=0, **options):
    x, y = torch.ones(n + offset)[offset:], torch.empty(n)
    scale[(1,)](x, y, n, rows, 2.0, BLOCK=64, **options)
    assert (y == 2.0 + rows).all()


ask(64, 16)
if "--warm" in sys.argv:
    from warmup import warm_up

    warm_up()
kvtrace.mark("serve")
ask(64, 16)
ask(63, 16)
ask(1, 16)
ask(64, 1)
ask(64, 5)
ask(64, 3, offset=1)
ask(64, 16, num_warps=8)
tuned[(1,)]((torch.ones(8), torch.zeros(8)), 8)
square = torch.ones(16, 16)
tiled[(1,)](*(TensorDescriptor.from_tensor(t, [16, 16]) for t in (square, square.clone())), BLOCK=1)
"""


def served(folder: Path, out: str, *arguments: str) -> Path:
    settings = {"KVTRACE": str(folder / out), "KVTRACE_COMPILE": "ttir", "PYTHONPATH": str(folder)}
    environment = {**os.environ, **settings}
    program = folder / "server.py"
    done = warm_python().run(program, *arguments, folder=folder, environment=environment)
    assert done.returncode == 0, done.stderr
    return folder / out


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("server")
    (folder / "kernels.py").write_text(KERNELS)
    (folder / "server.py").write_text(SERVER)
    return folder


def held(capsys, trace: Path, *options: str) -> list[dict]:
    assert main(["info", str(trace), "--warmup", *options, "--json"]) == 0
    return json.loads(capsys.readouterr().out)["held"]


@pytest.fixture(scope="module")
@needs("process")
def cold(server) -> Path:
    return served(server, "cold")


def test_compilations_while_serving_are_listed_with_their_causes(cold, capsys):
    every = held(capsys, cold)
    late = held(capsys, cold, "--since", "serve")
    assert [one["seq"] for one in every] == [0, *(one["seq"] for one in late)]
    assert len(late) == 8
    assert all(one["waited_ns"] > one["variant"]["compile_ns"] // 2 for one in late)
    assert main(["info", str(cold), "--warmup", "--since", "serve"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "8 launches waited for a kernel to be compiled, loaded or tuned from serve on" in said
    for cause in (
        "divisibility of n 16 → (none)",
        "constexpr n (none) → 1",
        "divisibility of rows 16 → (none)",
        "divisibility of x 16 → (none)",
        "num_warps 4 → 8",
        "the compiler's key distinguishes rows 1 → 5, and the TTIR is the same",
        "tuned, its first variant",
    ):
        assert cause in said


def test_script_compiles_every_listed_variant(cold, server, capsys):
    script = server / "warmup.py"
    options = ["-o", str(script), "--set", "since=serve"]
    assert main(["convert", "warmup", str(cold), *options]) == 0
    assert "8 calls, for 8 launches" in capsys.readouterr().out
    shutil.rmtree(server / "__pycache__", ignore_errors=True)
    warm = served(server, "warm", "--warm")
    late = held(capsys, warm, "--since", "serve")
    # The autotuner still tries its one configuration, with a variant that is there.
    assert late == []
    assert main(["info", str(warm), "--warmup", "--since", "serve"]) == 0
    assert "no launch waited" in capsys.readouterr().out


def test_since_option_accepts_seconds(cold, capsys):
    assert held(capsys, cold, "--since", "1e6") == []
    assert len(held(capsys, cold, "--since", "0")) == 9


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--warmup", "--since", "lunch"], "no run has a mark 'lunch'"),
        (["--since", "serve"], "'serve' is not a point in time: give an offset"),
    ],
)
def test_impossible_options_raise_errors(cold, capsys, options, said):
    assert main(["info", str(cold), *options]) == 2
    assert said in capsys.readouterr().err
