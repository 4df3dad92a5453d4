"""Results of sealed runs, which are kept for an opened trace, as its sealed runs do not change."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from kvtrace.schema.trace import Run, Trace

P = ParamSpec("P")
T = TypeVar("T")
_Read = Callable[Concatenate["Trace", Sequence["Run"], P], T]


def once_per_trace(read: _Read[P, T]) -> _Read[P, T]:
    """Have a function of a trace, runs and more run once for the same arguments.

    The results of runs that are not sealed are not kept.
    """
    results_by_trace: WeakKeyDictionary[Trace, dict[Any, T]] = WeakKeyDictionary()

    @wraps(read)
    def known(trace: "Trace", runs: Sequence["Run"], /, *args: P.args, **options: P.kwargs) -> T:
        if not all(run.sealed for run in runs):
            return read(trace, runs, *args, **options)
        results = results_by_trace.setdefault(trace, {})
        key = (tuple(run.run_id for run in runs), args, *options.items())
        if key not in results:
            results[key] = read(trace, runs, *args, **options)
        return results[key]

    return known
