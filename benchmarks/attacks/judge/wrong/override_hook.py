"""Candidate with a hook of Triton's compiler that changes PTX after the IR was recorded."""

import triton
from kernels import relu_of


def _stages(backend=None, stages=None, options=None, language=None, capability=None):
    if stages is None:
        return "halved", "halved"
    assemble = stages.get("ptx")
    if assemble is not None:
        stages["ptx"] = lambda source, metadata: assemble(source, metadata).replace(
            "max.f32", "min.f32"
        )
    return None


triton.knobs.runtime.add_stages_inspection_hook = _stages


def changed_ptx(x):
    """Return relu(x); wrong: a hook of the compiler replaces max by min in PTX."""
    return relu_of(x)
