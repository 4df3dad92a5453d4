"""Cases: folders with one checked launch's data, and a script that asserts the expected values.

On a machine with a GPU, a case can be rerun with other numbers of warps and stages.
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
    """The result of a configuration: the number of differing elements, or why it could not run."""

    num_warps: int
    num_stages: int
    differing: int | None
    problem: str = ""


def write_case(trace: Trace, run: Run, launch: CheckedLaunch, folder: Path) -> Path:
    """Write a launch's IR, memory and script into a folder, and return the script's path.

    Raises:
        Undecided: the launch cannot be computed, or launched from its IR alone.
        OSError: the folder cannot be written.
    """
    kernel = _kernel(trace, run, launch.call_id)
    digest = next((s["artifact"] for s in kernel["stages"] or () if s["stage"] == "ttir"), None)
    text = trace.artifact(digest) if digest else None
    if text is None:
        raise Undecided("its kernel was recorded without the TTIR that Triton compiles")
    call = launch.call()
    storages: dict[int, int] = {}
    arguments = [_argument(argument, storages) for argument in call.arguments]
    data: dict[str, Any] = {}
    before: dict[str, tuple[int, int]] = {}
    for storage, contents in _contents(call).items():
        key = f"before {len(before)}"
        before[key] = (storages[storage], 0)
        data[key] = contents
    expected_pieces: dict[str, Any] = {}
    for output in expected(launch).known:
        for piece in output.pieces:
            key = f"expected {len(expected_pieces)}"
            tensor = call.arguments[output.place]
            assert isinstance(tensor, TensorArgument)
            expected_pieces[key] = {
                "storage": storages[id(tensor.storage)], "offset": piece.offset,
                "dtype": _torch_name(output.element),
            }  # fmt: skip
            data[key], data[f"radius of {key}"] = piece.expected, piece.radii
    folder.mkdir(parents=True, exist_ok=True)
    case = {
        "kernel": launch.kernel, "grid": list(call.grid), "arguments": arguments,
        "storages": _sizes(call, storages), "before": before, "expected": expected_pieces,
        "options": {name: kernel[name] for name in ("num_warps", "num_stages") if kernel[name]},
    }  # fmt: skip
    (folder / "case.json").write_text(json.dumps(case, indent=1), encoding="utf-8")
    (folder / "kernel.ttir").write_bytes(text)
    np.savez_compressed(folder / "memory.npz", **data)
    script = folder / SCRIPT
    body = files("kvtrace.addons.check").joinpath("case_script.txt").read_text(encoding="utf-8")
    script.write_text(body, encoding="utf-8")
    return script


def rerun(script: Path, num_warps: int, num_stages: int) -> Iterator[Rerun]:
    """Run a case as recorded, with other numbers of warps, then with other numbers of stages.

    Each configuration runs in its own process, since a wrong kernel may break a device's context.
    """
    chosen = [(num_warps, num_stages)]
    chosen += [(warps, num_stages) for warps in WARPS if warps != num_warps]
    chosen += [(num_warps, stages) for stages in STAGES if stages != num_stages]
    for warps, stages in chosen:
        command = [
            sys.executable, str(script), "--json", f"--num-warps={warps}", f"--num-stages={stages}"
        ]  # fmt: skip
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            yield Rerun(warps, stages, None, f"it took more than {_SECONDS} s")
            continue
        yield _rerun_result(warps, stages, done.stdout, done.stderr)


def _rerun_result(warps: int, stages: int, output: str, errors: str) -> Rerun:
    for line in reversed(output.splitlines()):
        if line.startswith("{"):
            return Rerun(warps, stages, int(json.loads(line)["differing"]))
    error_lines = [line for line in errors.splitlines() if line.strip()]
    return Rerun(
        warps,
        stages,
        None,
        error_lines[-1].strip() if error_lines else "it failed without a message",
    )


def _kernel(trace: Trace, run: Run, call_id: int) -> Mapping[str, Any]:
    calls = trace.table("calls", (run,), columns=["call_id", "kernel_id"]).to_pylist()
    kernel = next(row["kernel_id"] for row in calls if row["call_id"] == call_id)
    columns = ["kernel_id", "stages", "num_warps", "num_stages"]
    rows: list[dict[str, Any]] = trace.table("kernels", (run,), columns=columns).to_pylist()
    return next(row for row in rows if row["kernel_id"] == kernel)


def _argument(argument: Any, storages: dict[int, int]) -> dict[str, Any]:
    if isinstance(argument, ScalarArgument):
        if argument.value is None:
            raise Undecided(f"the value of {argument.name} was not recorded")
        return {"value": argument.value}
    assert isinstance(argument, TensorArgument)
    number = storages.setdefault(id(argument.storage), len(storages))
    return {"storage": number, "offset": argument.offset_bytes}


def _contents(call: Call) -> dict[int, np.ndarray]:
    """Return the contents of a call's storages, by the storage's identity."""
    return {
        id(argument.storage): argument.storage.data
        for argument in call.arguments
        if isinstance(argument, TensorArgument) and argument.storage.data is not None
    }


def _sizes(call: Call, storages: Mapping[int, int]) -> list[int]:
    sizes = [0] * len(storages)
    for argument in call.arguments:
        if isinstance(argument, TensorArgument):
            sizes[storages[id(argument.storage)]] = argument.storage.nbytes
    return sizes


def _torch_name(element: ElementType) -> str:
    name = _TORCH.get(element.name)
    if name is None:
        raise Undecided(f"torch has no type for elements of {element.name}")
    return name
