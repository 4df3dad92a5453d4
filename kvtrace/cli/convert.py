"""`kvtrace convert`: a trace as a file for another tool."""

from typing import Annotated, Final

from kvtrace.cli.needs import Needs
from kvtrace.cli.options import OutputOption, RunOption, TracePath, select, written_to
from kvtrace.cli.parsing import Argument, Option
from kvtrace.registry import own_entries
from kvtrace.schema.errors import BadSetting

NEEDS: Final[Needs] = {"launches": ("enter", "exit")}

_FORMATS = [entry.name for entry in own_entries("converters")]


def command(
    converter: Annotated[
        str,
        Argument(metavar="FORMAT", help=f"{', '.join(_FORMATS)}, or a plugin's name"),
    ],
    trace: TracePath,
    output: OutputOption = None,
    run: RunOption = None,
    since: Annotated[
        float | None,
        Option(
            "--from",
            metavar="SECONDS",
            help="Leave out events earlier than this after the start of the runs",
        ),
    ] = None,
    until: Annotated[
        float | None, Option("--to", metavar="SECONDS", help="Leave out later events")
    ] = None,
    setting: Annotated[
        list[str] | None,
        Option("--set", metavar="NAME=VALUE", help="A setting of the format; repeatable"),
    ] = None,
) -> int:
    """Write a trace in a format for other tools, such as a timeline for ui.perfetto.dev.

    Example:
        kvtrace convert perfetto out/ -o train.perfetto-trace

        kvtrace convert perfetto out/ --run 20260102-030405 --from 60 --to 61.5

        kvtrace convert csv out/ --set table=launches -o launches.csv

    """
    from kvtrace.analysis.writing import convert, narrowed_to_seconds
    from kvtrace.cli import complain
    from kvtrace.converters.registry import load_converter
    from kvtrace.text import size

    load_converter(converter)  # an unknown name is reported before anything is read
    settings = parse_settings(setting or [])
    selection = narrowed_to_seconds(select(trace, run), since, until)
    with written_to(output, load_converter(converter).default_output) as (target, report):
        _, conversion = convert(selection, converter, target, settings, complain)
        size_bytes = conversion.size_bytes
    report(f"wrote {output or target} ({size(size_bytes)})")
    for note in (*conversion.notes, *selection.trace.notes):
        report(f"  {note}")
    return 0


def parse_settings(pairs: list[str]) -> dict[str, str]:
    """Return the settings of NAME=VALUE texts as a dictionary.

    Raises:
        BadSetting: A text has no equals sign, or a name is given twice.

    """
    settings: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise BadSetting(f"--set needs NAME=VALUE, not {pair!r}.")
        if name in settings:
            raise BadSetting(f"--set gives {name} twice; give it once.")
        settings[name] = value
    return settings
