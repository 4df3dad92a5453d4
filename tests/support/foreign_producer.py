"""Traces of a producer other than kvtrace, made from docs/format.md and the plain reader alone."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from kvtrace.schema.content import artifact_row
from tests.support.readers import plain_reader

RUN = "20260102-030405-678-9abcdef0"
START = 1_767_323_045_000_000_000
#: TTIR that copies eight elements from one argument to the other.
COPY = b""""builtin.module"() ({
  "tt.func"() <{function_type = (!tt.ptr<f32>, !tt.ptr<f32>) -> (), sym_name = "axpy", sym_visibility = "public"}> ({
  ^bb0(%arg0: !tt.ptr<f32>, %arg1: !tt.ptr<f32>):
    %0 = "tt.make_range"() <{end = 8 : i32, start = 0 : i32}> : () -> tensor<8xi32>
    %1 = "tt.splat"(%arg0) : (!tt.ptr<f32>) -> tensor<8x!tt.ptr<f32>>
    %2 = "tt.addptr"(%1, %0) : (tensor<8x!tt.ptr<f32>>, tensor<8xi32>) -> tensor<8x!tt.ptr<f32>>
    %3 = "tt.load"(%2) <{boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32, isVolatile = false, operandSegmentSizes = array<i32: 1, 0, 0>}> : (tensor<8x!tt.ptr<f32>>) -> tensor<8xf32>
    %4 = "tt.splat"(%arg1) : (!tt.ptr<f32>) -> tensor<8x!tt.ptr<f32>>
    %5 = "tt.addptr"(%4, %0) : (tensor<8x!tt.ptr<f32>>, tensor<8xi32>) -> tensor<8x!tt.ptr<f32>>
    "tt.store"(%5, %3) <{boundaryCheck = array<i32>, cache = 1 : i32, evict = 1 : i32}> : (tensor<8x!tt.ptr<f32>>, tensor<8xf32>) -> ()
    "tt.return"() : () -> ()
  }) : () -> ()
  "tt.return"() : () -> ()
}) : () -> ()
"""  # noqa: E501
#: Each kernel of a trace, and its launches of 20 µs.
LAUNCHES = {"axpy": 3, "softmax": 2}
_TENSOR = {"kind": "tensor", "dtype": "fp32", "shape": [1000], "strides": [1], "offset_bytes": 0,
           "storage_bytes": 4000, "alignment": 0, "device": "cuda:0"}  # fmt: skip


def write_foreign(
    out: Path,
    *,
    origins: Sequence[str | None] = ("toydsl", "toydsl"),
    stage: str | None = None,
    text: bytes = b"toy.func @kernel() { toy.return }",
    run: str = RUN,
    has_arguments: bool = True,
) -> Path:
    """Write a run with the kernels of `LAUNCHES`, and their executions.

    Args:
        out: The trace's folder.
        origins: The origin of each kernel.
        stage: The compiler stage that the kernels' text is recorded as; None: none is.
        text: That text.
        run: The run's id.
        has_arguments: Grids and arguments are recorded.
    """
    tables: dict[str, list[dict[str, Any]]] = {
        name: [] for name in ("artifacts", "kernels", "calls", "launches", "gpu_kernels", "runs")
    }
    stages = None
    if stage is not None:
        artifact = artifact_row(stage, text)
        tables["artifacts"].append(artifact)
        stages = [{"stage": stage, "artifact": artifact["sha256"], "duration_ns": None}]
    arguments = [{"name": name, "alias_group": place, **_TENSOR} for place, name in enumerate("xy")]
    for number, ((name, launches), origin) in enumerate(
        zip(LAUNCHES.items(), origins, strict=True)
    ):
        tables["kernels"].append(
            {"kernel_id": number, "name": name, "module": "toy.kernels", "origin": origin,
             "signature": [{"name": "x"}, {"name": "y"}], "stages": stages}
        )  # fmt: skip
        call = {"grid_x": 8, "grid_y": 1, "grid_z": 1, "args": arguments} if has_arguments else {}
        tables["calls"].append({"call_id": number, "kernel_id": number, **call})
        for _ in range(launches):
            seq = len(tables["launches"])
            enter = START + seq * 100_000
            tables["launches"].append(
                {"seq": seq, "call_id": number, "enter": enter, "exit": enter + 10_000,
                 "phase": "run", "device": 0, "stream": 7, "thread": 1}
            )  # fmt: skip
            tables["gpu_kernels"].append(
                {"record": seq, "launch_seq": seq, "name": name, "start": enter + 5_000,
                 "end": enter + 25_000, "device": 0, "stream": 7}
            )  # fmt: skip
    tables["runs"].append(
        {"run_id": run, "group_id": run, "started": START, "ended": START + 10**9,
         "command": "toy run.toy"}
    )  # fmt: skip
    for table, rows in tables.items():  # runs last: its row makes the run complete
        if not rows:
            continue
        facts = {"format_version": "1.12", "table": table, "run_id": run}
        schema = (
            plain_reader()
            .schemas()[table]
            .with_metadata({f"kvtrace.{k}": v for k, v in facts.items()})
        )
        folder = out / table / f"run={run}"
        folder.mkdir(parents=True)
        pq.write_table(pa.Table.from_pylist(rows, schema), folder / "part-00000.parquet")
    return out
