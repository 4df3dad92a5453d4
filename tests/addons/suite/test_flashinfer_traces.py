"""FlashInfer's traces become suites whose calls run the definitions' references."""

import json
import os
import subprocess
import sys

import pytest

from kvtrace.addons.suite.exports.safetensors import write_tensor
from kvtrace.addons.suite.flashinfer_traces import import_flashinfer
from kvtrace.addons.suite.launches import read_call
from kvtrace.addons.suite.model import read_index
from kvtrace.converters.importers.registry import BadSource
from kvtrace.schema.errors import BadSetting

RUN = "import torch\n\ndef run(x, rows, eps):\n    return x[rows.long()] + eps\n"


def definition(**changes):
    return {
        "name": "gather",
        "op_type": "gather",
        "axes": {"n": {"type": "var"}, "width": {"type": "const", "value": 4}},
        "inputs": {
            "x": {"shape": ["n", "width"], "dtype": "float32"},
            "rows": {"shape": ["n"], "dtype": "int32"},
            "eps": {"shape": None, "dtype": "float32"},
        },
        "outputs": {"out": {"shape": ["n", "width"], "dtype": "float32"}},
        "reference": RUN,
    } | changes


def workload(**changes):
    inputs = {
        "x": {"type": "random"},
        "rows": {"type": "safetensors", "path": "blob/rows.safetensors", "tensor_key": "rows"},
        "eps": {"type": "scalar", "value": 0.5},
    }
    content = {"axes": {"n": 2}, "inputs": inputs | changes, "uuid": "a-b"}
    return {"definition": "gather", "workload": content, "solution": None, "evaluation": None}


def written(folder, definitions, workloads=()):
    """Write a trace set of flashinfer-bench."""
    for name in ("definitions", "workloads", "blob"):
        (folder / name).mkdir(parents=True)
    for number, each in enumerate(definitions):
        (folder / "definitions" / f"{number}.json").write_text(json.dumps(each))
    text = "".join(f"{json.dumps(each)}\n" for each in workloads)
    (folder / "workloads" / "gather.jsonl").write_text(text)
    write_tensor(folder / "blob/rows.safetensors", "rows", "int32", (2,), b"\1\0\0\0\0\0\0\0")
    return folder


def test_a_workload_becomes_a_call_of_the_reference(tmp_path):
    source = written(tmp_path / "traces", [definition()], [workload()])
    suite = import_flashinfer(source, tmp_path / "suite", {})
    assert read_index(tmp_path / "suite") == suite
    (entry,) = suite.entries
    assert entry.name == "001-gather"
    assert entry.title == "gather(x=float32[2, 4], rows=int32[2], eps=0.5)"
    assert entry.calls == ("gather/a-b",)
    assert entry.inputs == {"x": "random", "rows": "recorded"}
    assert entry.notes == ("it runs the PyTorch reference of gather, not a kernel",)
    call = read_call(tmp_path / "suite", entry.name)
    assert call.code.stage == "function"
    assert call.code.text == RUN
    assert call.contents("rows") == b"\1\0\0\0\0\0\0\0"


def test_files_of_fi_trace_need_sizes(tmp_path):
    text = "import torch\n\n@torch.no_grad()\ndef _norm_reference(x, axis=-1):\n    return x\n"
    inputs = {"x": {"shape": ["n", "width"], "dtype": "bfloat16"}}
    (tmp_path / "norm.json").write_text(json.dumps(definition(inputs=inputs, reference=text)))
    (tmp_path / "other.json").write_text("[]")
    with pytest.raises(BadSetting, match="the axis n has no recorded size; give --axis n=SIZE"):
        import_flashinfer(tmp_path, tmp_path / "suite", {})
    (entry,) = import_flashinfer(tmp_path, tmp_path / "suite", {"n": 3}).entries
    assert entry.title == "gather(x=bfloat16[3, 4])"
    assert read_call(tmp_path / "suite", entry.name).kernel == "_norm_reference"


@pytest.mark.parametrize(
    ("changes", "inputs", "reason"),
    [
        ({"reference": None}, {}, "it has no reference"),
        ({"reference": "x = 1"}, {}, "has no function"),
        ({"reference": "def run(:"}, {}, "is no Python"),
        ({"reference": "def run(x): ..."}, {}, "takes x, and its inputs are x, rows, eps"),
        ({"reference": "def f(y, rows, eps): ..."}, {}, "takes y, rows, eps"),
        ({}, {"eps": {"type": "random"}}, "the scalar eps has no recorded value"),
        ({}, {"rows": {}}, "the integers of rows were not recorded"),
        ({"axes": {"n": {"type": "var"}, "width": {}}}, {}, "the axis width has no recorded size"),
    ],
)
def test_what_cannot_run_is_left_out_and_says_why(tmp_path, changes, inputs, reason):
    good = definition(name="good", inputs={}, reference="def run(): ...")
    source = written(tmp_path / "traces", [good, definition(**changes)], [workload(**inputs)])
    suite = import_flashinfer(source, tmp_path / "suite", {})
    assert [entry.kernel for entry in suite.entries] == ["good"]
    (left_out,) = suite.left_out
    assert (left_out.name, left_out.share) == ("gather", 0.5)
    assert reason in left_out.why
    source = written(tmp_path / "other", [definition(**changes)], [workload(**inputs)])
    with pytest.raises(BadSetting, match="no definition of"):
        import_flashinfer(source, tmp_path / "suite", {})


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("definitions/1.json", "{", "is damaged"),
        ("definitions/1.json", '{"name": "x"}', "is no definition of flashinfer-bench"),
        ("workloads/gather.jsonl", "[1]\n", "has a line that is no workload"),
        ("workloads/gather.jsonl", "{\n", "is damaged"),
        ("blob/rows.safetensors", "", "has no tensor rows of int32"),
    ],
)
def test_damaged_files_get_a_sentence(tmp_path, file, text, message):
    source = written(tmp_path / "traces", [definition()], [workload()])
    (source / file).write_text(text)
    with pytest.raises(BadSource, match=message):
        import_flashinfer(source, tmp_path / "suite", {})


def test_contents_outside_of_the_folder_are_not_read(tmp_path):
    outside = {"type": "safetensors", "path": "../secret", "tensor_key": "rows"}
    source = written(tmp_path / "traces", [definition()], [workload(rows=outside)])
    write_tensor(tmp_path / "secret", "rows", "int32", (2,), bytes(8))
    with pytest.raises(BadSource, match="are outside of"):
        import_flashinfer(source, tmp_path / "suite", {})


def test_a_folder_without_definitions_is_refused(tmp_path):
    with pytest.raises(BadSource, match="has no definitions of FlashInfer"):
        import_flashinfer(tmp_path, tmp_path / "suite", {})


@pytest.mark.process
def test_a_call_of_a_reference_is_launched(tmp_path):
    source = written(tmp_path / "traces", [definition()], [workload()])
    import_flashinfer(source, tmp_path / "suite", {})
    script = (
        "import runpy\nfrom pathlib import Path\nimport launching\n"
        "call = runpy.run_path('calls/001-gather.py')['CALL']\n"
        "memory = launching.new_storages(call, 'cuda')\n"
        "launch = launching.prepared(call, Path('.'))\n"
        "given = launching.arguments(call, memory)\n"
        "assert (launch(given) == given['x'].flip(0) + 0.5).all()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path / "suite",
        env=os.environ | {"KVTRACE": str(tmp_path / "out"), "KVTRACE_DEVICE": "cpu"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
