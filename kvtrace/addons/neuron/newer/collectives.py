"""`nki.collectives`: collectives of ranks; a launch is rank 0 (see `ops/collectives.py`)."""

import operator
from collections.abc import Callable, Sequence
from enum import Enum
from inspect import Parameter, Signature
from typing import Any, Final

from kvtrace.addons.neuron.errors import NkiError, missing_name_handler
from kvtrace.addons.neuron.machine import current
from kvtrace.addons.neuron.newer.language import NKIObject
from kvtrace.addons.neuron.operations import Operation
from kvtrace.addons.neuron.ops import collectives as ops
from kvtrace.addons.neuron.registers import VirtualRegister


class rg_partition_op(Enum):  # noqa: N801 - the public name
    """Operations on ranks by which `ReplicaGroup.from_partition_op` forms groups."""

    bitwise_and = "bitwise_and"
    div = "div"
    mod = "mod"


class ReplicaGroup(NKIObject):
    """Groups of ranks that communicate with each other, as lists of ranks."""

    groups: Any

    @staticmethod
    def from_partition_op(world_size: int, op: rg_partition_op, operand: int) -> "ReplicaGroup":
        """Return the groups of ranks that have equal results of `op(rank, operand)`.

        Raises:
            NkiError: the operation is not an `rg_partition_op`.
        """
        if op not in _PARTITIONS:
            raise NkiError(f"op of from_partition_op must be an rg_partition_op, not {op!r}")
        ranks_by_result: dict[int, list[int]] = {}
        for rank in range(world_size):
            ranks_by_result.setdefault(_PARTITIONS[op](rank, operand), []).append(rank)
        return ReplicaGroup(list(ranks_by_result.values()))


_PARTITIONS: Final[dict[rg_partition_op, Callable[[int, int], int]]] = {
    rg_partition_op.bitwise_and: operator.and_,
    rg_partition_op.div: operator.floordiv,
    rg_partition_op.mod: operator.mod,
}


_BY_ANY: Final = Parameter.POSITIONAL_OR_KEYWORD


def _run_for_pairs(op: Operation, srcs: Sequence[Any], dsts: Sequence[Any], *operands: Any) -> None:
    """Run a collective for each source, and write the result to the destination at its index."""
    if len(srcs) != len(dsts):
        raise NkiError(f"{op.name} needs as many dsts as srcs, not {len(dsts)} for {len(srcs)}")
    for src, dst in zip(srcs, dsts, strict=True):
        op.into(dst, src, *operands)


def _collective(op: Operation, *names: str) -> Callable[..., None]:
    """Return a collective whose operands after the group are `names`."""
    signature = Signature(
        [Parameter(name, _BY_ANY) for name in ("srcs", "dsts", "replica_group", *names)]
        + [Parameter(name, _BY_ANY, default=None) for name in ("priority", "name")]
    )

    def run(*args: Any, **kwargs: Any) -> None:
        operands = signature.bind(*args, **kwargs).arguments
        group = ops.group_of(operands["replica_group"])
        further = (operands[name] for name in names)
        _run_for_pairs(op, operands["srcs"], operands["dsts"], group, *further)

    run.__name__ = op.name.rpartition(".")[2]
    run.__doc__ = op.function.__doc__
    run.__signature__ = signature  # type: ignore[attr-defined]
    return run


all_reduce = _collective(ops.all_reduce, "op")
all_gather = _collective(ops.all_gather, "collective_dim")
reduce_scatter = _collective(ops.reduce_scatter, "collective_dim", "op")
all_to_all = _collective(ops.all_to_all, "collective_dim")


class PreparedCollective:
    """A collective with its operands, which runs when it is triggered, once."""

    def __init__(self, op: Operation, operands: tuple[Any, ...]) -> None:
        self.op = op
        self.operands = operands


def _prepare(op: Operation, *operands: Any) -> PreparedCollective:
    run = current()
    if run.program in run.prepared_collectives:
        raise NkiError(f"{op.name} is prepared before the previous collective was triggered")
    prepared = run.prepared_collectives[run.program] = PreparedCollective(op, operands)
    return prepared


def _trigger(prepare_instr: PreparedCollective, name: Any = None) -> None:
    """Run the prepared collective."""
    del name
    run = current()
    if run.prepared_collectives.pop(run.program, None) is not prepare_instr:
        raise NkiError("a collective must be triggered exactly once, after its prepare")
    _run_for_pairs(prepare_instr.op, *prepare_instr.operands)


all_to_all_v_trigger = all_gather_v_trigger = _trigger


def _with_variable_counts(op: Operation, execute: Callable[..., Any]) -> Callable[..., Any]:
    """Return a collective (or its prepare) whose element counts are in a tensor."""

    def run(
        srcs: Any,
        dsts: Any,
        replica_group: Any,
        metadata_tensor: Any,
        recv_counts_known: bool = False,
        has_rdispls: bool = False,
        priority: Any = None,
        name: Any = None,
    ) -> Any:
        del priority, name
        group = ops.group_of(replica_group)
        return execute(op, srcs, dsts, metadata_tensor, group, recv_counts_known, has_rdispls)

    run.__doc__ = op.function.__doc__
    return run


all_to_all_v = _with_variable_counts(ops.all_to_all_v, _run_for_pairs)
all_to_all_v_prepare = _with_variable_counts(ops.all_to_all_v, _prepare)
all_gather_v = _with_variable_counts(ops.all_gather_v, _run_for_pairs)
all_gather_v_prepare = _with_variable_counts(ops.all_gather_v, _prepare)


def collective_permute(
    srcs: Any, dsts: Any, source_target_pairs: Any, priority: Any = None, name: Any = None
) -> None:
    """Write to `dsts` the tensors that the pairs' source rank sends to this rank, if any does."""
    del priority, name
    if any(int(target) == ops.RANK for _, target in source_target_pairs):
        _run_for_pairs(ops.receive, srcs, dsts)


def collective_permute_implicit(
    srcs_by_channel: Any,
    dsts_by_channel: Any,
    replica_group: Any,
    channel_ids: Any = (0,),
    priority: Any = None,
    name: Any = None,
) -> None:
    """Write to `dsts` the tensors that the previous rank of a ring sends."""
    del channel_ids, priority, name
    ops.group_of(replica_group)
    for srcs, dsts in zip(srcs_by_channel, dsts_by_channel, strict=True):
        _run_for_pairs(ops.receive, srcs, dsts)


def collective_permute_implicit_reduce(
    srcs0_by_channel: Any,
    srcs1_by_channel: Any,
    dsts_by_channel: Any,
    replica_group: Any,
    op: Any,
    channel_ids: Any = (0,),
    priority: Any = None,
    name: Any = None,
) -> None:
    """Write to `dsts` the reductions that the previous rank of a ring sends."""
    del channel_ids, priority, name
    ops.group_of(replica_group)
    for left_tensors, right_tensors, dsts in zip(
        srcs0_by_channel, srcs1_by_channel, dsts_by_channel, strict=True
    ):
        for left, right, dst in zip(left_tensors, right_tensors, dsts, strict=True):
            ops.receive_reduced.into(dst, left, right, op)


def collective_permute_implicit_current_processing_rank_id(
    iteration_id: int, replica_group: Any, channel_id: int = 0, name: Any = None
) -> VirtualRegister:
    """Return the rank whose data a ring brings to this rank after `iteration_id` steps."""
    del channel_id, name
    group = ops.group_of(replica_group)
    return VirtualRegister(group[(group.index(ops.RANK) - int(iteration_id)) % len(group)])


def rank_id(name: Any = None) -> VirtualRegister:
    """Return the launch's rank, 0."""
    del name
    return VirtualRegister(ops.RANK)


__getattr__ = missing_name_handler("nki.collectives")
