"""A new op, added to a copy of kvtrace in the three files that docs/contributing/where.md names."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

#: The text to add to each file, from the page's example; the op is `2 * left + right`.
EXAMPLE = (ROOT / "docs" / "contributing" / "where.md").read_text(encoding="utf-8")
ADDITIONS = dict(
    re.findall(r"^# (kvtrace/\S+)\n(.*?)(?=^# kvtrace/|^```)", EXAMPLE, re.M | re.S)[:3]
)

# ruff: noqa: E501 - the IR's lines are long
PROGRAM = """
import json
import numpy as np
from kvtrace.recorded_calls.recorded import Call
from kvtrace.evaluate import Storage, TensorArgument, evaluate
from kvtrace.ir import parse
from kvtrace.verdicts.judge import judge

TEXT = '''
"builtin.module"() ({
  "tt.func"() <{function_type = (!tt.ptr<i32>) -> (), sym_name = "k", sym_visibility = "public"}> ({
  ^bb0(%out: !tt.ptr<i32>):
    %program = "tt.get_program_id"() <{axis = 0 : i32}> : () -> i32
    %lanes = "tt.make_range"() <{end = 4 : i32, start = 0 : i32}> : () -> tensor<4xi32>
    %step = "arith.constant"() <{value = STEP : i32}> : () -> i32
    %start = "arith.muli"(%program, %step) : (i32, i32) -> i32
    %starts = "tt.splat"(%start) : (i32) -> tensor<4xi32>
    %place = "arith.twice_and"(%starts, %lanes) : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xi32>
    %pointers = "tt.splat"(%out) : (!tt.ptr<i32>) -> tensor<4x!tt.ptr<i32>>
    %at = "tt.addptr"(%pointers, %place) : (tensor<4x!tt.ptr<i32>>, tensor<4xi32>) -> tensor<4x!tt.ptr<i32>>
    "tt.store"(%at, %place) <{cache = 1 : i32, evict = 1 : i32}> : (tensor<4x!tt.ptr<i32>>, tensor<4xi32>) -> ()
    "tt.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
'''


def out_tensor(size):
    storage = Storage(4 * size, np.zeros(4 * size, np.uint8))
    return TensorArgument("out", storage, 0, "i32", (size,), (1,))


def verdicts(module, size):
    call = Call(0, "k", (4, 1, 1), module, (out_tensor(size),), ())
    return [(verdict.rule, verdict.verdict) for verdict in judge(call)]


module = parse(TEXT.replace("STEP", "2"))
tensor = out_tensor(16)
evaluate(module, (tensor,), (4, 1, 1))
wrapping = parse(TEXT.replace("STEP", str(2**29 + 2)))
print(json.dumps({
    "stored": tensor.storage.data.view(np.int32).tolist(),
    "inside": verdicts(module, 16),
    "outside": verdicts(module, 15),
    "wrapping": verdicts(wrapping, 16),
}))
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What `PROGRAM` prints, run with a copy of kvtrace that has the op."""
    folder = tmp_path_factory.mktemp("copy")
    shutil.copytree(
        ROOT / "kvtrace",
        folder / "kvtrace",
        ignore=shutil.ignore_patterns("node_modules", "golden", "frontend", "__pycache__"),
    )
    for name, text in ADDITIONS.items():
        path = folder / name
        path.write_text(with_addition(path.read_text(), f"\n{text}"))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def with_addition(source, text):
    """Add the text at the end, in ops.py before the sets that are computed from the rows."""
    before, mark, after = source.partition("\n\ndef effect_of(")
    return before + text + mark + after if mark else source + text


@pytest.mark.process
def test_contributed_op_is_evaluated(results):
    assert results["stored"] == list(range(16))


@pytest.mark.process
def test_addresses_from_the_contributed_op_are_judged(results):
    assert {"out-of-bounds", "overflow", "race"} <= {rule for rule, _ in results["inside"]}
    assert {verdict for _, verdict in results["inside"]} == {"proven"}
    assert ["out-of-bounds", "violation"] in results["outside"]


@pytest.mark.process
def test_contributed_op_that_wraps_is_not_proven_in_range(results):
    assert [verdict for rule, verdict in results["wrapping"] if rule == "overflow"] == ["unknown"]
