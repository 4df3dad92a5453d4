"""Small traces as other tools write them, built to their schemas: two kernels, a copy and a range.

Sums of kernel times are `KERNEL_NS`, in each that has times. Nothing is of a real machine.
"""

import gzip
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

#: 2026-01-02 03:04:05 UTC.
EPOCH_NS = 1_767_323_045_000_000_000
KERNEL_NS = 5_250 + 5_250 + 12_000
GEMM = "void cutlass::Kernel2<cutlass_80_tensorop_16x8>(cutlass_80_tensorop_16x8::Params)"


def write_kineto(folder: Path, *, rank: int = 0, packed: bool = False) -> Path:
    """Write a rank's trace of torch.profiler: two launches, a library's kernel, and a copy."""

    def event(cat: str, name: str, ts: float, dur: float, pid: int, tid: int, **args: Any) -> Any:
        return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid,
                "ts": ts, "dur": dur, "args": args}  # fmt: skip

    def kernel(name: str, ts: float, dur: float, correlation: int, grid: list[int]) -> Any:
        return event("kernel", name, ts, dur, rank, 7, device=rank, stream=7, context=1, grid=grid,
                     correlation=correlation, block=[128, 1, 1], queued=0,
                     **{"registers per thread": 32, "shared memory": 512,
                        "graph id": 0, "graph node id": 0})  # fmt: skip

    events = [
        {"ph": "M", "name": "process_name", "ts": 1.0, "pid": 100, "tid": 0, "args": {}},
        event("user_annotation", "ProfilerStep#1", 1000.5, 200, 100, 100),
        event("user_annotation", "forward", 1001, 100, 100, 100),
        event("cpu_op", "aten::mm", 1060, 30, 100, 100, **{"External id": 3}),
        event("cuda_driver", "cuLaunchKernelEx", 1010, 4.5, 100, 100, cbid=652, correlation=11),
        event("cuda_driver", "cuLaunchKernelEx", 1030, 4.25, 100, 100, cbid=652, correlation=12),
        event("cuda_runtime", "cudaLaunchKernel", 1070, 4, 100, 100, cbid=211, correlation=13),
        event("cuda_runtime", "cudaMemcpyAsync", 1095, 4, 100, 100, cbid=41, correlation=14),
        event("cuda_runtime", "cudaStreamSynchronize", 1100, 40, 100, 100, correlation=15),
        kernel("added", 1020.125, 5.25, 11, [8, 1, 1]),
        kernel("added", 1040.25, 5.25, 12, [8, 1, 1]),
        kernel(GEMM, 1080, 12, 13, [2, 4, 1]),
        event("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", 1110, 1.5, rank, 7, device=rank,
              stream=7, correlation=14, bytes=4096),
        {"ph": "s", "id": 11, "pid": 100, "tid": 100, "ts": 1010, "cat": "ac2g", "name": "ac2g"},
    ]  # fmt: skip
    events += [
        event("python_function", "train.py(12): step", 1000, 300, 100, 100),
        event("python_function", "torch/nn/modules/module.py(5): forward", 1055, 40, 100, 100),
    ]
    written = {
        "schemaVersion": 1,
        "deviceProperties": [{"id": rank, "name": "NVIDIA H100 80GB HBM3", "computeMajor": 9,
                              "computeMinor": 0, "totalGlobalMem": 85_017_493_504}],
        "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2},
        "cuda_runtime_version": 13_000,
        "baseTimeNanoseconds": EPOCH_NS,
        "traceEvents": events,
        "traceName": "rank.json",
    }  # fmt: skip
    text = json.dumps(written, indent=1).encode()
    path = folder / f"rank{rank}.pt.trace.json{'.gz' if packed else ''}"
    path.write_bytes(gzip.compress(text) if packed else text)
    return path


def _nsys_tables(version: str) -> dict[str, tuple[tuple[str, ...], list[tuple[Any, ...]]]]:
    """Return tables of nsys by name: columns and rows; `version` is appended to one's name."""
    thread = (100 << 24) | 101
    kernels = (
        "start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid",
        "demangledName", "shortName", "gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ",
        "registersPerThread", "staticSharedMemory", "dynamicSharedMemory",
    )  # fmt: skip
    sizes = (128, 1, 1, 32, 256, 256)
    process = 100 << 24
    return {
        "StringIds": (("id", "value"), [(1, "added"), (2, GEMM), (3, "cuLaunchKernelEx"),
                                        (4, "cudaStreamSynchronize"), (5, "forward")]),
        f"CUPTI_ACTIVITY_KIND_KERNEL{version}": (kernels, [
            (20_125, 25_375, 0, 1, 7, 11, process, 1, 1, 8, 1, 1, *sizes),
            (40_250, 45_500, 0, 1, 7, 12, process, 1, 1, 8, 1, 1, *sizes),
            (80_000, 92_000, 0, 1, 7, 13, process, 2, 2, 2, 4, 1, *sizes),
        ]),
        "CUPTI_ACTIVITY_KIND_MEMCPY": (
            ("start", "end", "deviceId", "streamId", "correlationId", "globalPid", "bytes",
             "copyKind"),
            [(110_000, 111_500, 0, 7, 14, process, 4096, 2)],
        ),
        "CUPTI_ACTIVITY_KIND_RUNTIME": (
            ("start", "end", "globalTid", "correlationId", "nameId"),
            [(10_000, 14_500, thread, 11, 3), (30_000, 34_250, thread, 12, 3),
             (70_000, 74_000, thread, 13, 3), (100_000, 140_000, thread, 15, 4)],
        ),
        "NVTX_EVENTS": (
            ("start", "end", "eventType", "globalTid", "text", "textId"),
            [(1_000, 101_000, 59, thread, None, 5), (2_000, None, 34, thread, "begun", None)],
        ),
        "TARGET_INFO_SESSION_START_TIME": (("utcEpochNs",), [(EPOCH_NS,)]),
        "TARGET_INFO_GPU": (("id", "name", "computeMajor", "computeMinor", "totalMemory"),
                            [(0, "NVIDIA H100 80GB HBM3", 9, 0, 85_017_493_504)]),
    }  # fmt: skip


def write_nsys_sqlite(folder: Path, version: str = "") -> Path:
    """Write an export of nsys as SQLite."""
    path = folder / "profile.sqlite"
    with sqlite3.connect(path) as database:
        for name, (columns, rows) in _nsys_tables(version).items():
            database.execute(f'CREATE TABLE "{name}" ({", ".join(columns)})')
            marks = ", ".join("?" * len(columns))
            database.executemany(f'INSERT INTO "{name}" VALUES ({marks})', rows)
    database.close()
    return path


def write_nsys_parquet(folder: Path) -> Path:
    """Write an export of nsys as a folder of Parquet."""
    out = folder / "profile_pqtdir"
    out.mkdir()
    for name, (columns, rows) in _nsys_tables("").items():
        values = {column: [row[place] for row in rows] for place, column in enumerate(columns)}
        pq.write_table(pa.table(values), out / f"{name}.parquet")
    return out


def write_rocprofv3_json(folder: Path) -> Path:
    """Write rocprofv3's JSON: grids count threads, times count from the machine's start."""
    agents = [{"type": 1, "id": {"handle": 5}, "node_id": 0, "name": "cpu"},
              {"type": 2, "id": {"handle": 9}, "node_id": 1, "logical_node_id": 1,
               "name": "gfx942", "product_name": "AMD Instinct MI300X"}]  # fmt: skip

    def dispatch(kernel: int, begin: int, end: int, correlation: int, threads: int) -> Any:
        return {"kind": 11, "operation": 1, "thread_id": 101, "start_timestamp": begin,
                "end_timestamp": end, "correlation_id": {"internal": correlation, "external": 0},
                "stream_id": {"handle": 3},
                "dispatch_info": {"agent_id": {"handle": 9}, "queue_id": {"handle": 1},
                                  "kernel_id": kernel, "dispatch_id": correlation,
                                  "private_segment_size": 0, "group_segment_size": 512,
                                  "workgroup_size": {"x": 256, "y": 1, "z": 1},
                                  "grid_size": {"x": threads, "y": 1, "z": 1}}}  # fmt: skip

    kinds = [{"kind": f"KIND_{n}", "operations": []} for n in range(16)]
    kinds[2] = {"kind": "HIP_RUNTIME_API", "operations": ["hipModuleLaunchKernel", "hipMalloc"]}
    kinds[10] = {"kind": "MEMORY_COPY", "operations": ["NONE", "MEMORY_COPY_DEVICE_TO_HOST"]}
    api = {"kind": 2, "operation": 0, "thread_id": 101}
    tool = {
        "metadata": {"pid": 100, "command": ["python", "train.py"]},
        "agents": agents,
        "kernel_symbols": [
            {"kernel_id": 1, "formatted_kernel_name": "added", "kernel_name": "added.kd",
             "arch_vgpr_count": 24},
            {"kernel_id": 2, "formatted_kernel_name": GEMM, "kernel_name": "gemm.kd"},
        ],
        "strings": {"buffer_records": kinds, "marker_api": [{"key": 21, "value": "forward"}]},
        "buffer_records": {
            "kernel_dispatch": [dispatch(1, 20_125, 25_375, 11, 2048),
                                dispatch(1, 40_250, 45_500, 12, 2048),
                                dispatch(2, 80_000, 92_000, 13, 2000)],
            "memory_copy": [{"kind": 10, "operation": 1, "start_timestamp": 110_000,
                             "end_timestamp": 111_500, "correlation_id": {"internal": 14},
                             "src_agent_id": {"handle": 9}, "dst_agent_id": {"handle": 5},
                             "bytes": 4096}],
            "hip_api": [{**api, "start_timestamp": 10_000, "end_timestamp": 14_500,
                         "correlation_id": {"internal": 11}},
                        {**api, "start_timestamp": 30_000, "end_timestamp": 34_250,
                         "correlation_id": {"internal": 12}}],
            "marker_api": [{"kind": 9, "operation": 1, "thread_id": 101, "start_timestamp": 1_000,
                            "end_timestamp": 101_000, "correlation_id": {"internal": 21}}],
        },
    }  # fmt: skip
    path = folder / "100_results.json"
    path.write_text(json.dumps({"rocprofiler-sdk-tool": [tool]}))
    return path


def write_rocprofv3_csv(folder: Path) -> Path:
    """Write rocprofv3's table of kernels."""
    columns = (
        "Kind,Agent_Id,Queue_Id,Stream_Id,Thread_Id,Dispatch_Id,Kernel_Id,Kernel_Name,"
        "Correlation_Id,Start_Timestamp,End_Timestamp,LDS_Block_Size,Scratch_Size,VGPR_Count,"
        "Accum_VGPR_Count,SGPR_Count,Workgroup_Size_X,Workgroup_Size_Y,Workgroup_Size_Z,"
        "Grid_Size_X,Grid_Size_Y,Grid_Size_Z"
    )
    start = '"KERNEL_DISPATCH","Agent 4",1,3,101'
    sizes = "512,0,24,4,32,256,1,1"
    rows = (
        f'{start},1,1,"added",11,20125,25375,{sizes},2048,1,1',
        f'{start},2,1,"added",12,40250,45500,{sizes},2048,1,1',
        f'{start},3,2,"{GEMM}",13,80000,92000,{sizes},2000,1,1',
    )
    path = folder / "100_kernel_trace.csv"
    path.write_text("\n".join((columns, *rows, "")))
    return path


def _rocpd_tables() -> dict[str, tuple[tuple[str, ...], list[tuple[Any, ...]]]]:
    """Return tables of a rocpd database by name without prefix: columns, and rows."""
    sizes = (256, 1, 1)
    dispatch = (
        "id", "nid", "pid", "tid", "agent_id", "kernel_id", "dispatch_id", "queue_id", "stream_id",
        "start", "end", "private_segment_size", "group_segment_size", "workgroup_size_x",
        "workgroup_size_y", "workgroup_size_z", "grid_size_x", "grid_size_y", "grid_size_z",
        "region_name_id", "event_id",
    )  # fmt: skip
    environment = json.dumps({"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "8"})
    region = ("id", "nid", "pid", "tid", "start", "end", "name_id", "event_id")
    return {
        "metadata": (("id", "tag", "value"), [(1, "schema_version", "3")]),
        "string": (("id", "string"), [(1, "KERNEL_DISPATCH"), (2, "HIP_RUNTIME_API"),
                                      (3, "MARKER_CORE_RANGE_API"), (4, "RCCL_API"),
                                      (5, "hipModuleLaunchKernel"), (6, "roctxThreadRangeA"),
                                      (7, "MEMORY_COPY_DEVICE_TO_HOST"), (8, "ncclAllReduce"),
                                      (9, "MEMORY_COPY")]),
        "info_node": (("id", "hostname"), [(70, "node7")]),
        "info_process": (("id", "nid", "pid", "command", "environment"),
                         [(100, 70, 100, "python train.py", environment)]),
        "info_thread": (("id", "nid", "pid", "tid"), [(101, 70, 100, 101)]),
        "info_agent": (("id", "nid", "pid", "type", "logical_index", "name", "product_name"),
                       [(0, 70, 100, "CPU", 0, "cpu", "AMD EPYC"),
                        (1, 70, 100, "GPU", 1, "gfx942", "AMD Instinct MI300X")]),
        "info_kernel_symbol": (
            ("id", "kernel_name", "display_name", "sgpr_count", "arch_vgpr_count",
             "accum_vgpr_count", "extdata"),
            [(1, "added.kd", "added", 32, 24, 4, "{}"),
             (2, "gemm.kd", "Kernel2", 32, 128, 128,
              json.dumps({"demangled_kernel_name": f"{GEMM} [clone .kd]"}))],
        ),
        "event": (("id", "category_id", "stack_id", "extdata"),
                  [(1, 1, 11, "{}"), (2, 1, 12, "{}"), (3, 1, 13, "{}"), (4, 9, 14, "{}"),
                   (5, 2, 11, "{}"), (6, 2, 12, "{}"), (7, 3, 21, '{"message": "forward"}'),
                   (8, 4, 22, "{}")]),
        "kernel_dispatch": (dispatch, [
            (1, 70, 100, 101, 1, 1, 1, 1, 3, 20_125, 25_375, 0, 512, *sizes, 2048, 1, 1, None, 1),
            (2, 70, 100, 101, 1, 1, 2, 1, 3, 40_250, 45_500, 0, 512, *sizes, 2048, 1, 1, None, 2),
            (3, 70, 100, 101, 1, 2, 3, 1, 3, 80_000, 92_000, 0, 512, *sizes, 2000, 1, 1, None, 3),
        ]),
        "memory_copy": (
            ("id", "nid", "pid", "tid", "start", "end", "name_id", "dst_agent_id", "src_agent_id",
             "size", "stream_id", "event_id"),
            [(1, 70, 100, 101, 110_000, 111_500, 7, 0, 1, 4096, 3, 4)],
        ),
        "region": (region, [(11, 70, 100, 101, 10_000, 14_500, 5, 5),
                            (12, 70, 100, 101, 30_000, 34_250, 5, 6),
                            (21, 70, 100, 101, 1_000, 101_000, 6, 7),
                            (22, 70, 100, 101, 70_000, 71_000, 8, 8)]),
        "memory_allocate": (("id", "nid", "pid", "start", "end", "size"),
                            [(1, 70, 100, 5_000, 6_000, 1 << 20)]),
    }  # fmt: skip


def _with_tracks(
    tables: dict[str, tuple[tuple[str, ...], list[tuple[Any, ...]]]],
) -> dict[str, tuple[tuple[str, ...], list[tuple[Any, ...]]]]:
    """Return tables of the newer schema: times and tracks are tables that events refer to."""
    moved = ("nid", "pid", "tid", "agent_id", "queue_id", "stream_id")
    times: list[tuple[Any, ...]] = []
    tracks: list[tuple[Any, ...]] = []
    newer = dict(tables)
    for name in ("kernel_dispatch", "memory_copy", "region"):
        columns, rows = tables[name]
        kept = [column for column in columns if column not in (*moved, "start", "end")]
        new_rows = []
        for row in rows:
            values = dict(zip(columns, row, strict=True))
            times += [(len(times) + n, values[end]) for n, end in ((1, "start"), (2, "end"))]
            tracks.append((len(tracks) + 1, *(values.get(column) for column in moved)))
            links = (len(tracks), len(times) - 1, len(times))
            new_rows.append((*links, *(values[column] for column in kept)))
        newer[name] = (("track_id", "start_id", "end_id", *kept), new_rows)
    return {**newer, "timestamp": (("id", "value"), times), "track": (("id", *moved), tracks)}


def write_rocpd(
    folder: Path, *, with_tracks: bool = False, recordings: int = 1, separator: str = "_"
) -> Path:
    """Write rocprofv3's database; several recordings are those of a merged one.

    `separator` stands between a table's name and the recording's id.
    """
    path = folder / "100_results.db"
    tables = _with_tracks(_rocpd_tables()) if with_tracks else _rocpd_tables()
    with sqlite3.connect(path) as database:
        for number in range(recordings):
            recording = f"00000450_565d_765d_bc41_19a2073d19e{number}"
            for name, (columns, rows) in tables.items():
                stored = f'"rocpd_{name}{separator}{recording}"'
                quoted = ", ".join(f'"{column}"' for column in columns)
                database.execute(f"CREATE TABLE {stored} ({quoted})")
                marks = ", ".join("?" * len(columns))
                database.executemany(f"INSERT INTO {stored} VALUES ({marks})", rows)
    database.close()
    return path


def write_rocpd_with_tracks(folder: Path) -> Path:
    """Write a database of the schema with tables of tracks and times."""
    return write_rocpd(folder, with_tracks=True)


def write_proton_tree(folder: Path) -> Path:
    """Write Proton's tree: sums by context."""

    def node(name: str, metrics: Any, *children: Any) -> Any:
        return {"frame": {"name": name, "type": "function"}, "metrics": metrics,
                "children": list(children)}  # fmt: skip

    def kernel(name: str, count: int, taken: int) -> Any:
        return node(name, {"count": count, "time (ns)": taken, "device_id": "0",
                           "device_type": "CUDA"})  # fmt: skip

    forward = node("forward", {}, kernel("added", 2, 10_500), kernel(GEMM, 1, 12_000))
    root = node("ROOT", {"count": 0, "time (ns)": 0}, forward)
    path = folder / "proton.hatchet"
    path.write_text(json.dumps([root, {"CUDA": {"0": {"arch": "90", "num_sms": 132}}}]))
    return path


def write_proton_chrome(folder: Path) -> Path:
    """Write Proton's Chrome trace: an object a line for each stream."""

    def kernel(name: str, ts: float, dur: float, stream: int) -> Any:
        return {"ph": "X", "cat": "kernel", "name": name, "ts": ts, "dur": dur, "tid": stream,
                "args": {"call_stack": ["ROOT", "forward", name]}}  # fmt: skip

    streams = ([kernel("added", 0.0, 5.25, 7), kernel("added", 20.125, 5.25, 7)],
               [kernel(GEMM, 60, 12, 13)])  # fmt: skip
    lines = [json.dumps({"displayTimeUnit": "us", "traceEvents": each}) for each in streams]
    path = folder / "proton.chrome_trace"
    path.write_text("\n".join(lines))
    return path


def write_proton_lanes(folder: Path) -> Path:
    """Write Proton's Chrome trace as Triton 3.9 does: one object, with lanes and scopes."""

    def lane(number: int, name: str) -> list[Any]:
        facts = {"ph": "M", "pid": 0, "tid": number}
        return [{**facts, "name": "thread_name", "args": {"name": name}},
                {**facts, "name": "thread_sort_index", "args": {"sort_index": number}}]  # fmt: skip

    def event(cat: str, name: str, ts: float, dur: float, lane: int, *stack: str,
              **args: Any) -> Any:  # fmt: skip
        return {"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": lane, "ts": ts, "dur": dur,
                "args": {"call_stack": ["ROOT", *stack], **args}}  # fmt: skip

    flow = {"bp": "e", "cat": "flow", "id": 3, "name": "launch->kernel", "pid": 0}
    events = [
        *lane(2, "CPU Thread 2"), *lane(100_007, "Graph: Stream 7"), *lane(200_007, "GPU Stream 7"),
        event("scope", "step", 1.0, 100.0, 2, "step", scope_id=1),
        event("metric", "forward: <flops, 12>", 2.0, 90.0, 2, "step", "forward", scope_id=2,
              metrics={"flops": "12", "rows": "[1,2]"}),
        {"ph": "X", "cat": "scope", "name": "captured", "pid": 0, "tid": 100_007, "ts": 20.0,
         "dur": 5.0},
        {**flow, "ph": "s", "tid": 2, "ts": 2.0}, {**flow, "ph": "f", "tid": 200_007, "ts": 20.125},
        event("kernel", "added", 20.125, 5.25, 200_007, "step", "forward", "added"),
        event("kernel", "added", 40.25, 5.25, 200_007, "step", "forward", "added"),
        event("kernel", GEMM, 80.0, 12.0, 200_007, "step", "forward", GEMM),
    ]  # fmt: skip
    path = folder / "lanes.chrome_trace"
    content = {"baseTimeNanoseconds": EPOCH_NS, "displayTimeUnit": "us", "traceEvents": events}
    path.write_text(json.dumps(content) + "\n")
    return path


#: The tool, and what writes a file of it, for all with device times.
WITH_TIMES: dict[str, tuple[str, Callable[[Path], Path]]] = {
    "kineto": ("kineto", write_kineto),
    "nsys-sqlite": ("nsys", write_nsys_sqlite),
    "nsys-parquet": ("nsys", write_nsys_parquet),
    "rocprofv3-json": ("rocprofv3", write_rocprofv3_json),
    "rocprofv3-csv": ("rocprofv3", write_rocprofv3_csv),
    "rocpd": ("rocpd", write_rocpd),
    "rocpd-tracks": ("rocpd", write_rocpd_with_tracks),
    "proton-tree": ("proton", write_proton_tree),
    "proton-chrome": ("proton", write_proton_chrome),
    "proton-lanes": ("proton", write_proton_lanes),
}
