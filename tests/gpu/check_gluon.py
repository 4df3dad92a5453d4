"""To be run by hand on a machine with a Hopper GPU: kernels in Gluon, recorded as they run.

    python tests/gpu/check_gluon.py [--device cuda|cpu]

Each kernel of corpus/kernels/gluon_kernels.py is launched bare and recorded, in several modes. Its
result must be the same, bit for bit, and what it should be; the trace must have its launches, grid,
arguments and stages, no failure of kvtrace's and no message that it did not run. Those and the
kernels of hopper_gluon.py are then compared with the evaluator: what the device left in memory must
lie within the bounds that kvtrace derives from the TTGIR, or be equal, bit for bit, where these
follow no partitions. Prints a table; ends with 1 if anything is not so. `--device cpu` compares the
evaluator with itself, to try this program without a GPU.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
import triton

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import kvtrace
from corpus.kernels import hopper_gluon
from corpus.kernels.gluon_kernels import LAUNCHES, Launch
from kvtrace.addons.check.comparing import compared, computed
from kvtrace.addons.check.kept import CheckedLaunch, checked_launches
from kvtrace.evaluate import TensorArgument, evaluate
from kvtrace.recorded_calls.recorded import UnreadyCall
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from tests.gpu.expectations import expect, problems

SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"tensors": "all"},
    {"check": "first"},
    {"sanitize": "warn"},
    {"sanitize": "raise"},
    {"mode": "timeline"},
)
STAGES = ["glir", "ttgir", "ttgir_generic", "llir", "ptx", "cubin"]


def record(settings: dict[str, Any], bare: dict[str, Launch], out: Path, device: str) -> None:
    """Record all kernels with some settings, and look at results and trace."""
    with kvtrace.capture(out, **settings):
        made = {name: launch(device) for name, launch in LAUNCHES.items()}
        wait_for(device)
    for name, launch in made.items():
        same = torch.equal(launch.result, bare.get(name, launch).result)
        expect(same, f"{name}: as without kvtrace")
        close = torch.allclose(launch.result.float(), launch.expected.float(), atol=2e-3, rtol=2e-3)
        expect(close, f"{name}: computes what it should")
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
    if device == "cuda" and settings.get("mode") == "timeline":
        executions = plain_rows(trace.table("gpu_kernels"))
        joined = {row["call_id"] for row in executions if row["launch_seq"] is not None}
        expect({c["call_id"] for c in calls} <= joined, "each call has an execution")


def compare(out: Path, device: str) -> None:
    """Record launches with what they leave in memory, and compare that with the evaluator."""
    names = [*LAUNCHES, *hopper_gluon.LAUNCHES]
    with kvtrace.capture(out, check="kernel:*"):
        for launch in (*LAUNCHES.values(), *hopper_gluon.LAUNCHES.values()):
            launch(device)
        wait_for(device)
    trace = open_trace(out)
    kept = [*checked_launches(trace, trace.runs[0])]
    expect(len(kept) == len(names), f"{len(kept)} of {len(names)} launches were kept")
    for row in plain_rows(trace.table("messages")):
        if row["code"].startswith(("capture-", "check-", "not-evaluated")):
            expect(False, f"{row['code']}: {row['text']}")
    print(f"    {'launch':26}{'kernel':26}{'elements':>9}{'bound':>9}{'nearest':>9}  answer")
    for name, checked in zip(names, kept, strict=False):
        if isinstance(checked, UnreadyCall):
            expect(False, f"{name}: {checked.reason}")
            continue
        columns, answer = outcome(checked)
        print(f"    {name:26}{checked.kernel:26}{columns}  {answer}", flush=True)
        if not answer.startswith(("agrees", "equal")):
            problems.append(f"{name}: {answer}")


def outcome(checked: CheckedLaunch) -> tuple[str, str]:
    """Return the columns and the answer on a launch."""
    found = compared(computed(checked))
    elements = sum(tensor.elements - tensor.undecided for tensor in found.tensors)
    bound = max((tensor.bound for tensor in found.tensors), default=0.0)
    nearest = max((tensor.nearest for tensor in found.tensors), default=0.0)
    answer = found.answer if elements or found.answer != "undecided" else bitwise(checked)
    worst = [tensor.worst for tensor in found.tensors if tensor.worst is not None]
    return f"{elements:9}{bound:9.1e}{nearest:9.2f}", f"{answer} {worst or ''}".strip()


def bitwise(checked: CheckedLaunch) -> str:
    """Return how memory after a launch compares with the evaluator's, bit for bit."""
    call = checked.call()
    try:
        evaluate(call.module, call.arguments, call.grid, kernel=call.kernel)
    except KvtraceError as error:
        return str(error)
    differing = sum(_differing_bytes(checked, call.arguments))
    return "equal" if not differing else f"{differing} bytes differ"


def _differing_bytes(checked: CheckedLaunch, arguments: tuple[Any, ...]) -> Iterator[int]:
    for after in checked.after:
        tensor = arguments[after.arguments[0]]
        if isinstance(tensor, TensorArgument) and tensor.storage.data is not None:
            for piece in after.pieces:
                got = np.frombuffer(piece.content, np.uint8)
                expected = tensor.storage.data[piece.offset : piece.offset + len(got)]
                yield int(np.count_nonzero(expected != got))


def wait_for(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    device = parser.parse_args().device
    name = torch.cuda.get_device_name() if device == "cuda" else "evaluator"
    print(f"{name}, torch {torch.__version__}, Triton {triton.__version__}")
    began = time.perf_counter()
    bare: dict[str, Launch] = {}
    if device == "cuda":
        bare = {case: launch(device) for case, launch in LAUNCHES.items()}
        wait_for(device)
    with tempfile.TemporaryDirectory() as folder:
        for number, settings in enumerate(SETTINGS if bare else SETTINGS[:1]):
            print(f"recorded with {settings}")
            record(settings, bare, Path(folder) / str(number), device)
        print("beside the evaluator")
        compare(Path(folder) / "compared", device)
    print(*problems, sep="\n")
    print(f"{name}: {len(problems)} problems in {time.perf_counter() - began:.0f} s")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
