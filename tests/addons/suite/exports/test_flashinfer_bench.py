"""Exported trace sets have the form that flashinfer-bench 0.1.2 asks for.

The package needs CUDA libraries and is not among the locked ones; tests/gpu/check_suite_exports.py
loads and runs exports with it. The rules here are those of its `flashinfer_bench/data`.
"""

import ast
import hashlib
import json
import zlib
from pathlib import Path

import numpy as np
import pytest

from kvtrace.addons.suite.exports import export_suite
from kvtrace.addons.suite.exports.safetensors import read_tensor
from kvtrace.addons.suite.flashinfer_traces import import_flashinfer
from kvtrace.addons.suite.model import read_index

DTYPES = {
    "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float4_e2m1",
    "int64", "int32", "int16", "int8", "bool",
}  # fmt: skip


@pytest.fixture(scope="session")
def traces(training, tmp_path_factory):
    output = tmp_path_factory.mktemp("exports") / "traces"
    export_suite(training, "flashinfer-bench", output)
    return output


def read(folder, name):
    return json.loads(next(folder.rglob(name)).read_text())


def lines(folder, name):
    return [json.loads(line) for line in next(folder.rglob(name)).read_text().splitlines()]


def test_definitions_keep_the_rules(traces):
    definitions = [json.loads(file.read_text()) for file in (traces / "definitions").rglob("*")
                   if file.is_file()]  # fmt: skip
    assert len({each["name"] for each in definitions}) == len(definitions) > 5
    for each in definitions:
        assert not each["inputs"].keys() & each["outputs"].keys()
        for axis in each["axes"].values():
            assert axis == {"type": "var"} or (axis["type"] == "const" and axis["value"] >= 0)
        for tensor in (*each["inputs"].values(), *each["outputs"].values()):
            assert tensor["dtype"] in DTYPES
            assert set(tensor["shape"] or ()) <= each["axes"].keys()
        functions = [f for f in ast.parse(each["reference"]).body if isinstance(f, ast.FunctionDef)]
        run = next(function for function in functions if function.name == "run")
        assert [parameter.arg for parameter in run.args.args] == list(each["inputs"])


def test_solutions_are_of_definitions_and_have_their_entry_point(traces):
    for file in (traces / "solutions").rglob("*.json"):
        solution = json.loads(file.read_text())
        definition = read(traces / "definitions", f"{solution['definition']}.json")
        path, _, function = solution["spec"]["entry_point"].partition("::")
        sources = {source["path"]: source["content"] for source in solution["sources"]}
        assert function == "run"
        assert sources[path].endswith(definition["reference"].partition("PROGRAM = ")[2])
        assert "def " in sources["recorded_source.py"]


def test_workloads_have_sizes_for_what_varies(traces):
    definition = read(traces, "matmul_kernel.json")
    varying = {name for name, axis in definition["axes"].items() if axis["type"] == "var"}
    workloads = lines(traces, "matmul_kernel.jsonl")
    assert len(workloads) > 1
    assert varying
    for each in workloads:
        assert each["solution"] is each["evaluation"] is None
        assert each["workload"]["axes"].keys() == varying
        assert each["workload"]["inputs"].keys() == definition["inputs"].keys()
    of_inputs = {axis for tensor in definition["inputs"].values() for axis in tensor["shape"] or ()}
    assert varying <= of_inputs
    assert len({each["workload"]["uuid"] for each in workloads}) == len(workloads)


def test_integers_are_given_since_drawn_ones_would_be_no_indices(traces):
    (workload,) = lines(traces, "cross_entropy_forward.jsonl")
    target = workload["workload"]["inputs"]["target"]
    content = read_tensor(traces / target["path"], target["tensor_key"], "int64")
    values = np.frombuffer(content, np.int64)
    assert values.shape == (198,)
    assert set(values) == {0, 1, 2, 3}


def test_recorded_contents_are_given(changed, tmp_path):
    content = np.arange(60, dtype=np.float32).tobytes()
    sha256 = hashlib.sha256(content).hexdigest()
    folder = changed(("Storage(240, 'float32')", f"Storage(240, 'float32', '{sha256}')"))
    (folder / "contents").mkdir(exist_ok=True)
    (folder / "contents" / f"{sha256}.zlib").write_bytes(zlib.compress(content))
    export_suite(folder, "flashinfer-bench", tmp_path / "out")
    (workload,) = lines(tmp_path, "layer_norm_forward.jsonl")
    weight = workload["workload"]["inputs"]["weight"]
    assert not Path(weight["path"]).is_absolute()
    assert read_tensor(tmp_path / "out" / weight["path"], "weight", "float32") == content


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("'epsilon': 1e-05", "'epsilon': float('nan')", "infinite or NaN"),
        ("'float32'", "'complex64'", "no element type for complex64"),
    ],
)
def test_calls_that_the_format_cannot_hold_are_named(changed, tmp_path, old, new, reason):
    done = export_suite(changed((old, new)), "flashinfer-bench", tmp_path / "out")
    (note,) = done.notes
    assert note.startswith("001-layer_norm_forward is left out: ")
    assert reason in note
    assert not list((tmp_path / "out").rglob("layer_norm_forward.json"))


def test_the_weights_of_workloads_are_in_the_readme(traces):
    text = (traces / "README.md").read_text()
    (workload,) = lines(traces, "cross_entropy_forward.jsonl")
    assert f"| cross_entropy_forward | {workload['workload']['uuid']} | " in text


def test_an_export_can_be_imported(training, traces, tmp_path):
    suite = import_flashinfer(traces, tmp_path / "suite", {})
    assert len(suite.entries) == len(read_index(training).entries)
    assert suite.covered == pytest.approx(1)
