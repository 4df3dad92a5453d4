"""What a target's hardware makes of tensor descriptors; CUDA calls them tensor maps.

From sm_90 on, Triton's descriptors are copied through by the tensor memory accelerator (TMA). Its
stores, reductions and scatters check the inner extent in chunks of 16 bytes: where that is not a
multiple, they write up to the next one (https://github.com/triton-lang/triton/issues/11583, also
seen on an H200). On older targets Triton's passes to TTIR replace descriptors by pointers and
masks, which write no element too much; of others nothing is known.
"""

from dataclasses import replace
from typing import Final

from kvtrace.ir.memo import once_per_module
from kvtrace.ir.model import Module
from kvtrace.ir.ops import KINDS, WRITING

CHUNK_BYTES: Final = 16
"""Also what addresses, strides and boxes of tensor maps are multiples of."""

_FIRST_ARCHITECTURE: Final = 90


def has_tensor_maps(module: Module) -> bool:
    """Tell whether a module's target copies by tensor maps."""
    backend, _, architecture = module.target.partition(":")
    return backend == "cuda" and architecture.isdigit() and int(architecture) >= _FIRST_ARCHITECTURE


def stores_whole_chunks(module: Module) -> bool:
    """Tell whether a module has stores that may go past their descriptor's inner extent."""
    return has_tensor_maps(module) and any(
        op.name in WRITING and KINDS[op.name].has("descriptor") for op in module.ops
    )


@once_per_module
def within_extents(module: Module) -> Module:
    """Return a module whose stores keep to descriptors' extents, as Triton's language says."""
    return replace(module, target="") if stores_whole_chunks(module) else module


def elements_stored_at_once(module: Module, element_bytes: int) -> int:
    """Return how many elements a descriptor's store writes all or none of, along the inner axis."""
    return max(1, CHUNK_BYTES // element_bytes) if has_tensor_maps(module) else 1
