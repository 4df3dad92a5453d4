"""Tensor maps: a target's hardware implementation of tensor descriptors.

From sm_90 on, the tensor memory accelerator (TMA) copies through Triton's descriptors. Its stores,
reductions and scatters check the inner extent in chunks of 16 bytes: an extent that is not a
multiple of 16 bytes is exceeded up to the next multiple
(https://github.com/triton-lang/triton/issues/11583, also seen on an H200). Example: a store to rows
of 10 float32, 40 bytes, writes 48 bytes. On older targets Triton's passes replace descriptors by
pointers and masks, which stay within the extent; other targets are unknown.
"""

from dataclasses import replace
from typing import Final

from kvtrace.ir.model import Module, once_per_module
from kvtrace.ir.ops import KINDS, WRITING

CHUNK_BYTES: Final = 16
"""Size of a chunk; addresses, strides and boxes of tensor maps are multiples of it, too."""

_FIRST_ARCHITECTURE: Final = 90


def has_tensor_maps(module: Module) -> bool:
    """Return whether a module's target copies by tensor maps: NVIDIA GPUs from sm_90 on."""
    backend, _, architecture = module.target.partition(":")
    return backend == "cuda" and architecture.isdigit() and int(architecture) >= _FIRST_ARCHITECTURE


def multiples_of(module: Module) -> int:
    """Return the bytes of which a target's descriptors are multiples, 0 without descriptors.

    1: AMD's data mover (gfx1250), whose descriptors Triton fills with 32-bit extents and strides in
    elements, none for the inner axis (`createTDMDescriptor` in TDMUtility.cpp of 3.7).
    """
    if has_tensor_maps(module):
        return CHUNK_BYTES
    return 1 if module.target.startswith("hip:gfx125") else 0


def stores_whole_chunks(module: Module) -> bool:
    """Return whether a module has stores that may exceed their descriptor's inner extent."""
    return has_tensor_maps(module) and any(
        op.name in WRITING and KINDS[op.name].has("descriptor") for op in module.ops
    )


@once_per_module
def within_extents(module: Module) -> Module:
    """Return the module without its target if its stores may exceed descriptors' extents."""
    return replace(module, target="") if stores_whole_chunks(module) else module


def elements_stored_at_once(module: Module, element_bytes: int) -> int:
    """Return the number of elements per chunk along the inner axis, or 1 without chunks."""
    return max(1, CHUNK_BYTES // element_bytes) if has_tensor_maps(module) else 1
