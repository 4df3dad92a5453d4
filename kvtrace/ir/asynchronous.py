"""What TTGIR's ops do to shared memory, and which of it is asynchronous.

Copies, matrix products and stores of tiles may be in flight while the program continues, until it
waits for them. Whoever asks what lands when asks this table; operands have their names in ops.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import Final

from kvtrace.ir.model import Module, Op
from kvtrace.ir.ops import KINDS
from kvtrace.ir.types import SharedType

#: Ops for GPUs of AMD's that have no row among ops, and complete at once.
_ENDING: Final = re.compile(
    r"amdg(?:pu)?\.(?:buffer_(?:load|store|atomic_\w+)|in_thread_transpose|extract_slice|concat)"
    r"|rocdl\.(?:s\.setprio|sched\.[\w.]+)"
)

#: Dialects whose ops, of newer Tritons too, are about values in registers and memory alone.
_PLAIN: Final = frozenset({"arith", "math", "tt", "ub"})


class Act(Enum):
    """What an op does to shared memory."""

    ALLOCATE = "makes a buffer, with a tensor in it if one is given"
    FREE = "gives a buffer back"
    INDEX = "views one of the parts along the first axis"
    PART = "views a block"
    TURN = "views the same elements with axes permuted"
    RESHAPE = "views the same elements in another shape"
    READ = "reads a view"
    WRITE = "writes a view"
    COPY = "begins to copy into a view, for the group that is open"
    CLOSE = "closes the group of copies that is open"
    WAIT_COPIES = "waits until only so many groups of copies are in flight"
    BEGIN_PHASES = "makes a barrier new"
    EXPECT = "says that copies will arrive in a barrier's phase"
    ARRIVE = "begins to copy into a view, which ends a barrier's phase"
    WAIT_PHASE = "waits until a barrier's phase of a parity is over"
    END_PHASES = "gives a barrier up"
    PRODUCT = "multiplies what views hold"
    WAIT_PRODUCTS = "waits until only so many products are in flight"
    STORE = "begins to copy a view to memory"
    WAIT_STORES = "waits until only so many such copies read their views"


ACTS: Final[Mapping[str, Act]] = {
    "ttg.local_alloc": Act.ALLOCATE,
    "ttg.local_dealloc": Act.FREE,
    "ttg.memdesc_index": Act.INDEX,
    "ttg.memdesc_subslice": Act.PART,
    "ttg.memdesc_trans": Act.TURN,
    "ttg.memdesc_reshape": Act.RESHAPE,
    "ttg.local_load": Act.READ,
    "ttg.local_store": Act.WRITE,
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
}

VIEWING: Final = frozenset({Act.INDEX, Act.PART, Act.TURN, Act.RESHAPE})

_BEGINNING: Final = frozenset({Act.COPY, Act.ARRIVE, Act.PRODUCT, Act.STORE})
_LEFT: Final = {
    Act.WAIT_COPIES: "num", Act.WAIT_PRODUCTS: "pendings", Act.WAIT_STORES: "pendings",
}  # fmt: skip

#: Ops at the beginning of a line of text, in either of MLIR's forms.
_OP: Final = re.compile(r'^\s*(?:%[\w$#.:, %]+ = )?"?([a-z]\w*\.[\w.]+)', re.MULTILINE)


def act_of(op: Op) -> Act | None:
    """Return what an op does to shared memory; None: nothing."""
    return ACTS.get(op.name)


def is_known(op: Op) -> bool:
    """Whether it is known of an op what it does to shared memory."""
    if op.name in KINDS:
        return True
    values = (*op.operands, *op.results)
    return (
        _is_plain(op.name)
        and not op.regions
        and not any(isinstance(value.type, SharedType) for value in values)
    )


def left_of(op: Op) -> int:
    """Return how many of what an op waits for may still be in flight after it."""
    return int(getattr(op.attributes[_LEFT[ACTS[op.name]]], "value"))  # noqa: B009 - of any attribute


def goes_on(op: Op) -> bool:
    """Whether what an op begins may be in flight after it."""
    act = ACTS.get(op.name)
    if act is Act.PRODUCT:
        return bool(getattr(op.attributes.get("isAsync"), "value", False))
    return act in _BEGINNING


def may_go_on(text: str) -> bool:
    """Whether anything in a text of TTGIR may be in flight after its op; unknown ops may."""
    return any(
        ACTS.get(name) in _BEGINNING if name in KINDS else not _is_plain(name)
        for name in set(_OP.findall(text))
    )


def _is_plain(name: str) -> bool:
    return name.partition(".")[0] in _PLAIN or _ENDING.fullmatch(name) is not None


def targets_amd(module: Module) -> bool:
    """Whether a module was made for a GPU of AMD's, whose waits count otherwise."""
    target = getattr(module.op.attributes.get("ttg.target"), "value", "")
    return str(target).startswith("hip")


def group_size(module: Module) -> int:
    """Return of how many blocks of threads a program is."""
    return int(getattr(module.op.attributes.get("ttg.num-ctas"), "value", 1))
