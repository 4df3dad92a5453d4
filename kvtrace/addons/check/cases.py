"""Cases: folders with the IR and memory of one checked launch, and a script that repeats it.

The script launches the kernel on a GPU and compares its results with the expected values; it can
also compile the kernel for other numbers of warps and stages.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kvtrace.addons.check.comparing import expected
from kvtrace.evaluate import ScalarArgument, TensorArgument
from kvtrace.evaluate.errors import Undecided

if TYPE_CHECKING:
    from kvtrace.addons.check.kept import CheckedLaunch
    from kvtrace.evaluate.types import ElementType
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.schema.trace import Run, Trace

SCRIPT: Final = "check.py"
WARPS: Final = (1, 2, 4, 8)
STAGES: Final = (1, 2, 3, 4)
_SECONDS: Final = 120

_TORCH: Final = {
    "i1": "bool", "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "f16": "float16",
    "bf16": "bfloat16", "f32": "float32", "f64": "float64", "f8E4M3FN": "float8_e4m3fn",
    "f8E5M2": "float8_e5m2",
}  # fmt: skip
"""torch's name of each element type."""


@dataclass(frozen=True, slots=True)
class Rerun:
    """Result of a case for one number of warps and of stages.

    `differing` is the number of wrong elements; None if the case could not run, due to `problem`.
    """

    num_warps: int
    num_stages: int
    differing: int | None
    problem: str = ""


def write_case(trace: Trace, run: Run, launch: CheckedLaunch, folder: Path) -> Path:
    """Write a launch's IR, memory, expected values and script into a folder.

    Returns the script's path.

    Raises:
        Undecided: the launch cannot be computed, or launched from its IR alone.
        OSError: the folder cannot be written.
    """
    kernel = _kernel_row(trace, run, launch.call_id)
    ttir_digest = next(
        (s["artifact"] for s in kernel["stages"] or () if s["stage"] == "ttir"), None
    )
    ttir = trace.artifact(ttir_digest) if ttir_digest else None
    if ttir is None:
        raise Undecided("the kernel was recorded without the TTIR that Triton compiles")
    call = launch.call()
    storage_numbers: dict[int, int] = {}
    arguments = [_argument_entry(argument, storage_numbers) for argument in call.arguments]
    data: dict[str, Any] = {}
    before: dict[str, tuple[int, int]] = {}
    for storage_id, contents in _storage_contents(call).items():
        key = f"before {len(before)}"
        before[key] = (storage_numbers[storage_id], 0)
        data[key] = contents
    expected_pieces: dict[str, Any] = {}
    for output in expected(launch).known:
        for piece in output.pieces:
            key = f"expected {len(expected_pieces)}"
            tensor = call.arguments[output.position]
            assert isinstance(tensor, TensorArgument)
            expected_pieces[key] = {
                "storage": storage_numbers[id(tensor.storage)], "offset": piece.offset,
                "dtype": _torch_name(output.element),
            }  # fmt: skip
            data[key], data[f"radius of {key}"] = piece.expected, piece.radii
    folder.mkdir(parents=True, exist_ok=True)
    case = {
        "kernel": launch.kernel, "grid": list(call.grid), "arguments": arguments,
        "storages": _storage_sizes(call, storage_numbers), "before": before,
        "expected": expected_pieces,
        "options": {name: kernel[name] for name in ("num_warps", "num_stages") if kernel[name]},
    }  # fmt: skip
    (folder / "case.json").write_text(json.dumps(case, indent=1), encoding="utf-8")
    (folder / "kernel.ttir").write_bytes(ttir)
    np.savez_compressed(folder / "memory.npz", **data)
    script = folder / SCRIPT
    script_text = (
        files("kvtrace.addons.check").joinpath("case_script.txt").read_text(encoding="utf-8")
    )
    script.write_text(script_text, encoding="utf-8")
    return script


def rerun(script: Path, num_warps: int, num_stages: int) -> Iterator[Rerun]:
    """Run a case's script as recorded, with other numbers of warps, then of stages.

    Yields the result of each configuration: one of WARPS with the recorded number of stages, or one
    of STAGES with the recorded number of warps. Each configuration runs in its own process, since a
    wrong kernel may break a device's context.
    """
    configurations = [(num_warps, num_stages)]
    configurations += [(warps, num_stages) for warps in WARPS if warps != num_warps]
    configurations += [(num_warps, stages) for stages in STAGES if stages != num_stages]
    for warps, stages in configurations:
        command = [
            sys.executable, str(script), "--json", f"--num-warps={warps}", f"--num-stages={stages}"
        ]  # fmt: skip
        try:
            process = subprocess.run(
                command, capture_output=True, text=True, timeout=_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            yield Rerun(warps, stages, None, f"the script ran for more than {_SECONDS} s")
            continue
        yield _rerun_result(warps, stages, process.stdout, process.stderr)


def _rerun_result(warps: int, stages: int, stdout: str, stderr: str) -> Rerun:
    for line in reversed(stdout.splitlines()):
        if line.startswith("{"):
            return Rerun(warps, stages, int(json.loads(line)["differing"]))
    error_lines = [line for line in stderr.splitlines() if line.strip()]
    return Rerun(
        warps,
        stages,
        None,
        error_lines[-1].strip() if error_lines else "the script failed without a message",
    )


def _kernel_row(trace: Trace, run: Run, call_id: int) -> Mapping[str, Any]:
    calls = trace.table("calls", (run,), columns=["call_id", "kernel_id"]).to_pylist()
    kernel_id = next(row["kernel_id"] for row in calls if row["call_id"] == call_id)
    columns = ["kernel_id", "stages", "num_warps", "num_stages"]
    kernels: list[dict[str, Any]] = trace.table("kernels", (run,), columns=columns).to_pylist()
    return next(row for row in kernels if row["kernel_id"] == kernel_id)


def _argument_entry(argument: Any, storage_numbers: dict[int, int]) -> dict[str, Any]:
    if isinstance(argument, ScalarArgument):
        if argument.value is None:
            raise Undecided(f"the value of {argument.name} was not recorded")
        return {"value": argument.value}
    assert isinstance(argument, TensorArgument)
    storage_number = storage_numbers.setdefault(id(argument.storage), len(storage_numbers))
    return {"storage": storage_number, "offset": argument.offset_bytes}


def _storage_contents(call: Call) -> dict[int, np.ndarray]:
    """Return the bytes of a call's storages by `id(storage)`; storages without any are left out."""
    return {
        id(argument.storage): argument.storage.data
        for argument in call.arguments
        if isinstance(argument, TensorArgument) and argument.storage.data is not None
    }


def _storage_sizes(call: Call, storage_numbers: Mapping[int, int]) -> list[int]:
    sizes = [0] * len(storage_numbers)
    for argument in call.arguments:
        if isinstance(argument, TensorArgument):
            sizes[storage_numbers[id(argument.storage)]] = argument.storage.nbytes
    return sizes


def _torch_name(element: ElementType) -> str:
    name = _TORCH.get(element.name)
    if name is None:
        raise Undecided(f"torch has no type for elements of {element.name}")
    return name
