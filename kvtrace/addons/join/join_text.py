"""What a join found, as sentences, a table and JSON."""

from collections.abc import Mapping

from kvtrace.addons.join.found import REASONS
from kvtrace.text import plural

#: What each grade means, as the command prints it.
_GRADES = {
    "exact": "requested inside of the launch",
    "ordered": "in the order of the launches",
    "inferred": "the only way to align them, or the only call that fits",
}


def sentence(counts: Mapping[str, int]) -> str:
    """Return in one sentence how many executions of recorded kernels have a launch or a call."""
    total, known = counts["launched"], counts["with_call"]
    if not total:
        return "no execution has the name and grid of a launch"
    grades = ", ".join(f"{counts[grade]:,} {grade}" for grade in _GRADES if counts[grade])
    share = f"{known:,} of {plural(total, 'execution')} of recorded kernels joined"
    return f"{share} ({known / total:.1%}{': ' if grades else ''}{grades})"


def lines(counts: Mapping[str, int], place: str) -> list[str]:
    """Return what the command prints of one run: what was joined and how, what was not and why."""
    found = [f"{place}: {sentence(counts)}"]
    found += [
        f"  {counts[grade]:>9,} {grade}: {meaning}"
        for grade, meaning in _GRADES.items()
        if counts[grade]
    ]
    without = counts["with_call"] - counts["with_launch"]
    if without:
        found.append(f"  {without:>9,} of them have a call alone: several launches of it fit")
    found += [
        f"  {counts[text]:>9,} not joined: {text}" for text in REASONS.values() if text in counts
    ]
    if counts["foreign"]:
        found.append(f"  {counts['foreign']:>9,} executions of kernels that were not recorded")
    return found
