"""The variables that ask a recorded process to fill fresh memory."""

from typing import Final

#: The variable by which `kvtrace confirm` asks a recorded process to fill fresh memory: `nan` or
#: `zero`, and after `@` the only line whose memory is filled so, as `model.py:12`; other fresh
#: memory is then zeros.
FILL: Final = "KVTRACE_MEMORY_FILL"
#: Its description for docs/settings.md.
ABOUT_FILL: Final = (
    "set by [`kvtrace confirm`](memory.md): what fresh memory of `torch.empty` is filled with, "
    "`nan` or `zero`; after `@` the only line whose memory is filled so, as `nan@model.py:12`, "
    "while all other fresh memory is filled with zeros"
)
#: The variable with the path of a file that is made once memory was filled as `FILL` says.
FILLED: Final = "KVTRACE_MEMORY_FILLED"
#: Its description for docs/settings.md.
ABOUT_FILLED: Final = (
    "set by [`kvtrace confirm`](memory.md): the path of a file that is made once fresh memory was "
    "filled as `KVTRACE_MEMORY_FILL` says"
)
