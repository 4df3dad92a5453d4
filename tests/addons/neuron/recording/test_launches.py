"""Launches of NKI kernels in a trace: a program run under `kvtrace run`, with the stand-ins."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import kvtrace
from kvtrace.addons.neuron import older
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.cli import main
from kvtrace.schema.trace import Trace, open_trace

PROGRAM = """
import importlib.util

assert importlib.util.find_spec("neuronxcc") is importlib.util.find_spec("nki") is None
try:
    import neuronxcc
except ModuleNotFoundError:
    pass
else:
    raise SystemExit("import neuronxcc alone finds a Neuron device")
from neuronxcc import nki as same_nki

import numpy as np
import neuronxcc.nki as nki
import neuronxcc.nki.language as nl
import nki as nki2
import nki.isa as nisa2
import nki.language as nl2
from neuronxcc.nki.language import par_dim

assert same_nki is nki

@nki.jit
def add(a, b):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    row = nl.program_id(0) * 128 + nl.arange(128)[:, None]
    column = nl.arange(a.shape[1])[None, :]
    left = nl.load(a[row, column])
    right = nl.load(b[row, column], mask=row < a.shape[0])
    nl.store(out[row, column], value=left + right, mask=row < a.shape[0])
    return out

@nki2.jit
def double(x, times=3):
    out = nl2.ndarray(x.shape, dtype=x.dtype, buffer=nl2.shared_hbm)
    tile = nl2.load(x)
    for _ in nl2.affine_range(times):
        nisa2.tensor_scalar(dst=tile, data=tile, op0=nl2.multiply, operand0=2.0)
    nisa2.dma_copy(dst=out, src=tile)
    return out

a = np.ones((200, 64), np.float32)
for _ in range(2):
    assert np.all(add[2](a, a) == 2)
assert np.all(double(a[:128]) == 8)
"""


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    folder = tmp_path_factory.mktemp("nki")
    (folder / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "kvtrace", "run", "-o", str(folder / "out")]
    done = subprocess.run(
        [*command, str(folder / "program.py")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "nl.load reads index 200 of dimension 0 of 'a'" in done.stderr
    return open_trace(folder / "out")


@pytest.mark.process
def test_nki_kernels_calls_and_launches_are_recorded(trace: Trace) -> None:
    kernels = trace.table("kernels").to_pylist()
    calls = trace.table("calls").to_pylist()

    assert [(row["name"], row["origin"], row["target"]) for row in kernels] == [
        ("add", "nki", "neuron:trn2"),
        ("double", "nki", "neuron:trn2"),
    ]
    assert trace.artifact(kernels[0]["source_artifact"]).startswith(b"@nki.jit\ndef add(a, b):")
    assert [dict(row["options"])["interface"] for row in kernels] == ["older", "newer"]
    assert (calls[0]["grid_x"], calls[0]["args"][0]["shape"]) == (2, [200, 64])
    assert calls[1]["args"][1]["scalar"] == "3"
    assert trace.table("launches")["call_id"].to_pylist() == [0, 0, 1]


@pytest.mark.process
def test_ops_count_executions_bytes_and_operations(trace: Trace) -> None:
    ops = {(r["call_id"], r["op"]): r for r in trace.table("ops").to_pylist()}

    store = ops[0, "nl.store"]
    assert (store["executions"], store["bytes"], store["masked_off"]) == (2, 200 * 256, 56 * 64)
    assert (store["kind"], store["buffer"], store["dtype"]) == ("store", "out", "fp32")
    scale = ops[1, "nisa.tensor_scalar"]
    assert (scale["executions"], scale["flops"]) == (3, 3 * 128 * 64)
    loop = trace.table("loops").to_pylist()[0]
    assert (loop["op_index"], loop["trips_max"]) == (scale["loop"], 3)


@pytest.mark.process
def test_a_finding_has_its_line_and_the_lane_out_of_bounds(trace: Trace) -> None:
    rows = trace.table("findings").to_pylist()
    broken = [row for row in rows if row["verdict"] == "violation"]
    stacks = {row["stack_id"]: row["frames"] for row in trace.table("stacks").to_pylist()}

    assert [(row["rule"], row["access"]) for row in broken[:1]] == [("out-of-bounds", "load")]
    frame = stacks[broken[0]["stack_id"]][0]
    line = PROGRAM.splitlines()[frame["line"] - 1]
    assert "left = nl.load(a[row, column])" in line
    assert (broken[0]["program_x"], broken[0]["lane"], broken[0]["arg"]) == (1, [72, 0], "a")
    assert broken[0]["address_offset"] == 200 * 256
    assert {row["access"] for row in rows if row["verdict"] == "proven"} == {"load", "store"}


@pytest.mark.process
def test_buffers_have_allocations_and_transfers(trace: Trace) -> None:
    rows = [row for row in trace.table("buffers").to_pylist() if row["call_id"] == 1]

    assert [(row["event"], row["space"], row["name"]) for row in rows] == [
        ("allocate", "sbuf", "tile"),
        ("transfer", "sbuf", "tile"),
        ("transfer", "hbm", "out"),
        ("free", "sbuf", "tile"),
    ]
    assert {row["bytes"] for row in rows} == {128 * 64 * 4}
    assert [row["order"] for row in rows] == [0, 1, 2, 3]


@pytest.mark.process
def test_each_executed_op_has_its_engine_and_buffers(trace: Trace) -> None:
    rows = trace.table("client_nki_executions").to_pylist()
    double = [row for row in rows if row["call_id"] == 1]

    assert [row["engine"] for row in double] == ["dma", "vector", "vector", "vector", "dma"]
    tile = double[0]["written"]
    assert all(row["written"] == tile and row["read"] == [tile] for row in double[1:4])


@pytest.mark.process
@pytest.mark.parametrize(
    ("command", "words"),
    [
        (["sanitize"], "error[out-of-bounds]: nl.load reads index 200"),
        (["profile"], "double"),
        (["replay"], "unique calls replayed"),
        (["info"], "nki"),
        (["trace", "validate"], "is fine"),
    ],
)
def test_commands_accept_a_trace_of_nki_kernels(
    trace: Trace, command: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main([*command, str(trace.path)])

    assert code == {"sanitize": 1, "replay": 2}.get(command[0], 0)
    assert words in " ".join(capsys.readouterr().out.split())


@pytest.mark.process
@pytest.mark.parametrize(
    ("options", "rules"),
    [
        (["--rule", "psum-bank"], set()),
        (["--rule", "psum-bank,out-of-bounds"], {"out-of-bounds"}),
        (["--no-rule", "psum-bank,out-of-bounds"], set()),
    ],
)
def test_nki_rules_are_selected_by_name(
    trace: Trace, options: list[str], rules: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    main(["sanitize", str(trace.path), "--json", *options])

    output = json.loads(capsys.readouterr().out)["verdicts"]
    assert {row["rule"] for row in output} == rules
    assert all("other=" not in row["hint"] for row in output)


@pytest.mark.process
def test_sarif_links_nki_rules_to_their_page(
    trace: Trace, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["sanitize", str(trace.path), "--sarif"])

    rules = json.loads(capsys.readouterr().out)["runs"][0]["tool"]["driver"]["rules"]
    texts = {row["id"]: row["help"]["text"] for row in rules}
    assert texts["psum-bank"].endswith("See docs/nki.md in kvtrace's documentation.")
    assert "leaves its width before it is used" in texts["overflow"]  # the rule's page itself


def test_a_missing_name_is_an_error_with_its_module() -> None:
    import kvtrace.addons.neuron.newer.isa as nisa2

    with pytest.raises(AttributeError, match=r"does not run nki\.isa\.no_such_thing; use nki\.sim"):
        _ = nisa2.no_such_thing


@pytest.mark.process
def test_there_are_no_stand_ins_outside_of_a_recording() -> None:
    code = "import kvtrace._boot\nkvtrace._boot.watch()\nimport nki.language"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert "ModuleNotFoundError: No module named 'nki'" in done.stderr


def test_kvtrace_trace_records_one_kernel(tmp_path: Path) -> None:
    import numpy as np

    import kvtrace.addons.neuron.older.language as nl

    @older.jit
    def twice(a: Any) -> Any:
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        nl.store(out, value=nl.load(a) * 2)
        return out

    watched = kvtrace.trace(twice, backend="nki", client="profiler", out=tmp_path / "out")
    try:
        assert np.all(watched(np.ones((128, 8), np.float32)) == 2)
        ops = watched.tables()["ops"].to_pylist()
    finally:
        kvtrace.stop()

    assert [row["op"] for row in ops] == ["nl.load", "nl.multiply", "nl.store"]
    assert open_trace(tmp_path / "out").table("launches").num_rows == 1


def test_sanitize_raise_raises_the_defect(tmp_path: Path) -> None:
    import numpy as np

    from tests.addons.neuron.kernels.broken import add_without_mask

    arrays = np.ones((200, 32), np.float32)
    with kvtrace.capture(tmp_path / "out", sanitize="raise"):
        with pytest.raises(kvtrace.KernelDefect, match="error\\[out-of-bounds\\]") as error:
            add_without_mask(arrays)
        assert error.value.findings[0]["arg"] == "a"

    with kvtrace.capture(tmp_path / "other", sanitize="raise", rules="-out-of-bounds"):
        add_without_mask(arrays)

    with (
        kvtrace.capture(tmp_path / "third", sanitize="raise", rules="out-of-mind"),
        pytest.raises(kvtrace.KernelDefect, match="error\\[out-of-bounds\\]"),
    ):
        add_without_mask(arrays)


def test_calls_with_different_arguments_are_distinct(tmp_path: Path) -> None:
    from collections import namedtuple

    import numpy as np

    import kvtrace.addons.neuron.older.language as nl

    pair = namedtuple("pair", "left right")

    @older.jit
    def combined(parts: Any, op: Any, more: Any = None) -> Any:
        out = nl.ndarray(parts.left.shape, dtype=nl.float32, buffer=nl.shared_hbm)
        nl.store(out, value=op(nl.load(parts.left), nl.load(parts.right)))
        return out

    ones, wide = np.ones((128, 8), np.float32), np.ones((128, 16), np.float32)
    with kvtrace.capture(tmp_path / "out"):
        for _ in range(2):
            assert np.all(combined(pair(ones, ones), nl.add) == 2)
        assert np.all(combined(pair(ones, ones), nl.multiply) == 1)
        combined(pair(wide, wide), nl.add)
        combined(pair(ones, ones), nl.add, more={"bias": ones})

    trace = open_trace(tmp_path / "out")
    assert trace.table("launches")["call_id"].to_pylist() == [0, 0, 1, 2, 3]
    names = [arg["name"] for arg in trace.table("calls").to_pylist()[3]["args"]]
    assert names == ["parts.0", "parts.1", "op", "more.bias"]


def test_new_findings_of_later_launches_are_recorded(tmp_path: Path) -> None:
    import numpy as np

    import kvtrace.addons.neuron.older.language as nl

    @older.jit
    def pick_rows(source: Any, rows: Any) -> Any:
        out = nl.ndarray((4, 8), dtype=source.dtype, buffer=nl.shared_hbm)
        nl.store(out, value=nl.load(source[nl.load(rows), nl.arange(8)[None, :]]))
        return out

    source = np.ones((16, 8), np.float32)
    with kvtrace.capture(tmp_path / "out", tensors="int"):
        for last in (3, 3, 16, 16):
            pick_rows(source, np.array([[0], [1], [2], [last]], np.int32))

    trace = open_trace(tmp_path / "out")
    rows = trace.table("findings").to_pylist()
    wrong = [(row["rule"], row["call_id"]) for row in rows if row["verdict"] == "violation"]
    assert wrong == [("out-of-bounds", 0)]
    assert trace.table("launches")["call_id"].to_pylist() == [0] * 4
    findings = [arg["value_artifact"] for arg in trace.table("calls").to_pylist()[0]["args"]]
    assert findings[0] is None
    assert np.frombuffer(trace.artifact(findings[1]), np.int32).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("kind", [ValueError, NkiError])
def test_a_kernel_that_raises_is_recorded_up_to_the_error(
    tmp_path: Path, kind: type[Exception]
) -> None:
    import numpy as np

    import kvtrace.addons.neuron.older.language as nl

    @older.jit
    def halves(x: Any, fails: bool) -> Any:
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        for half in nl.affine_range(2):
            if fails and half == 1:
                raise kind("no second half")
            tile = nl.load(x[64 * half : 64 * half + 64])
            nl.store(out[64 * half : 64 * half + 64], value=tile)
        return out

    x = np.ones((128, 8), np.float32)
    with kvtrace.capture(tmp_path / "out"):
        for fails in (True, False):
            for _ in range(2):
                if fails:
                    with pytest.raises(kind, match="no second half"):
                        halves(x, fails)
                else:
                    halves(x, fails)

    trace = open_trace(tmp_path / "out")
    assert trace.table("launches").num_rows == 4
    executed = trace.table("client_nki_executions").to_pylist()
    first, second = (call["call_id"] for call in trace.table("calls").to_pylist())
    assert [sum(row["call_id"] == call for row in executed) for call in (first, second)] == [2, 4]
    messages = trace.table("messages").select(["code", "text"]).to_pylist()
    raised = [row for row in messages if row["code"] == "nki-raised"]
    assert len(raised) == 1
    assert "no second half" in raised[0]["text"]
    assert raised[0]["text"].endswith("kernel halves is recorded up to this error")
