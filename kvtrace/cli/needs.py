"""Columns that a command needs of a trace, beyond those that every trace has.

A command's module declares them as `NEEDS`, from which docs/needs.md is made.
"""

from collections.abc import Mapping
from typing import Final

#: Columns by table. A table without columns is needed with its required ones.
Needs = Mapping[str, tuple[str, ...]]

#: Any trace will do: what is there is shown.
NOTHING: Final[Needs] = {}
#: What a call's addresses, masks, bytes and FLOPs are computed from.
OF_EVALUATED_CALLS: Final[Needs] = {
    "kernels": ("signature", "stages"),
    "calls": ("grid_x", "grid_y", "grid_z", "args"),
    "artifacts": (),
}
#: Times of the device by kernel; `call_id` serves as well.
OF_DEVICE_TIMES: Final[Needs] = {"gpu_kernels": ("launch_seq",)}
