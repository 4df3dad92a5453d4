"""Commands of this add-on as `kvtrace --help` lists them, one module each."""

from typing import Final

from kvtrace.cli import Command

GATE: Final = Command(
    f"{__name__}.gate",
    "Record a program and compare it with a baseline",
    passthrough=True,
    group="Compare",
    exit_1="the change must not be merged, or the program ended with 1",
)
SAVE: Final = Command(
    f"{__name__}.save", "Store runs under a name for comparisons", group="Compare"
)
LIST: Final = Command(f"{__name__}.list_", "List the stored runs", group="Compare")
RM: Final = Command(f"{__name__}.rm", "Delete stored runs", group="Compare")
#: Names up to 0.3.
BASELINE_SAVE: Final = Command("", SAVE.help, instead="gate save")
BASELINE_LIST: Final = Command("", LIST.help, instead="gate list")
BASELINE_RM: Final = Command("", RM.help, instead="gate rm")
