"""`kvtrace gate list`: the command that shows the baselines of the working directory."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from kvtrace.cli.options import JsonOption, print_lines, say
from kvtrace.text import json_text, moment

if TYPE_CHECKING:
    from kvtrace.addons.ci.baselines import Baseline


def command(as_json: JsonOption = False) -> None:
    """List the baselines in .kvtrace/baselines/, which kvtrace gate and diff --against use.

    Example:
        kvtrace gate list
        kvtrace gate list --json
    """
    from kvtrace.addons.ci.baselines import list_baselines

    print_baselines(list_baselines(), as_json=as_json)


def print_baselines(baselines: "Sequence[Baseline]", *, as_json: bool) -> None:
    """Print baselines as a table or as JSON."""
    from kvtrace.addons.ci.baselines import BASELINES
    from kvtrace.text import columns, count, size, terminal_width

    if as_json:
        print(json_text("baselines", {"baselines": [asdict(one) for one in baselines]}))
        return
    if not baselines:
        say(f"there is no baseline in {BASELINES}; save one: kvtrace gate save NAME TRACE")
        return
    header = ("baseline", "commit", "recorded", "kernels", "launches", "findings", "size")
    rows = [
        (
            baseline.name,
            (baseline.commit or "-")[:12],
            moment(baseline.started),
            count(baseline.kernels),
            count(baseline.launches),
            "judged" if baseline.judged else "not judged",
            size(baseline.size_bytes),
        )
        for baseline in baselines
    ]
    print_lines(columns(header, rows, terminal_width()))


def replaced_text(earlier: "Baseline") -> str:
    """Return a phrase on the baseline that a new one has replaced."""
    return f"replaced the one recorded {moment(earlier.started)} UTC"
