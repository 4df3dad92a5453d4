"""Comparison of one program's kernels under several versions of Triton, in one table.

A program uses a version if its folder precedes the installed packages (in `PYTHONPATH`); the
interpreter, torch and all other packages stay the same. Triton needs no other package. The folders
may be deleted at any time.
"""

import os
import platform
import re
import secrets
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.machinery import PathFinder
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from kvtrace.addons.ci.comparing import Analyses, Comparison, Tell, compare_runs
from kvtrace.addons.ci.recording import record_program
from kvtrace.converters.findings import read_findings
from kvtrace.converters.findings.model import SEVERITIES
from kvtrace.converters.profile.recompiles import specialization
from kvtrace.schema.errors import BadSetting, KvtraceError
from kvtrace.schema.trace import Selection
from kvtrace.text import columns, count, duration, plural, printable, shorten, size, wrapped

#: A kernel's name, and the constants and types of one of its variants.
Variant = tuple[str, str]

_CONSTANT: Final = "constexpr "
#: Columns for `specialization` and the figures.
_COLUMNS: Final = (
    "name", "signature", "target", "warp_size", "num_warps", "num_ctas", "num_stages", "options",
    "registers", "spills", "shared_bytes", "compile_ns", "stages",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of one variant of a kernel under one version; None if not known.

    `findings`: the number of violations of the kernel, over all its variants.
    """

    registers: int | None
    spills: int | None
    shared_bytes: int | None
    ptx_bytes: int | None
    compile_ns: int | None
    findings: int | None

    @property
    def comparable(self) -> tuple[int | None, ...]:
        """The figures that repeat under one version (not `compile_ns`), in the table's order."""
        return (self.registers, self.spills, self.shared_bytes, self.ptx_bytes, self.findings)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a program under one version of Triton.

    `problem`: the reason why there are no figures. `change`: the comparison with the first version
    that could be run; None for that version itself, and if there are no rules.
    """

    version: str
    problem: str | None = None
    exit_code: int | None = None
    figures: Mapping[Variant, Figures] = field(default_factory=dict)
    change: Comparison | None = None

    @property
    def is_judged(self) -> bool:
        """The program launched kernels, and every rule could be judged."""
        return self.problem is None and not (self.change and self.change.gate.missing())


def run_versions(
    versions: Sequence[str],
    command: str,
    rules: Sequence[str],
    out: Path,
    analyses: Analyses,
    tell: Tell,
) -> list[Outcome]:
    """Run and record a command under each version of Triton, and return the results in order.

    Args:
        versions: Versions of the package in the table's order; others are compared with the
            first.
        command: The shell command that runs the program.
        rules: Rules as `--fail-on` takes them, or none.
        out: The folder for traces and the program's output, emptied first.
        analyses: Analyses of runs.
        tell: Receives a sentence about each problem.

    Raises:
        BadSetting: no version is given, or a version twice; or a text is not a rule.
    """
    if not versions or len(set(versions)) < len(versions):
        raise BadSetting("--triton needs versions of Triton without repetition: 3.5.1,3.6.0.")
    if out.exists():
        shutil.rmtree(out)
    out.mkdir(parents=True)
    outcomes = []
    reference: tuple[str, Selection] | None = None
    for version in versions:
        try:
            folder = installed_triton(version)
        except NotInstallable as error:
            tell(str(error))
            outcomes.append(Outcome(version, problem="not installed"))
            continue
        code, selection = _run_version(version, folder, command, out, tell)
        if selection is None:
            outcomes.append(Outcome(version, "no kernel", code))
            continue
        with (out / f"{version}.log").open("a", encoding="utf-8") as log:
            log.writelines(f"kvtrace: {line}\n" for line in analyses.complete(selection))
        change = None
        if reference is not None and rules:
            change = compare_runs(reference[1], selection, (reference[0], version), rules, analyses)
        reference = reference or (version, selection)
        outcomes.append(Outcome(version, None, code, figures_of(selection), change))
    return outcomes


def _run_version(
    version: str, folder: Path, command: str, out: Path, tell: Tell
) -> tuple[int, Selection | None]:
    log = out / f"{version}.log"
    with log.open("wb") as output, TemporaryDirectory(prefix="kvtrace-cache-") as cache:
        # An empty cache makes compile times comparable. Compilation is completed in the program,
        # since later it would use the Triton that is installed here.
        variables = {"TRITON_CACHE_DIR": cache, "KVTRACE_COMPILE": "full"}
        variables |= with_triton(folder, os.environ)
        program_run = record_program(
            ["sh", "-c", command], out / version, variables=variables, output=output, apart=True
        )
    if code := program_run.exit_code:
        tell(f"under Triton {version} the program ended with exit code {code}, see {log}")
    selection = program_run.selection
    if selection is None:
        tell(f"under Triton {version} no recorded kernel was launched, see {log}")
        return program_run.exit_code, None
    other_versions = {run.versions.get("triton") for run in selection.runs} - {version}
    if other_versions:
        names = ", ".join(map(str, other_versions))
        tell(f"the program should run under Triton {version}, but imported Triton {names}")
    return program_run.exit_code, selection


def figures_of(selection: Selection) -> dict[Variant, Figures]:
    """Return the figures of each variant of each kernel.

    Of several compiled kernels that are the same variant, the first counts.
    """
    findings = read_findings(selection.trace, selection.runs)
    figures_by_variant: dict[Variant, Figures] = {}
    for row in selection.table("kernels", _COLUMNS).to_pylist():
        name = row["name"] or "?"
        counts = findings.counts.get(name, {})
        violations = sum(counts.get(severity, 0) for severity in SEVERITIES)
        figures = Figures(
            registers=row["registers"],
            spills=row["spills"],
            shared_bytes=row["shared_bytes"],
            ptx_bytes=_stage_size(selection, row, "ptx"),
            compile_ns=row["compile_ns"],
            findings=violations if findings.analyzed else None,
        )
        figures_by_variant.setdefault((name, _variant_label(row)), figures)
    return figures_by_variant


def _stage_size(selection: Selection, row: Mapping[str, Any], stage: str) -> int | None:
    for entry in row["stages"] or ():
        if entry["stage"] == stage and entry["artifact"]:
            content = selection.trace.artifact(entry["artifact"])
            return None if content is None else len(content)
    return None


def _variant_label(row: Mapping[str, Any]) -> str:
    """Return the constants and pointer types that a variant was compiled for, as text."""
    constants, types = [], []
    for name, value in specialization(row).items():
        if name.startswith(_CONSTANT):
            constants.append(f"{name.removeprefix(_CONSTANT)}={value}")
        elif name.startswith("type of ") and value.startswith("*"):
            types.append(value)
    return ", ".join((*constants, *dict.fromkeys(types)))


def versions_table(
    outcomes: Sequence[Outcome], *, everything: bool = False, width: int = 80
) -> list[str]:
    """Return a table with a row for each variant of a kernel under each version, and verdicts.

    Args:
        outcomes: One outcome for each version.
        everything: Also show variants whose figures are the same under all versions.
        width: Columns of the terminal.
    """
    variants = list(dict.fromkeys(key for outcome in outcomes for key in outcome.figures))
    shown_variants = [key for key in variants if everything or _figures_differ(outcomes, key)]
    header = ("Triton", "registers", "spills", "shared", "PTX", "compile", "findings")
    rows = [row for key in shown_variants for row in _variant_rows(outcomes, key)]
    lines = columns(header, rows, width) if rows else []
    for number, (name, label) in reversed(list(enumerate(shown_variants))):
        title = f"{printable(name)} ({printable(label)})" if label else printable(name)
        lines.insert(1 + number * len(outcomes), shorten(title, width))
    if any("↑" in cell or "↓" in cell for row in rows for cell in row):
        lines += ["", "↑ ↓: more or less than under the previous version"]
    if unchanged_count := len(variants) - len(shown_variants):
        versions = ", ".join(o.version for o in outcomes if o.problem is None)
        verb = "is" if unchanged_count == 1 else "are"
        subject = f"{plural(unchanged_count, 'variant')} of kernels {verb} the same"
        text = f"{subject} under {versions} except for times (--all shows them)"
        lines += ["", *wrapped(text, width)]
    return [*lines, "", *_verdict_lines(outcomes, width)]


def _figures_differ(outcomes: Sequence[Outcome], key: Variant) -> bool:
    run_outcomes = [outcome for outcome in outcomes if outcome.problem is None]
    figures = [outcome.figures.get(key) for outcome in run_outcomes]
    return len({f.comparable if f is not None else None for f in figures}) > 1


def _variant_rows(outcomes: Sequence[Outcome], key: Variant) -> list[tuple[str, ...]]:
    rows = []
    before: Figures | None = None
    for outcome in outcomes:
        figures = outcome.figures.get(key)
        if figures is None:
            rows.append((f"  {outcome.version}", *["-"] * 6))
        else:
            cells = _figure_cells(figures, before)
            times = duration(figures.compile_ns)
            rows.append((f"  {outcome.version}", *cells[:4], times, cells[4]))
        before = figures or before
    return rows


def _figure_cells(figures: Figures, before: Figures | None) -> list[str]:
    formatters = (count, count, size, size, count)
    previous_figures = before.comparable if before is not None else (None,) * len(formatters)
    return [
        formatter(now) + _direction(now, then)
        for formatter, now, then in zip(
            formatters, figures.comparable, previous_figures, strict=True
        )
    ]


def _direction(now: int | None, then: int | None) -> str:
    if now is None or then is None or now == then:
        return ""
    return "↑" if now > then else "↓"


def _verdict_lines(outcomes: Sequence[Outcome], width: int) -> list[str]:
    rows = [("Triton", "program", "rules")]
    rows += [(o.version, _program_result(o), _rules_result(o)) for o in outcomes]
    version_width, program_width = (max(len(row[column]) for row in rows) for column in (0, 1))
    return [
        line
        for version, program, rules in rows
        for line in wrapped(
            f"{version:<{version_width}}  {program:<{program_width}}  {rules}", width
        )
    ]


def _program_result(outcome: Outcome) -> str:
    if outcome.exit_code is None:
        return outcome.problem or "-"
    if outcome.exit_code:
        return f"wrong: exit code {outcome.exit_code}"
    return outcome.problem or "right"


def _rules_result(outcome: Outcome) -> str:
    if outcome.change is None:
        return "-"
    if missing := outcome.change.gate.missing():
        return f"{', '.join(missing)} cannot be judged"
    return outcome.change.headline


# -- installation of versions ----------------------------------------------------------------------


_VERSION: Final = re.compile(r"\d[\w.+!-]*")
_NO_VERSION: Final = re.compile(r"no matching distribution|no version of|not find a version", re.I)


class NotInstallable(KvtraceError):
    """A version of Triton cannot be installed."""

    slug = "not-installable"


def installed_triton(version: str) -> Path:
    """Return a folder with a version of Triton for this Python, installed if necessary.

    Raises:
        NotInstallable: no such version for this Python, no installer, or no network.
    """
    if _VERSION.fullmatch(version) is None:
        raise NotInstallable(f"{version!r} is not a version of Triton; an example is 3.6.0.")
    folder = cache_folder(os.environ) / f"{version}-{tag()}"
    if (folder / "triton").is_dir():
        return folder
    work = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.tmp")
    try:
        work.mkdir(parents=True)
        _install(version, work)
        if not folder.exists():  # otherwise another process was quicker
            work.rename(folder)
    except OSError as error:
        raise NotInstallable(
            f"Triton {version} cannot be stored in {folder.parent} ({error.strerror or error})."
        ) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return folder


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder in which `installed_triton` makes a subfolder for each version."""
    base = environment.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "kvtrace" / "triton"


def with_triton(folder: Path, environment: Mapping[str, str]) -> dict[str, str]:
    """Return PYTHONPATH with a folder of `installed_triton` in front, to add to an environment."""
    existing = environment.get("PYTHONPATH")
    paths = [str(folder), *([existing] if existing else [])]
    return {"PYTHONPATH": os.pathsep.join(paths)}


def _install(version: str, folder: Path) -> None:
    command = [*_installer(), "--no-deps", "--target", str(folder), f"triton=={version}"]
    result = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if result.returncode == 0:
        return
    lines = [line.strip() for line in result.stderr.splitlines() if line.strip()]
    if _NO_VERSION.search(result.stderr):
        raise NotInstallable(
            f"there is no Triton {version} for {_python_version()} on this system."
        )
    errors = [line for line in lines if line.lower().startswith("error")] or lines[-1:]
    reason = errors[-1] if errors else f"exit code {result.returncode}"
    raise NotInstallable(f"Triton {version} cannot be installed: {reason.rstrip('.')}.")


def _installer() -> list[str]:
    """Return the start of a command that installs packages for this Python, by uv or else pip.

    Raises:
        NotInstallable: neither uv nor pip is installed.
    """
    uv = shutil.which("uv")
    if uv is not None:
        return [uv, "pip", "install", "--quiet", "--python", sys.executable]
    if _has_pip():
        return [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    raise NotInstallable(
        "installing a version of Triton needs uv or pip, and neither is installed."
    )


def _has_pip() -> bool:
    """Return whether pip is installed; asked past setuptools' finder, which changes distutils."""
    return PathFinder.find_spec("pip") is not None


def tag() -> str:
    """Return the Python version, operating system and machine type as part of a folder's name."""
    return f"{sys.implementation.cache_tag}-{sys.platform}-{platform.machine()}"


def _python_version() -> str:
    return f"Python {platform.python_version()}"
