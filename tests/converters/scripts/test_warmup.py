"""Launches that waited for their kernel, and the script that compiles what they needed ahead."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest

from kvtrace.cli import main
from kvtrace.schema.trace import resolve
from tests.support.tiers import needs
from tests.support.warm_python import warm_python
from tests.support.without_gpu import torch_without_gpu

torch = torch_without_gpu()

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
def attend(queries, cache, pages, lengths, out, batch, longest, stride,
           PAGE: tl.constexpr, HEAD: tl.constexpr):
    row, lanes, slots = tl.program_id(0), tl.arange(0, HEAD), tl.arange(0, PAGE)
    query, length = tl.load(queries + row * HEAD + lanes), tl.load(lengths + row)
    total, result = 0.0, tl.zeros([HEAD], tl.float32)
    for start in range(0, longest, PAGE):
        page = tl.load(pages + row * stride + start // PAGE)
        keys = tl.load(cache + (page * PAGE + slots)[:, None] * HEAD + lanes[None, :])
        scores = tl.exp(tl.sum(keys * query[None, :], axis=1))
        weights = tl.where(start + slots < length, scores, 0.0)
        total += tl.sum(weights, axis=0)
        result += tl.sum(weights[:, None] * keys, axis=0)
    tl.store(out + row * HEAD + lanes, result / total)


@triton.jit
def normalize(x, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + lanes, mask=lanes < n, other=0.0)
    tl.store(x + lanes, values / tl.sum(values, axis=0), mask=lanes < n)


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

#: A server with a paged cache: batches of requests of some lengths, from the command line.
PAGED = """
import sys
import kvtrace, torch, triton
from kernels import attend, normalize

torch.set_default_device("cuda")
cache = torch.rand(64 * 16, 16)


def answer(lengths):
    batch, longest = len(lengths), max(lengths)
    stride = triton.cdiv(longest, 16)
    pages = torch.arange(batch * stride, dtype=torch.int32) % 64
    numbers = torch.tensor(lengths, dtype=torch.int32)
    queries, out = torch.rand(batch, 16), torch.empty(batch, 16)
    warps = 2 if longest < 64 else 4
    attend[(batch,)](queries, cache, pages, numbers, out, batch, longest, stride,
                     PAGE=16, HEAD=16, num_warps=warps)
    score = torch.rand(longest)
    normalize[(1,)](score, longest, BLOCK=triton.next_power_of_2(longest))


if "--warm" in sys.argv:
    from warm_paged import warm_up

    warm_up()
kvtrace.mark("serve")
for lengths in eval(sys.argv[1]):
    answer(lengths)
"""


def served(
    folder: Path, out: str, *arguments: str, program: str = "server.py", **more: str
) -> Path:
    settings = {"KVTRACE": str(folder / out), "KVTRACE_COMPILE": "ttir", "PYTHONPATH": str(folder)}
    environment = {**os.environ, **settings, **more}
    done = warm_python().run(folder / program, *arguments, folder=folder, environment=environment)
    assert done.returncode == 0, done.stderr
    return folder / out


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("server")
    (folder / "kernels.py").write_text(KERNELS)
    (folder / "server.py").write_text(SERVER)
    (folder / "paged.py").write_text(PAGED)
    return folder


def overview(capsys, trace: Path, *options: str) -> dict:
    capsys.readouterr()
    assert main(["info", str(trace), "--warmup", *options, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def held(capsys, trace: Path, *options: str) -> list[dict]:
    return overview(capsys, trace, *options)["held"]


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
    assert main(["info", str(cold), "--warmup", "--since", "serve", "--also", str(cold)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert said.endswith(f"warmup {cold} --set since=serve --set also={cold}")
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
    assert main(["convert", "warmup", str(cold), "-o", str(script), "--set", "since=serve"]) == 0
    assert "8 calls, for 8 launches" in capsys.readouterr().out
    shutil.rmtree(server / "__pycache__", ignore_errors=True)
    warm = served(server, "warm", "--warm")
    # The autotuner still tries its one configuration, with a variant that is there.
    assert held(capsys, warm, "--since", "serve") == []
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


def sizes_in(text: str, name: str) -> set[int]:
    """The sizes that a range such as `n multiples of 16 from 32 to 64` stands for."""
    assert text.startswith(f"{name} ")
    first, *last = re.findall(r"\d+", text.replace("multiples of 16", ""))
    every = range(int(first), int(*last or [first]) + 1)
    aligned = {size for size in every if size % 16 == 0}
    return set(every) - aligned if "but" in text else aligned if "mult" in text else set(every)


@pytest.mark.process
@pytest.mark.costly("compiles to machine code in five processes; the script by TTIR stays by day")
def test_started_after_the_script_a_server_compiles_nothing(server, capsys):
    first, second = "[[5], [5, 7], [17, 3, 40], [70]]", "[[16], [1], [20] * 16, [5], [65] * 16]"
    machine = {"KVTRACE_DEVICE": "cpu", "KVTRACE_COMPILE": "full", "program": "paged.py"}
    day, night = (
        served(server, out, requests, TRITON_CACHE_DIR=str(server / "cold"), **machine)
        for out, requests in (("day", first), ("night", second))
    )
    said = overview(capsys, day, "--since", "serve", "--also", str(night), "--stages")
    twice = [wait for wait in said["waits"] if wait["launches"] > 1]
    # Lengths [5] in both; 70 and 65 are one class of one BLOCK.
    assert sorted((wait["kernel"], wait["launches"], wait["runs"]) for wait in twice) == [
        ("attend", 2, 2), ("normalize", 2, 2), ("normalize", 2, 2)
    ]  # fmt: skip
    assert {kernel["kernel"] for kernel in said["stages"]} == {"attend", "normalize"}
    assert all(
        sum(kernel["stages"].values()) + kernel["rest_ns"] == kernel["compile_ns"]
        and {"ttir", "ttgir", "llir", "ptx", "cubin"} <= kernel["stages"].keys()
        for kernel in said["stages"]
    )
    script = server / "warm_paged.py"
    options = ["-o", str(script), "--set", "since=serve", "--set", f"also={night}"]
    assert main(["convert", "warmup", str(day), *options]) == 0
    fresh = str(server / "fresh")
    environment = {**os.environ, "PYTHONPATH": str(server), "TRITON_CACHE_DIR": fresh}
    variants = len(said["waits"])
    done = warm_python().run(script, "--jobs", "2", folder=server, environment=environment)
    assert f"compiled {variants} of {variants} calls for cuda" in done.stdout
    assert len(list(Path(fresh).iterdir())) == variants
    again = f"{first} + {second}"
    loaded = served(server, "loaded", again, TRITON_CACHE_DIR=fresh, **machine)
    assert sum(w["compiled"] for w in overview(capsys, loaded, "--since", "serve")["waits"]) == 0
    warm = served(server, "warmed", again, "--warm", TRITON_CACHE_DIR=fresh, **machine)
    assert held(capsys, warm, "--since", "serve") == []
    assert len(list(Path(fresh).iterdir())) == variants


@pytest.mark.process
def test_sizes_that_would_still_compile_are_those_that_do(server, capsys):
    seen = [5, 7, 16, 40]
    machine = {"KVTRACE_DEVICE": "cpu", "program": "paged.py"}
    out = served(server, "sizes", str([[n] for n in seen]), **machine)
    (unseen,) = (u for u in overview(capsys, out)["unseen"] if u["kernel"] == "normalize")
    assert unseen["follows"] == ["BLOCK is n rounded up to a power of two"]
    assert unseen["certain"]
    expected = set().union(*(sizes_in(text, "n") for text in unseen["sizes"]))
    # Launches of all sizes in one process: those that share a variant with a seen size, and others.
    every = served(server, "every", str([[n] for n in range(1, 65)]), **machine)
    rows = resolve(every).table("calls", ["kernel_id", "args"]).to_pylist()
    sizes = [
        (row["kernel_id"], int(argument["scalar"]))
        for row in rows for argument in row["args"] if argument["name"] == "n"
    ]  # fmt: skip
    compiled = {kernel for kernel, size in sizes if size in seen}
    assert len(sizes) == 64
    assert {size for kernel, size in sizes if kernel not in compiled} == expected


@pytest.mark.process
def test_script_names_what_cannot_be_compiled_and_continues(cold, tmp_path, capsys):
    script = tmp_path / "warmup.py"
    assert main(["convert", "warmup", str(cold), "-o", str(script)]) == 0
    text, scale = script.read_text(), ",\n        'scale'"
    script.write_text(text.replace(f"'kernels'{scale}", f"'__main__'{scale}"))
    (tmp_path / "kernels.py").write_text(KERNELS.replace("def tiled(", "def renamed("))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "TRITON_CACHE_DIR": str(tmp_path)}
    arguments = ("--jobs", "0", "--target", "hip:gfx942")
    done = warm_python().run(script, *arguments, folder=tmp_path, environment=environment)
    assert done.returncode == 1
    assert "compiled 1 of 9 calls for hip:gfx942" in done.stdout
    assert done.stderr.count("scale (of the program that was recorded: move it to a module)") == 1
    assert "not compiled: kernels.tiled: AttributeError" in done.stderr


@pytest.mark.process
def test_script_answers_what_modules_ask_of_the_targets_gpu(cold, tmp_path):
    script = tmp_path / "warmup.py"
    assert main(["convert", "warmup", str(cold), "-o", str(script)]) == 0
    asks = "\nimport torch\nassert torch.cuda.get_device_capability() == (8, 9)\n"
    (tmp_path / "kernels.py").write_text(KERNELS + asks)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "TRITON_CACHE_DIR": str(tmp_path)}

    def run(target: str):
        words = ("--jobs", "1", "--target", target)
        return warm_python().run(script, *words, folder=tmp_path, environment=environment)

    done = run("cuda:89")
    assert done.stdout.startswith("compiled 9 of 9 calls for cuda:89"), done.stderr
    refused = run("sm_90")
    assert refused.returncode == 2
    assert "--target sm_90 is none: name one such as cuda:90 or hip:gfx942" in refused.stderr
