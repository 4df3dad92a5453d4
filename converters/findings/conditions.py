"""Output of `kvtrace sizes`: a kernel's conditions for all shapes, and its calls.

Plain dataclasses, and their text for a terminal.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final, Literal

from kvtrace.converters.findings.envelope import (
    AtSizes,
    EnvelopeRow,
    at_texts,
    cells,
    different_rows,
    envelope_text,
    gravity,
    location_text,
)
from kvtrace.text import WIDTH, columns, percent, plural, wrapped

_INDENT: Final = 4
#: Most violations and sizes that are shown without --full.
_SHOWN_PROBLEMS: Final = 4
_SHOWN_SIZES: Final = 12
_FULL_HINT: Final = (
    "Proven: in bounds, no races, no wraps. That all is written is tried, not proven. --full "
    "shows assumptions, conditions, and which launch or tie would decide what is unknown."
)
_FAILING: Final = ("violation",)
_VERDICTS: Final = ("violation", "unknown", "proven")


@dataclass(frozen=True, slots=True)
class AccessLine:
    """A kernel's access, and the condition under which the access stays inside its tensor.

    `condition` is None if none could be derived, for `reason`. `exact`: whenever the condition does
    not hold (and all sizes are at least 1), the access leaves its tensor.
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
    """A call that the conditions do not prove safe, with the verdict of judging it separately.

    `outside`: the call's sizes do not satisfy a condition; else an access has no condition, for
    `reason`. `message` is that of the gravest verdict.
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
    """The conditions of one variant of a kernel (its constants are fixed), and its calls.

    `inside` counts calls whose accesses all satisfy their conditions; `others` are the rest.
    `widths` are conditions for no overflow. `reach` has the conditions under which every element
    that a mask admits is stored; `short` counts calls that violate one. `envelope` has the safe
    range of each quantity, and `at` the verdicts at the sizes of `--at`. `broken` are contracts
    that recorded launches violate.
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
        """Number of accesses that have a condition."""
        return sum(access.condition is not None for access in self.accesses)


def condition_failures(kernels: Sequence[KernelConditions], *, strict: bool = False) -> int:
    """Return the number of violations: of calls, at the sizes of `--at`, and of contracts.

    With `strict`, unknown verdicts count, too.
    """
    failing = (*_FAILING, "unknown") if strict else _FAILING
    verdicts: list[str] = [call.verdict for kernel in kernels for call in kernel.others]
    verdicts += [v.verdict for kernel in kernels if kernel.at for v in kernel.at.verdicts]
    broken = sum(len(kernel.broken) for kernel in kernels)
    return broken + sum(verdict in failing for verdict in verdicts)


def unjudged_at_sizes(kernels: Iterable[KernelConditions]) -> dict[str, AtSizes]:
    """Return the kernels of which no variant was judged at the sizes of `--at`.

    The values are those of a variant, with the reason.
    """
    variants: dict[str, list[AtSizes]] = {}
    for kernel in kernels:
        if kernel.at:
            variants.setdefault(kernel.kernel, []).append(kernel.at)
    return {
        name: min(all_at, key=lambda at: at.reason is None)
        for name, all_at in variants.items()
        if not any(at.proven or at.verdicts for at in all_at)
    }


def conditions_text(
    kernels: Sequence[KernelConditions],
    *,
    full: bool = False,
    width: int = WIDTH,
    base: str | None = None,
    left_out: int = 0,
) -> list[str]:
    """Return lines for a terminal: a summary, then the sizes of each kernel, the gravest first.

    Args:
        kernels: the kernels' variants, in order.
        full: also conditions and assumptions, and all kernels, not only as many as fit a screen.
        width: columns of the terminal.
        base: a folder; paths of files in it are shown relative to it.
        left_out: the number of calls that could not be judged.

    """
    lines = _summary_text(kernels, width, left_out)
    if full:
        for kernel in kernels:
            lines += ["", *_kernel_text(kernel, width, base)]
        return lines
    ranked = dict.fromkeys(problem for kernel in kernels for problem in _problems(kernel, base))
    problems = sorted(ranked, key=itemgetter(0))
    for _, text in problems[:_SHOWN_PROBLEMS]:
        lines += wrapped(text, width)
    if (hidden := len(problems) - _SHOWN_PROBLEMS) > 0:
        lines.append(f"… {hidden} more (--full shows them)")
    return lines + _sizes_table(kernels, width)


def _problems(kernel: KernelConditions, base: str | None) -> Iterator[tuple[int, str]]:
    """Yield what is asked or violated, each with a rank; the least comes first."""
    for text in kernel.broken:
        yield 0, f"{kernel.kernel}: violation: a launch violates the contract {text}"
    for call in kernel.others:
        location = location_text(call.file, call.line, base)
        if call.verdict != "proven":
            rank = _VERDICTS.index(call.verdict)
            yield rank, f"{kernel.kernel}: {call.verdict}: {call.message}{location}"
    if kernel.at is not None:
        for verdict, text in at_texts(kernel.at, base):
            yield _VERDICTS.index(verdict), f"{kernel.kernel} at {kernel.at.asked}: {text}"


def _sizes_table(kernels: Sequence[KernelConditions], width: int) -> list[str]:
    """Return a table of sizes, the gravest first; of a kernel's variants the gravest counts."""
    gravest: dict[tuple[str, str], list[EnvelopeRow]] = {}
    for kernel in kernels:
        by_quantity: dict[str, list[EnvelopeRow]] = {}
        for row, *_ in different_rows(kernel.envelope):
            by_quantity.setdefault(row.quantity, []).append(row)
        for quantity, rows in by_quantity.items():
            other = gravest.get((kernel.kernel, quantity), rows)
            gravest[kernel.kernel, quantity] = min(other, rows, key=lambda r: gravity(r[0]))
    sizes = sorted(gravest.items(), key=lambda size: gravity(size[1][0]))
    table = [(*names, *cells(rows)) for names, rows in sizes[:_SHOWN_SIZES]]
    if not table:
        return []
    header = ("kernel", "size", "was", "proven for", "beyond", "all written at")
    lines = ["", *columns(header, table, width, texts=(0, 1, 4, 5), optional=(2,))]
    if (hidden := len(sizes) - len(table)) > 0:
        lines.append(f"… {hidden} more (--full shows them)")
    return [*lines, "", *wrapped(_FULL_HINT, width)]


def _kernel_text(kernel: KernelConditions, width: int, base: str | None) -> list[str]:
    location = location_text(kernel.file, kernel.line, base)[2:-1] or "?"
    lines = wrapped(f"{location}: {kernel.kernel}: accesses stay inside their tensors", width)
    lines += _conditions_lines(kernel, width)
    lines += wrapped(f"{plural(kernel.calls, 'unique call')}: {_calls_text((kernel,))}", width, 2)
    for call in kernel.others:
        if call.verdict != "proven":
            location = location_text(call.file, call.line, base)
            lines += wrapped(call.invocation, width, _INDENT)
            lines += wrapped(f"{call.verdict}: {call.message}{location}", width, _INDENT + 2)
    for text in kernel.broken:
        lines += wrapped(f"violation: a launch violates the contract {text}", width, 2)
    lines += envelope_text(kernel.envelope, width, base)
    if kernel.at is not None:
        along = f"; follows: {', '.join(kernel.at.along)}" if kernel.at.along else ""
        along += f"; other sizes, at worst: {kernel.at.base}" if kernel.at.base else ""
        lines += wrapped(f"at {kernel.at.asked}{along}", width, 2)
        for _, text in at_texts(kernel.at, base):
            lines += wrapped(text, width, _INDENT)
    return lines


def _conditions_lines(kernel: KernelConditions, width: int) -> list[str]:
    lines: list[str] = []
    for title, exact in (("exactly when", True), ("at least when", False)):
        exact_or_not = (access for access in kernel.accesses if access.exact == exact)
        conditions = _grouped(exact_or_not, lambda access: access.condition)
        if not conditions:
            continue
        lines.append(f"  {title}")
        for condition, accesses in conditions.items():
            lines += wrapped(f"{condition}  ({_access_names(accesses)})", width, _INDENT)
    if kernel.widths:
        lines.append("  provided that no integer overflows; none does if")
        for condition in kernel.widths:
            lines += wrapped(condition, width, _INDENT)
    if kernel.reach:
        lines.append("  every element is stored only if")
        for condition in kernel.reach:
            lines += wrapped(condition, width, _INDENT)
    if kernel.assumptions:
        lines += wrapped(f"assuming {', '.join(kernel.assumptions)}", width, 2)
    unknown = (access for access in kernel.accesses if access.condition is None)
    by_reason = _grouped(unknown, lambda access: access.reason or "no reason is known")
    for reason, accesses in by_reason.items():
        lines += wrapped(f"unknown: {_access_names(accesses)}: {reason}", width, 2)
    return lines


def _grouped(
    accesses: Iterable[AccessLine], text_of: Callable[[AccessLine], str | None]
) -> dict[str, list[AccessLine]]:
    """Return the accesses by a text on them, without those that have none."""
    by_text: dict[str, list[AccessLine]] = {}
    for access in accesses:
        if (text := text_of(access)) is not None:
            by_text.setdefault(text, []).append(access)
    return by_text


def _access_names(accesses: Sequence[AccessLine]) -> str:
    names = (
        f"{access.access} of {access.arg or '?'} in line {access.line or '?'}"
        for access in accesses
    )
    return ", ".join(dict.fromkeys(names))


def _calls_text(kernels: Iterable[KernelConditions]) -> str:
    others = Counter((call.verdict, call.outside) for kernel in kernels for call in kernel.others)
    texts = []
    for verdict in _VERDICTS:
        for is_outside, group in ((True, "outside"), (False, "without a condition")):
            if count := others[verdict, is_outside]:
                judgment = "a violation" if verdict == "violation" else verdict
                texts.append(f"{count:,} {group} (judged alone: {judgment})")
    texts.append(f"{sum(kernel.inside for kernel in kernels):,} within the conditions")
    if short := sum(kernel.short for kernel in kernels):
        texts.append(f"{short:,} with elements that are not stored")
    return ", ".join(texts)


def _summary_text(kernels: Sequence[KernelConditions], width: int, left_out: int) -> list[str]:
    accesses = [access for kernel in kernels for access in kernel.accesses]
    if not accesses:
        if left_out:
            return [f"nothing was judged of {plural(left_out, 'unique call')}"]
        if not kernels:
            return ["nothing was judged: no kernel was launched while this trace was recorded"]
        return ["no accesses to memory"]
    count = len(accesses)
    exact = sum(access.exact for access in accesses)
    certified = sum(kernel.certified for kernel in kernels)
    sufficient = certified - exact
    calls = plural(sum(kernel.calls for kernel in kernels), "unique call")
    text = f"{calls} of {plural(len(kernels), 'kernel variant')}: {_calls_text(kernels)}"
    if left_out:
        text += f"; nothing was judged of {plural(left_out, 'other unique call')}"
    conditions = (
        f"{plural(count, 'access')}: {exact:,} with an exact condition ({percent(exact / count)}), "
        f"{sufficient:,} with a sufficient condition ({percent(sufficient / count)}), "
        f"{count - certified:,} unknown ({percent((count - certified) / count)})"
    )
    return [*wrapped(text, width), *wrapped(conditions, width)]
