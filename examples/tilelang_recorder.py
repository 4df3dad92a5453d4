"""A recorder of launches, not a part of kvtrace: TileLang's kernels, in kvtrace's format.

    python examples/tilelang_recorder.py out/ && kvtrace trace validate --profile core out/

It records each launch of a kernel that TileLang compiled, for any target: grid, arguments, and the
kernel's IR as TVMScript. The program at the end compiles for the CPU, so it runs without a GPU.
Times of the device are not recorded. Words with a colon are this recorder's own (docs/format.md).
"""

import hashlib
import os
import re
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import tilelang
import torch
from readers.plain_reader import format_version, schemas
from tilelang.jit.kernel import JITKernel

IR = "tilelang:tvmscript"
BLOCKS = re.compile(r'thread_binding\((\d+), thread="blockIdx\.([xyz])"\)')
DTYPES = {"bool": "i1", "bfloat16": "bf16", "float8_e4m3fn": "fp8e4nv", "float8_e5m2": "fp8e5"}


class Recorder:
    """Records launches while it is entered; `write` saves them."""

    def __init__(self):
        self.started, self.original = time.time_ns(), JITKernel.__call__
        self.kernels, self.calls, self.launches, self.artifacts = {}, {}, [], {}

    def __enter__(self):
        recorder = self

        def launch(kernel, *arguments, **keywords):
            enter = time.time_ns()
            result = recorder.original(kernel, *arguments, **keywords)
            recorder.record(kernel, (*arguments, *keywords.values()), enter, time.time_ns())
            return result

        JITKernel.__call__ = launch
        return self

    def __exit__(self, *_):
        JITKernel.__call__ = self.original

    def record(self, kernel, arguments, enter, end):
        if id(kernel) not in self.kernels:  # the kernel is kept, and so its id is not used again
            self.kernels[id(kernel)] = (kernel, self.kernel(kernel))
        row = self.kernels[id(kernel)][1]
        args = described([parameter["name"] for parameter in row["signature"]], arguments)
        call = {"call_id": len(self.calls), "kernel_id": row["kernel_id"], "args": args}
        call |= {f"grid_{axis}": size for axis, size in row["grid"].items()}
        call = self.calls.setdefault((row["kernel_id"], repr(args)), call)
        launch = {"seq": len(self.launches), "call_id": call["call_id"], "phase": "run"}
        self.launches.append({**launch, "enter": enter, "exit": end})

    def kernel(self, kernel):
        text = kernel.prim_func.script().encode()
        sha256 = hashlib.sha256(text).hexdigest()
        self.artifacts[sha256] = {
            "sha256": sha256, "kind": IR, "dialect": IR, "size_bytes": len(text),
            "bytes": pa.Codec("zstd").compress(text, asbytes=True),
            "producer": "tilelang", "producer_version": tilelang.__version__,
        }  # fmt: skip
        buffers = kernel.prim_func.buffer_map  # a tensor's name is that of its buffer
        signature = [
            {"name": buffers.get(variable, variable).name,
             "type": "*" * (param.shape != []) + dtype_word(param.dtype)}
            for variable, param in zip(kernel.prim_func.params, kernel.params, strict=True)
        ]  # fmt: skip
        grid = {axis: int(size) for size, axis in BLOCKS.findall(text.decode())}
        return {
            "kernel_id": len(self.kernels), "name": str(kernel.prim_func.attrs["global_symbol"]),
            "origin": "tilelang", "target": str(kernel.target.kind.name), "signature": signature,
            "stages": [{"stage": IR, "artifact": sha256}],
            # An axis without blocks has one; where sizes are not known before the launch, none is.
            "grid": dict.fromkeys("xyz", 1) | grid if "x" in grid else {},
        }  # fmt: skip

    def write(self, out):
        run = time.strftime("%Y%m%d-%H%M%S-000-", time.gmtime()) + os.urandom(4).hex()
        row = {"run_id": run, "group_id": run, "started": self.started, "ended": time.time_ns()}
        row |= {"producer": "tilelang-recorder", "producer_version": "1", "required_features": []}
        tables = {
            "artifacts": sorted(self.artifacts.values(), key=lambda a: a["sha256"]),
            "kernels": [row for _, row in self.kernels.values()],
            "calls": list(self.calls.values()), "launches": self.launches, "runs": [row],
        }  # fmt: skip
        for table, rows in tables.items():  # runs last: its row makes the run complete
            facts = {"format_version": format_version(), "table": table, "run_id": run}
            known = [field for field in schemas()[table] if any(field.name in row for row in rows)]
            schema = pa.schema(known, {f"kvtrace.{key}": value for key, value in facts.items()})
            folder = Path(out) / table / f"run={run}"
            folder.mkdir(parents=True)
            pq.write_table(pa.Table.from_pylist(rows, schema), folder / "part-00000.parquet")


def dtype_word(dtype):  # of torch or TileLang
    name = str(dtype).removeprefix("torch.")
    short = {"float": "fp", "uint": "u", "int": "i"}
    return DTYPES.get(name) or re.sub("^(float|uint|int)", lambda match: short[match[0]], name)


def described(names, arguments):  # the entries of a call's `args`
    entries, storages = [], []
    for name, value in zip(names, arguments, strict=True):
        if not isinstance(value, torch.Tensor):
            entries.append({"name": name, "kind": "scalar", "scalar": repr(value)})
            storages.append(None)
            continue
        storage = value.untyped_storage()
        storages.append(storage.data_ptr())
        entries.append({
            "name": name, "kind": "tensor", "dtype": dtype_word(value.dtype),
            "device": str(value.device), "shape": [*value.shape], "strides": [*value.stride()],
            "offset_bytes": value.storage_offset() * value.element_size(),
            "storage_bytes": storage.nbytes(), "alignment": value.data_ptr() % 16,
            "alias_group": storages.index(storage.data_ptr()),
        })  # fmt: skip
    return entries


if __name__ == "__main__":
    from tilelang.cpu import language as T

    @tilelang.jit(target="c")
    def axpy(n, block):
        @T.prim_func
        def axpy(x: T.Tensor((n,), "float32"), y: T.Tensor((n,), "float32"), a: T.float32):
            with T.Kernel(T.ceildiv(n, block)) as index:
                for lane in T.serial(block):
                    at = index * block + lane
                    y[at] += a * x[at]

        return axpy

    x, y = torch.arange(64.0), torch.zeros(64)
    with Recorder() as recorder:
        for _ in range(3):
            axpy(64, 16)(x, y, 2.0)
        axpy(64, 32)(y, y, 1.0)
    assert torch.equal(y, torch.arange(64.0) * 12)
    recorder.write(sys.argv[1])
