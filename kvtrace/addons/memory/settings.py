"""The setting of this add-on, and the variables by which `kvtrace confirm` fills fresh memory."""

from typing import Any, Final

from kvtrace.schema.errors import BadSetting
from kvtrace.settings import AddedSetting

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
