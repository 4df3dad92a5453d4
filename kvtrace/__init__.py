"""kvtrace records every kernel launch of a program; everything else is made later from the files.

Kept tiny on purpose: the autostart line imports this package in every Python process that runs
with `KVTRACE` set. The public functions are imported when they are first used.

    import kvtrace

    with kvtrace.capture("out/"):
        train()
    print(kvtrace.open("out/").profile())
"""

TYPE_CHECKING = False  # as type checkers read it; importing typing would cost 7 ms
if TYPE_CHECKING:
    from kvtrace.candidates.checking import check_kernel as check_kernel
    from kvtrace.capture.api import capture as capture
    from kvtrace.capture.api import mark as mark
    from kvtrace.capture.api import start as start
    from kvtrace.capture.api import stop as stop
    from kvtrace.opened.traces import diff as diff
    from kvtrace.opened.traces import open as open  # noqa: A004 - as gzip.open
    from kvtrace.schema.errors import KernelDefect as KernelDefect
    from kvtrace.traced import trace as trace

__version__ = "0.2.0"
__all__ = [
    "KernelDefect", "__version__", "capture", "check_kernel", "diff", "mark", "open", "start",
    "stop", "trace",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name == "KernelDefect":
        from kvtrace.schema.errors import KernelDefect

        globals()[name] = KernelDefect
        return KernelDefect
    if name in ("diff", "open"):
        from kvtrace.opened import traces

        value: object = getattr(traces, name)
        globals()[name] = value
        return value
    if name == "check_kernel":
        from kvtrace.candidates.checking import check_kernel

        globals()[name] = check_kernel
        return check_kernel
    if name not in ("capture", "mark", "start", "stop", "trace"):
        raise AttributeError(f"module 'kvtrace' has no attribute {name!r}")
    if name == "trace":
        from kvtrace.traced import trace

        globals()[name] = trace
        return trace
    from kvtrace.capture import api

    if name == "capture":  # the folder of that name, which can be called, and now is an attribute
        return globals()[name]
    value = getattr(api, name)
    globals()[name] = value
    return value
