"""Modules that the first write of a run needs, imported while the program starts.

Later the program may refuse imports, or have used up all file descriptors. It takes some 0.1 s,
and afterwards no import holds up a fork.
"""

from contextlib import suppress
from importlib import import_module
from typing import Final

from kvtrace.capture.collector import Uncounted
from kvtrace.capture.threads import library_threads
from kvtrace.settings import Settings
from kvtrace.surroundings import in_subinterpreter

#: Modules that functions of the recording import when they are called; the last is for the end.
MODULES: Final = (
    "kvtrace.capture.ends", "kvtrace.capture.hot_choice", "kvtrace.capture.running_texts",
    "kvtrace.schema.arrays", "kvtrace.schema.content", "kvtrace.schema.hot_rows",
    "kvtrace.schema.writer", "kvtrace.capture.backends", "kvtrace.capture.closing_line",
)  # fmt: skip


def import_modules(settings: Settings) -> None:
    """Import the modules; one that cannot be imported is reported when it is needed.

    In a sub-interpreter, which records nothing, pyarrow's import may never end.
    """
    if in_subinterpreter():
        return
    with Uncounted(leaves_objects=True), library_threads():
        for name in MODULES:
            with suppress(Exception):
                import_module(name)
        with suppress(Exception):
            settings.as_facts()  # which asks add-ons for theirs
