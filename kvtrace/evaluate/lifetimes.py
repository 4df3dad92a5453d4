"""Values that no later op uses: their arrays are forgotten, so that their memory is used again."""

from __future__ import annotations

from kvtrace.evaluate.dialects.arith_fused import fused_sums
from kvtrace.ir import Module, Op
from kvtrace.ir.model import once_per_module
from kvtrace.ir.ops import named

_STORES = named(lambda row: row.group == "tt_memory" and row.effect == "store")


@once_per_module
def _users(module: Module) -> dict[int, list[Op]]:
    """Return the ops that use each value, in order; a fused sum uses its factors, too."""
    users: dict[int, list[Op]] = {}
    fused = fused_sums(module)
    for op in module.ops:
        terms = fused[op.index].terms if op.index in fused else ()
        for value in (*op.operands, *(value for value, _ in terms)):
            users.setdefault(value.id, []).append(op)
    return users


def dying_values(op: Op, module: Module) -> frozenset[int]:
    """Return the ids of operands that are made in an op's block, and not used after it."""
    users = _users(module)
    return frozenset(
        value.id
        for value in op.operands
        if (value.owner.block if isinstance(value.owner, Op) else value.owner) is op.block
        and users[value.id][-1] is op
        and all(user.block is op.block for user in users[value.id])
    )


def stored_next(op: Op, module: Module) -> Op | None:
    """Return the store that is the next op and the only user of an op's result, or None."""
    users = _users(module).get(op.results[0].id, [])
    is_next = [(user.index, user.name in _STORES) for user in users] == [(op.index + 1, True)]
    return users[0] if is_next else None
