"""A recorder of launches, not a part of kvtrace: Numba's CUDA kernels, in kvtrace's format.

    NUMBA_ENABLE_CUDASIM=1 python examples/launch_recorder.py out/ && kvtrace info out/

docs/format.md says what the rows mean; `kvtrace trace validate out/` checks what is written here.
"""

import inspect
import os
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from readers.plain_reader import schemas


class Recorder:
    """Records kernels launched by `launch(kernel, grid, block, *arguments)`; `write` saves them."""

    def __init__(self):
        self.started, self.kernels, self.calls, self.launches = time.time_ns(), {}, {}, []

    def launch(self, kernel, grid, block, *arguments):
        function = getattr(kernel, "py_func", kernel)
        kernel_id = self.kernels.setdefault(function, len(self.kernels))
        x, y, z = (*grid, 1, 1)[:3]
        kinds = tuple((getattr(a, "shape", None), str(getattr(a, "dtype", ""))) for a in arguments)
        call_id = self.calls.setdefault((kernel_id, x, y, z, kinds), len(self.calls))
        enter = time.time_ns()
        kernel[grid, block](*arguments)
        times = {"enter": enter, "exit": time.time_ns(), "phase": "run"}
        self.launches.append({"seq": len(self.launches), "call_id": call_id, **times})

    def write(self, out):
        run = time.strftime("%Y%m%d-%H%M%S-000-", time.gmtime()) + os.urandom(4).hex()
        names = [[*inspect.signature(function).parameters] for function in self.kernels]
        kernels = [
            {"kernel_id": number, "name": function.__name__, "module": function.__module__,
             "origin": "numba", "signature": [{"name": name} for name in names[number]]}
            for function, number in self.kernels.items()
        ]  # fmt: skip
        calls = [
            {"call_id": number, "kernel_id": kernel, "grid_x": x, "grid_y": y, "grid_z": z,
             "args": [{"name": name, "kind": "scalar" if shape is None else "tensor",
                       "shape": shape, "dtype": dtype or None}
                      for name, (shape, dtype) in zip(names[kernel], kinds, strict=True)]}
            for (kernel, x, y, z, kinds), number in self.calls.items()
        ]  # fmt: skip
        ended = {"run_id": run, "started": self.started, "ended": time.time_ns(),
                 "producer": "launch_recorder", "required_features": []}  # fmt: skip
        tables = {"kernels": kernels, "calls": calls, "launches": self.launches, "runs": [ended]}
        for table, rows in tables.items():  # runs last: its row makes the run complete
            facts = {"format_version": "1.12", "table": table, "run_id": run}
            schema = schemas()[table].with_metadata({f"kvtrace.{k}": v for k, v in facts.items()})
            folder = Path(out) / table / f"run={run}"
            folder.mkdir(parents=True)
            pq.write_table(pa.Table.from_pylist(rows, schema), folder / "part-00000.parquet")


if __name__ == "__main__":
    import numpy as np
    from numba import cuda

    @cuda.jit
    def axpy(a, x, y):
        index = cuda.grid(1)
        if index < x.size:
            y[index] += a * x[index]

    recorder, x, y = Recorder(), np.arange(1000.0), np.zeros(1000)
    for _ in range(3):
        recorder.launch(axpy, (8,), (128,), 2.0, x, y)
    recorder.write(sys.argv[1])
