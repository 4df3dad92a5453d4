"""Atomics whose results decide what a program does, in ways that no few orders of programs show.

If each program draws one number from one counter, runs in some orders show all that it decides:
each program comes at each place, and whoever draws a number does the same with it. Not so if
programs differ in what they do with a number, read without changing it, decide by two numbers, or
update two places, which programs may see in different orders.
Example: program 0 stores if it drew 0, and program 2 if it drew 1: only 0, 2, 1 is an order in
which both do.
"""

from __future__ import annotations

from kvtrace.ir import Module, Op, Value
from kvtrace.ir.feeding import feeding, feeding_values
from kvtrace.ir.flow import constant_of, deciding, enclosing_ops, flow_of
from kvtrace.ir.memory_sites import memory_sites
from kvtrace.ir.model import once_per_module
from kvtrace.ir.ops import BRANCHES, LOOPS, address_of, effect_of, operator_of
from kvtrace.verdicts.conflicts.parts import roles_of
from kvtrace.verdicts.conflicts.releases import only_atomic


def undecided_atomic(access: Op, module: Module) -> Op | None:
    """Return an atomic whose result, and so the order of programs, decides about an access."""
    deciders = [op for op in _read_atomics(module) if op.index in feeding(access, module)]
    is_one_draw = len(deciders) == 1 and _is_draw(deciders[0], module)
    if not deciders or (is_one_draw and not _is_mixed(deciders[0], access, module)):
        return None
    return deciders[0]


@once_per_module
def _read_atomics(module: Module) -> tuple[Op, ...]:
    """Return the atomics whose results are used, but for those that loops repeat to wait."""
    flow = flow_of(module)
    waits = {only_atomic(op) for op in module.ops if op.name in LOOPS}
    return tuple(
        op
        for op in module.ops
        if effect_of(op) == "atomic" and op not in waits and any(map(flow.uses, op.results))
    )


def _is_draw(atomic: Op, module: Module) -> bool:
    """Return whether all programs change the place alike, outside of loops, and no other."""
    is_constant = constant_of(atomic.operand("value")) is not None
    in_loop = any(op.name in LOOPS for op in enclosing_ops(atomic))
    sites = [site for site in memory_sites(module) if site.kind == "atomic"]
    (own,) = (site for site in sites if site.op is atomic)
    reached = filter(own.reaches, range(len(module.main.arguments)))
    others = [site for site in sites if address_of(site.op) is not address_of(atomic)]
    has_other_places = any(site.reaches(argument) for argument in reached for site in others)
    changes = roles_of(module).by_op[atomic.index].changes
    return is_constant and changes and not in_loop and not has_other_places


def _is_mixed(atomic: Op, access: Op, module: Module) -> bool:
    """Return whether the atomic's result and the program's id together decide about an access.

    Lanes' own masks, such as `offsets < n`, are no such decision.
    """
    around = set(enclosing_ops(atomic))
    branches = [op for op in enclosing_ops(access) if op.name in BRANCHES and op not in around]
    if any(_is_of_program(value, module) for op in branches for value in deciding(op)):
        return True
    return any(
        atomic.index in feeding_values(op.operands, module)
        and any(_is_of_program(value, module) for value in op.operands)
        for op in (module.ops[index] for index in feeding(access, module))
        if operator_of(op) in ("compare", "&", "|", "^")
    )


def _is_of_program(value: Value, module: Module) -> bool:
    """Return whether a value follows from the program's id, and is equal for all its lanes."""
    behind = {operator_of(module.ops[index]) for index in feeding_values([value], module)}
    return "program_id" in behind and "arange" not in behind
