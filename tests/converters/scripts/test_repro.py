"""A recorded call as a script: in kvtrace's evaluator it does what the program's launch did."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from kvtrace.cli import main
from kvtrace.converters.scripts.repro import Choice, read_repro
from kvtrace.converters.scripts.repro_source import kernel_module
from kvtrace.schema.trace import Selection, open_trace
from kvtrace.schema.writer import RunWriter, new_run_id
from tests.support.tiers import needs
from tests.support.warm_python import warm_python
from tests.support.without_gpu import torch_without_gpu

torch = torch_without_gpu()

ROOT = Path(__file__).resolve().parents[3]

#: Launch 0 is plain, 1 has views of one storage, 2 loads its addresses, 3 is autotuned and takes no
#: tensor and a number that is none, 4 takes a tuple, 5 descriptors.
PROGRAM = """
import torch, triton
import triton.language as tl
from hashlib import sha256
from triton.tools.tensor_descriptor import TensorDescriptor

GAIN = tl.constexpr(2.0)
x, y, out = torch.randn(1000), torch.randn(1000), torch.zeros(1000)


@triton.jit
def amplified(value):
    return value * GAIN


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = lanes < n
    total = amplified(tl.load(x + lanes, mask=inside)) + tl.load(y + lanes, mask=inside)
    tl.store(out + lanes, total, mask=inside)


@triton.jit
def gather(index, table, out, columns, stride, BLOCK: tl.constexpr):
    row = tl.load(index + tl.program_id(0))
    lanes = tl.arange(0, BLOCK)
    inside = lanes < columns
    value = tl.load(table + row * stride + lanes, mask=inside)
    tl.store(out + tl.program_id(0) * columns + lanes, value, mask=inside)


@triton.autotune([triton.Config({"BLOCK": 128}, num_warps=2)], key=["n"])
@triton.jit
def scale(source, target, bias, factor, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    value = tl.load(source + lanes, mask=lanes < n) * factor
    if bias is not None:
        value += tl.load(bias + lanes, mask=lanes < n)
    tl.store(target + lanes, value, mask=lanes < n)


@triton.jit
def swap(pair, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    first, second = tl.load(pair[0] + lanes), tl.load(pair[1] + lanes)
    tl.store(pair[0] + lanes, second)
    tl.store(pair[1] + lanes, first)


@triton.jit
def doubled(source, target, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK
    target.store([row, 0], source.load([row, 0]) * 2)


def main():
    add[(4,)](x, y, out, 1000, BLOCK=256)
    whole = torch.randn(64, 64)
    add[(1,)](whole[3, 5:25], whole[:, 7][:20], whole[9, 1:21], 20, BLOCK=32)
    rows, before = torch.zeros(3, 20), whole.clone()
    gather[(3,)](torch.tensor([5, 1, 3]), whole[:, 4:24], rows, 20, 64, BLOCK=32)
    half = torch.ones(100, dtype=torch.float16)
    scale[(1,)](half, half[50:], None, float("inf"), 50)
    swap[(1,)]((whole[0], whole[1]), BLOCK=64)
    pair = before, torch.zeros(50, 64)
    blocks = [TensorDescriptor.from_tensor(each, [32, 64], "nan") for each in pair]
    doubled[(2,)](*blocks, BLOCK=32)
    for tensor in (out, before, rows, half):
        held = torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage())
        print(sha256(bytes(held.numpy())).hexdigest()[:16])


if __name__ == "__main__":
    main()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("repro")


def run(folder: Path, out: str, *arguments: str | Path, **settings: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "KVTRACE": str(folder / out), **settings}
    environment["TRITON_CACHE_DIR"] = str(folder / "cache")
    done = warm_python().run(*arguments, folder=folder, environment=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
@needs("process")
def recorded(folder: Path) -> tuple[Path, list[str]]:
    """The trace of the program, contents included, and what its storages were afterwards."""
    program = folder / "program.py"
    program.write_text(PROGRAM)
    printed = run(folder, "out", program, KVTRACE_TENSORS="all")
    program.unlink()  # nothing is read from it again
    return folder / "out", printed.split()


#: The scripts that are run: launch in the order of the program, and further options.
SCRIPTS = {
    **{f"ir_{launch}": (launch, ()) for launch in range(5)},
    **{f"source_{launch}": (launch, ("--source",)) for launch in (1, 3, 4, 5)},
    "random": (2, ("--contents", "0")),
}
#: Runs scripts one after the other in one process, each as a program of its own.
RUNNER = """
import runpy, sys
for path in sys.argv[1:]:
    sys.argv = [path, "--check"]
    try:
        runpy.run_path(path, run_name="__main__")
    except SystemExit as end:
        print("exit", end.code, flush=True)
"""
#: Launches of a script: the first, and one that checks.
LAUNCHES = 2


@pytest.fixture(scope="module")
def printed(folder: Path, recorded: tuple[Path, list[str]]) -> dict[str, str]:
    """What each script prints, after all have run."""
    for name, (launch, options) in SCRIPTS.items():
        seq = str(sequence(recorded[0])[launch])
        script = str(folder / f"{name}.py")
        assert main(["repro", str(recorded[0]), "--launch", seq, *options, "-o", script]) == 0
    paths = [folder / f"{name}.py" for name in SCRIPTS]
    whole = run(folder, "again", "-c", RUNNER, *paths)
    return dict(zip(SCRIPTS, whole.split("exit 0\n"), strict=False))


def sequence(out: Path) -> list[int]:
    """Numbers of the program's own launches, the autotuner's left aside."""
    launches = open_trace(out).table("launches", columns=["seq", "phase"]).to_pylist()
    return [row["seq"] for row in launches if row["phase"] == "run"]


def storages(printed: str) -> dict[str, tuple[str, str]]:
    """Hash and state of the storage of each tensor, as a script prints them."""
    lines = re.findall(r"^  (\S+)  .*storage (\w+) (\w+)$", printed, re.MULTILINE)
    return {name: (found, state) for name, found, state in lines}


@pytest.mark.parametrize("name", ["ir_0", "ir_1", "ir_2", "ir_3", "source_1", "source_3"])
def test_with_recorded_contents_a_script_ends_with_the_bytes_of_the_program(
    recorded: tuple[Path, list[str]], printed: dict[str, str], name: str
) -> None:
    _, results = recorded
    launch = SCRIPTS[name][0]
    written = "target" if launch == 3 else "out"
    assert storages(printed[name])[written] == (results[launch], "written")
    assert "check: a second launch gives the same bytes" in printed[name]


@pytest.mark.parametrize("name", list(SCRIPTS))
def test_a_script_makes_the_recorded_call(
    folder: Path, recorded: tuple[Path, list[str]], printed: dict[str, str], name: str
) -> None:
    out, _ = recorded
    again = calls_of(folder / "again")[list(SCRIPTS).index(name) * LAUNCHES]
    assert again == calls_of(out)[sequence(out)[SCRIPTS[name][0]]]


def calls_of(out: Path) -> list[object]:
    """What each launch was recorded as: grid, and arguments without their contents."""
    trace = open_trace(out)
    calls = {row["call_id"]: row for row in trace.table("calls").to_pylist()}
    order = trace.table("launches", columns=["call_id"]).column("call_id").to_pylist()
    return [_told(calls[each]) for each in order]


def _told(call: dict[str, Any]) -> object:
    kept = ("shape", "strides", "offset_bytes", "storage_bytes", "alignment", "scalar")
    rows = [row for row in call["args"] if row["kind"] != "constexpr"]
    names = [row["name"] for row in rows]
    groups = [
        None if row["alias_group"] is None else call["args"][row["alias_group"]]["name"]
        for row in rows
    ]
    first = [None if group is None else names.index(group) for group in groups]
    types = [row["dtype"] for row in rows if row["kind"] == "tensor"]  # a scalar's has two names
    grid = tuple(call[f"grid_{axis}"] for axis in "xyz")
    return grid, first, types, [tuple(row[name] for name in kept) for row in rows]


def test_tensors_without_recorded_contents_are_random_and_reported(
    folder: Path, printed: dict[str, str]
) -> None:
    text = (folder / "random.py").read_text()
    assert "contents of index, table, out: they were not recorded, and are random" in text
    assert "the recorded contents of table are too large for the script" in text
    states = storages(printed["random"])
    assert states["table"][1] == "unchanged"
    assert states["out"][1] == "written"
    whole = re.search(r"index  int64\[3\]  sum (\d+)", printed["random"])
    assert whole is not None
    assert 0 <= int(whole[1]) <= 9


def test_script_includes_module_code_that_the_kernel_refers_to() -> None:
    text = kernel_module(PROGRAM, "add", None)
    assert text is not None
    assert "def amplified" in text
    assert "GAIN = " in text
    assert "torch.randn" not in text  # x, y and out are the kernel's own names
    assert "import sha256" not in text
    tuned = kernel_module(PROGRAM, "scale", None)
    assert tuned is not None
    assert "autotune" not in tuned
    assert kernel_module("def other(): pass", "add", None) is None
    assert kernel_module("def (", "add", None) is None


def test_a_descriptor_is_refused_where_it_cannot_be_passed(
    recorded: tuple[Path, list[str]], capsys: pytest.CaptureFixture[str], printed: dict[str, str]
) -> None:
    last = sequence(recorded[0])[5]
    capsys.readouterr()
    assert main(["repro", str(recorded[0]), "--launch", str(last)]) == 2
    assert "is a tensor descriptor" in capsys.readouterr().err
    assert storages(printed["source_5"])["target"][1] == "written"


def test_ambiguous_run_and_kernel_without_ir_raise_errors(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        writer = RunWriter(tmp_path, new_run_id())
        writer.append_rows("runs", [{"group_id": "job"}])
        writer.append_rows("kernels", [{"kernel_id": 0, "name": "tile", "origin": "numpy"}])
        writer.append_rows("calls", [{"call_id": 0, "kernel_id": 0}])
        writer.append("launches", {"seq": [0], "call_id": [0]})
        writer.seal({"ending": "exit"})

    assert main(["repro", str(tmp_path), "--launch", "0"]) == 2
    assert "2 runs have a launch 0: choose by --run" in capsys.readouterr().err
    assert main(["repro", str(tmp_path), "--launch", "0", "--run", writer.run_id]) == 2
    assert "call 0 of kernel tile (numpy) was recorded without" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--launch", "99"], "has no launch 99; it has 0 to "),
        (["--call", "99"], "has no call 99; it has 0 to "),
        (["--finding", "abc"], "has no findings; kvtrace sanitize searches for some"),
        ([], "by one of --launch NUMBER, --call ID, --finding ID"),
        (["--launch", "0", "--call", "0"], "by one of --launch NUMBER"),
        (["--launch", "-1"], "has no launch -1"),
        (["--launch", str(2**70)], f"has no launch {2**70}"),
        (["--launch", "0", "-o", "/nowhere/at/all.py"], "does not exist"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(
    recorded: tuple[Path, list[str]],
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    sentence: str,
) -> None:
    assert main(["repro", str(recorded[0]), *options]) == 2
    printed = capsys.readouterr()
    assert sentence in printed.err
    assert len(printed.err.splitlines()) == 1
    assert printed.out == ""


DEFECT = """
import torch, triton
import triton.language as tl


@triton.jit
def copied(source, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(source + lanes))


copied[(1,)](torch.zeros(60), torch.zeros(64), BLOCK=64)
"""


@pytest.mark.process
def test_the_script_of_a_finding_shows_it_again_with_the_same_argument(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "defect.py").write_text(DEFECT)
    run(folder, "defect", folder / "defect.py")
    main(["sanitize", str(folder / "defect"), "--json"])
    (finding,) = json.loads(capsys.readouterr().out)["verdicts"]
    script = folder / "shown_again.py"
    chosen = ("--finding", finding["finding_id"], "-o", str(script))
    assert main(["repro", str(folder / "defect"), *chosen]) == 0
    run(folder, "shown", script)
    again = open_trace(folder / "shown")
    assert again.table("findings").column("arg").to_pylist() == [finding["arg"]] == ["source"]
    capsys.readouterr()


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repro", "--help"]) == 0
    assert "kvtrace repro out/ --launch 17" in capsys.readouterr().out


def test_a_launch_has_its_own_contents_where_it_had_them(tmp_path: Path) -> None:
    import kvtrace
    from corpus.kernels.index_kernels import gather

    index, result = torch.arange(16), torch.zeros(8)
    with kvtrace.capture(tmp_path):
        for begin in (0, 8):
            gather[(1,)](torch.zeros(16), index[begin : begin + 8], result, 8, BLOCK=8)
            index.copy_(index.flip(0))
    trace = open_trace(tmp_path)
    for number, offset in ((0, 0), (1, 64)):
        repro = read_repro(Selection(trace, trace.runs), Choice(launch=number))
        row = next(row for row in repro.rows if row["name"] == "chosen")
        assert (repro.contents_launch, row["offset_bytes"]) == (number, offset)
        content = trace.artifact(row["value_artifact"])
        expected = list(range(16)) if number == 0 else list(range(15, -1, -1))
        assert torch.frombuffer(bytearray(content or b""), dtype=torch.int64).tolist() == expected
