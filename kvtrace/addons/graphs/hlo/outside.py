"""Builders that also work outside of a trace, where they are traced and run at once."""

from collections.abc import Callable
from functools import cache, wraps
from typing import Any

from kvtrace.addons.graphs.hlo.builder import tracing


def usable_outside(builder: Callable[..., Any]) -> Callable[..., Any]:
    """Return the builder as a function that, outside of a trace, traces and runs itself."""

    @wraps(builder)
    def call(*args: Any, **kwargs: Any) -> Any:
        if tracing():
            return builder(*args, **kwargs)
        return _traced(builder)(*args, **kwargs)

    return call


@cache
def _traced(builder: Callable[..., Any]) -> Callable[..., Any]:
    from kvtrace.addons.graphs.hlo.traced import TracedFunction

    return TracedFunction(builder, observed=False)
