"""Conditions for all shapes, for people and for programs: of a kernel, and of its calls.

Plain data that `kvtrace sizes` fills, its text, and its JSON form.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from kvtrace.converters.findings.envelope import AtSizes, EnvelopeRow, at_text, envelope_text
from kvtrace.text import WIDTH, percent, plural, printable, wrapped

_INDENT: Final = 4
_FAILING: Final = ("violation",)


@dataclass(frozen=True, slots=True)
class AccessLine:
    """One access of a kernel: when it stays inside its tensor.

    `condition` is None where there is none, for `reason`. `exact`: where sizes are at least 1, the
    access leaves its tensor whenever the condition does not hold.
    """

    access: str
    arg: str | None
    file: str | None
    line: int | None
    condition: str | None
    exact: bool = False
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class OutsideCall:
    """A call that the conditions do not show to be inside, and what it was found to be by itself.

    `outside` says whether its numbers are outside of a condition; else there is no condition that
    tells, for `reason`. `message` is that of the gravest verdict.
    """

    run: str
    call: int
    invocation: str
    outside: bool
    verdict: Literal["violation", "unknown", "proven"]
    message: str
    file: str | None = None
    line: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class KernelConditions:
    """A variant of a kernel, with its constants fixed: the conditions, and its calls.

    `inside` counts calls of which every access is inside by its condition. `reach` is what it takes
    for stores to reach all that their masks let through, `short` counts calls that do not.
    `envelope` has where each quantity ends, and `at` what is found at sizes that were asked for.
    `broken` are contracts that recorded launches break.
    """

    kernel: str
    file: str | None
    line: int | None
    accesses: tuple[AccessLine, ...]
    widths: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    reach: tuple[str, ...] = ()
    calls: int = 0
    inside: int = 0
    short: int = 0
    others: tuple[OutsideCall, ...] = ()
    envelope: tuple[EnvelopeRow, ...] = ()
    at: AtSizes | None = None
    broken: tuple[str, ...] = ()

    @property
    def certified(self) -> int:
        """How many accesses have a condition."""
        return sum(access.condition is not None for access in self.accesses)


def condition_failures(kernels: Sequence[KernelConditions], *, strict: bool = False) -> int:
    """Count calls that leave a tensor, and violations at sizes; `strict`: what is unknown, too."""
    failing = (*_FAILING, "unknown") if strict else _FAILING
    found: list[str] = [call.verdict for kernel in kernels for call in kernel.others]
    found += [each.verdict for kernel in kernels if kernel.at for each in kernel.at.verdicts]
    broken = sum(len(kernel.broken) for kernel in kernels)
    return broken + sum(verdict in failing for verdict in found)


def condition_objects(kernels: Iterable[KernelConditions]) -> list[dict[str, Any]]:
    """Return the JSON form: a list of objects, one for each variant of a kernel."""
    return [asdict(kernel) for kernel in kernels]


def conditions_text(
    kernels: Sequence[KernelConditions], *, width: int = WIDTH, base: str | None = None
) -> list[str]:
    """Return lines for a terminal: each kernel's conditions and calls, then shares.

    Args:
        kernels: what was found.
        width: columns of the terminal.
        base: folder that paths below it are shown relative to.

    """
    lines: list[str] = []
    for kernel in kernels:
        lines += [*_kernel(kernel, width, base), ""]
    return lines + _summary(kernels, width)


def _kernel(kernel: KernelConditions, width: int, base: str | None) -> list[str]:
    place = _place(kernel.file, kernel.line, base)
    lines = wrapped(f"{place}: {kernel.kernel}: accesses stay inside their tensors", width)
    for title, exact in (("exactly when", True), ("at least when", False)):
        conditions = _conditions(kernel, exact=exact)
        if not conditions:
            continue
        lines.append(f"  {title}")
        for condition, accesses in conditions.items():
            lines += wrapped(f"{condition}  ({_named(accesses)})", width, _INDENT)
    if kernel.widths:
        lines.append("  as long as no integer wraps around")
        for condition in kernel.widths:
            lines += wrapped(condition, width, _INDENT)
    if kernel.reach:
        lines.append("  stores reach all that their masks let through only if")
        for condition in kernel.reach:
            lines += wrapped(condition, width, _INDENT)
    if kernel.assumptions:
        lines += wrapped(f"assuming {', '.join(kernel.assumptions)}", width, 2)
    for reason, accesses in _unknown(kernel).items():
        lines += wrapped(f"unknown: {_named(accesses)}: {reason}", width, 2)
    lines += wrapped(f"{plural(kernel.calls, 'unique call')}: {_calls(kernel)}", width, 2)
    for call in kernel.others:
        if call.verdict != "proven":
            lines += _call(call, width, base)
    for text in kernel.broken:
        lines += wrapped(f"violation: a launch breaks the contract {text}", width, 2)
    lines += envelope_text(kernel.envelope, width, base)
    return lines + (at_text(kernel.at, width, base) if kernel.at else [])


def _conditions(kernel: KernelConditions, *, exact: bool) -> dict[str, list[AccessLine]]:
    found: dict[str, list[AccessLine]] = {}
    for access in kernel.accesses:
        if access.condition is not None and access.exact == exact:
            found.setdefault(access.condition, []).append(access)
    return found


def _unknown(kernel: KernelConditions) -> dict[str, list[AccessLine]]:
    found: dict[str, list[AccessLine]] = {}
    for access in kernel.accesses:
        if access.condition is None:
            found.setdefault(access.reason or "no reason is known", []).append(access)
    return found


def _named(accesses: Sequence[AccessLine]) -> str:
    names = (
        f"{access.access} of {access.arg or '?'} in line {access.line or '?'}"
        for access in accesses
    )
    return ", ".join(dict.fromkeys(names))


def _calls(kernel: KernelConditions) -> str:
    parts = [f"{kernel.inside:,} inside by the conditions"]
    for verdict in ("violation", "unknown", "proven"):
        for is_outside, what in ((True, "outside"), (False, "that no condition tells of")):
            count = sum(c.verdict == verdict and c.outside == is_outside for c in kernel.others)
            if count:
                found = "a violation" if verdict == "violation" else verdict
                parts.append(f"{count:,} {what}, by itself {found}")
    if kernel.short:
        parts.append(f"{kernel.short:,} whose stores do not reach all that their masks let through")
    return ", ".join(parts)


def _call(call: OutsideCall, width: int, base: str | None) -> list[str]:
    found = f"{call.verdict}: {call.message}"
    where = f" ({_place(call.file, call.line, base)})" if call.file else ""
    return [
        *wrapped(call.invocation, width, _INDENT),
        *wrapped(f"{found}{where}", width, _INDENT + 2),
    ]


def _summary(kernels: Sequence[KernelConditions], width: int) -> list[str]:
    accesses = [access for kernel in kernels for access in kernel.accesses]
    if not accesses:
        return ["no accesses to memory are known"]
    count = len(accesses)
    exact = sum(access.exact for access in accesses)
    certified = sum(kernel.certified for kernel in kernels)
    calls = sum(kernel.calls for kernel in kernels)
    inside = sum(kernel.inside for kernel in kernels)
    text = (
        f"{plural(count, 'access')} of {plural(len(kernels), 'kernel variant')}: "
        f"{exact:,} with an exact condition ({percent(exact / count)}), "
        f"{certified - exact:,} with one that is enough ({percent((certified - exact) / count)}), "
        f"{count - certified:,} unknown ({percent((count - certified) / count)}); "
        f"{inside:,} of {plural(calls, 'unique call')} inside by the conditions"
    )
    return wrapped(text, width)


def _place(file: str | None, line: int | None, base: str | None) -> str:
    if file is None:
        return "?"
    if base is not None and file.startswith(base.rstrip(os.sep) + os.sep):
        file = os.path.relpath(file, base)
    return printable(f"{file}:{line or '?'}")
