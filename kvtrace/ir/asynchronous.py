"""Effects of TTGIR's ops on shared memory, and the ops that are asynchronous.

Copies, matrix products and stores of tiles may be in flight while the program continues, until the
program waits for their completion. This is the only table of such ops; the names of their operands
are in ops.py. An op of a GPU's dialect that is in neither `ACTS` nor `WITHOUT_ACT` may do anything.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from enum import Enum
from typing import Final

from kvtrace.ir.model import Module, Op, once_per_module
from kvtrace.ir.ops import KINDS, PARTITIONED
from kvtrace.ir.types import SharedType

#: Ops for AMD GPUs without a row in ops.py that are synchronous.
_SYNCHRONOUS_AMD: Final = re.compile(
    r"amdg(?:pu)?\.(?:buffer_(?:load|store|atomic_\w+)|in_thread_transpose|extract_slice|concat)"
    r"|rocdl\.(?:s\.setprio|sched\.[\w.]+)"
)

#: Dialects without ops that access shared memory, in any version of Triton.
_PLAIN: Final = frozenset({"arith", "math", "tt", "ub"})

#: Dialects of GPUs: what an op of these does to memory is to be listed by each pass.
GPU_DIALECTS: Final = frozenset({"amdg", "amdgpu", "nvg", "nvgpu", "ttg", "ttng"})

#: Further dialects of which rows in ops.py say all: control flow, calls, barriers of threads.
_PLAIN_ROWS: Final = frozenset({"builtin", "cf", "func", "gpu", "llvm", "nvvm", "rocdl", "scf"})

#: Ops of the GPU's dialects that neither access shared memory nor start or wait for operations.
WITHOUT_ACT: Final = frozenset({
    "amdg.tdm_prefetch", "amdg.update_tensor_descriptor",
    "ttg.barrier", "ttg.convert_layout", "ttg.fp4_to_fp", "ttg.global_scratch_alloc",
    "ttg.local_barrier", "ttng.fence_async_shared", "ttng.reinterpret_tensor_descriptor",
    "ttng.tensormap_create", "ttng.tensormap_fenceproxy_acquire",
})  # fmt: skip


class Act(Enum):
    """The effect of an op on shared memory."""

    ALLOCATE = "allocates a buffer, and writes a tensor to it if one is passed"
    FREE = "frees a buffer"
    INDEX = "views one slice along the first axis"
    PART = "views a block"
    TURN = "views the same elements with axes permuted"
    RESHAPE = "views the same elements in another shape"
    RETYPE = "views the same bytes as another type"
    READ = "reads a view"
    WRITE = "writes a view"
    COPY = "starts a copy into a view, in the open group"
    CLOSE = "closes the open group of copies"
    WAIT_COPIES = "waits until at most n groups of copies are in flight"
    BEGIN_PHASES = "initializes a barrier"
    EXPECT = "announces copies that complete a barrier's phase"
    ARRIVE = "starts a copy into a view that completes a barrier's phase"
    WAIT_PHASE = "waits until a barrier's phase of a parity is complete"
    END_PHASES = "invalidates a barrier"
    PRODUCT = "multiplies the contents of views"
    WAIT_PRODUCTS = "waits until at most n products are in flight"
    STORE = "starts a copy of a view to memory"
    WAIT_STORES = "waits until at most n copies to memory still read their views"


ACTS: Final[Mapping[str, Act]] = {
    "ttg.local_alloc": Act.ALLOCATE,
    "ttg.local_dealloc": Act.FREE,
    "ttg.memdesc_index": Act.INDEX,
    "ttg.memdesc_subslice": Act.PART,
    "ttg.memdesc_trans": Act.TURN,
    "ttg.memdesc_reshape": Act.RESHAPE,
    "ttg.memdesc_reinterpret": Act.RETYPE,
    "ttg.local_load": Act.READ,
    "ttg.local_gather": Act.READ,
    "ttg.local_store": Act.WRITE,
    "ttg.local_scatter": Act.WRITE,
    "ttg.async_copy_global_to_local": Act.COPY,
    "ttg.async_commit_group": Act.CLOSE,
    "ttg.async_wait": Act.WAIT_COPIES,
    "ttng.init_barrier": Act.BEGIN_PHASES,
    "ttng.barrier_expect": Act.EXPECT,
    "ttng.async_tma_copy_global_to_local": Act.ARRIVE,
    "ttng.async_tma_gather": Act.ARRIVE,
    "ttng.wait_barrier": Act.WAIT_PHASE,
    "ttng.inval_barrier": Act.END_PHASES,
    "ttng.warp_group_dot": Act.PRODUCT,
    "ttng.warp_group_dot_wait": Act.WAIT_PRODUCTS,
    "ttng.async_tma_copy_local_to_global": Act.STORE,
    "ttng.async_tma_scatter": Act.STORE,
    "ttng.async_tma_reduce": Act.STORE,
    "ttng.async_tma_store_wait": Act.WAIT_STORES,
    "amdg.async_tdm_copy_global_to_local": Act.COPY,
    "amdg.async_tdm_gather": Act.COPY,
    "amdg.async_tdm_copy_local_to_global": Act.STORE,
    "amdg.async_tdm_scatter": Act.STORE,
    "amdg.async_tdm_wait": Act.WAIT_COPIES,
    "amdg.local_load_packed_tranposed": Act.READ,
    "amdg.local_load_packed_transposed": Act.READ,
}

#: Ops of GPUs' dialects that access global memory as their rows in ops.py say, or not at all.
ADDRESSING: Final = WITHOUT_ACT | PARTITIONED | frozenset(ACTS)

VIEWING: Final = frozenset({Act.INDEX, Act.PART, Act.TURN, Act.RESHAPE, Act.RETYPE})

_STARTING: Final = frozenset({Act.COPY, Act.ARRIVE, Act.PRODUCT, Act.STORE})
_IN_FLIGHT_ATTRIBUTE: Final = {
    Act.WAIT_COPIES: "num", Act.WAIT_PRODUCTS: "pendings", Act.WAIT_STORES: "pendings",
}  # fmt: skip

#: Ops at the beginning of a line of text, in either of MLIR's forms.
_OP: Final = re.compile(r'^\s*(?:%[\w$#.:, %]+ = )?"?([a-z]\w*\.[\w.]+)', re.MULTILINE)


def act_of(op: Op) -> Act | None:
    """Return the effect of an op on shared memory, or None."""
    return ACTS.get(op.name)


def follows(name: str) -> bool:
    """Return whether the effect on shared memory of ops with a name is known.

    A row in ops.py does not suffice: it says how an op is evaluated, not what is in flight after.
    """
    if name in ACTS or name in WITHOUT_ACT:
        return True
    return name in KINDS and name.partition(".")[0] in _PLAIN | _PLAIN_ROWS


def strangers(module: Module, followed: Collection[str]) -> Iterator[Op]:
    """Return the ops of a module that are of a GPU's dialect and not followed."""
    return (op for op in ops_of_gpus(module) if op.name not in followed)


@once_per_module
def ops_of_gpus(module: Module) -> tuple[Op, ...]:
    """Return the ops of a module that are of a GPU's dialect."""
    return tuple(op for op in module.ops if op.name.partition(".")[0] in GPU_DIALECTS)


def is_known(op: Op) -> bool:
    """Return whether an op's effect on shared memory is known."""
    if follows(op.name):
        return True
    values = (*op.operands, *op.results)
    return (
        _is_plain(op.name)
        and not op.regions
        and not any(isinstance(value.type, SharedType) for value in values)
    )


def allowed_in_flight(op: Op) -> int:
    """Return the number of copies, products or stores that may be in flight after a waiting op."""
    return int(getattr(op.attributes[_IN_FLIGHT_ATTRIBUTE[ACTS[op.name]]], "value"))  # noqa: B009 - of any attribute


def is_asynchronous(op: Op) -> bool:
    """Return whether an op starts a copy, product or store that may still be in flight after it."""
    act = ACTS.get(op.name)
    if act is Act.PRODUCT:
        return bool(getattr(op.attributes.get("isAsync"), "value", False))
    return act in _STARTING


def may_be_asynchronous(text: str) -> bool:
    """Return whether a TTGIR text has an op that is asynchronous, or may be."""
    return any(
        ACTS.get(name) in _STARTING if follows(name) else not _is_plain(name)
        for name in set(_OP.findall(text))
    )


def _is_plain(name: str) -> bool:
    return name.partition(".")[0] in _PLAIN or _SYNCHRONOUS_AMD.fullmatch(name) is not None


def targets_amd(module: Module) -> bool:
    """Return whether a module was compiled for an AMD GPU, whose copies are ordered by calls."""
    target = getattr(module.op.attributes.get("ttg.target"), "value", "")
    return str(target).startswith("hip")


def group_size(module: Module) -> int:
    """Return the number of thread blocks of a program (`num_ctas`); 1 if the module has none."""
    return int(getattr(module.op.attributes.get("ttg.num-ctas"), "value", 1))
