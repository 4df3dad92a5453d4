"""From results to the table: what ran, what was wrong, and what the verdicts are."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

Result = dict[str, Any]


def summary(results: Sequence[Result]) -> list[str]:
    """Return the table as lines of Markdown: a row for each package and setting."""
    lines = [
        "| package | tensors | cases | kernels | launches | wrong | failed | uncompared "
        "| verdicts | proven | violation | unknown | unknown, % |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    groups: dict[tuple[str, str], list[Result]] = defaultdict(list)
    for result in results:
        groups[result["package"], result["tensors"]].append(result)
    for (package, tensors), group in groups.items():
        status = Counter(result["status"] for result in group)
        kernels = {kernel for result in group for kernel in result.get("kernels", ())}
        verdicts: Counter[str] = Counter()
        for result in group:
            verdicts.update(result.get("verdicts", {}))
        total = verdicts.total()
        launches = sum(result.get("launches", 0) for result in group)
        share = f"{100 * verdicts['unknown'] / total:.2f}" if total else "–"
        lines.append(
            f"| {package} | {tensors} | {len(group)} | {len(kernels)} | {launches:,} | "
            f"{status['wrong']} | {status['failed']} | {status['uncompared']} | {total:,} | "
            f"{verdicts['proven']:,} | {verdicts['violation']:,} | {verdicts['unknown']:,} | "
            f"{share} |"
        )
    return lines


def problems(results: Iterable[Result]) -> list[str]:
    """Name every case that is not right, and calls that could not be judged."""
    lines = []
    for result in results:
        where = f"{result['package']} {result['case']} (tensors={result['tensors']})"
        if result["status"] not in ("right", "ran"):
            lines.append(f"- {where}: {result['status']}: {result.get('detail', '')}")
            reference = result.get("interpreter", {}).get("detail")
            if reference and result["status"] == "uncompared":
                lines.append(f"  - {reference}")
        lines += [f"- {where}: not judged: {text}" for text in result.get("unjudged", ())]
        if "judging" in result:
            lines.append(f"- {where}: judging fails: {result['judging']}")
    return lines


def violations(results: Iterable[Result], known: Sequence[dict[str, str]] = ()) -> list[str]:
    """List each violation once, with the argument why it is real where one was written down."""
    seen: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for result in results:
        for finding in result.get("findings", ()):
            if finding["verdict"] == "violation":
                key = (result["package"], finding["rule"], finding["kernel"], _place(finding),
                       finding["message"] or "")  # fmt: skip
                seen[key].add(result["case"])
    lines = []
    for (package, rule, kernel, place, message), cases in sorted(seen.items()):
        reason = reason_for(known, package, rule, kernel)
        lines.append(
            f"- {package} {kernel} {place} [{rule}] {message} ({', '.join(sorted(cases))})"
        )
        lines.append(f"  - {'real: ' + reason if reason else 'NOT LOOKED AT'}")
    return lines


def reason_for(known: Sequence[dict[str, str]], package: str, rule: str, kernel: str) -> str | None:
    """Why a violation is real, if that was written down."""
    wanted = {"package": package, "rule": rule, "kernel": kernel}
    for entry in known:
        if all(entry[key] == value for key, value in wanted.items()):
            return entry["why"]
    return None


def unknowns(results: Iterable[Result], tensors: str) -> list[str]:
    """Group what is unknown by its reason, the most frequent first."""
    counts: Counter[tuple[str, str]] = Counter()
    places: dict[tuple[str, str], set[str]] = defaultdict(set)
    for result in results:
        if result["tensors"] != tensors:
            continue
        for finding in result.get("findings", ()):
            if finding["verdict"] == "unknown":
                key = (result["package"], finding["reason"] or finding["message"] or "?")
                counts[key] += finding["calls"] or 1
                places[key].add(f"{finding['kernel']} {_place(finding)} [{finding['rule']}]")
    lines = []
    for (package, reason), count in counts.most_common():
        lines.append(f"- {count} × {package}: {reason}")
        lines += [f"  - {place}" for place in sorted(places[package, reason])]
    return lines


def _place(finding: Result) -> str:
    file = (finding["file"] or "?").rpartition("/")[2]
    return f"{file}:{finding['line']}"
