"""`kvtrace baseline`: the command that stores runs under a name for later comparisons."""

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from kvtrace.cli.options import JsonOption, RunOption, print_lines, say, select, tell
from kvtrace.cli.parsing import Argument, Option
from kvtrace.schema.errors import BadSetting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvtrace.addons.ci.baselines import Baseline
    from kvtrace.schema.trace import Selection


def command(
    action: Annotated[str, Argument(metavar="save|list|rm", help="Save, list or remove baselines")],
    name: Annotated[
        str | None, Argument(metavar="[NAME]", help="The baseline's name, such as main")
    ] = None,
    trace: Annotated[
        Path | None,
        Argument(
            metavar="[TRACE]",
            help="The trace to save  [default: the last recording of kvtrace gate]",
        ),
    ] = None,
    run: RunOption = None,
    replay: Annotated[
        bool,
        Option("--replay/--no-replay", help="Replay and sanitize the run first if needed"),
    ] = True,
    as_json: JsonOption = False,
) -> None:
    """Store runs as a baseline, in .kvtrace/baselines/NAME/, to compare later runs with.

    A baseline is a small trace: kernels, calls, code, bytes and FLOPs, findings, and a row for each
    launch, with its times if there was a device. Baselines can be committed or cached.

    Example:
        kvtrace baseline save main out/
        kvtrace baseline list
        kvtrace diff --against main out/
        kvtrace baseline rm main
    """
    from kvtrace.addons.ci.baselines import RECORDED, list_baselines, remove_baseline

    if action == "list":
        _refuse(name, "kvtrace baseline list takes no name.")
        _print_baselines(list_baselines(), as_json)
        return
    if name is None or action not in ("save", "rm"):
        raise BadSetting(
            f"kvtrace baseline {action}: the command is one of save NAME [TRACE], list, rm NAME."
        )
    if action == "rm":
        _refuse(trace, "kvtrace baseline rm takes no trace, only a name.")
        remove_baseline(name)
        tell(f"removed the baseline {name}")
        return
    saved = keep(name, select(trace or RECORDED, run), replay=replay)
    _print_baselines([saved], as_json)


def keep(name: str, selection: "Selection", *, replay: bool) -> "Baseline":
    """Save runs as a baseline and return its facts; with `replay`, first run missing passes.

    Passes cannot run later, since a baseline lacks the data that they need.
    """
    from kvtrace.addons.ci.baselines import baseline_folder, save_baseline
    from kvtrace.addons.ci.commands.analyses import complete_runs
    from kvtrace.cli import note

    baseline_folder(name)
    if replay:
        for line in complete_runs(selection):
            note(line)
    return save_baseline(name, selection)


def _refuse(value: object, text: str) -> None:
    if value is not None:
        raise BadSetting(text)


def _print_baselines(baselines: "Sequence[Baseline]", as_json: bool) -> None:
    from kvtrace.addons.ci.baselines import BASELINES
    from kvtrace.text import columns, count, size, terminal_width

    if as_json:
        print(json.dumps([asdict(baseline) for baseline in baselines], indent=2))
        return
    if not baselines:
        say(f"there is no baseline in {BASELINES}; save one: kvtrace baseline save NAME TRACE")
        return
    header = ("baseline", "commit", "recorded", "kernels", "launches", "findings", "size")
    rows = [
        (
            baseline.name,
            (baseline.commit or "-")[:12],
            _date(baseline.started),
            count(baseline.kernels),
            count(baseline.launches),
            "judged" if baseline.judged else "not judged",
            size(baseline.size_bytes),
        )
        for baseline in baselines
    ]
    print_lines(columns(header, rows, terminal_width()))


def _date(nanoseconds: int | None) -> str:
    if nanoseconds is None:
        return "-"
    return datetime.fromtimestamp(nanoseconds / 1e9, UTC).strftime("%Y-%m-%d %H:%M")
