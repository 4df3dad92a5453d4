"""`kvtrace.check_kernel`: results, findings and figures of one launch, without a GPU."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from kvtrace.addons.agents.figures import Figures, figures_of
from kvtrace.analysis.results import CommandResult
from kvtrace.analysis.traces import OpenedTrace
from kvtrace.analysis.traces import open as open_trace
from kvtrace.capture import api
from kvtrace.capture.api import capture
from kvtrace.converters.findings import Finding, Findings
from kvtrace.schema.errors import EmptyTrace, KvtraceError


class CannotCheck(KvtraceError):
    """The kernel cannot be checked in this process now."""

    slug = "cannot-check"


class CheckedKernel(Struct, frozen=True):
    """One launch of a kernel: its results, findings and figures.

    Attributes:
        kernel: the kernel's name.
        results: the tensor arguments after the launch, by parameter name.
        written: the parameters whose tensors the launch changed.
        findings: findings of the rules, as `OpenedTrace.sanitize` returns them.
        figures: bytes, FLOPs and the roofline of the launch.
    """

    kernel: str
    results: Mapping[str, Any]
    written: tuple[str, ...]
    findings: CommandResult[Findings, Finding]
    figures: Figures

    @property
    def ok(self) -> bool:
        """There is no error, except for those that a comment suppresses."""
        return not self.findings.data.failures()

    @property
    def defects(self) -> tuple[Finding, ...]:
        """Errors and warnings."""
        return tuple(finding for finding in self.findings.data.listed if finding.is_defect)

    def __repr__(self) -> str:
        head = f"{self.kernel}: {'no error' if self.ok else 'errors'}"
        writes = ", ".join(self.written) or "nothing"
        return f"{head}; writes {writes}; {self.figures}\n{self.findings.text}"


def check_kernel(
    kernel: Any,
    args: Sequence[Any],
    grid: Any,
    *,
    target: str = "cuda:90",
    device: str | None = None,
    rules: Sequence[str] = (),
    **meta: Any,
) -> CheckedKernel:
    """Run a Triton kernel once without a GPU, judge the launch by rules, and compute its figures.

        checked = kvtrace.check_kernel(scale, [x, out, x.numel()], (4,), BLOCK=256)
        checked.ok, checked.results["out"], checked.figures.flops

    The launch works on copies, so the passed tensors do not change. A launch on tensors of a GPU
    runs there, and is judged in the same way.

    Args:
        kernel: a kernel of `@triton.jit` or `@triton.autotune`.
        args: arguments in order; tensors on the CPU.
        grid: numbers of programs, or a function from the constants to such a tuple.
        target: `backend:architecture` to compile for.
        device: the device of the roofline, such as "H100 PCIe"; None: one that fits the target.
        rules: ids of rules, `default` or `all`; none: the default rules.
        meta: constants and options by name, such as `BLOCK=256, num_warps=4`.

    Raises:
        CannotCheck: a recording is in progress in this process, or nothing was launched.
        BadSetting: a rule, device or target does not exist.
    """
    if api.current() is not None:
        raise CannotCheck(
            "check_kernel records a launch, but this process has a recording in progress; "
            "call it outside of kvtrace.capture and without KVTRACE, or judge the recording with "
            "kvtrace sanitize."
        )
    copied = copy.deepcopy(list(args))
    with tempfile.TemporaryDirectory(prefix="kvtrace-check-") as folder:
        with capture(folder, target=target, compile="ttir", tensors="all", source="files"):
            kernel[grid](*copied, **meta)
        try:
            trace = open_trace(folder)
        except EmptyTrace as nothing:
            raise CannotCheck(
                "no launch was recorded; check_kernel needs a kernel made by @triton.jit"
            ) from nothing
        findings = trace.sanitize(*(rules or ("default",)))
        figures = _figures(trace, device)
    parameter_names = [str(name) for name in _parameters(kernel)][: len(copied)]
    tensors = _tensors(parameter_names, copied)
    before = _tensors(parameter_names, args)
    written_names = tuple(
        name for name, value in tensors.items() if not _is_equal(before[name], value)
    )
    name = str(getattr(_function(kernel), "__name__", "kernel"))
    return CheckedKernel(name, tensors, written_names, findings, figures)


def _figures(trace: OpenedTrace, device: str | None) -> Figures:
    trace.replay("profiler")
    profile = trace.profile(calls=True, device=device).data
    calls = [call for kernel in profile.kernels for call in kernel.calls]
    if not calls:
        raise CannotCheck("no launch was recorded; check_kernel needs a kernel made by @triton.jit")
    return figures_of(calls[0], profile)


def _function(kernel: Any) -> Any:
    while not hasattr(kernel, "__name__") and hasattr(kernel, "fn"):
        kernel = kernel.fn
    return kernel


def _parameters(kernel: Any) -> Sequence[Any]:
    names: Sequence[Any] = getattr(kernel, "arg_names", ())
    return names


def _tensors(names: Sequence[str], args: Sequence[Any]) -> dict[str, Any]:
    """Return the arguments that are tensors, or tensors of descriptors, by their parameters."""
    values = ((name, getattr(arg, "base", arg)) for name, arg in zip(names, args, strict=False))
    return {name: value for name, value in values if _is_tensor(value)}


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "data_ptr") and hasattr(value, "untyped_storage")


def _is_equal(before: Any, after: Any) -> bool:
    """Return whether two tensors of one shape have equal elements; NaN equals NaN."""
    equal: bool = ((before == after) | ((before != before) & (after != after))).all().item()
    return equal
