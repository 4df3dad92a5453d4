"""The variable that asks a recorded process to fill fresh memory."""

from typing import Final

#: The variable by which `kvtrace confirm` asks a recorded process to fill fresh memory: `nan` or
#: `zero`, and after `@` the only line whose memory is filled, as `model.py:12`.
FILL: Final = "KVTRACE_MEMORY_FILL"
#: Its description for docs/settings.md.
ABOUT_FILL: Final = (
    "set by [`kvtrace confirm`](memory.md): what fresh memory of `torch.empty` is filled with, "
    "`nan` or `zero`; after `@` the only line whose memory is filled, as `nan@model.py:12`"
)
