"""Evaluation of a launch: by its plan, or else by arrays over programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kvtrace.evaluate.fixed_order import is_order_fixed
from kvtrace.evaluate.plan.launch import evaluate_planned

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from kvtrace.evaluate.arguments import Argument
    from kvtrace.evaluate.instrument import Instrument
    from kvtrace.evaluate.observe import Observer
    from kvtrace.ir import Module


def evaluate(
    module: Module,
    arguments: Sequence[Argument],
    grid: tuple[int, ...],
    *,
    observers: Sequence[Observer] = (),
    kernel: str | None = None,
    chunk_bytes: int | None = None,
    programs: NDArray[np.int64] | None = None,
    instrument: Instrument | None = None,
    planned: bool = True,
    most_steps: int | None = None,
) -> None:
    """Run a kernel over its whole grid, writing to the arguments' storages.

    Storages without data are unknown: results that depend on them are reported as unknown. A launch
    with affine addresses and branches is run by its plan (see plan/); if they are affine for most
    programs, these are.

    Args:
        module: The kernel's parsed IR.
        arguments: In the order of the parameters of `module.main`, followed by tensors that are
            reached through addresses in memory, if any (see reach.py).
        grid: One to three extents, x first.
        observers: Objects that receive compute ops, accesses, defects and loops (see observe.py).
        kernel: The function to run, by name; None: `module.main`.
        chunk_bytes: Memory for the values of programs that are evaluated together, in bytes; None:
            the default.
        programs: Linear ids (x fastest) of the programs to run, ascending, shape (n,); None: all.
        instrument: Wraps every op with its values (see instrument.py), by array evaluation alone.
        planned: Whether a plan may be used; none is where the order of sums is fixed.
        most_steps: Steps after which array evaluation ends (see scope.py); None: no limit, as if a
            program waits for the kernel's results.

    Raises:
        UnsupportedOp: an op, or a variant of the op, is not implemented.
        BadArguments: arguments or grid do not fit the kernel, or a tensor not its storage.
        Deadlock: a program waits for memory that no program will change.
        DeviceAssertion: an assertion of the kernel fails.
        UnknownAddress: an access goes through a pointer that comes from no argument.
        TooLarge: the evaluation needs more than `most_steps`, or a tensor is too large.

    """
    planned = planned and instrument is None and programs is None and not is_order_fixed()
    if planned and 1 <= len(grid) <= 3:
        x, y, z = (*map(int, grid), 1, 1)[:3]
        if min(x, y, z) >= 0:
            programs = evaluate_planned(module, tuple(arguments), (x, y, z), observers)
            if programs is not None and not programs.size:
                return
    # Imported late: launches with a plan do not need this module.
    from kvtrace.evaluate.by_arrays import CHUNK_BYTES, evaluate_by_arrays

    size = CHUNK_BYTES if chunk_bytes is None else chunk_bytes
    evaluate_by_arrays(
        module, arguments, grid, observers, kernel, size, programs, instrument, most_steps
    )
