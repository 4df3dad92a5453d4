"""Evaluations of a call or of single programs, with or without recorded contents.

Storages are never written: programs' stores go to copies, or nowhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from msgspec.structs import replace

from kvtrace.evaluate import Argument, Observer, Storage, TensorArgument, evaluate
from kvtrace.evaluate.arguments import with_storages
from kvtrace.evaluate.errors import UNFIT, UnfitOp
from kvtrace.evaluate.observe import Access
from kvtrace.evaluate.scope import MOST_STEPS
from kvtrace.schema.errors import KvtraceError
from kvtrace.verdicts.verdict import Witness

if TYPE_CHECKING:
    from kvtrace.evaluate.instrument import Instrument
    from kvtrace.evaluate.scope import Scope
    from kvtrace.recorded_calls.recorded import Call

_INTEGERS: Final = ("i", "u")

#: Limit of lanes of an evaluation of one program that shows a witness.
WITNESS_LANES: Final = 1 << 25

#: Reason of an unknown verdict: formulas give a counterexample that an evaluation does not confirm.
NOT_REPRODUCED: Final = "a counterexample was found, but running it did not show the defect"


class TooManyLanes(KvtraceError):
    """An evaluation accessed more lanes than its limit."""

    slug = "too-many-lanes"


_MIN_BATCH_LANES: Final = 256
"""Lanes that any smaller batch is counted as, because it takes as long to evaluate."""


class Limit(Observer):
    """An observer that raises TooManyLanes after `most` lanes of memory accesses."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lanes = 0

    def access(self, access: Access) -> None:
        """Add the lanes of a batch of accesses; raise TooManyLanes if they exceed the limit."""
        self._lanes += max(access.lanes, _MIN_BATCH_LANES)
        if self._lanes > self._most:
            raise TooManyLanes(f"evaluating the call takes more than {self._most:,} lanes")


def run(
    call: Call,
    observers: Sequence[Observer],
    programs: Iterable[int] | None = None,
    *,
    contents: str = "integers",
    lanes: int | None = None,
    instrument: Instrument | None = None,
    one_by_one: bool = False,
) -> str | None:
    """Evaluate a call for observers; return the reason if it ended early, else None.

    Args:
        call: the call, with its module and arguments, whose storages are not written.
        observers: receivers of the evaluation's events.
        programs: linear ids, x fastest; None: the whole grid. They run in ascending order, if
            `one_by_one` in this order.
        contents: contents of tensors: "none" (only addresses that depend on no data are computed),
            the recorded "integers", or "all" that was recorded.
        lanes: the number of lanes of memory accesses after which to stop; None: no limit.
        instrument: a wrapper of ops.
        one_by_one: whether one program runs after the other, not as many as fit at once.

    """
    return run_with(
        call,
        read_only_arguments(call.arguments, contents),
        observers,
        programs,
        lanes=lanes,
        instrument=instrument,
        one_by_one=one_by_one,
    )


def run_with(
    call: Call,
    arguments: Sequence[Argument],
    observers: Sequence[Observer],
    programs: Iterable[int] | None,
    *,
    lanes: int | None = None,
    instrument: Instrument | None = None,
    one_by_one: bool = False,
) -> str | None:
    """Evaluate a call with other arguments; see `run`. Several contents are not evaluated."""
    if call.others:
        return "it is judged for several contents at once"
    try:
        evaluate(
            call.module,
            arguments,
            call.grid,
            observers=observers if lanes is None else (*observers, Limit(lanes)),
            kernel=call.kernel,
            programs=None if programs is None else np.fromiter(programs, np.int64),
            instrument=instrument,
            chunk_bytes=0 if one_by_one else None,
            most_steps=MOST_STEPS,
        )
    except KvtraceError as error:
        return str(error)
    except MemoryError:
        return "the tensors of the call are too large to evaluate"
    except UNFIT as error:  # recorded IR may be anything; reported for the call
        return str(UnfitOp(call.kernel, error))
    return None


def holds_floats(call: Call) -> bool:
    """Return whether contents of a tensor of floats (or Booleans) were recorded."""
    return any(
        isinstance(argument, TensorArgument)
        and argument.storage.data is not None
        and argument.dtype[0] not in _INTEGERS
        for argument in call.arguments
    )


def read_only_arguments(
    arguments: Sequence[Argument], contents: str = "all"
) -> tuple[Argument, ...]:
    """Return read-only copies of arguments, without contents that `contents` does not name."""
    tensors = [argument for argument in arguments if isinstance(argument, TensorArgument)]
    visible = {
        tensor.storage
        for tensor in tensors
        if contents == "all" or (contents == "integers" and tensor.dtype[0] in _INTEGERS)
    }
    return with_storages(arguments, lambda storage: _read_only(storage, storage in visible))


def without_contents(call: Call) -> Call:
    """Return a call without recorded contents."""
    arguments = with_storages(call.arguments, lambda storage: Storage(storage.nbytes))
    return replace(call, arguments=arguments, recorded=())


def writable(storage: Storage) -> Storage:
    """Return a storage whose known contents may be changed, a copy if these may not."""
    data = storage.data
    if data is None or data.flags.writeable:
        return storage
    return Storage(storage.nbytes, data.copy(), storage.address)


def _read_only(storage: Storage, is_visible: bool) -> Storage:
    if storage.data is None or not is_visible:
        return Storage(storage.nbytes, address=storage.address)
    data = storage.data.view()
    data.flags.writeable = False
    return Storage(storage.nbytes, data, storage.address)


def witness_at(scope: Scope, row: int, lane: Iterable[int] | None = ()) -> Witness:
    """Return the place of a lane of the program in a row of an evaluated batch."""
    lanes = None if lane is None else tuple(map(int, lane))
    return Witness(scope.program(row), scope.iteration, lanes)
