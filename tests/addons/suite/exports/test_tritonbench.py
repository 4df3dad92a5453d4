"""Exported operators have what TritonBench's loader asks for.

TritonBench is no package; tests/gpu/check_suite_exports.py loads and runs exports with it.
"""

import ast
import json
import runpy

from kvtrace.addons.suite.exports import export_suite


def test_operators_have_their_class_and_calls(training, tmp_path):
    export_suite(training, "tritonbench", tmp_path / "out")
    folder = tmp_path / "out" / "recorded_matmul_kernel"
    assert (folder / "__init__.py").read_text() == "from .operator import Operator\n"
    module = ast.parse((folder / "operator.py").read_text())
    (operator,) = [node for node in module.body if isinstance(node, ast.ClassDef)]
    assert operator.name == "Operator"
    methods = {f.name: f for f in operator.body if isinstance(f, ast.FunctionDef)}
    assert methods.keys() == {"recorded", "get_x_val", "get_input_iter"}

    recorded = runpy.run_path(str(folder / "recorded.py"))
    program = recorded["PROGRAM"]
    parameters = [parameter.arg for parameter in methods["recorded"].args.args]
    assert parameters == ["self", *program.inputs]
    (calls,) = [n.value for n in module.body if isinstance(n, ast.Assign)]
    names = [name for name, _ in ast.literal_eval(calls)]
    index = json.loads((training / "suite.json").read_text())["entries"]
    assert len(names) == len(program.calls) > 1
    assert set(names) <= {entry["name"] for entry in index}
    for number in range(len(names)):
        left, right, *_ = recorded["inputs_of"](program, number)
        assert left.shape[1] == right.shape[0]


def test_contents_lie_beside_the_operator(changed, tmp_path):
    folder = changed(("Storage(240, 'float32')", f"Storage(240, 'float32', '{'a' * 64}')"))
    (folder / "contents").mkdir(exist_ok=True)
    (folder / "contents" / f"{'a' * 64}.zlib").write_bytes(b"recorded")
    export_suite(folder, "tritonbench", tmp_path / "out")
    copied = tmp_path / "out" / "recorded_layer_norm_forward" / "contents" / f"{'a' * 64}.zlib"
    assert copied.read_bytes() == b"recorded"
