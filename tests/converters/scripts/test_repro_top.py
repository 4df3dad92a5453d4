"""The calls that take most time as scripts, which compare results with the recorded ones."""

import os
from importlib.resources import files
from pathlib import Path
from types import ModuleType

import pytest

from kvtrace.cli import main
from kvtrace.converters.scripts.heaviest import heaviest_calls
from kvtrace.schema.trace import Selection, open_trace
from tests.support.tiers import needs
from tests.support.warm_python import warm_python
from tests.support.without_gpu import torch_without_gpu

torch = torch_without_gpu()

ROOT = Path(__file__).resolve().parents[3]
DEVICE_TRACE = ROOT / "tests/fixtures/h200/planted/good"

#: `doubled`, which takes descriptors, cannot be launched from its IR.
PROGRAM = """
import torch, triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor


@triton.jit
def scaled(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < n) * 3, mask=lanes < n)


@triton.jit
def added(x, total, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(total + lanes, tl.load(total + lanes) + tl.load(x + lanes))


@triton.jit
def doubled(source, target, BLOCK: tl.constexpr):
    target.store([0, 0], source.load([0, 0]) * 2)


x, out = torch.randn(1000), torch.zeros(1000)
pair = [TensorDescriptor.from_tensor(torch.ones(32, 64), [32, 64]) for _ in range(2)]
for _ in range(3):
    scaled[(500,)](x, out, 1000, BLOCK=2)
    added[(1,)](x, out, BLOCK=64)
    doubled[(1,)](*pair, BLOCK=32)
"""


@pytest.fixture(scope="module")
@needs("process")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace with the memory of each kernel's first launch, before and after it."""
    folder = tmp_path_factory.mktemp("top")
    (folder / "program.py").write_text(PROGRAM)
    ran(folder, "program.py", KVTRACE="out", KVTRACE_CHECK="first")
    return folder / "out"


def ran(folder: Path, *arguments: str, code: int = 0, **settings: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **settings}
    environment["TRITON_CACHE_DIR"] = str(folder / "cache")
    done = warm_python().run(*arguments, folder=folder, environment=environment)
    assert done.returncode == code, done.stderr
    return done.stdout


def test_the_heaviest_calls_leave_the_recorded_results(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "folder"
    assert main(["repro", str(recorded), "--top", "3", "--bench", "-o", str(folder)]) == 0
    printed = capsys.readouterr().out
    names = sorted(path.name for path in folder.iterdir())  # the host's times decide the order
    assert names in (["1-scaled.py", "2-added.py"], ["1-added.py", "2-scaled.py"])
    assert "left out: argument source of call 2 of kernel doubled is a tensor descriptor" in printed
    assert f"{names[0]}: 3 launches, " in printed
    assert "on the host" in printed
    for path in sorted(folder.iterdir()):
        told = ran(tmp_path, str(path), KVTRACE="again")
        assert "result: the bytes that were recorded after the launch\n" in told
        assert "not timed: triton.testing.do_bench needs a GPU\n" in told


def test_a_kernel_that_computes_something_else_is_wrong(recorded: Path, tmp_path: Path) -> None:
    script = tmp_path / "added.py"
    assert main(["repro", str(recorded), "--call", "1", "-o", str(script)]) == 0
    text = script.read_text()
    assert text.count("arith.addf") == 1
    assert "do_bench" not in ran(tmp_path, str(script), KVTRACE="again")  # without --bench
    script.write_text(text.replace("arith.addf", "arith.subf"))
    told = ran(tmp_path, str(script), code=1, KVTRACE="again")
    assert "result wrong: total is not what was recorded: Tensor-likes are not close!" in told


@pytest.mark.parametrize(
    ("found", "begins"),
    [
        ([1.0, float("nan")], None),
        ([1.0 + 2**-23, float("nan")], "close: out"),
        ([1.5, float("nan")], "wrong: out"),
        ([1.0, 0.0], "wrong: out"),
    ],
)
def test_results_are_equal_close_or_wrong(found: list[float], begins: str | None) -> None:
    script = ModuleType("script")
    text = files("kvtrace.converters.scripts").joinpath("repro_script.txt")
    exec(text.read_text(encoding="utf-8"), vars(script))
    script.recorded_bytes = lambda call, contents: torch.tensor([1.0, float("nan")]).view(  # type: ignore[attr-defined]
        torch.uint8
    )
    storages = {"out": script.Storage(12, "float32")}
    after = {"out": script.Kept(((4, 8),), "hash")}
    call = script.Call("kernel", (1, 1, 1), {}, storages, {}, None, "ttir", "", {}, {}, after)
    memory = {"out": torch.tensor([7.0, *found]).view(torch.uint8)}
    sentences = script.unlike_results(call, memory)
    assert [sentence.startswith(begins or "") for sentence in sentences] == [True] * bool(begins)


def test_device_time_decides_where_it_was_recorded() -> None:
    trace = open_trace(DEVICE_TRACE)
    calls = heaviest_calls(Selection(trace, trace.runs))
    known = set(trace.table("calls")["call_id"].to_pylist())
    executions = trace.table("gpu_kernels", columns=["call_id", "launch_seq", "start", "end"])
    assert {call.call_id for call in calls} <= known
    assert executions.num_rows
    assert all("on the device" in call.phrase for call in calls)
    shares = [float(call.phrase.split(", ")[2].split("%")[0]) for call in calls]
    assert shares == sorted(shares, reverse=True)
    assert 99 < sum(shares) < 101


def test_nothing_of_the_users_is_overwritten(
    recorded: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "1-scaled.py"
    mine.write_text("mine")
    for output, sentence in ((tmp_path, "exists and is not empty"), (mine, "is a file")):
        assert main(["repro", str(recorded), "--top", "1", "-o", str(output)]) == 2
        assert sentence in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["1-scaled.py"]
    assert mine.read_text() == "mine"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--top", "0"], "--top is a number of calls, 1 or more, not 0"),
        (["--top", "-3"], "--top is a number of calls, 1 or more, not -3"),
        (["--top", "2", "--launch", "0"], "--top chooses calls: leave out --launch"),
        (["--top", "2", "--finding", "a"], "--top chooses calls: leave out --launch"),
        (["--top", "2", "-o", "/nowhere/at/all"], "the folder /nowhere/at of the output does not"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    recorded: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    sentence: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["repro", str(recorded), *options]) == 2
    printed = capsys.readouterr()
    assert sentence in printed.err
    assert len(printed.err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
