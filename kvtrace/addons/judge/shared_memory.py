"""Check that kernels' shared memory is within the target's limit.

Triton's passes are run on the TTIR up to the allocation of shared memory, without code generation.
They are not run for kernels whose blocks are so small that they certainly fit.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from kvtrace.backends.compiled_kernels.generic import readable_file
from kvtrace.backends.triton.devices import DEVICES
from kvtrace.backends.triton.later_stages import job_of, target_and_options
from kvtrace.schema.trace import Selection

_COLUMNS: Final = (
    "kernel_id", "name", "function", "target", "warp_size", "num_warps", "num_ctas", "num_stages",
    "options", "stages",
)  # fmt: skip
#: A block's extents and the bits of its elements.
_BLOCK: Final = re.compile(r"tensor<((?:\d+x)+)(?:!tt\.ptr<)?[a-z]+(\d+)")
_MOST_KERNELS: Final = 12
_WORD: Final = 8
_PTX: Final = 86
#: Blocks that are converted to another layout at the same time, at most.
_CONVERTED: Final = 2


def kernels_over_limit(selection: Selection, *, tuned: bool) -> Iterator[tuple[str, str]]:
    """Yield the name of each kernel that needs more shared memory than the target has, with text.

    `tuned`: kernels may be autotuned. A device skips configurations that do not fit, so only a
    kernel without any fitting configuration is yielded.
    """
    sentences_by_kernel: dict[str, list[str]] = {}
    lowered: set[str] = set()
    for row in selection.table("kernels", [*_COLUMNS]).to_pylist():
        device = DEVICES.get(row["target"] or "")
        job = job_of(selection, row)
        if device is None or job is None or len(lowered) >= _MOST_KERNELS or repr(job) in lowered:
            continue
        name = str(row["name"] or row["function"])
        sentences = sentences_by_kernel.setdefault(name, [])
        if _upper_bound(job) <= device.shared_bytes:
            sentences.append("")
            continue
        lowered.add(repr(job))
        size = shared_bytes(job) or 0
        sentences.append(
            f"{name} needs {size:,} bytes of shared memory, but a block has at most "
            f"{device.shared_bytes:,} on {row['target']} ({device.name})"
            if size > device.shared_bytes
            else ""
        )
    for name, sentences in sentences_by_kernel.items():
        if any(sentences) and (not tuned or all(sentences)):
            yield name, next(filter(None, sentences))


def _upper_bound(job: Mapping[str, Any]) -> int:
    """Return an upper bound of a kernel's shared memory in bytes, from block sizes in its TTIR.

    It is the size of all loaded blocks, once per stage, and of two blocks in conversion.
    """
    largest, loaded = 0, 0
    for line in job["ttir"].splitlines():
        blocks = [
            math.prod(map(int, extents.rstrip("x").split("x"))) * max(int(bits) // _WORD, 1)
            for extents, bits in _BLOCK.findall(line)
        ]
        largest = max([largest, *blocks])
        loaded += max(blocks, default=0) if "load" in line else 0
    return loaded * max(int(job["options"].get("num_stages") or 1), 1) + _CONVERTED * largest


def shared_bytes(job: Mapping[str, Any]) -> int | None:
    """Return a kernel's shared memory in bytes; None if the installed Triton cannot compute it."""
    from triton._C.libtriton import ir
    from triton.compiler.compiler import Language, make_backend

    target, options = target_and_options(job["target"], job["warp_size"], job["options"])
    backend = make_backend(target)
    parsed = backend.parse_options(options)
    stages: dict[str, Any] = {}
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    try:
        with readable_file(job["ttir"]) as path:
            module = ir.parse_mlir_module(path, context)
        module.context = context
        backend.add_stages(stages, parsed, Language.TRITON)
        module = stages["ttgir"](module, {**parsed.__dict__, "target": target})
        manager = ir.pass_manager(context)
        _add_allocation(manager, target, parsed)
        manager.run(module, "allocate_shared_memory")
    except (AttributeError, ImportError, KeyError, OSError, RuntimeError, TypeError):
        return None  # this Triton's compiler differs
    size = module.get_int_attr("ttg.shared")
    return None if size is None else int(size)


def _add_allocation(manager: Any, target: Any, options: Any) -> None:
    from triton._C import libtriton

    passes = libtriton.passes
    vendor = getattr(libtriton, "amd" if target.backend == "hip" else "nvidia").passes.ttgpuir
    if target.backend == "cuda":
        passes.ttgpuir.add_allocate_warp_groups(manager)
    passes.convert.add_scf_to_cf(manager)
    if hasattr(vendor, "add_allocate_shared_memory_nv"):
        # Triton asks ptxas for its version, which takes a process; no allocation depends on it.
        vendor.add_allocate_shared_memory_nv(manager, target.arch, options.ptx_version or _PTX)
    elif hasattr(vendor, "add_allocate_shared_memory"):
        vendor.add_allocate_shared_memory(manager)
    else:
        passes.ttgpuir.add_allocate_shared_memory(manager)
