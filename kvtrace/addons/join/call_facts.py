"""Facts on a run's calls (shapes, types, FLOPs …) in the fields of torch.profiler's operators."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kvtrace.converters.timeline.call_work import CallWork, derived_calls
from kvtrace.schema.layout import IMPORTED
from kvtrace.schema.runs import Run, plain_rows
from kvtrace.schema.trace import Trace
from kvtrace.schema.without_ir import TRITON_ORIGINS

#: Element types as PyTorch's profiler writes them (c10's ScalarType to C++ types).
_TYPES: Final = {
    "fp64": "double",
    "fp32": "float",
    "fp16": "c10::Half",
    "bf16": "c10::BFloat16",
    "i64": "long int",
    "i32": "int",
    "i16": "short int",
    "i8": "signed char",
    "u8": "unsigned char",
    "i1": "bool",
    "fp8e4nv": "c10::Float8_e4m3fn",
    "fp8e5": "c10::Float8_e5m2",
}
_TRITON: Final = "triton"
_FRAMES: Final = 12


class CallFacts:
    """Facts on a run's calls, as arguments of events; cached by call."""

    def __init__(self, trace: Trace, run: Run) -> None:
        columns = ["call_id", "kernel_id", "args", "stack_id"]
        self._calls = {
            row["call_id"]: row for row in plain_rows(trace.table("calls", [run], columns))
        }
        names = ["kernel_id", "name", "file", "line", "num_warps", "num_stages", "origin"]
        kernels = trace.table("kernels", [run], names)
        self._kernels = {row["kernel_id"]: row for row in plain_rows(kernels)}
        frames = trace.table("stacks", [run], ["stack_id", "frames"])
        self._stacks = {row["stack_id"]: row["frames"] for row in plain_rows(frames)}
        self._derived = derived_calls(trace, run)
        self._facts_by_call: dict[int, dict[str, Any]] = {}

    @property
    def underived(self) -> bool:
        """Calls were recorded, and bytes and FLOPs are known of none."""
        recorded = any(self._origin(kernel_id) != IMPORTED for kernel_id in self._kernels)
        return recorded and not self._derived.work

    def of(self, call_id: int) -> dict[str, Any]:
        """Return the event arguments of a call; empty if kvtrace did not record the call."""
        if call_id not in self._facts_by_call:
            row = self._calls.get(call_id)
            known = row is not None and self._origin(row["kernel_id"]) != IMPORTED
            self._facts_by_call[call_id] = self._build_facts(call_id, row or {}) if known else {}
        return self._facts_by_call[call_id]

    def _origin(self, kernel_id: int) -> str | None:
        origin: str | None = self._kernels.get(kernel_id, {}).get("origin")
        return origin

    def _build_facts(self, call_id: int, row: Mapping[str, Any]) -> dict[str, Any]:
        kernel = self._kernels.get(row["kernel_id"], {})
        work = _work_fields(self._derived.work.get(call_id))
        facts = {
            **_argument_fields(row["args"] or ()),
            **work,
            "kernel_backend": _backend(kernel.get("origin")),
            "kernel_name": kernel.get("name"),
            "kernel_file": kernel.get("file"),
            "kernel_line": kernel.get("line"),
            "num_warps": kernel.get("num_warps"),
            "num_stages": kernel.get("num_stages"),
            "Python stack": _stack_lines(self._stacks.get(row["stack_id"]) or ()),
            "kvtrace call": call_id,
        }
        return {key: value for key, value in facts.items() if value not in (None, [])}


def _backend(origin: str | None) -> str | None:
    """Return what made a kernel, as PyTorch's compiler names Triton; None: not known."""
    return _TRITON if origin in TRITON_ORIGINS else origin


def _work_fields(work: CallWork | None) -> dict[str, int]:
    """Return bytes and FLOPs of a call; none that were not derived."""
    if work is None:
        return {}
    fields = {"bytes": work.bytes, "FLOPs": work.flops}
    if work.unique_bytes is not None:
        fields["distinct bytes"] = work.unique_bytes
    if work.unknown:
        fields["accesses not counted in bytes"] = work.unknown
    if work.dot_flops:
        fields["matrix FLOPs"] = work.dot_flops
    return fields


def _argument_fields(args: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the fields for the arguments: dims, strides, types, values, names and constants."""
    passed = [arg for arg in args if arg["kind"] != "constexpr"]
    constants = [f"{a['name']}={a['scalar']}" for a in args if a["kind"] == "constexpr"]
    return {
        "Input Dims": [arg["shape"] or [] for arg in passed],
        "Input Strides": [arg["strides"] or [] for arg in passed],
        "Input type": [_torch_type(arg) for arg in passed],
        "Concrete Inputs": [arg["scalar"] or "" for arg in passed],
        "Input names": [arg["name"] for arg in passed],
        "kernel_kwargs": ",".join(constants),
    }


def _torch_type(arg: Mapping[str, Any]) -> str:
    if arg["kind"] == "scalar":
        return "Scalar"
    return _TYPES.get(arg["dtype"], arg["dtype"] or "")


def _stack_lines(frames: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return up to 12 frames of a stack as lines "file(line): function", innermost first."""
    return [f"{frame['file']}({frame['line']}): {frame['function']}" for frame in frames[:_FRAMES]]
