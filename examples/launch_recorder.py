"""A recorder of a launcher of CUDA or CuTe kernels, not a part of kvtrace, in kvtrace's format.

    NUMBA_ENABLE_CUDASIM=1 python examples/launch_recorder.py out/ && kvtrace info out/

A kernel is whatever has a name, and `start` whatever launches it: `compiled(*arguments)` of CuTe,
`cuLaunchKernel`, `kernel[grid, block](*arguments)` of Numba. docs/format.md says what rows mean;
`kvtrace trace validate out/` checks what is written here.
"""

import os
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from readers.plain_reader import format_version, schemas


class Recorder:
    """Records what `launch` starts; `write` saves the rows."""

    def __init__(self, origin):
        self.started, self.origin, self.kernels, self.calls = time.time_ns(), origin, {}, {}
        self.launches, self.executions = [], []

    def launch(self, start, name, grid, arguments, device_times=None):
        """Call `start`; `arguments` are by name, `device_times` returns start and end in ns."""
        kernel_id = self.kernels.setdefault((name, tuple(arguments)), len(self.kernels))
        storages = [self.storage(value) for value in arguments.values()]
        metadata = [self.argument(*item, storages) for item in arguments.items()]
        x, y, z = (*grid, 1, 1)[:3]
        key = (kernel_id, x, y, z, repr(metadata))
        row = {"kernel_id": kernel_id, "grid_x": x, "grid_y": y, "grid_z": z, "args": metadata}
        call_id = self.calls.setdefault(key, {"call_id": len(self.calls), **row})["call_id"]
        seq, enter = len(self.launches), time.time_ns()
        start()
        times = {"enter": enter, "exit": time.time_ns(), "device": 0}
        self.launches.append({"seq": seq, "call_id": call_id, **times})
        if device_times is not None:
            begin, end = device_times()
            row = {"record": seq, "launch_seq": seq, "call_id": call_id, "name": name, "device": 0}
            self.executions.append({**row, "start": begin, "end": end, "stream": 0})

    def storage(self, value):  # CuPy's and torch's tensors have such an interface, too
        array = getattr(value, "__cuda_array_interface__", None)
        array = array or getattr(value, "__array_interface__", None)
        return array and array["data"][0]

    def argument(self, name, value, storages):
        if not hasattr(value, "shape"):
            return {"name": name, "kind": "scalar", "scalar": repr(value)}
        size, address = value.dtype.itemsize, self.storage(value)
        kind = {"f": "fp", "i": "i", "u": "u"}.get(value.dtype.kind)
        return {"name": name, "kind": "tensor", "dtype": kind and f"{kind}{8 * size}",
                "shape": [*value.shape], "strides": [step // size for step in value.strides],
                "alias_group": storages.index(address), "alignment": address % 16}  # fmt: skip

    def write(self, out):
        run = time.strftime("%Y%m%d-%H%M%S-000-", time.gmtime()) + os.urandom(4).hex()
        kernels = [
            {"kernel_id": number, "name": name, "function": name, "origin": self.origin,
             "signature": [{"name": parameter} for parameter in parameters]}
            for (name, parameters), number in self.kernels.items()
        ]  # fmt: skip
        ended = {"run_id": run, "started": self.started, "ended": time.time_ns(),
                 "producer": "launch_recorder", "producer_version": "1",
                 "required_features": []}  # fmt: skip
        executions = sorted(self.executions, key=lambda row: row["start"])
        tables = {"kernels": kernels, "calls": [*self.calls.values()], "launches": self.launches}
        tables |= {"gpu_kernels": executions, "runs": [ended]}  # runs last: it completes the run
        for table, rows in tables.items():
            facts = {"format_version": format_version(), "table": table, "run_id": run}
            schema = schemas()[table].with_metadata({f"kvtrace.{k}": v for k, v in facts.items()})
            folder = Path(out) / table / f"run={run}"
            folder.mkdir(parents=True)
            pq.write_table(
                pa.Table.from_pylist(rows, schema),
                folder / "part-00000.parquet",
                compression="zstd",
            )


if __name__ == "__main__":
    import numpy as np
    from numba import cuda

    @cuda.jit
    def axpy(a, x, y):
        index = cuda.grid(1)
        if index < x.size:
            y[index] += a * x[index]

    recorder, x, y = Recorder("numba"), np.arange(1000.0), np.zeros(1000)
    for _ in range(3):
        start = lambda: axpy[(8,), (128,)](2.0, x, y)  # noqa: E731
        recorder.launch(start, "axpy", (8,), {"a": 2.0, "x": x, "y": y})
    recorder.write(sys.argv[1])
