"""Sectors equal what Nsight Compute counted on an H200 (fixtures/h200/coalescing/README.md)."""

from pathlib import Path

import pytest

from kvtrace.evaluate import ScalarArgument, Storage, TensorArgument, evaluate
from kvtrace.ir import parse
from kvtrace.metrics.of_ops import Metrics
from kvtrace.recorded_calls.compiled_code import thread_layouts
from kvtrace.schema.content import StackRows

FOLDER = Path(__file__).parents[1] / "fixtures" / "h200" / "coalescing"


@pytest.mark.parametrize(
    ("name", "dtype", "scalars", "grid", "counted"),
    [
        ("aligned", "fp32", [999_936], (977,), 124_992),
        ("half", "fp16", [1_000_001], (977,), 500_001),
        ("columns", "fp32", [1024, 1024], (16, 16), 131_072),
    ],
)
def test_sectors_are_those_that_the_hardware_counted(name, dtype, scalars, grid, counted):
    module, ttgir, ptx = (
        (FOLDER / f"{name}.{stage}").read_text(encoding="utf-8")
        for stage in ("ttir", "ttgir", "ptx")
    )
    size = {"fp32": 4, "fp16": 2}[dtype] << 22
    arguments = [
        TensorArgument(tensor, Storage(size, None), 0, dtype, (1 << 22,), (1,))
        for tensor in ("x", "out")
    ]
    arguments += [ScalarArgument(str(i), scalar) for i, scalar in enumerate(scalars)]
    parsed = parse(module)
    metrics = Metrics(thread_layouts(parsed, ttgir, ptx, triton="3.6.0"))
    evaluate(parsed, arguments, grid, observers=(metrics,))
    rows = metrics.op_rows(0, ["x", "out", "a", "b"], StackRows())
    sectors = {row["kind"]: row["sectors"] for row in rows if row["buffer"]}
    assert sectors == {"load": counted, "store": counted}
