"""The rule descriptor-contract: requirements on tensor maps, and stores past an inner extent.

From sm_90 on, a tensor descriptor is a tensor map of the hardware, and nothing checks a map that is
made on the device. The claim for each access through a descriptor: addresses, strides, the block's
row and the block's start are multiples of 16 bytes, and extents and strides are in range. For
stores, reductions and scatters also: no active lane lies past the inner extent, as the target
writes whole chunks of 16 bytes (`kvtrace.ir.tensor_maps`). Stores and reductions begin at no
negative coordinate: on two H100s (Triton 3.6) 48 of 48 that did ended with an illegal instruction.
Storages are assumed to start at multiples of 256 bytes, as in `misaligned`.

Sources: cuTensorMapEncodeTiled in the CUDA driver's documentation,
https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__TENSOR__MEMORY.html; for the block's
start, https://github.com/triton-lang/triton/issues/8657.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from kvtrace.evaluate import TensorArgument
from kvtrace.ir.data_dependence import depending_on_data
from kvtrace.ir.ops import KINDS
from kvtrace.ir.tensor_maps import CHUNK_BYTES, has_tensor_maps
from kvtrace.symbolic.conditions import TRUE, Condition, at_least, conjunction, equal, less
from kvtrace.symbolic.functions import remainder
from kvtrace.symbolic.prover import Given, Method, Proven, Refuted, strongest
from kvtrace.symbolic.summary import Access, BlockPointer
from kvtrace.symbolic.terms import Term, as_term, lane
from kvtrace.verdicts.contents.loaded import depends_on
from kvtrace.verdicts.rules.tensor_map_watch import (
    LARGEST_EXTENT,
    STRIDE_LIMIT,
    Breach,
    TensorMapWatch,
)
from kvtrace.verdicts.rules.watched_values import evaluated
from kvtrace.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall

RULE: Final = "descriptor-contract"
_RANK: Final = ("proven", "unknown", "violation")


def judge(bound: BoundCall) -> Iterable[Verdict]:
    """Return the worst verdict for each op that accesses memory through a tensor descriptor."""
    module = bound.call.module
    if module.target.startswith("cuda:") and not has_tensor_maps(module):
        return ()  # descriptors are compiled to pointers
    worst: dict[int, Verdict] = {}
    for access in bound.summary.accesses:
        if not KINDS[access.op.name].has("descriptor"):
            continue
        if not has_tensor_maps(module):
            verdict = _unknown(bound, access, _unknown_target_text(module.target))
        elif access.descriptor is None:
            verdict = _unknown(bound, access, "kvtrace cannot trace its descriptor")
        else:
            verdict = _judge_access(bound, access, access.descriptor)
        previous = worst.get(verdict.op.index)
        if previous is None or _RANK.index(verdict.verdict) > _RANK.index(previous.verdict):
            worst[verdict.op.index] = verdict
    return worst.values()


def _unknown_target_text(target: str) -> str:
    if not target:
        return "the kernel's compilation target was not recorded"
    return f"kvtrace does not know how {target} implements descriptors"


def _judge_access(bound: BoundCall, access: Access, descriptor: BlockPointer) -> Verdict:
    reached = bound.given(access)
    if bound.is_unreached(access, reached):
        return _proven(bound, access, "interval", "no program reaches it")
    if access.argument is None:
        return _unknown(bound, access, access.unknown or "its base comes from no argument")
    method: Method = "interval"
    solver_ns = 0
    for claim, given in _claims(bound, access, descriptor, reached):
        decision = bound.prove(claim, given)
        solver_ns += decision.solver_ns
        if isinstance(decision, Proven) and bound.may_wrap(access) is None:
            method = strongest((method, decision.method))
            continue
        if isinstance(decision, Refuted):
            doubts = bound.doubts(decision.model)
            if doubts.unrecorded:
                return _unknown(bound, access, depends_on(doubts.unrecorded))
            program = bound.program_of(decision.model)
            breach = None if doubts else _first_breach(bound, access, program)
            if isinstance(breach, Breach):
                return _violation(bound, access, breach, decision.method, solver_ns)
        return _by_evaluation(bound, access)
    return _proven(bound, access, method, "in every program", solver_ns)


def _claims(
    bound: BoundCall, access: Access, descriptor: BlockPointer, reached: Given
) -> Iterator[tuple[Condition, Given]]:
    """Yield the claims on a descriptor that are not trivially true, each with its conditions."""
    size, extents = access.element_bytes, descriptor.extents
    byte_terms = [
        *(stride * size for stride in descriptor.strides[:-1]),
        descriptor.positions[-1] * size,
        as_term(access.shape[-1] * size),
    ]
    claims = [_base_is_aligned(bound, access, descriptor), *map(_is_chunk_multiple, byte_terms)]
    claims += [
        _is_between(stride, 0, STRIDE_LIMIT - 1) for stride in byte_terms[: len(extents) - 1]
    ]
    claims += [_is_between(extent, 1, LARGEST_EXTENT) for extent in extents]
    claims.append(equal(descriptor.strides[-1], 1))
    yield from ((claim, reached) for claim in claims if claim is not TRUE)
    if access.kind != "load":
        if not KINDS[access.op.name].has("row"):
            yield from ((at_least(start, 0), reached) for start in descriptor.positions)
        axis = len(extents) - 1
        position = descriptor.positions[-1] + lane(axis, access.shape[-1])
        yield less(position, extents[-1]), bound.active(access)


def _base_is_aligned(bound: BoundCall, access: Access, descriptor: BlockPointer) -> Condition:
    tensor = bound.call.arguments[access.argument or 0]
    first = tensor.offset_bytes if isinstance(tensor, TensorArgument) else 0
    return conjunction(
        ~choice.condition | _is_chunk_multiple(choice.offset + first)
        for choice in descriptor.base.choices
        if choice.argument == access.argument
    )


def _is_chunk_multiple(term: Term) -> Condition:
    """Return the condition that a number of bytes is a multiple of 16, even if it wraps."""
    return equal(remainder(term, CHUNK_BYTES, floor=True))


def _is_between(term: Term, low: int, high: int) -> Condition:
    return at_least(term, low) & at_least(high - term)


def _by_evaluation(bound: BoundCall, access: Access) -> Verdict:
    """Return the verdict from an evaluation of all programs, unknown if over the budget."""
    if bound.lanes > bound.budget.lanes:
        return _unknown(bound, access, "no formula decides it, and the grid is too large to run")
    breach = _first_breach(bound, access, None)
    if isinstance(breach, Breach):
        return _violation(bound, access, breach, "evaluated")
    if breach is None:
        return _proven(bound, access, "evaluated", "in every program")
    return _unknown(bound, access, breach)


def _first_breach(bound: BoundCall, access: Access, program: int | None) -> Breach | str | None:
    """Return the first breach in an evaluation, None if there is none, or a reason if unknown.

    `program` is a linear id; None evaluates all programs.
    """
    watch = TensorMapWatch(access.op, access.kind, access.shape, bound.call.arguments)
    failure = evaluated(bound, watch, None if program is None else (program,))
    if watch.breach is not None:
        return watch.breach
    return failure or ("it depends on contents that were not recorded" if watch.hidden else None)


# -- verdicts -----------------------------------------------------------------------------------


def _name(bound: BoundCall, access: Access) -> str | None:
    return None if access.argument is None else bound.call.arguments[access.argument].name


def _proven(
    bound: BoundCall, access: Access, method: str, scope: str, solver_ns: int = 0
) -> Verdict:
    inside = "" if access.kind == "load" else ", and writes nothing past the inner extent"
    if bound.call.recorded and access.op.index in depending_on_data(bound.call.module):
        scope += f"; for the recorded contents of {', '.join(bound.call.recorded)}"
    message = f"{access.kind} by descriptor meets the rules of tensor maps{inside} ({scope})"
    return Verdict(
        RULE, "proven", access.op, message, method, access=access.kind, arg=_name(bound, access),
        solver_ns=solver_ns or None,
    )  # fmt: skip


def _unknown(bound: BoundCall, access: Access, reason: str) -> Verdict:
    message = (
        f"whether {access.kind} by descriptor meets the rules of tensor maps is not decided: "
        f"{reason}"
    )
    return Verdict(
        RULE, "unknown", access.op, message, reason=reason, access=access.kind,
        arg=_name(bound, access),
    )  # fmt: skip


def _violation(
    bound: BoundCall, access: Access, breach: Breach, method: str, solver_ns: int = 0
) -> Verdict:
    message = f"{access.kind} by descriptor: {breach.text}"
    if breach.past_extent:
        message = (
            f"{access.kind} by descriptor {breach.text}: {bound.call.module.target} writes whole "
            f"chunks of {CHUNK_BYTES} bytes"
        )
    return Verdict(
        RULE,
        "violation",
        access.op,
        message,
        method,
        access=access.kind,
        arg=_name(bound, access),
        program=breach.program,
        iteration=breach.iteration,
        lane=breach.lane,
        address_offset=breach.address_offset,
        solver_ns=solver_ns or None,
    )
