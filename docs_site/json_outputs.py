"""Outputs of commands with `--json`, by the names of their schemas, with their types.

An output is a dataclass of kvtrace; where a command builds its object from several, its type is
here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypedDict

from kvtrace.addons.ci.baselines import Baseline
from kvtrace.addons.fleet.model import Fleet
from kvtrace.addons.graphs.views.profile import GraphProfile
from kvtrace.addons.memory.confirming import Confirmation
from kvtrace.addons.neuron.views.chip_profile import ChipProfile
from kvtrace.analysis.machine import Part
from kvtrace.converters.diff.gate import Failure
from kvtrace.converters.diff.model import Difference
from kvtrace.converters.findings.conditions import KernelConditions
from kvtrace.converters.findings.model import Finding
from kvtrace.converters.info.info import Overview
from kvtrace.converters.info.live import LivePage
from kvtrace.converters.profile.autotune import Tuning
from kvtrace.converters.profile.profile_model import Profile
from kvtrace.figures.kernels import FURTHER
from kvtrace.figures.window import Window
from kvtrace.schema.compaction import Compaction
from kvtrace.schema.pruning import Pruning
from kvtrace.schema.recovery import Recovery
from kvtrace.schema.redaction import Redaction
from kvtrace.schema.validation import Problem

_CLI: Final = "kvtrace/cli"
_FURTHER: Final = {figure.name: float | None for figure in FURTHER}


@dataclass(frozen=True)
class Output:
    """An output of a command.

    Attributes:
        command: The command's words after `kvtrace`.
        type: Its type.
        folder: The folder of the command's module.
        changes: Fields by class and name that have another type in JSON; None: left out.
        added: Further fields by class, which may be absent.

    """

    command: str
    type: type
    folder: str = _CLI
    changes: Mapping[tuple[str, str], Any] = field(default_factory=dict)
    added: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


class Unjudged(TypedDict):
    """A kernel whose calls were not judged, or a sentence on all of the trace."""

    kernel: str | None
    calls: int | None
    reason: str | None


class Sanitized(TypedDict):
    """Verdicts of the rules on each access of each unique call.

    Attributes:
        counts: Verdicts by severity: error, warning, note, unknown, suppressed, proven.
        verdicts: Findings, errors first; with `--all` proven accesses, too.
    """

    counts: dict[str, int]
    verdicts: list[Finding]
    unjudged: list[Unjudged]


class Sized(TypedDict):
    """Sizes for which kernels are proven."""

    kernels: list[KernelConditions]


class Tuned(TypedDict):
    """Configurations that autotuners tried and chose."""

    tunings: list[Tuning]


class JudgedRules(TypedDict):
    """The rules of `--fail-on`, those that are violated, and those that could not be judged."""

    rules: list[str]
    failures: list[Failure]
    not_judged: list[str]


class Baselines(TypedDict):
    """Runs that are stored under names."""

    baselines: list[Baseline]


class CheckedLaunches(TypedDict):
    """Device results compared with the meaning of the IR.

    Attributes:
        answers: Numbers of launches by answer.
        checks: Rows of the table `checks`, with the run, the kernel's name, and `stage` and
            `stage_reason`, the compiler stage at fault where results differ.
        findings: Rows of the table `findings`, with the run and the kernel's name.
        ranks: Whether ranks of the job parted, and where; null without digests of several.
    """

    answers: dict[str, int]
    checks: list[dict[str, Any]]
    findings: list[dict[str, Any]]
    failures: list[str]
    ranks: str | None
    rules: dict[str, dict[str, str]]


class Invariant(TypedDict):
    """Batch invariance of kernels' outputs.

    Attributes:
        outputs: One object for each output of each kernel.
        over: Answers over rows, the grid or an argument, as `--over` or a contract names it.
        variants: Outputs whose arithmetic differs at some sizes of the batch.
    """

    outputs: list[dict[str, Any]]
    failures: list[str]
    over: list[dict[str, Any]]
    variants: list[dict[str, Any]]


class Faults(TypedDict):
    """Kernels on the device in dumps, and processes that were asked for their stacks."""

    faults: list[dict[str, Any]]


class ConfirmedLine(TypedDict):
    """A line that allocates memory which findings are about; `confirmation` null: not asked."""

    line: str
    runs: list[str]
    findings: list[dict[str, str]]
    reads: int
    confirmation: Confirmation | None


class Confirmed(TypedDict):
    """Lines whose memory was filled while the program ran again."""

    lines: list[ConfirmedLine]


class JoinedRun(TypedDict):
    """Matches of one run's launches with another tool's executions.

    Attributes:
        means: time or order.
        shift_ns: What was added to the other tool's times.
        counts: Executions by grade and by the reason that they were not matched.
    """

    run: str
    written: bool
    times: str
    times_runs: list[str]
    same_process: bool
    means: str
    shift_ns: int
    counts: dict[str, int]


class Joined(TypedDict):
    """Device times of another tool, added to recorded launches."""

    runs: list[JoinedRun]


class ImportedRun(TypedDict):
    """A run that was made of another tool's file."""

    run: str
    source: str
    file: str
    group: str | None


class Imported(TypedDict):
    """Runs that were added to a trace, and what their tools did not record."""

    trace: str
    runs: list[ImportedRun]
    missing: list[str]


class ReplayedRun(TypedDict):
    """Unique calls of a run that were evaluated."""

    run: str
    calls: int
    replayed: int
    notes: list[str]
    failures: list[str]
    left_out: str | None


class Replayed(TypedDict):
    """Runs whose calls were evaluated."""

    runs: list[ReplayedRun]


class Rows(TypedDict):
    """The rows of a query's result, each an object with the names of its columns."""

    rows: list[dict[str, Any]]


class Doctor(TypedDict):
    """Parts of kvtrace that work on this machine."""

    parts: list[Part]


class SettingsInForce(TypedDict):
    """Settings of a recording that is started here.

    Attributes:
        variables: Values by the names of variables.
        sources: Where each is from: environment, a file, or default.
        diff: Rules of `kvtrace diff` in the project's file.
    """

    variables: dict[str, str | None]
    sources: dict[str, str]
    diff: Any
    problems: list[str]


class Validated(TypedDict):
    """Violations of the format."""

    problems: list[Problem]


class KernelName(TypedDict):
    """Identity of a kernel: its module, name and source."""

    module: str | None
    name: str
    source: str | None


class TreeStep(TypedDict):
    """A step of a tree of callers; its figures include everything below it."""

    label: str
    file: str | None
    line: int | None
    note: str | None
    kernel: KernelName | None
    runs: int | None
    device_ns: int | None
    forward_ns: int | None
    backward_ns: int | None
    host_ns: int | None
    bytes: int | None
    compile_ns: int | None
    branches: "list[TreeStep]"


class Tree(TypedDict):
    """Kernels by where they were called, with `--by`."""

    grouping: str
    window: Window | None
    notes: list[str]
    tree: TreeStep


_WITHOUT_PICTURES: Final = {("RanksFigures", "late_map"): None}

OUTPUTS: Final[Mapping[str, Output]] = {
    "info": Output(
        "info",
        Overview,
        changes={**_WITHOUT_PICTURES, ("KernelOverview", "further"): None},
        added={"KernelOverview": _FURTHER},
    ),
    "autotune": Output("info --autotune", Tuned),
    "profile": Output(
        "profile",
        Profile,
        changes={
            **_WITHOUT_PICTURES,
            ("DeviceLimits", "words"): None,
            ("DeviceLimits", "has_caches"): None,
            ("DeviceLimits", "targets"): None,
            ("Profile", "sections"): None,
            ("Measured", "further"): None,
        },
        added={
            "Profile": {"graphs": list[GraphProfile], "chips": list[ChipProfile], "by": Tree},
            "Measured": _FURTHER,
        },
    ),
    "sanitize": Output("sanitize", Sanitized),
    "sizes": Output("sizes", Sized),
    "diff": Output(
        "diff",
        Difference,
        changes={
            ("SourceDifference", "whole"): None,
            ("SourceDifference", "first_lines"): None,
            ("TimeComparison", "sampled"): None,
        },
        added={
            "Difference": {"empty": bool, "unjudged": str, "gate": JudgedRules},
            "TimeComparison": {"sampled": tuple[int, int]},
        },
    ),
    "sql": Output("sql", Rows),
    "top": Output("top", LivePage),
    "replay": Output("replay", Replayed),
    "import": Output("import", Imported),
    "doctor": Output("doctor", Doctor),
    "settings": Output("doctor --settings", SettingsInForce),
    "validate": Output("trace validate", Validated),
    "recover": Output("trace recover", Recovery),
    "compact": Output("trace compact", Compaction),
    "prune": Output("trace prune", Pruning),
    "redact": Output("trace redact", Redaction),
    "check": Output("check", CheckedLaunches, "kvtrace/addons/check/commands"),
    "baselines": Output("gate list", Baselines, "kvtrace/addons/ci/commands"),
    "fault": Output("fault", Faults, "kvtrace/addons/fault/commands"),
    "fleet": Output("fleet", Fleet, "kvtrace/addons/fleet/commands"),
    "invariance": Output("invariance", Invariant, "kvtrace/addons/invariance/commands"),
    "into": Output("import --into", Joined, "kvtrace/addons/join/commands"),
    "confirm": Output("confirm", Confirmation, "kvtrace/addons/memory/commands"),
    "confirmed": Output("confirm --trace", Confirmed, "kvtrace/addons/memory/commands"),
}
