"""kvtrace records every kernel launch of a program; everything else is made later from the files.

Kept tiny on purpose: the autostart line imports this package in every Python process that runs
with `KVTRACE` set. The public functions are imported when they are first used.

    import kvtrace

    with kvtrace.capture("out/"):
        train()
"""

TYPE_CHECKING = False  # as type checkers read it; importing typing would cost 7 ms
if TYPE_CHECKING:
    from kvtrace.capture.api import capture as capture
    from kvtrace.capture.api import mark as mark
    from kvtrace.capture.api import start as start
    from kvtrace.capture.api import stop as stop
    from kvtrace.schema.errors import KernelDefect as KernelDefect
    from kvtrace.traced import trace as trace

__version__ = "0.1.0"
__all__ = ["KernelDefect", "__version__", "capture", "mark", "start", "stop", "trace"]


def __getattr__(name: str) -> object:
    if name == "KernelDefect":
        from kvtrace.schema.errors import KernelDefect

        globals()[name] = KernelDefect
        return KernelDefect
    if name not in ("capture", "mark", "start", "stop", "trace"):
        raise AttributeError(f"module 'kvtrace' has no attribute {name!r}")
    if name == "trace":
        from kvtrace.traced import trace

        globals()[name] = trace
        return trace
    from kvtrace.capture import api

    if name == "capture":  # the folder of that name, which can be called, and now is an attribute
        return globals()[name]
    value: object = getattr(api, name)
    globals()[name] = value
    return value
