"""The stages behind TTIR of kernels that were recorded without them, made when they are asked for.

The kernel is in Triton's cache where the program or another one has compiled it whole since; else
it is compiled from the recorded TTIR and options, which needs Triton and no GPU.
"""

import ast
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from kvtrace.backends.compiled.kernels import STAGES, options_of, resources
from kvtrace.schema.completed import LaterStages

if TYPE_CHECKING:
    from triton.compiler.compiler import CompiledKernel

    from kvtrace.schema.trace import Selection

#: The message of a run some kernels of which were compiled to TTIR alone.
STOPPED: Final = "stopped-at-ttir"
#: Unasked, no further kernel is compiled after so long.
MOST_SECONDS: Final = 10.0
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
    began = time.monotonic()
    done = 0
    for run_id, row in waiting:
        if not asked and time.monotonic() - began > MOST_SECONDS:
            break
        done += 1
        try:
            made = _made(selection, row)
        except Exception as error:  # noqa: BLE001 - said; the others are made all the same
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
            yield f"the later stages of kernel {row['name']} cannot be made: {reason}"
            continue
        selection.trace.complete(run_id, row["kernel_id"], made)
    if done < len(waiting):
        yield (
            f"{len(waiting) - done} of {len(waiting)} kernels that were compiled to TTIR alone are "
            "shown without later stages, registers and shared memory: making them takes long "
            "(kvtrace report --replay makes all)"
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


def _made(selection: "Selection", row: Mapping[str, Any]) -> LaterStages:
    kernel = _from_cache(row) or _compiled(selection, row)
    stages = {}
    for name in STAGES[1:]:
        content = kernel.asm.get(name)
        if content is not None:
            stages[name] = content.encode() if isinstance(content, str) else content
    registers, spills = resources(kernel)
    return LaterStages(
        stages, registers, spills, kernel.metadata.shared, dict(options_of(kernel.metadata))
    )


def _from_cache(row: Mapping[str, Any]) -> Any:
    """Return the kernel as Triton's cache has it under the recorded key; None if it does not."""
    from triton import knobs
    from triton.compiler.compiler import CompiledKernel
    from triton.runtime.cache import _base32, get_cache_manager

    key, name = row["cache_key"], f"{(row['name'] or '')[:150]}.json"
    local = knobs.cache.manager_class is None
    if not key or (local and not (Path(knobs.cache.dir) / _base32(key)).is_dir()):
        return None
    group = get_cache_manager(key).get_group(name) or {}
    return CompiledKernel(SimpleNamespace(), group, key) if name in group else None


def _compiled(selection: "Selection", row: Mapping[str, Any]) -> Any:
    """Compile the recorded TTIR as the recording would have."""
    (digest,) = (stage["artifact"] for stage in row["stages"] if stage["stage"] == "ttir")
    text = selection.trace.artifact(digest)
    if text is None:
        raise ValueError("the trace does not hold its TTIR")
    options = {name: _value(value) for name, value in row["options"] or ()}
    options |= {name: row[name] for name in ("num_warps", "num_ctas", "num_stages") if row[name]}
    return compiled_from(text.decode(), row["target"], row["warp_size"], options)


def compiled_from(
    ttir: str, target: str, warp_size: int, options: Mapping[str, Any]
) -> "CompiledKernel":
    """Compile TTIR for a target, `backend:architecture`; Triton's cache has it the second time."""
    import triton
    from triton.backends.compiler import GPUTarget

    backend, _, architecture = target.partition(":")
    arch: Any = int(architecture) if architecture.isdigit() else architecture
    given = {
        name: tuple(value) if isinstance(value, list) else value  # JSON has lists for tuples
        for name, value in options.items()
        if name not in _OF_THE_MACHINE
    }
    with tempfile.TemporaryDirectory(prefix="kvtrace-") as folder:
        path = Path(folder) / "kernel.ttir"
        path.write_text(ttir, encoding="utf-8")
        return triton.compile(str(path), target=GPUTarget(backend, arch, warp_size), options=given)


def _value(text: str) -> Any:
    """Return the value that an option's text stands for."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
