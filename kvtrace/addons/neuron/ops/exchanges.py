"""Synchronization of programs: barriers, tile exchange, and reductions over programs."""

from typing import Any

import numpy as np

from kvtrace.addons.neuron.access import Values
from kvtrace.addons.neuron.errors import NkiError
from kvtrace.addons.neuron.machine import current
from kvtrace.addons.neuron.operations import Issue, Result, operation
from kvtrace.addons.neuron.tensors import Tensor
from kvtrace.addons.neuron.tokens import token_of


def core_barrier(data: Any, cores: Any, engine: Any = None, name: Any = None) -> None:
    """Wait for both cores; accesses to `data` before and after the barrier do not race."""
    del name
    if not isinstance(data, Tensor) or data.on_chip:
        raise NkiError("data of core_barrier must be a tensor in device memory")
    barrier.older(data, cores, engine)
    if current().wait_for_others("core_barrier"):
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
    """Return a tile reduced by `op` over the programs along some axes of the grid."""
    del parallel_reduce, asynchronous
    run = current()
    axes = program_axes if isinstance(program_axes, tuple | list) else (program_axes,)
    tiles = run.reduction_inputs.setdefault(run.program, [])
    call_index = len(tiles)
    contribute.older(x, tiles, mask)
    run.wait_for_others("all_reduce", False)
    coordinates = {program: _grid_coordinates(run.grid, program) for program in range(run.programs)}
    other_axes = [axis for axis in range(len(run.grid)) if axis not in axes]
    inputs = [
        run.reduction_inputs[program][call_index]
        for program, coordinate in coordinates.items()
        if all(coordinate[axis] == coordinates[run.program][axis] for axis in other_axes)
    ]
    return reduce_inputs.older(op, inputs, dtype, mask)


def _grid_coordinates(grid: tuple[int, ...], program: int) -> list[int]:
    coordinates = []
    for size in grid:
        coordinates.append(program % size)
        program //= size
    return coordinates


@operation("nl.all_reduce (give)", engine="dma", kind="other")
def contribute(issue: Issue, x: Any, inputs: list[Values], mask: Any) -> None:
    """Append a copy of a tile to `inputs`, the program's inputs of reductions."""
    source = issue.read(x, mask)
    inputs.append(Values(np.array(source.values), source.states, source.dtype, source.space))


@operation("nl.all_reduce", engine="vector", kind="reduce")
def reduce_inputs(issue: Issue, op: Any, inputs: list[Values], dtype: Any, mask: Any) -> Result:
    """Return the reduction of the programs' tiles, in program order."""
    token = token_of(op, 2)
    total = inputs[0].computed()
    for tile in inputs[1:]:
        total = token.apply(total, tile.computed())
        issue.flops += total.size
    return issue.result(total, dtype, *inputs, mask=mask)


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
    """Send a tile to another core, and write to `dst` the tile that a core sends to this one."""
    del name
    run = current()
    if not isinstance(src, Tensor) or not isinstance(dst, Tensor):
        raise NkiError("src and dst of sendrecv must be tiles")
    if src.shape != dst.shape or src.dtype != dst.dtype:
        raise NkiError(f"sendrecv needs tiles of one shape and type, not {src!r} and {dst!r}")
    mail = run.mail
    send.older(src, mail.setdefault((run.program, int(send_to_rank), int(pipe_id)), []))
    run.wait_for_others("sendrecv")
    inbox = mail.get((int(recv_from_rank), run.program, int(pipe_id)))
    if not inbox:
        raise NkiError(
            f"program {run.program} receives from core {recv_from_rank} by pipe {pipe_id}, but "
            "that core has sent nothing"
        )
    receive.into(dst, inbox.pop(0), src, send_to_rank, recv_from_rank, dma_engine, use_gpsimd_dma)


@operation("nisa.core_barrier", engine="none", kind="other")
def barrier(issue: Issue, data: Tensor, cores: Any, engine: Any) -> None:
    """Record a barrier as an executed op."""
    del data, cores
    issue.choose_engine(engine)


@operation("nisa.sendrecv (send)", engine="dma", kind="other")
def send(issue: Issue, src: Any, mailbox: list[Values]) -> None:
    """Append a copy of a tile to the receiving core's mailbox."""
    source = issue.read(src)
    mailbox.append(Values(np.array(source.values), source.states, source.dtype, source.space))


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
    """Return the tile that the other core sent; further parameters are for requirements only."""
    del src, send_to_rank, recv_from_rank, dma_engine, use_gpsimd_dma
    return issue.result(sent.values, sent.dtype, sent)
