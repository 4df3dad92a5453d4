"""What comes of `version_programs.py` under each version of Triton, and what differs between them.

    KVTRACE_TEST_TRITONS=FOLDER python -m tests.verdicts.version_results

records, judges and replays all programs under each version and prints every difference from the
installed one. A difference has a reason in `EXPLAINED`, or is a defect. Each trace is judged by its
own version, for a Triton need not read the TTGIR of another.
"""

import sys
import tempfile
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from kvtrace.cli import main as kvtrace_main
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from tests.support.triton_versions import run_with, versions

#: What was found of one launch: facts by what they are of, as "race proven" or "bytes load".
Facts = Mapping[str, Any]
#: Launches of a program, in order: the kernel's name and facts.
Launches = Sequence[tuple[str, Facts]]


@dataclass(frozen=True)
class Explained:
    """Why versions differ in a fact of a program.

    Attributes:
        programs: their names.
        fact: what differs, as a fact's name begins.
        since: the first version that has it so, as (3, 9).
        reason: what this version does otherwise.
    """

    programs: Collection[str]
    fact: str
    since: tuple[int, int]
    reason: str


EXPLAINED: Final = (
    Explained(
        ("tutorial: matmul",), "sectors load", (3, 7),
        "the layout of b's copies has threads along its rows, not down its columns",
    ),
    Explained(
        (
            "liger: cross_entropy", "liger: fused_add_rms_norm", "liger: rms_norm",
            "liger: swiglu", "fla: causal_conv1d", "fla: chunk_delta_rule",
            "fla: cross_entropy_loss", "fla: rms_norm_gated", "fla: solve_tril_varlen",
            "fla: swiglu", "fla: token_shift",
        ), "flops elementwise", (3, 8),
        "-x is arith.negf, which only turns a sign, and no longer a subtraction from 0",
    ),
    Explained(
        (
            "within: a counter updated atomically and loaded plainly",
            "within: zeroed, then added to by other lanes",
        ), "race-within-program",
        (3, 9), "an atomic that acquires and releases is compiled with a barrier on either side",
    ),
)  # fmt: skip


def recorded(version: str, names: Collection[str], folder: Path, seconds: int = 280) -> Path:
    """Record programs under a version of Triton (no names: all); return the judged trace."""
    out = folder / "out"
    run_with(
        version, ["-m", "tests.verdicts.version_programs", *names], folder / "cache",
        fresh=True, seconds=seconds,
        KVTRACE=str(out), KVTRACE_COMPILE="full", KVTRACE_DEVICE="cpu",
    )  # fmt: skip
    run_with(
        version, ["-m", "tests.verdicts.version_results", str(out)], folder / "cache",
        fresh=True, seconds=seconds,
    )  # fmt: skip
    return out


def judge(out: str) -> None:
    """Judge a trace by all rules, and work out its figures."""
    if kvtrace_main(["sanitize", out]) > 1 or kvtrace_main(["replay", out]) != 0:
        raise AssertionError(f"{out} cannot be judged or replayed")


def results(out: Path) -> tuple[str, dict[str, Launches]]:
    """Return the version of Triton that recorded a trace, and the launches of each program."""
    trace = open_trace(out)
    names = {row["kernel_id"]: row["name"] for row in plain_rows(trace.table("kernels"))}
    calls = {row["call_id"]: row["kernel_id"] for row in plain_rows(trace.table("calls"))}
    facts = _facts(trace)
    launches = plain_rows(trace.table("launches", columns=["call_id", "enter"]))
    found = {
        mark["name"]: [
            (names[calls[each["call_id"]]], facts[each["call_id"]])
            for each in launches
            if mark["begin"] <= each["enter"] <= mark["end"]
        ]
        for mark in plain_rows(trace.table("marks"))
    }
    return trace.runs[0].versions["triton"], found


def _facts(trace: Any) -> Mapping[int, Facts]:
    """Return the verdicts, and the figures of memory and arithmetic, by call."""
    found: dict[int, dict[str, Any]] = defaultdict(dict)
    lines = {
        row["stack_id"]: row["frames"][0]["line"] if row["frames"] else None
        for row in plain_rows(trace.table("stacks"))
    }
    for row in plain_rows(trace.table("findings")):
        line = "" if row["verdict"] == "proven" else f" in line {lines.get(row['stack_id'])}"
        found[row["call_id"]][f"{row['rule']} {row['verdict']}{line}"] = True
    for row in plain_rows(trace.table("ops")):
        own = found[row["call_id"]]
        for figure in ("bytes", "unique_bytes", "sectors", "flops"):
            if row[figure]:
                name = f"{figure} {row['kind'] or row['op']}"
                own[name] = own.get(name, 0) + row[figure]
    return found


def differences(one: Launches, other: Launches) -> Iterator[tuple[str, str]]:
    """Yield each fact in which two recordings of a program differ, and how."""
    kernels = [[name for name, _ in launches] for launches in (one, other)]
    if kernels[0] != kernels[1]:
        yield "launches", f"{kernels[0]}, not {kernels[1]}"
        return
    for (kernel, mine), (_, others) in zip(one, other, strict=True):
        for fact in sorted(mine.keys() | others.keys()):
            if mine.get(fact) != others.get(fact):
                yield fact, f"{kernel}: {mine.get(fact)}, not {others.get(fact)}"


def reason_of(program: str, fact: str, one: str, other: str) -> Explained | None:
    """Return why two versions differ in a fact of a program; None: nothing explains it."""
    return next(
        (
            each
            for each in EXPLAINED
            if program in each.programs
            and fact.startswith(each.fact)
            and (numbers(one) >= each.since) != (numbers(other) >= each.since)
        ),
        None,
    )


def numbers(version: str) -> tuple[int, ...]:
    """Return the first two numbers of a version."""
    return tuple(map(int, version.split(".")[:2]))


def main() -> int:
    """Print what differs from the installed version; return how much of it is not explained."""
    with tempfile.TemporaryDirectory() as folder:
        found = {}
        for at, version in enumerate(versions()):
            own = Path(folder) / str(at)
            own.mkdir()
            name, launches = results(recorded(version, (), own, seconds=3600))
            found[name] = launches
    first, *others = found
    unexplained = 0
    for other in others:
        for program, launches in found[first].items():
            for fact, how in differences(launches, found[other][program]):
                why = reason_of(program, fact, first, other)
                unexplained += why is None
                because = "NOT EXPLAINED" if why is None else why.reason
                print(f"{first} and {other}: {program}: {fact}: {how}: {because}")
    count = sum(map(len, found[first].values()))
    print(
        f"{len(found[first])} programs, {count} launches, Triton {', '.join(found)}: "
        f"{unexplained} differences that nothing explains"
    )
    return min(unexplained, 1)


if __name__ == "__main__":
    sys.exit(judge(sys.argv[1]) if len(sys.argv) > 1 else main())
