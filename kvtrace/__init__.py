"""kvtrace records every kernel launch of a program; all analysis uses the recorded files.

This module is tiny on purpose: the autostart line imports the package in every Python process that
runs with `KVTRACE` set. The public functions are imported at their first use.

    import kvtrace

    with kvtrace.capture("out/"):
        train()
    print(kvtrace.open("out/").profile())
"""

import sys

TYPE_CHECKING = False  # as type checkers read it; importing typing would cost 7 ms
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from typing import Any

    from kvtrace.analysis.traces import diff as diff
    from kvtrace.analysis.traces import open as open  # noqa: A004 - as gzip.open
    from kvtrace.backends.compiled_kernels.generic import generic_ttir as generic_ttir
    from kvtrace.capture.api import capture as capture
    from kvtrace.capture.api import mark as mark
    from kvtrace.capture.api import start as start
    from kvtrace.capture.api import stop as stop
    from kvtrace.schema.errors import KernelDefect as KernelDefect
    from kvtrace.traced import trace as trace
    from kvtrace.version import __version__ as __version__

_HOMES = {
    "__version__": "kvtrace.version",
    "KernelDefect": "kvtrace.schema.errors",
    "capture": "kvtrace.capture.api",  # later the package of that name, which is callable
    "diff": "kvtrace.analysis.traces",
    "generic_ttir": "kvtrace.backends.compiled_kernels.generic",
    "mark": "kvtrace.capture.api",
    "open": "kvtrace.analysis.traces",
    "start": "kvtrace.capture.api",
    "stop": "kvtrace.capture.api",
    "trace": "kvtrace.traced",
}
__all__ = [*_HOMES]


def __getattr__(name: str) -> "Any":
    from kvtrace.lazy import public_name

    homes = _HOMES
    if name not in homes:
        from kvtrace.registry import own_entries

        if any(entry.name == name for entry in own_entries("modules")):
            from importlib import import_module

            return import_module(f"kvtrace.{name}")
        homes = {entry.name: entry.place.partition(":")[0] for entry in own_entries("api")}
    return public_name(globals(), homes, name)


def __dir__() -> "list[str]":
    from kvtrace.registry import own_entries

    addons = (entry.name for group in ("api", "modules") for entry in own_entries(group))
    return sorted({*__all__, *addons})


class _Finder:
    """Import finder of add-ons' modules by their public names `kvtrace.NAME`."""

    @staticmethod
    def find_spec(name: str, *_: object) -> "ModuleSpec | None":
        if not name.startswith("kvtrace.") or name == "kvtrace.lazy":
            return None
        from kvtrace.lazy import spec_of

        return spec_of(name)


sys.meta_path.append(_Finder)
