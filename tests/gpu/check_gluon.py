"""To be run by hand on a machine with a Hopper GPU: kernels in Gluon, recorded as they run.

    python tests/gpu/check_gluon.py

Each kernel of tests/backends/gluon_kernels.py is launched bare and recorded, in several modes. Its
result must be the same, bit for bit, and what it should be; the trace must have its launches, grid,
arguments and stages (glir, ttgir, llir, ptx, cubin), no failure of kvtrace's and no message that it
did not run, and `pipeline-order` must have judged its TTGIR. Ends with 1 if anything is not so.
"""

import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
import triton

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import kvtrace
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from tests.backends.gluon_kernels import LAUNCHES, Launch

SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"tensors": "all"},
    {"check": "first"},
    {"sanitize": "warn"},
    {"sanitize": "raise"},
    {"mode": "timeline"},
)
STAGES = ["glir", "ttgir", "llir", "ptx", "cubin"]
problems: list[str] = []


def expect(holds: bool, what: str) -> None:
    print(f"    {'ok' if holds else 'WRONG'}: {what}", flush=True)
    if not holds:
        problems.append(what)


def record(settings: dict[str, Any], bare: dict[str, Launch], out: Path) -> None:
    """Record all kernels with some settings, and look at results and trace."""
    with kvtrace.capture(out, **settings):
        made = {name: launch("cuda") for name, launch in LAUNCHES.items()}
        torch.cuda.synchronize()
    for name, launch in made.items():
        expect(torch.equal(launch.result, bare[name].result), f"{name}: as without kvtrace")
    trace = open_trace(out)
    kernels = {row["kernel_id"]: row for row in plain_rows(trace.table("kernels"))}
    calls = plain_rows(trace.table("calls"))
    launched = [row["call_id"] for row in plain_rows(trace.table("launches"))]
    for launch in made.values():
        own = [c for c in calls if kernels[c["kernel_id"]]["name"] == launch.kernel]
        grids = {(c["grid_x"], c["grid_y"], c["grid_z"]) for c in own}
        expect((launch.grid, 1, 1) in grids, f"{launch.kernel}: grid among {grids}")
        expect(any(c["call_id"] in launched for c in own), f"{launch.kernel}: launched")
        arguments = [arg["kind"] for arg in own[0]["args"]] if own else []
        expect(arguments[:2] in (["tensor"] * 2, ["descriptor"] * 2), f"arguments: {arguments}")
        for kernel in (kernels[c["kernel_id"]] for c in own):
            stages = [stage["stage"] for stage in kernel["stages"] if stage["artifact"]]
            expect(kernel["origin"] == "gluon" and stages == STAGES, f"{launch.kernel}: {stages}")
            expect((kernel["registers"] or 0) > 0, f"{kernel['registers']} registers")
    codes = [row["code"] for row in plain_rows(trace.table("messages"))]
    expect(not {"capture-failure", "not-evaluated"} & set(codes), f"messages: {codes}")
    if settings.get("mode") == "timeline":
        executions = plain_rows(trace.table("gpu_kernels"))
        joined = {row["call_id"] for row in executions if row["launch_seq"] is not None}
        expect({c["call_id"] for c in calls} <= joined, "each call has an execution")


def judge(out: Path) -> None:
    """Judge a run, and look at what is said of each kernel."""
    kvtrace.open(out).sanitize()
    trace = open_trace(out)
    kernels = {row["kernel_id"]: row["name"] for row in plain_rows(trace.table("kernels"))}
    calls = {row["call_id"]: row["kernel_id"] for row in plain_rows(trace.table("calls"))}
    rows = plain_rows(trace.table("findings"))
    order = {
        kernels[calls[row["call_id"]]]: row["verdict"]
        for row in rows
        if row["rule"] == "pipeline-order"
    }
    print(f"    pipeline-order: {order}")
    for name in set(kernels.values()):
        wanted = "unknown" if name == "specialized" else "proven"
        expect(order.get(name) == wanted, f"{name}: {order.get(name)}")
    unjudged = {row["call_id"] for row in rows if "written in Gluon" in (row["reason"] or "")}
    expect(unjudged == set(calls), "no other rule judges any call, which is said")


def main() -> int:
    name = torch.cuda.get_device_name()
    print(f"{name}, torch {torch.__version__}, Triton {triton.__version__}")
    bare = {name: launch("cuda") for name, launch in LAUNCHES.items()}
    torch.cuda.synchronize()
    for case, launch in bare.items():
        close = torch.allclose(launch.result.float(), launch.expected.float(), atol=0.1)
        expect(close, f"{case}: computes what it should")
    with tempfile.TemporaryDirectory() as folder:
        for number, settings in enumerate(SETTINGS):
            print(f"recorded with {settings}")
            record(settings, bare, Path(folder) / str(number))
        print("judged")
        judge(Path(folder) / "0")
    print(f"{name}: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
