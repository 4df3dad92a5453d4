"""What the cores of a pair do together: wait for each other, and send each other tiles."""

from typing import Any

import numpy as np

from kvtrace.addons.neuron.access import Values
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.findings import MEMORY_SPACE
from kvtrace.addons.neuron.machine import current
from kvtrace.addons.neuron.operations import Issue, Result, operation
from kvtrace.addons.neuron.tensors import Tensor
from kvtrace.addons.neuron.tokens import token_of


def core_barrier(data: Any, cores: Any, engine: Any = None, name: Any = None) -> None:
    """Wait until both cores have come to a barrier; what they did to `data` is done then."""
    del name
    if not isinstance(data, Tensor) or data.on_chip:
        raise NkiError("core_barrier takes a tensor in device memory")
    barrier.older(data, cores, engine)
    if current().meet("core_barrier"):
        data.memory.writers = data.memory.readers = None


def all_reduce(
    x: Any,
    op: Any,
    program_axes: Any,
    *,
    dtype: Any = None,
    mask: Any = None,
    parallel_reduce: bool = True,
    asynchronous: bool = False,
) -> Any:
    """Reduce a tile over the programs along axes of the grid, each of which is given the result."""
    del parallel_reduce, asynchronous
    run = current()
    axes = program_axes if isinstance(program_axes, tuple | list) else (program_axes,)
    mine = run.given.setdefault(run.program, [])
    turn = len(mine)
    give.older(x, mine, mask)
    run.meet("all_reduce", False)
    places = {program: _coordinates(run.grid, program) for program in range(run.programs)}
    others = [axis for axis in range(len(run.grid)) if axis not in axes]
    together = [
        run.given[program][turn]
        for program, place in places.items()
        if all(place[axis] == places[run.program][axis] for axis in others)
    ]
    return take.older(op, together, dtype, mask)


def _coordinates(grid: tuple[int, ...], program: int) -> list[int]:
    """Return a program's place along each axis of the grid."""
    found = []
    for size in grid:
        found.append(program % size)
        program //= size
    return found


@operation("nl.all_reduce (give)", engine="dma", kind="other")
def give(issue: Issue, x: Any, box: list[Values], mask: Any) -> None:
    """Put a tile where the other programs take it from."""
    read = issue.read(x, mask)
    box.append(Values(np.array(read.values), read.states, read.dtype, read.space))


@operation("nl.all_reduce", engine="vector", kind="reduce")
def take(issue: Issue, op: Any, given: list[Values], dtype: Any, mask: Any) -> Result:
    """Reduce what programs have given, in their order."""
    token = token_of(op, 2)
    total = given[0].computed()
    for each in given[1:]:
        total = token.apply(total, each.computed())
        issue.flops += total.size
    return issue.result(total, dtype, *given, mask=mask)


def sendrecv(
    src: Any,
    dst: Any,
    send_to_rank: Any,
    recv_from_rank: Any,
    pipe_id: Any = 0,
    dma_engine: Any = None,
    use_gpsimd_dma: bool = False,
    name: Any = None,
) -> None:
    """Send a tile to a core, and write to `dst` what another one sends here."""
    del name
    run = current()
    if not isinstance(src, Tensor) or not isinstance(dst, Tensor):
        raise NkiError("sendrecv sends a tile, and receives one")
    if src.shape != dst.shape or src.dtype != dst.dtype:
        raise NkiError(f"sendrecv takes tiles of one shape and type, not {src!r} and {dst!r}")
    mail = run.mail
    send.older(src, mail.setdefault((run.program, int(send_to_rank), int(pipe_id)), []))
    run.meet("sendrecv")
    sent = mail.get((int(recv_from_rank), run.program, int(pipe_id)))
    if not sent:
        raise NkiError(
            f"program {run.program} receives of core {recv_from_rank} by pipe {pipe_id}, which has "
            "sent nothing"
        )
    receive.into(dst, sent.pop(0), src, send_to_rank, recv_from_rank, dma_engine, use_gpsimd_dma)


@operation("nisa.core_barrier", engine="none", kind="other")
def barrier(issue: Issue, data: Tensor, cores: Any, engine: Any) -> None:
    """Keep that a barrier was come to."""
    del data, cores
    issue.runs_on(engine)


@operation("nisa.sendrecv (send)", engine="dma", kind="other")
def send(issue: Issue, src: Any, box: list[Values]) -> None:
    """Put a tile where the other core takes it from."""
    read = issue.read(src)
    _in_sbuf(issue, src)
    box.append(Values(np.array(read.values), read.states, read.dtype, read.space))


@operation("nisa.sendrecv", engine="dma", kind="other")
def receive(
    issue: Issue,
    sent: Values,
    src: Any,
    send_to_rank: Any,
    recv_from_rank: Any,
    dma_engine: Any,
    use_gpsimd_dma: bool,
) -> Result:
    """Write what the other core has sent; the rest is how it was asked for, for its refusals."""
    del src, send_to_rank, recv_from_rank, dma_engine, use_gpsimd_dma
    assert issue.destination is not None
    _in_sbuf(issue, issue.destination)
    return issue.result(sent.values, sent.dtype, sent)


def _in_sbuf(issue: Issue, tile: Tensor) -> None:
    if tile.memory.space == "psum":
        issue.find(MEMORY_SPACE, "a tile of nisa.sendrecv lies in PSUM, not in SBUF")
