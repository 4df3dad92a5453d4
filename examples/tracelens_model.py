"""Bytes and FLOPs of Triton kernels for TraceLens, by its extension file.

    kvtrace profile out/ --replay
    kvtrace convert kineto out/ -o shaped.pt.trace.json.gz
    TraceLens_generate_perf_report_pytorch --profile_json_path shaped.pt.trace.json.gz \
        --extension_file examples/tracelens_model.py

TraceLens models operators by their names, but a Triton kernel's name says nothing of its work. The
converted file has it: `FLOPs`, `bytes` and `distinct bytes`, which kvtrace derives from the IR and
the arguments of each call. This file tells TraceLens to use them, and needs nothing but that file.
"""

from typing import Any

#: Element types of the file, as TraceLens names them in `max_achievable_tflops`.
_PRECISIONS = {
    "float": "fp32",
    "double": "fp64",
    "c10::Half": "fp16",
    "c10::BFloat16": "bf16",
    "c10::Float8_e4m3fn": "fp8",
    "c10::Float8_e5m2": "fp8",
}

#: TraceLens reads it after `tree_postprocess_extension`, which fills it: operator → model.
perf_model_extension: dict[str, type] = {}


class RecordedTriton:
    """Work of one launch of a Triton kernel, in the interface of TraceLens's models."""

    category = "triton"

    def __init__(self, event: dict[str, Any], **_: Any) -> None:
        self._args = event["args"]
        names = ("kernel_file", "kernel_line", "num_warps", "num_stages", "kernel_kwargs")
        self.param_details = {name: self._args.get(name) for name in names}

    def flops(self) -> float:
        """Return the floating-point operations of the launch."""
        return float(self._args["FLOPs"])

    def bytes(self) -> float | None:
        """Return the bytes that it has to move: each byte of a tensor that it touches once.

        None if some addresses depend on data that was not recorded.
        """
        if "accesses not counted in bytes" in self._args:
            return None
        return float(self._args.get("distinct bytes", self._args["bytes"]))

    def get_compute_precision(self) -> str | None:
        """Return the element type of its first tensor that has floats."""
        types = self._args.get("Input type", ())
        return next((_PRECISIONS[name] for name in types if name in _PRECISIONS), None)

    def get_maf_type(self) -> str:
        """Return the units that do most of the operations: those for matrices, or the others."""
        return "matrix" if 2 * self._args.get("matrix FLOPs", 0) > self._args["FLOPs"] else "vector"

    def flops_bwd(self) -> float:
        """Raise: a kernel of a backward is a launch of its own."""
        raise NotImplementedError

    bytes_bwd = flops_bwd


def tree_postprocess_extension(tree: Any) -> None:
    """Register the model for each operator of the tree whose work kvtrace knows."""
    for event in tree.events:
        args = event.get("args") or {}
        if event.get("cat") == "cpu_op" and "FLOPs" in args and "bytes" in args:
            perf_model_extension[event["name"]] = RecordedTriton
