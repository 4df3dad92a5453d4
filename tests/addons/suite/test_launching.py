"""Without kvtrace's help a suite's calls are launched, and do what the recorded ones did."""

import json
import os
from pathlib import Path

import pytest

from kvtrace.addons.suite.making import make_suite
from kvtrace.schema.trace import open_trace, select_runs
from tests.support.tiers import needs
from tests.support.tree import ROOT
from tests.support.warm_python import warm_python

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
if torch.cuda.is_available():
    pytest.skip("this machine has a GPU", allow_module_level=True)

LLAMA = ROOT / "tests" / "fixtures" / "h200" / "llama"
#: Launches each call of the suite in the folder that it is given; says what was in memory before
#: and after, as sums of elements, where storages are small.
PROGRAM = """
import json, runpy, sys, tempfile
from pathlib import Path

folder = Path(sys.argv[1])
sys.path.insert(0, str(folder))
import launching

device, interface = launching.active_device()
told = {}
for path in sorted((folder / "calls").glob("*.py")):
    call = runpy.run_path(str(path))["CALL"]
    memory = launching.new_storages(call, device)
    values = launching.arguments(call, memory)
    tensors = {name: getattr(value, "base", value) for name, value in values.items()}
    tensors = {name: t for name, t in tensors.items() if hasattr(t, "numel") and t.numel() < 5000}
    before = {name: tensor.tolist() for name, tensor in tensors.items()}
    with tempfile.TemporaryDirectory() as code:
        launching.prepared(call, Path(code))(values)
    interface.synchronize()
    told[path.stem] = before, {name: tensor.tolist() for name, tensor in tensors.items()}
print(json.dumps(told))
"""


def launched(suite: Path, folder: Path) -> str:
    """Launch all calls of a suite in a process of its own, recorded to `again`."""
    program = folder / "launch.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "KVTRACE": str(folder / "again")}
    environment["TRITON_CACHE_DIR"] = str(folder / "cache")
    done = warm_python().run(program, suite, folder=folder, environment=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
@needs("process")
def results(made, tmp_path_factory):
    """Contents before and after each call, by kernel."""
    told = json.loads(launched(made.folder, tmp_path_factory.mktemp("launched")))
    return {entry.kernel: told[entry.name] for entry in made.suite.entries}


def test_a_scaled_tensor(results):
    before, after = results["scale"]
    factor = after["out"][0] / before["x"][0]

    assert round(factor, 3) in (2, 3, 4)
    assert torch.allclose(
        torch.tensor(after["out"])[:990], torch.tensor(before["x"])[:990] * factor
    )


def test_recorded_indices_choose_the_rows(results):
    before, after = results["gather"]

    assert before["index"] in ([1, 3, 0], [2, 2, 2])
    assert after["out"] == [before["table"][row] for row in before["index"]]


def test_memory_in_place(results):
    before, after = results["double"]

    assert after["x"][:100] == [2 * value for value in before["x"][:100]]
    assert after["x"][100:] == before["x"][100:]


def test_a_descriptor(results):
    before, after = results["copy_block"]

    assert after["target"] == before["source"] != before["target"]


@pytest.mark.process
def test_the_suite_of_a_recorded_llama_is_launched_on_a_processor(tmp_path):
    suite = make_suite(select_runs(LLAMA), tmp_path / "suite")

    launched(tmp_path / "suite", tmp_path)

    again, recorded = open_trace(tmp_path / "again"), open_trace(LLAMA)
    calls = {row["call_id"]: row for row in recorded.table("calls").to_pylist()}
    expected = [told(calls[int(entry.calls[0].rpartition("/")[2])]) for entry in suite.entries]
    calls = {row["call_id"]: row for row in again.table("calls").to_pylist()}
    order = again.table("launches", columns=["call_id"]).column("call_id").to_pylist()
    assert [told(calls[call_id]) for call_id in order] == expected
    assert len(expected) > 15


def told(call):
    """Grid, and what is passed: tensors' layouts and scalars, constants left aside."""
    grid = tuple(call[f"grid_{axis}"] for axis in "xyz")
    kept = ("shape", "strides", "offset_bytes", "storage_bytes", "scalar")
    rows = [row for row in call["args"] if row["kind"] in ("tensor", "scalar")]
    return grid, [tuple(row[name] for name in kept) for row in rows]
