"""Stages after TTIR of kernels that were recorded with TTIR alone, made on request.

If the program or another one has compiled the kernel fully since, Triton's cache has the stages;
else they are compiled from the recorded TTIR and options, which needs Triton and no GPU.
"""

import ast
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from kvtrace.backends.compiled_kernels.kernel_records import STAGES, late_columns, options_of
from kvtrace.backends.triton.background import StageProcess
from kvtrace.backends.triton.device_free_state import STOPPED

if TYPE_CHECKING:
    from triton.backends.compiler import GPUTarget
    from triton.compiler.compiler import CompiledKernel

    from kvtrace.schema.completed import LaterStages
    from kvtrace.schema.trace import Selection

#: Compilation that the user did not request is given up after so many seconds.
MOST_SECONDS: Final = 10.0
#: Options that become arguments of ptxas, which may write any file: never taken from a trace.
_UNSAFE_OPTIONS: Final = frozenset({"ptx_options"})
_HASH: Final = re.compile(r"[0-9a-f]{64}")
_LATER: Final = frozenset(STAGES[1:])
_COLUMNS: Final = (
    "kernel_id", "name", "function", "target", "warp_size", "num_warps", "num_ctas", "num_stages",
    "options", "cache_key", "stages",
)  # fmt: skip
#: Options that name files of the machine that recorded.
_MACHINE_OPTIONS: Final = frozenset({"extern_libs", "ir_override"})


def complete_stages(selection: "Selection", *, asked: bool) -> Iterator[str]:
    """Add missing stages of the runs' kernels to the opened trace, in memory; yield messages.

    They are read from Triton's cache, or compiled in a separate process.

    Args:
        selection: The runs; their `trace` has the stages afterwards.
        asked: Whether the user has requested the stages; otherwise compiling ends after 10 s.

    """
    stopped = list(_stopped(selection))
    if not stopped:
        return
    try:
        import triton  # noqa: F401 - only to know whether Triton is installed
    except ImportError:
        yield (
            f"{len(stopped)} kernels were compiled to TTIR alone, and Triton, which could compile "
            "their later stages, is not installed here: they have no registers and shared memory"
        )
        return
    missing = []
    for run_id, row in stopped:
        cached = _from_cache(row["cache_key"], row["name"])
        if cached is None:
            missing.append((run_id, row))
        else:
            selection.trace.complete(run_id, row["kernel_id"], _later(cached))
    if not missing:
        return
    sendable = [
        (run_id, row)
        for run_id, row in missing
        if not _UNSAFE_OPTIONS & dict(row["options"] or ()).keys()
    ]
    process = StageProcess()  # a foreign trace may crash a compiler, or take long
    for _, row in sendable:
        job = job_of(selection, row)
        assert job is not None  # `_stopped` yields kernels with TTIR
        process.add(job)
    compiled = process.finish(None if asked else MOST_SECONDS)
    for number, (run_id, row) in enumerate(sendable):
        kernel = _from_cache(*compiled[number]) if number in compiled else None
        if kernel is not None:
            selection.trace.complete(run_id, row["kernel_id"], _later(kernel))
    if len(compiled) < len(missing):
        reason = "Triton could not compile them here"
        if process.is_out_of_time:
            reason = (
                f"{MOST_SECONDS:g} s were not enough to compile them (kvtrace report --replay "
                "waits for it)"
            )
        yield (
            f"{len(missing) - len(compiled)} of {len(stopped)} kernels that were compiled to TTIR "
            f"alone are shown without later stages, registers and shared memory: {reason}"
        )


def _stopped(selection: "Selection") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the run id and row of each kernel that was compiled to TTIR alone."""
    trace = selection.trace
    for run in selection.runs:
        codes = trace.table("messages", (run,), ["code"])["code"].to_pylist()
        if STOPPED not in codes:
            continue
        for row in trace.table("kernels", (run,), _COLUMNS).to_pylist():
            names = {stage["stage"] for stage in row["stages"] or () if stage["artifact"]}
            if "ttir" in names and not names & _LATER:
                yield run.run_id, row


def _later(kernel: Any) -> "LaterStages":
    from kvtrace.schema.completed import LaterStages  # with pyarrow, which a first launch can spare

    stages = {}
    for name in STAGES[1:]:
        content = kernel.asm.get(name)
        if content is not None:
            stages[name] = content.encode() if isinstance(content, str) else content
    options = dict(options_of(kernel.metadata))
    return LaterStages(stages, {**late_columns(kernel), "options": options})


def _from_cache(key: str | None, name: str | None) -> Any:
    """Return the kernel that Triton's cache has under a hash and a name, or None."""
    from triton import knobs
    from triton.compiler.compiler import CompiledKernel
    from triton.runtime.cache import _base32, get_cache_manager

    if not key or _HASH.fullmatch(key) is None:
        return None
    file = f"{(name or '')[:150]}.json"
    if knobs.cache.manager_class is None and not (Path(knobs.cache.dir) / _base32(key)).is_dir():
        return None
    group = get_cache_manager(key).get_group(file) or {}
    return CompiledKernel(SimpleNamespace(), group, key) if file in group else None


def job_of(selection: "Selection", row: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the compiler job of a recorded kernel: TTIR, target, options; None without TTIR."""
    stages = row["stages"] or ()
    digest = next((stage["artifact"] for stage in stages if stage["stage"] == "ttir"), None)
    if digest is None:
        return None
    options = {name: _value(value) for name, value in row["options"] or ()}
    options |= {name: row[name] for name in ("num_warps", "num_ctas", "num_stages") if row[name]}
    return {
        "ttir": (selection.trace.artifact(digest) or b"").decode(errors="replace"),
        "target": row["target"] or "",
        "warp_size": row["warp_size"],
        "options": options,
    }


def target_and_options(
    target: str, warp_size: int, options: Mapping[str, Any]
) -> tuple["GPUTarget", dict[str, Any]]:
    """Return Triton's target, and options as Python values, except names of local files."""
    from triton.backends.compiler import GPUTarget

    backend, _, architecture = target.partition(":")
    arch: Any = int(architecture) if architecture.isdigit() else architecture
    portable = {
        name: tuple(value) if isinstance(value, list) else value  # JSON has lists for tuples
        for name, value in options.items()
        if name not in _MACHINE_OPTIONS
    }
    return GPUTarget(backend, arch, warp_size), portable


def compiled_from(
    ttir: str, target: str, warp_size: int, options: Mapping[str, Any]
) -> "CompiledKernel":
    """Return the kernel that Triton compiles from TTIR, or has cached, for a target.

    The target is written `backend:architecture`.
    """
    import triton

    triton_target, portable = target_and_options(target, warp_size, options)
    with tempfile.TemporaryDirectory(prefix="kvtrace-") as folder:
        path = Path(folder) / "kernel.ttir"
        path.write_text(ttir, encoding="utf-8")
        return triton.compile(str(path), target=triton_target, options=portable)


def _value(text: str) -> Any:
    """Return the value that an option's text represents."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
