"""The stages behind TTIR of kernels that were recorded without them, made when they are asked for.

The kernel is in Triton's cache where the program or another one has compiled it whole since; else
it is compiled from the recorded TTIR and options, which needs Triton and no GPU.
"""

import ast
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from kvtrace.backends.compiled_kernels.kernel_records import STAGES, options_of, resources
from kvtrace.backends.triton.background import StageProcess
from kvtrace.backends.triton.device_free_state import STOPPED

if TYPE_CHECKING:
    from triton.backends.compiler import GPUTarget
    from triton.compiler.compiler import CompiledKernel

    from kvtrace.schema.completed import LaterStages
    from kvtrace.schema.trace import Selection

#: Unasked, compiling is given up after so long.
MOST_SECONDS: Final = 10.0
#: Options that become arguments of ptxas, which may write any file: not from a trace.
_COMMANDING: Final = frozenset({"ptx_options"})
_HASH: Final = re.compile(r"[0-9a-f]{64}")
_LATER: Final = frozenset(STAGES[1:])
_COLUMNS: Final = (
    "kernel_id", "name", "function", "target", "warp_size", "num_warps", "num_ctas", "num_stages",
    "options", "cache_key", "stages",
)  # fmt: skip
#: Options that name files of the machine that recorded.
_OF_THE_MACHINE: Final = frozenset({"extern_libs", "ir_override"})


def complete_stages(selection: "Selection", *, asked: bool) -> Iterator[str]:
    """Make what the runs' kernels lack, for this process to read; give what there is to say.

    Args:
        selection: The runs, whose `trace` shows the stages from then on.
        asked: Whether the user wants it however long it takes.

    """
    waiting = list(_stopped(selection))
    if not waiting:
        return
    try:
        import triton  # noqa: F401 - whether it is here
    except ImportError:
        yield (
            f"{len(waiting)} kernels were compiled to TTIR alone, and Triton, which would make "
            "their later stages, registers and shared memory, is not installed here"
        )
        return
    left = []
    for run_id, row in waiting:
        held = _from_cache(row["cache_key"], row["name"])
        if held is None:
            left.append((run_id, row))
        else:
            selection.trace.complete(run_id, row["kernel_id"], _later(held))
    if not left:
        return
    sendable = [each for each in left if not _COMMANDING & dict(each[1]["options"] or ()).keys()]
    process = StageProcess()  # what a trace from elsewhere holds may crash a compiler, or take long
    for _, row in sendable:
        job = job_of(selection, row)
        assert job is not None  # it has TTIR
        process.add(job)
    made = process.finish(None if asked else MOST_SECONDS)
    for number, (run_id, row) in enumerate(sendable):
        kernel = _from_cache(*made[number]) if number in made else None
        if kernel is not None:
            selection.trace.complete(run_id, row["kernel_id"], _later(kernel))
    if len(made) < len(left):
        yield (
            f"{len(left) - len(made)} of {len(waiting)} kernels that were compiled to TTIR alone "
            "are shown without later stages, registers and shared memory: they cannot be made, or "
            "not quickly (kvtrace report --replay takes its time)"
        )


def _stopped(selection: "Selection") -> Iterator[tuple[str, dict[str, Any]]]:
    """Rows of the kernels that have TTIR and nothing after it, where runs say that they stopped."""
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
    registers, spills = resources(kernel)
    options = dict(options_of(kernel.metadata))
    return LaterStages(stages, registers, spills, kernel.metadata.shared, options)


def _from_cache(key: str | None, name: str | None) -> Any:
    """Return the kernel as Triton's cache has it under a key; None if it does not."""
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
    """Say what there is to compile: the recorded TTIR, as the recording would have; None: none."""
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


def asked_of(
    target: str, warp_size: int, options: Mapping[str, Any]
) -> tuple["GPUTarget", dict[str, Any]]:
    """Return Triton's own target, and the options that do not name files of another machine."""
    from triton.backends.compiler import GPUTarget

    backend, _, architecture = target.partition(":")
    arch: Any = int(architecture) if architecture.isdigit() else architecture
    given = {
        name: tuple(value) if isinstance(value, list) else value  # JSON has lists for tuples
        for name, value in options.items()
        if name not in _OF_THE_MACHINE
    }
    return GPUTarget(backend, arch, warp_size), given


def compiled_from(
    ttir: str, target: str, warp_size: int, options: Mapping[str, Any]
) -> "CompiledKernel":
    """Compile TTIR for a target, `backend:architecture`; Triton's cache has it the second time."""
    import triton

    asked, given = asked_of(target, warp_size, options)
    with tempfile.TemporaryDirectory(prefix="kvtrace-") as folder:
        path = Path(folder) / "kernel.ttir"
        path.write_text(ttir, encoding="utf-8")
        return triton.compile(str(path), target=asked, options=given)


def _value(text: str) -> Any:
    """Return the value that an option's text represents."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
