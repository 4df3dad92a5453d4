"""`kvtrace gate`: the command that records a program and compares it with a baseline."""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from kvtrace.cli import complain, note
from kvtrace.cli.options import (
    JsonFile,
    JsonOnceFile,
    JunitFile,
    MarkdownFile,
    MeaningOption,
    StrictOption,
    conditions_of,
    print_lines,
    tell,
)
from kvtrace.cli.parsing import Argument, Option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvtrace.converters.diff.model import Answer
    from kvtrace.converters.diff.outputs import Outputs
    from kvtrace.schema.trace import Selection

#: The default rules, if neither the command nor the project has rules. `?` skips figures that a
#: side lacks. Rules on total bytes and FLOPs would fail whenever a suite gets another test.
DEFAULT_RULES: Final = (
    "results?", "findings.new", "spills>+0?", "registers>+10%?", "bytes/launch>+5%?",
    "flops/launch>+5%?",
)  # fmt: skip


def command(
    program: Annotated[
        list[str], Argument(metavar="-- PROGRAM [ARGS…]", help="The command to record")
    ],
    against: Annotated[
        str, Option("--against", metavar="NAME", help="The baseline to compare with")
    ] = "main",
    fail_on: Annotated[
        list[str] | None,
        Option(
            "--fail-on",
            metavar="RULES",
            help="Exit with 1 if the program violates a rule; see kvtrace diff  [default: those of "
            "[tool.kvtrace.diff] in pyproject.toml, else other results, new findings, more spills, "
            "and growth of registers by 10 %, or of a launch's bytes or FLOPs by 5 %]",
        ),
    ] = None,
    save: Annotated[
        bool,
        Option(
            "--save", help="Save the run as the baseline afterwards, even if a rule is violated"
        ),
    ] = False,
    output: Annotated[
        Path | None,
        Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Add the run to this trace  [default: .kvtrace/gate, emptied first]",
        ),
    ] = None,
    markdown: MarkdownFile = None,
    html: Annotated[
        str | None, Option("--html", metavar="FILE", help="Write a page of the comparison")
    ] = None,
    json: JsonOnceFile = False,
    json_file: JsonFile = None,
    junit: JunitFile = None,
    sarif: Annotated[
        Path | None, Option("--sarif", metavar="FILE", help="Write the findings as SARIF")
    ] = None,
    meaning: MeaningOption = None,
    strict: StrictOption = False,
) -> int:
    """Record a program, judge and replay its launches, and compare them with a baseline.

    Needs no GPU. Exit code: the program's if it is not 0. Otherwise 1 if the change must not be
    merged (results differ, a finding is new, or a rule is violated), with --strict also if that
    is not known. 2 if there is no baseline (unless --save makes it), no kernel, or a rule that
    cannot be judged. Otherwise 0.

    kvtrace gate save NAME, list and rm NAME save, list and delete baselines; a program of such a
    name has to follow --.

    Example:
        kvtrace gate --save -- python bench.py
        kvtrace gate --fail-on 'findings.new, spills>0' -- pytest tests/
        kvtrace gate --markdown gate.md --sarif gate.sarif -- python bench.py
    """
    from kvtrace.addons.ci.baselines import (
        RECORDED,
        has_baseline,
        no_baseline,
        renew_recorded,
    )
    from kvtrace.addons.ci.recording import STANDARD_ERROR, record_program
    from kvtrace.analysis.completing import complete
    from kvtrace.converters.diff.gate import project_rules, read_rules
    from kvtrace.converters.diff.outputs import Outputs
    from kvtrace.schema.errors import BadSetting
    from kvtrace.schema.output_folders import check_output_folder

    rules = (project_rules() or list(DEFAULT_RULES)) if fail_on is None else fail_on
    read_rules(rules)
    if not save and not has_baseline(against):
        raise BadSetting(no_baseline(against))
    outputs = Outputs(markdown=markdown, html=html, json="-" if json else json_file, junit=junit)
    if output is None:
        renew_recorded()
    else:
        check_output_folder(output, "add")
    # Standard output of the program would be in the middle of the JSON.
    shown_on = STANDARD_ERROR if outputs.printed else None
    program_run = record_program(program, output or RECORDED, output=shown_on)
    if program_run.selection is None:
        code = complain(
            "no kernel of the program was recorded, so nothing is compared; kvtrace must be "
            "installed in the Python that the program runs in"
        )
    else:
        for line in complete((program_run.selection,), replay=True):
            note(line)
        saves = save and not program_run.exit_code
        code, answers = _compare_with_baseline(
            program_run.selection, against, rules, outputs, program_run.exit_code, saves=saves,
            meaning=meaning, strict=strict,
        )  # fmt: skip
        if sarif is not None:
            _write_sarif(program_run.selection, answers, sarif)
        if saves:
            _save(against, program_run.selection)
    if program_run.exit_code:
        complain(
            f"the program failed with exit code {program_run.exit_code}, which is also the exit "
            "code of kvtrace gate; only its launches until then were compared"
            + (", and the run is not saved as the baseline." if save else ".")
        )
    return program_run.exit_code or code


def _compare_with_baseline(
    after: Selection, against: str, rules: list[str], outputs: Outputs, exit_code: int, *,
    saves: bool, meaning: float | None, strict: bool,
) -> tuple[int, tuple[Answer, ...]]:  # fmt: skip
    """Compare runs with the baseline `against`, write the outputs, and print the comparison.

    Returns the exit code, and answers to whether the runs may be merged. A program's `exit_code`
    other than 0 fails the comparison. With `saves` the runs become the baseline afterwards, so that
    it need not exist yet. With `strict`, answers that are not known fail the comparison. `meaning`
    limits the seconds for comparing the meanings of changed kernels.
    """
    from kvtrace.addons.ci.baselines import has_baseline, no_baseline, open_baseline
    from kvtrace.converters.diff import compare
    from kvtrace.converters.diff.gate import Gate, read_rules
    from kvtrace.converters.diff.outputs import write_outputs
    from kvtrace.text import terminal_width

    if not has_baseline(against):
        for output in fields(outputs):
            if getattr(outputs, output.name) is not None:
                complain(f"the file of --{output.name} is not written: there is no baseline.")
        if saves:
            tell(f"there was no baseline {against} yet, so the run is saved without a comparison")
            return 0, ()
        return complain(no_baseline(against)), ()
    labels = (f"baseline {against}", str(after.trace.path))
    problem = f"the program failed with exit code {exit_code}" if exit_code else None
    gate = Gate(read_rules(rules), problem=problem)
    sides = open_baseline(against), after
    conditions = conditions_of(sides) if gate.wants_bounds else None
    difference = compare(*sides, labels=labels, gate=gate, conditions=conditions, meaning=meaning)
    lines = write_outputs(
        difference, outputs, sides, gate=gate, width=terminal_width(),
        tell=note if outputs.printed else tell,
    )  # fmt: skip
    print_lines(lines, raw=outputs.printed not in (None, "markdown"))
    if complaint := gate.complaint():
        return complain(complaint), difference.answers
    return int(difference.stops_merge(strict=strict)), difference.answers


def _write_sarif(after: Selection, answers: Sequence[Answer], path: Path) -> None:
    """Write the findings of runs as a SARIF file, which code-scanning services read.

    `answers`, on whether the change may be merged, become a property of the log.

    Raises:
        BadSetting: the file cannot be written.
    """
    from json import dumps

    from kvtrace.converters.findings import read_findings, sarif, without_proven
    from kvtrace.converters.output import whole_file
    from kvtrace.version import __version__

    findings = without_proven(read_findings(after.trace, after.runs))
    root = after.runs[0].git_root if after.runs else None
    log = sarif(findings, __version__, root=root)
    if answers:
        log["properties"] = {"answers": [asdict(answer) for answer in answers]}
    with whole_file(path) as file:
        file.write(dumps(log, indent=2).encode() + b"\n")
    tell(f"wrote {path}")


def _save(name: str, selection: Selection) -> None:
    from kvtrace.addons.ci.baselines import baseline_facts, save_baseline
    from kvtrace.addons.ci.commands.list_ import replaced_text
    from kvtrace.text import plural

    earlier = baseline_facts(name)
    saved = save_baseline(name, selection)
    counts = f"{plural(saved.kernels, 'kernel')}, {plural(saved.launches, 'launch')}"
    replaced = "" if earlier is None else f"; it {replaced_text(earlier)}"
    tell(f"saved the run as the baseline {name}: {counts}{replaced}")
