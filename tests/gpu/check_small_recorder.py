"""To be run by hand on a machine with an NVIDIA GPU: a recorder that has pyarrow and nothing else.

    PYTHONPATH=FOLDER python tests/gpu/check_small_recorder.py [--device cuda|idle]

FOLDER has kvtrace and pyarrow; torch and Triton are the machine's. NumPy, DuckDB and all else that
kvtrace may use are hidden from every Python that is started here, as if they were not installed. A
training loop of Triton kernels, with an autotuned one, gathered indices, a CUDA graph and a child
process, is recorded plainly, sampled, up to a limit, with the contents of tensors on the device,
with torch.compile, and with a device timeline, which says that it needs NumPy. What was recorded
is checked by `kvtrace trace validate` and `kvtrace info`, in such Pythons, too.

Ends with 1 if anything is not as it should be. `--device idle` tries this program without a GPU.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
sys.path.append(str(HERE.parents[2]))

from tests.support.refused_packages import REFUSED, without  # noqa: E402

STEPS = 40
#: Launches of a step, and of the autotuner before the first: two configurations, each timed once
#: or more.
A_STEP = 4

TRAINING = '''
"""A training loop: an embedding, a normalization, a product and an update, each a Triton kernel."""
import os, sys, time
import torch, triton
import triton.language as tl
import kvtrace

DEVICE, STEPS, EXTRA = sys.argv[1], int(sys.argv[2]), sys.argv[3]

@triton.jit
def embed(table, tokens, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    token = tl.load(tokens + row)
    lanes = tl.arange(0, BLOCK)
    value = tl.load(table + token * width + lanes, mask=lanes < width)
    tl.store(out + row * width + lanes, value, mask=lanes < width)

@triton.jit
def normalize(x, out, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    value = tl.load(x + row * width + lanes, mask=lanes < width, other=0.0)
    scale = tl.rsqrt(tl.sum(value * value) / width + 1e-6)
    tl.store(out + row * width + lanes, value * scale, mask=lanes < width)

@triton.jit
def loss_gradient(x, wanted, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = lanes < n
    error = tl.load(x + lanes, mask=inside) - tl.load(wanted + lanes, mask=inside)
    tl.store(out + lanes, error, mask=inside)

@triton.autotune([triton.Config({"BLOCK": size}) for size in (128, 256)], key=["n"])
@triton.jit
def update(weights, gradient, rate, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = lanes < n
    value = tl.load(weights + lanes, mask=inside)
    tl.store(weights + lanes, value - rate * tl.load(gradient + lanes, mask=inside), mask=inside)

if DEVICE == "idle":
    sys.path.insert(0, os.environ["IDLE"])
    from idle_driver import IdleDriver
    triton.runtime.driver._active = IdleDriver()
    DEVICE = "cpu"
torch.manual_seed(0)
TOKENS, WIDTH = 64, 100
table = torch.randn(1000, WIDTH, device=DEVICE)
wanted = torch.randn(TOKENS, WIDTH, device=DEVICE)
hidden, normal, gradient = (torch.zeros(TOKENS, WIDTH, device=DEVICE) for _ in range(3))

def step(number):
    tokens = torch.full((TOKENS,), number % 7, device=DEVICE)
    with kvtrace.mark("step", number=number):
        embed[(TOKENS,)](table, tokens, hidden, WIDTH, BLOCK=128)
        normalize[(TOKENS,)](hidden, normal, WIDTH, BLOCK=128)
        n = hidden.numel()
        loss_gradient[(triton.cdiv(n, 256),)](normal, wanted, gradient, n, BLOCK=256)
        grid = lambda meta: (triton.cdiv(n, meta["BLOCK"]),)
        update[grid](hidden, gradient, 0.1, n)

began = time.perf_counter()
for number in range(STEPS):
    step(number)
    if number == 0:
        first = time.perf_counter() - began
if DEVICE == "cuda":
    torch.cuda.synchronize()
    row = table[(STEPS - 1) % 7]
    right = row * torch.rsqrt((row * row).mean() + 1e-6)
    assert torch.allclose(normal, right.expand(TOKENS, WIDTH), atol=1e-4), "wrong results"
took = time.perf_counter() - began - first
if EXTRA == "compile":
    compiled = torch.compile(lambda x: torch.relu(x) * 2 + 1)
    assert torch.equal(compiled(wanted), torch.relu(wanted) * 2 + 1)
if EXTRA == "graph" and DEVICE == "cuda":
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        normalize[(TOKENS,)](hidden, normal, WIDTH, BLOCK=128)
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()
if EXTRA == "child":
    child = os.fork()  # a child has no GPU: it marks
    if child == 0:
        with kvtrace.mark("child"):
            pass
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
hidden_packages = set(os.environ["HIDDEN"].split())
assert not hidden_packages & {name.split(".")[0] for name in sys.modules}, "something was imported"
print(f"first step {first:.2f} s, {1e6 * took / max(1, STEPS - 1):.0f} us each of the others")
'''


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--device", default="cuda", choices=("cuda", "idle"))
    device = options.parse_args().device
    problems: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        small = Small(Path(folder), device)
        small.train("bare")
        for name, check in (
            ("plain", plain), ("sampled", sampled), ("limited", limited), ("contents", contents),
            ("timeline", timeline), ("graph", graph), ("child", child), ("compile", compiled),
        ):  # fmt: skip
            try:
                found = list(check(small))
            except (AssertionError, KeyError, ValueError) as error:
                found = [f"{type(error).__name__}: {error}"]
            problems += [f"{name}: {problem}" for problem in found]
    for problem in problems:
        print(f"WRONG: {problem}")
    print("as it should be" if not problems else f"{len(problems)} problems")
    return 1 if problems else 0


class Small:
    """Runs Pythons that have pyarrow, torch and Triton, and nothing else."""

    def __init__(self, folder: Path, device: str) -> None:
        self._folder = folder
        self._device = device
        (folder / "training.py").write_text(TRAINING)
        given = [Path(each) for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]
        self._environment = without(folder / "hidden", *given) | {
            "HIDDEN": " ".join(REFUSED), "IDLE": str(HERE.parents[1] / "support"),
            "TRITON_CACHE_DIR": str(folder / "triton"),
        }  # fmt: skip

    @property
    def has_gpu(self) -> bool:
        return self._device == "cuda"

    def train(self, name: str, extra: str = "none", **settings: str) -> "Recorded | None":
        """Run the training; return what was recorded, where anything is."""
        out = self._folder / name
        variables = {f"KVTRACE_{key.upper()}": value for key, value in settings.items()}
        if name != "bare":
            variables["KVTRACE"] = str(out)
        done = self.python("training.py", self._device, str(STEPS), extra, **variables)
        print(f"{name:<9} {done.stdout.strip()}")
        if done.returncode:
            raise AssertionError(f"the program fails: {done.stderr[-2000:]}")
        return None if name == "bare" else Recorded(self, out, done.stderr)

    def python(self, *command: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a Python with these arguments."""
        return subprocess.run(
            [sys.executable, *command], env=self._environment | variables, cwd=self._folder,
            capture_output=True, text=True, timeout=600,
        )  # fmt: skip


class Recorded:
    """A recording, as the small recorder's own commands see it."""

    def __init__(self, small: Small, out: Path, said: str) -> None:
        self.said = said
        checked = small.python("-m", "kvtrace", "trace", "validate", str(out))
        assert checked.stdout.strip() == f"{out} is fine", checked.stdout + checked.stderr
        found = small.python("-m", "kvtrace", "info", str(out), "--all", "--json")
        assert found.returncode == 0, found.stderr
        self.overview: dict[str, Any] = json.loads(found.stdout)
        self.runs: list[dict[str, Any]] = self.overview["runs"]
        codes = [message["code"] for message in self.overview["messages"]]
        assert "capture-failure" not in codes, self.overview["messages"]
        self.codes = codes
        self.run = max(self.runs, key=lambda run: int(run["launches"]))


def recorded(small: Small, name: str, extra: str = "none", **settings: str) -> Recorded:
    found = small.train(name, extra, **settings)
    assert found is not None
    return found


def plain(small: Small) -> list[str]:
    run = recorded(small, "plain").run
    problems = []
    if run["phases"].get("run") != A_STEP * STEPS:
        problems.append(f"{run['phases']} launches, not {A_STEP * STEPS} of phase run")
    if run["kernels"] < 5 or run["marks"] != STEPS or run["dropped_rows"]:
        problems.append(f"{run['kernels']} kernels, {run['marks']} marks")
    if small.has_gpu and not run["devices"]:
        problems.append("no device is named")
    return problems


def sampled(small: Small) -> list[str]:
    phases = recorded(small, "sampled", sample="1/10").run["phases"]
    return [] if phases.get("run") == A_STEP * STEPS else [f"weights are {phases}"]


def limited(small: Small) -> list[str]:
    run = recorded(small, "limited", limit="50 launches").run
    return [] if (run["launches"], run["ending"]) == (50, "limit") else [str(run["phases"])]


def contents(small: Small) -> list[str]:
    known = recorded(small, "contents", tensors="all").run["known_contents"]
    return [] if known >= 7 else [f"contents of {known} launches"]


def timeline(small: Small) -> list[str]:
    found = recorded(small, "timeline", mode="timeline")
    problems = [] if "needs numpy" in found.said else [f"said: {found.said}"]
    if "missing-package" not in found.codes or found.run["mode"] != "launch":
        problems.append(f"mode {found.run['mode']}, {found.codes}")
    return problems


def graph(small: Small) -> list[str]:
    phases = recorded(small, "graph", "graph").run["phases"]
    wanted = 1 if small.has_gpu else None
    return [] if phases.get("graph_capture") == wanted else [str(phases)]


def child(small: Small) -> list[str]:
    runs = recorded(small, "child", "child").runs
    ends = sorted((run["launches"] > 0, run["marks"], run["ending"]) for run in runs)
    wanted = [(False, 1, "exit"), (True, STEPS, "exit")]
    return [] if ends == wanted else [f"runs are {ends}"]


def compiled(small: Small) -> list[str]:
    if not small.has_gpu:
        return []
    try:
        small.train("bare", "compile")
    except AssertionError as error:
        print(f"torch.compile does not work without more, kvtrace or not: {str(error)[-300:]}")
        return []
    run = recorded(small, "compile", "compile").run
    launches = run["phases"].get("run", 0)
    return [] if launches > A_STEP * STEPS else [f"{launches} launches, none of Inductor's"]


if __name__ == "__main__":
    sys.exit(main())
