"""Text on the results of `kvtrace join`, from counts of executions by grade and reason."""

from collections.abc import Mapping

from kvtrace.addons.join.matches import REASONS
from kvtrace.text import plural

#: Explanation of each grade, as the command prints it.
_GRADES = {
    "exact": "requested inside the launch",
    "ordered": "in the same order as the launches",
    "inferred": "the only way to align them, or the only call that fits",
}


def sentence(counts: Mapping[str, int]) -> str:
    """Return the number and share of executions with a call, by grade, as a sentence."""
    total, joined = counts["launched"], counts["with_call"]
    if not total:
        return "no execution has the name and grid of a launch"
    grades = ", ".join(f"{counts[grade]:,} {grade}" for grade in _GRADES if counts[grade])
    share = f"{joined:,} of {plural(total, 'execution')} of recorded kernels joined"
    return f"{share} ({joined / total:.1%}{': ' if grades else ''}{grades})"


def lines(counts: Mapping[str, int], title: str) -> list[str]:
    """Return the lines that `kvtrace join` prints on a run, whose id is `title`.

    JoinedExecutions executions are counted by grade, others by reason.
    """
    texts = [f"{title}: {sentence(counts)}"]
    texts += [
        f"  {counts[grade]:>9,} {grade}: {meaning}"
        for grade, meaning in _GRADES.items()
        if counts[grade]
    ]
    without = counts["with_call"] - counts["with_launch"]
    if without:
        texts.append(f"  {without:>9,} of them have a call but no launch: several launches fit")
    texts += [
        f"  {counts[text]:>9,} not joined: {text}" for text in REASONS.values() if text in counts
    ]
    if counts["foreign"]:
        texts.append(f"  {counts['foreign']:>9,} executions of kernels that were not recorded")
    return texts
