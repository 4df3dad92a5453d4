"""The setting of this add-on: whether what happens to memory is recorded."""

from typing import Any, Final

from kvtrace.schema.errors import BadSetting
from kvtrace.settings import AddedSetting

#: The variable by which `kvtrace confirm` asks a recorded process to fill fresh memory: `nan` or
#: `zero`, and after `@` the only line whose memory is filled, as `model.py:12`.
FILL: Final = "KVTRACE_MEMORY_FILL"
#: Its description for docs/settings.md.
ABOUT_FILL: Final = (
    "set by [`kvtrace confirm`](memory.md): what fresh memory of `torch.empty` is filled with, "
    "`nan` or `zero`; after `@` the only line whose memory is filled, as `nan@model.py:12`"
)
_ON: Final = ("on", "1", "true", "yes")
_OFF: Final = ("off", "0", "false", "no", "")


def _switch(value: Any) -> str:
    text = str(value).lower()
    if text in _ON or text in _OFF:
        return "on" if text in _ON else "off"
    raise BadSetting(f"the setting memory has to be on or off, not {value!r}")


MEMORY: Final = AddedSetting(
    name="memory",
    default="off",
    about="whether what happens to memory is recorded ([memory](memory.md)): `on`, addresses of "
    "launches' tensors, calls of PyTorch's operators, and memory that generated code allocates; "
    "or `off`",
    read=_switch,
    option=("on|off", "Whether to record what happens to memory"),
)
