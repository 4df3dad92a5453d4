"""Functions of exported programs, written behind those of `converters/scripts/launching.py`.

A program has several calls of a kernel. It takes storages and scalars, looks for the call that was
recorded with these shapes and scalars, and returns the storages that the kernel wrote.
"""

import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch

from kvtrace.converters.scripts.launching import (
    Call,
    active_device,
    arguments,
    filled,
    prepared,
)

# ---- How a program launches one of its calls ----


class Program(NamedTuple):
    """Calls of one kernel.

    `inputs` are the names of storages and scalars that a program takes, `outputs` those of the
    storages that it returns. `shapes` are those of storages, by name, of each call; `dtypes` their
    element types where they are handed over.
    """

    calls: tuple[Call, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    shapes: tuple[dict[str, tuple[int, ...]], ...]
    dtypes: dict[str, str]


#: Functions that launch calls, by the number of the call; a program's file has one program.
STARTED: dict[int, Callable[[dict[str, Any]], object]] = {}


def inputs_of(program: Program, index: int, seed: int = 0) -> list[Any]:
    """Return what a call takes: storages on the host, and scalars."""
    call, shapes = program.calls[index], program.shapes[index]
    return [
        seen_as(filled(call, call.storages[name], seed + number), program, name, shapes[name])
        if name in call.storages
        else call.arguments[name]
        for number, name in enumerate(program.inputs)
    ]


def index_of(program: Program, given: dict[str, Any]) -> int:
    """Return the number of the call that was recorded with these shapes and scalars."""
    for index, call in enumerate(program.calls):
        if all(
            tuple(value.shape) == program.shapes[index][name]
            if isinstance(value, torch.Tensor)
            else value == call.arguments[name]
            for name, value in given.items()
        ):
            return index
    shown = {n: getattr(v, "shape", v) for n, v in given.items()}
    raise ValueError(f"no call of {program.calls[0].kernel} was recorded with {shown}")


def memory_of(program: Program, index: int, given: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Return the bytes of a call's storages: inputs, copied if written; others begin as zeros."""
    call = program.calls[index]
    tensors = [value for value in given.values() if isinstance(value, torch.Tensor)]
    device = tensors[0].device if tensors else active_device()[0]
    memory = {}
    for name, storage in call.storages.items():
        if name not in given:
            memory[name] = torch.zeros(storage.nbytes, dtype=torch.uint8, device=device)
            continue
        kind = getattr(torch, program.dtypes[name])
        tensor = given[name].to(kind).contiguous()
        if name in program.outputs or tensor.storage_offset():
            tensor = tensor.clone()
        memory[name] = tensor.reshape(-1).view(torch.uint8)
    return memory


def results_of(program: Program, index: int, memory: dict[str, torch.Tensor]) -> Any:
    """Return the storages that a launch wrote, as a tensor or a tuple of tensors."""
    results = tuple(
        seen_as(memory[name], program, name, program.shapes[index][name])
        for name in program.outputs
    )
    return results[0] if len(results) == 1 else results


def seen_as(
    memory: torch.Tensor, program: Program, name: str, shape: tuple[int, ...]
) -> torch.Tensor:
    """Return a storage's bytes as elements of its type."""
    kind = getattr(torch, program.dtypes[name])
    return memory[: math.prod(shape) * kind.itemsize].view(kind).reshape(shape)


def started(program: Program, index: int) -> Callable[[dict[str, Any]], object]:
    """Return the function that launches a call; its kernel is compiled at the first use."""
    if index not in STARTED:
        STARTED[index] = prepared(program.calls[index], Path(tempfile.mkdtemp()))
    return STARTED[index]


def replay(program: Program, given: dict[str, Any]) -> Any:
    """Launch the call that `given`, inputs by name, was recorded with; return what it wrote."""
    index = index_of(program, given)
    memory = memory_of(program, index, given)
    started(program, index)(arguments(program.calls[index], memory))
    return results_of(program, index, memory)


def repeated(program: Program, given: dict[str, Any]) -> Callable[[], Any]:
    """Return a function that launches a call on the same memory and returns what it wrote.

    Storages that the kernel both takes and writes are set to what they were before each launch.
    """
    index = index_of(program, given)
    memory = memory_of(program, index, given)
    before = {name: memory[name].clone() for name in program.outputs if name in given}
    start, named = started(program, index), arguments(program.calls[index], memory)
    results = results_of(program, index, memory)

    def launch() -> Any:
        for name, content in before.items():
            memory[name].copy_(content)
        start(named)
        return results

    return launch
