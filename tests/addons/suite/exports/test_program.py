"""Programs of exports launch recorded kernels with torch and Triton alone."""

import ast
import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from kvtrace.addons.suite.exports import export_suite
from kvtrace.addons.suite.exports.calls import read_calls
from kvtrace.addons.suite.exports.program import Group, groups_of, identifier, program
from kvtrace.addons.suite.model import read_index

#: Launches a layer norm by each export, and prints the differences from torch's.
LAUNCHES = """
import json
import sys
from pathlib import Path

import torch

problems, operators, traces = map(Path, sys.argv[1:])
problem, model = {}, next(problems.glob("level5/1_*.py"))
exec(model.read_text(), problem)
made = problem["Model"](*problem["get_init_inputs"]()).to(device="cuda", dtype=torch.float32)
inputs = [value.to("cuda") for value in problem["get_inputs"]()]
expected = torch.nn.functional.layer_norm(inputs[0], (60,), inputs[1], inputs[2], 1e-5)
difference = {"kernelbench": made(*inputs)[: 198 * 60].reshape(198, 60) - expected}

sys.path.insert(0, str(operators / "recorded_layer_norm_forward"))
import recorded

launch = recorded.repeated(
    recorded.PROGRAM, dict(zip(recorded.PROGRAM.inputs, [*inputs, 60, 1e-5], strict=True))
)
launch()
difference["tritonbench"] = launch()[0] - expected

solution = json.loads(next(traces.rglob("layer_norm_forward_recorded.json")).read_text())
main = {}
exec(solution["sources"][0]["content"], main)
difference["flashinfer-bench"] = main["run"](*inputs, 60, 1e-5)[0] - expected
try:
    main["run"](*inputs, 61, 1e-5)
except ValueError as error:
    difference["refused"] = "no call of layer_norm_forward was recorded with" in str(error)
print(json.dumps({name: value if value is True else float(value.abs().max())
                  for name, value in difference.items()}))
"""


def calls_of(folder):
    return list(read_calls(read_index(folder), folder))


def group_named(calls, name):
    return next(group for group in groups_of(calls) if group.name == name)


def test_calls_with_the_same_parameters_are_one_operator(training):
    products = group_named(calls_of(training), "matmul_kernel")
    assert len(products.calls) > 1
    assert products.inputs[:3] == ("left", "right", "bias")
    assert [storage.name for storage in products.written] == ["out"]


def test_calls_that_inputs_do_not_tell_apart_are_two_operators(training):
    call = calls_of(training)[0]
    other = replace(call, data=replace(call.data, options={"num_warps": 8}))
    assert [group.name for group in groups_of([call, other])] == [
        "layer_norm_forward",
        "layer_norm_forward_v2",
    ]


def test_a_program_has_one_docstring_its_imports_and_no_kvtrace(training):
    call = calls_of(training)[0]
    text = program(Group("norm", (call, call)), 'A "quoted" \\ text: """')
    module = ast.parse(text)
    assert ast.get_docstring(module) == "A \"quoted\" \\ text: '''"
    assert "kvtrace." not in text
    assert text.count("tt.func public @layer_norm_forward") == 1
    imports = [node for node in module.body if isinstance(node, ast.Import | ast.ImportFrom)]
    assert module.body[1 : 1 + len(imports)] == imports


@pytest.mark.parametrize(
    ("name", "expected"),
    [("x.0", "x_0"), ("2d", "_2d"), ("größe²", "gr__e_"), ("a" * 300, "a" * 100)],
)
def test_identifiers(name, expected):
    assert identifier(name) == expected


@pytest.mark.process
def test_exported_kernels_compute_what_they_did(training, tmp_path):
    outputs = []
    for name in ("kernelbench", "tritonbench", "flashinfer-bench"):
        export_suite(training, name, tmp_path / name)
        outputs.append(str(tmp_path / name))
    script = tmp_path / "launches.py"
    script.write_text(LAUNCHES)
    done = subprocess.run(
        [sys.executable, str(script), *outputs],
        env=os.environ | {"KVTRACE": str(tmp_path / "out"), "KVTRACE_DEVICE": "cpu"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    differences = json.loads(done.stdout)
    assert differences.pop("refused") is True
    assert differences.keys() == {"kernelbench", "tritonbench", "flashinfer-bench"}
    assert max(differences.values()) < 1e-5
