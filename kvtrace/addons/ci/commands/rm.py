"""`kvtrace gate rm`: the command that deletes a baseline."""

from typing import Annotated

from kvtrace.cli.options import tell
from kvtrace.cli.parsing import Argument


def command(
    name: Annotated[str, Argument(metavar="NAME", help="The baseline's name, such as main")],
) -> None:
    """Delete a baseline, the folder .kvtrace/baselines/NAME/.

    Example:
        kvtrace gate rm main
    """
    from kvtrace.addons.ci.baselines import remove_baseline

    remove_baseline(name)
    tell(f"removed the baseline {name}")
