"""Evaluation of logged launches: writes outside of tensors."""

import hashlib
import math
from dataclasses import replace

import numpy as np
import pytest

from kvtrace.addons.judge.deriving import Work
from kvtrace.addons.judge.launches import run_launches
from kvtrace.inputs.cases import Case, whole_tensor

#: A program counts four numbers in a table of 8, if they are below its size, and above 0 if asked.
COUNTED = """module {
  tt.func public @counted(%x: !tt.ptr<i32>, %table: !tt.ptr<i32>) {
    %lanes = tt.make_range {end = 4 : i32, start = 0 : i32} : tensor<4xi32>
    %xs = tt.splat %x : !tt.ptr<i32> -> tensor<4x!tt.ptr<i32>>
    %from = tt.addptr %xs, %lanes : tensor<4x!tt.ptr<i32>>, tensor<4xi32>
    %values = tt.load %from : tensor<4x!tt.ptr<i32>>
    %size = arith.constant dense<8> : tensor<4xi32>
    %zero = arith.constant dense<0> : tensor<4xi32>
    %one = arith.constant dense<1> : tensor<4xi32>
    %below = arith.cmpi slt, %values, %size : tensor<4xi32>
    %above = arith.cmpi sge, %values, %zero : tensor<4xi32>
    %both = arith.andi %below, %above : tensor<4xi1>
    %tables = tt.splat %table : !tt.ptr<i32> -> tensor<4x!tt.ptr<i32>>
    %to = tt.addptr %tables, %values : tensor<4x!tt.ptr<i32>>, tensor<4xi32>
    tt.store %to, %one, MASK : tensor<4x!tt.ptr<i32>>
    tt.return
  }
}
"""


def evaluated(tmp_path, mask, numbers, most=math.inf, *, derived=False):
    """Return the memory after a launch on a table of 8 numbers."""
    text = COUNTED.replace("MASK", mask)
    digest = hashlib.sha256(text.encode()).hexdigest()
    (tmp_path / f"ttir-{digest}").write_text(text)
    contents = {"x": np.asarray(numbers, np.int32), "table": np.zeros(8, np.int32)}
    tensors = []
    for name, values in contents.items():
        (tmp_path / name).write_bytes(values.tobytes())
        tensors.append(replace(whole_tensor(name, "int32", values.shape), file=name))
    arguments = [
        {"name": tensor.name, "storage": number, "offset": 0, "dtype": "i32",
         "shape": tensor.shape, "strides": tensor.strides, "padding_nan": False}
        for number, tensor in enumerate(tensors)
    ]  # fmt: skip
    entry = {
        "launch": "counted", "ttir": digest, "file": "counted.py", "options": [], "contents": {},
        "arguments": arguments, "grid": (1, 1, 1),
    }  # fmt: skip
    return run_launches(
        Case("", "given", tuple(tensors)), [entry], tmp_path, tmp_path, "cuda:90", Work(most),
        derived=derived,
    )  # fmt: skip


def stray_write(tmp_path, mask, numbers):
    memory = evaluated(tmp_path, mask, numbers)
    assert memory.reason is None
    return memory.stray_write and (memory.stray_write[0].name, memory.stray_write[1])


@pytest.mark.parametrize(
    ("mask", "numbers", "tensor"),
    [
        ("%below", (0, 3, 7, 8), None),
        ("%below", (0, 3, 7, -1), "table"),
        ("%above", (0, 3, 7, -1), None),
        ("%above", (0, 3, 7, 8), "table"),
        ("%both", (-(2**31), 2**31 - 1, -1, 8), None),
    ],
)
def test_a_write_outside_of_a_tensor_is_kept(tmp_path, mask, numbers, tensor):
    stray = stray_write(tmp_path, mask, numbers)
    assert stray == (tensor and ("tt.store", tensor))


def test_work_is_counted_by_accesses_and_ends_an_evaluation_at_its_limit(tmp_path):
    plain = evaluated(tmp_path, "%both", (0, 3, 7, 8))
    derived = evaluated(tmp_path, "%both", (0, 3, 7, 8), derived=True)
    ended = evaluated(tmp_path, "%both", (0, 3, 7, 8), plain.work.done - 1)

    assert (
        derived.work.done > plain.work.done == evaluated(tmp_path, "%both", (1, 1, 1, 1)).work.done
    )
    assert not plain.work.is_over
    assert plain.reason is None
    assert ended.work.is_over
    assert ended.work.done < ended.work.most  # what is refused leaves work to other cases
    assert "it takes too long" in ended.reason


def test_bounds_that_take_too_much_work_leave_the_results_as_they_are(tmp_path, monkeypatch):
    plain = evaluated(tmp_path, "%both", (0, 3, 7, 8))
    monkeypatch.setattr("kvtrace.addons.judge.deriving._MOST_WORK", 1)

    memory = evaluated(tmp_path, "%both", (0, 3, 7, 8), derived=True)

    assert memory.reason is None
    assert not memory.work.is_over
    assert np.array_equal(memory.storages[1], plain.storages[1])
    assert "it takes too long" in memory.derived.reasons[1]
