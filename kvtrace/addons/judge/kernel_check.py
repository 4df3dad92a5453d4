"""`kvtrace.check_kernel`: one launch without a GPU, judged, with what it wrote and its figures."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kvtrace.analysis.results import CommandResult
from kvtrace.analysis.shown import markup
from kvtrace.analysis.shown.markup import Column
from kvtrace.analysis.traces import OpenedTrace
from kvtrace.analysis.traces import open as open_trace
from kvtrace.capture import api
from kvtrace.capture.api import capture
from kvtrace.converters.findings import Finding, Findings
from kvtrace.converters.profile.profile import CallProfile, Profile
from kvtrace.schema.errors import EmptyTrace, KvtraceError
from kvtrace.text import amount, duration, size


class CannotCheck(KvtraceError):
    """A kernel cannot be checked here and now."""

    slug = "cannot-check"


@dataclass(frozen=True, slots=True)
class Figures:
    """What one launch moves and computes, and the least time that a device needs for it.

    `bytes` is what active lanes ask for, `unique_bytes` the distinct bytes read and written, both
    None where they depend on what is not known. `best_ns` is the time at best on `device`, where
    `bound` says what bounds it: memory, compute or caches.
    """

    device: str | None
    bytes: int | None
    unique_bytes: int | None
    flops: int | None
    intensity: float | None
    best_ns: float | None
    bound: str | None

    def __str__(self) -> str:
        if self.bytes is None and self.flops is None:
            return "bytes and FLOPs are not known"
        parts = [
            "bytes not known" if self.bytes is None else size(self.bytes),
            "FLOPs not known" if self.flops is None else amount(self.flops, "FLOP"),
        ]
        if self.best_ns is not None:
            parts.append(f"at best {self.best_ns / 1e3:.3g} µs on {self.device} ({self.bound})")
        return ", ".join(parts)


@dataclass(frozen=True)
class CheckedKernel:
    """One launch of a kernel: what it wrote, what is wrong with it, what it costs.

    Attributes:
        kernel: its name.
        results: every tensor among the arguments as the launch left it, by parameter.
        written: the parameters whose tensors hold something else than before.
        findings: what the rules found, as `OpenedTrace.sanitize` returns it.
        figures: bytes, FLOPs and the roofline of the launch.

    """

    kernel: str
    results: Mapping[str, Any]
    written: tuple[str, ...]
    findings: CommandResult[Findings]
    figures: Figures
    invocation: str = field(default="", repr=False)

    @property
    def ok(self) -> bool:
        """Whether no error was found that no comment suppresses."""
        return not self.findings.data.failures()

    @property
    def defects(self) -> tuple[Finding, ...]:
        """Errors and warnings."""
        return tuple(found for found in self.findings.data.listed if found.is_defect)

    def __repr__(self) -> str:
        head = f"{self.kernel}: {'no error' if self.ok else 'errors'}"
        writes = ", ".join(self.written) or "nothing"
        return f"{head}; writes {writes}; {self.figures}\n{self.findings.text}"

    def _repr_html_(self) -> str:
        figures = self.figures
        rows = [
            ("bytes", size(figures.bytes), "asked for by active lanes"),
            ("distinct bytes", size(figures.unique_bytes), "read and written, each counted once"),
            ("FLOP", amount(figures.flops), ""),
            ("intensity", _or_dash(figures.intensity), "FLOP per byte"),
            ("at best", duration(figures.best_ns), f"on {figures.device}, not a measurement"),
            ("bound by", figures.bound or "-", f"on {figures.device}"),
        ]
        columns: list[Column[tuple[str, str, str]]] = [
            Column("figure", lambda row: row[0], source="derived"),
            Column("one launch", lambda row: row[1], source="derived", kind="number"),
            Column("meaning", lambda row: row[2], source="derived"),
        ]
        tone, told = ("better", "no error") if self.ok else ("error", "errors")
        told = f'<code>{markup.words(self.kernel)}</code>: <span class="{tone}">{told}</span>'
        head = markup.facts(
            [("launch", self.invocation), ("writes", ", ".join(self.written) or "nothing")]
        )
        table = markup.table(columns, rows, told)
        return markup.shown(table, head) + self.findings._repr_html_()


def _or_dash(number: float | None) -> str:
    return "-" if number is None else f"{number:.3g}"


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
    """Run a Triton kernel once without a GPU, and judge it.

        checked = kvtrace.check_kernel(scale, [x, out, x.numel()], (4,), BLOCK=256)
        checked.ok, checked.results["out"], checked.figures.flops

    The launch works on copies: the tensors that are handed over stay as they are. Where there is a
    GPU and tensors are on it, it runs there, and is judged all the same.

    Args:
        kernel: what `@triton.jit` or `@triton.autotune` made.
        args: its arguments in order; tensors on the CPU.
        grid: a tuple of programs, or a function of the constants that returns one.
        target: `backend:architecture` to compile for.
        device: whose limits the roofline takes, as "H100 PCIe"; None: one that fits the target.
        rules: rules to judge by, by id, `default` or `all`; none: the default ones.
        meta: constants and options by name, as `BLOCK=256, num_warps=4`.

    Raises:
        CannotCheck: a recording is in progress in this process, or nothing was launched.
        BadSetting: there is no such rule, device or target.

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
                "nothing was launched that kvtrace records; hand over what @triton.jit made"
            ) from nothing
        findings = trace.sanitize(*(rules or ("default",)))
        figures, invocation = _figures(trace, device), _invocation(findings.data)
    names = [str(name) for name in _parameters(kernel)][: len(copied)]
    tensors = {name: value for name, value in zip(names, copied, strict=False) if _is_tensor(value)}
    before = dict(zip(names, args, strict=False))
    written = tuple(name for name, value in tensors.items() if not _same(before[name], value))
    name = str(getattr(_function(kernel), "__name__", "kernel"))
    return CheckedKernel(name, tensors, written, findings, figures, invocation)


def _figures(trace: OpenedTrace, device: str | None) -> Figures:
    trace.replay("profiler")
    profile = trace.profile(calls=True, device=device).data
    calls = [call for kernel in profile.kernels for call in kernel.calls]
    if not calls:
        raise CannotCheck(
            "nothing was launched that kvtrace records; hand over what @triton.jit made"
        )
    return figures_of(calls[0], profile)


def figures_of(call: CallProfile, profile: Profile) -> Figures:
    """Return the figures of one launch of a call."""
    derived, roofline, runs = call.derived, call.roofline, max(call.runs, 1)

    def each(total: int | None) -> int | None:
        return None if total is None else total // runs

    return Figures(
        None if profile.device is None else profile.device.limits.name,
        each(derived.bytes),
        each(derived.unique_bytes),
        each(derived.flops),
        derived.intensity,
        None if roofline is None else roofline.best_ns / runs,
        None if roofline is None else roofline.bound,
    )


def _invocation(findings: Findings) -> str:
    return next((found.invocation for found in findings.listed if found.invocation), "")


def _function(kernel: Any) -> Any:
    while not hasattr(kernel, "__name__") and hasattr(kernel, "fn"):
        kernel = kernel.fn
    return kernel


def _parameters(kernel: Any) -> Sequence[Any]:
    names: Sequence[Any] = getattr(kernel, "arg_names", ())
    return names


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "data_ptr") and hasattr(value, "untyped_storage")


def _same(before: Any, after: Any) -> bool:
    """Whether two tensors of one shape hold the same; NaN is the same as NaN."""
    equal: bool = ((before == after) | ((before != before) & (after != after))).all().item()
    return equal
