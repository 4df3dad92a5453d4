"""A suite's result as a page of the report's application, and as JUnit XML."""

from collections.abc import Iterator, Sequence
from typing import Final
from xml.etree import ElementTree

from kvtrace.addons.suite.comparing import Comparison
from kvtrace.addons.suite.results import Measured, Result, Times, Trial, percent, sentences
from kvtrace.converters.junit import add_outcome, add_output, document, passing_case
from kvtrace.converters.report.document import (
    Bar,
    BarGroup,
    Column,
    DocumentCell,
    DocumentContent,
    DocumentSection,
    Tone,
    document_page,
    table,
    time_cell,
)
from kvtrace.text import duration

#: Calls with bars, those that take most time.
_MOST_CALLS: Final = 100
#: The kinds of bars: style and what they are.
_KINDS: Final = {
    "recorded": "recorded in the run", "before": "the result compared with", "now": "this result",
    "right": "candidate", "wrong": "candidate with wrong results",
}  # fmt: skip
_TONES: Final[dict[str, Tone]] = {"faster": "better", "slower": "worse"}


def result_page(result: Result, comparisons: Sequence[Comparison], label: str) -> str:
    """Return the HTML page; `label` names the result that `comparisons` are with."""
    before = {one.name: one.before for one in comparisons}
    sections = [
        *_plot(result.calls, before),
        table("Calls", _call_columns(result.calls), result.calls),
        *([table(f"Compared with {label}", _COMPARED, comparisons)] if comparisons else []),
        *_machine(result),
    ]
    command = result.suite["source"].get("command", "a recorded run")
    return document_page(DocumentContent(f"Suite: {command}", list(sentences(result)), sections))


# ---- The plot ----


def _plot(calls: Sequence[Measured], before: dict[str, Times]) -> Iterator[DocumentSection]:
    """Yield bars of the time of all launches of each call: median times launches."""
    timed = [call for call in calls if call.time is not None]
    timed = sorted(
        timed, key=lambda call: -call.launches * (call.time.median_ns if call.time else 0)
    )
    if not timed:
        return
    note = "Launches in the recorded run × the median of a launch; a line spans the medians of the "
    note += "rounds."
    omitted = len(timed) - _MOST_CALLS
    if omitted > 0:
        note += f" {omitted} calls that take less time have no bars."
    groups = [
        BarGroup(call.name, call.title, list(_bars(call, before))) for call in timed[:_MOST_CALLS]
    ]
    yield DocumentSection("Time by call", note, groups, _KINDS)


def _bars(call: Measured, before: dict[str, Times]) -> Iterator[Bar]:
    if call.recorded_ns:
        yield _bar("recorded", call.launches, call.recorded_ns)
    if call.name in before:
        yield _bar("before", call.launches, before[call.name].median_ns, before[call.name])
    if call.time is not None:
        yield _bar("now", call.launches, call.time.median_ns, call.time)
    trial = call.candidate
    if trial is not None and trial.time is not None:
        kind = "right" if trial.verdict == "right" else "wrong"
        yield _bar(kind, call.launches, trial.time.median_ns, trial.time)


def _bar(kind: str, launches: int, median_ns: float, times: Times | None = None) -> Bar:
    value = f"{duration(launches * median_ns)} = {launches:,} × {duration(median_ns)}"
    spread = None
    if times is not None:
        spread = launches * min(times.rounds), launches * max(times.rounds)
    return Bar(kind, launches * median_ns, value, spread)


# ---- Tables ----


def _call_columns(calls: Sequence[Measured]) -> list[Column[Measured]]:
    columns: list[Column[Measured]] = [
        Column("call", lambda call: call.name),
        Column("launches", lambda call: DocumentCell(f"{call.launches:,}", call.launches),
               "number"),
        Column("share", lambda call: DocumentCell(percent(call.share), call.share), "number",
               "of the recorded run"),
        Column("recorded", lambda call: time_cell(call.recorded_ns), "number"),
        Column("now", lambda call: _median(call.time) or call.status, "number"),
        Column("ratio", lambda call: _ratio(call.time, call.recorded_ns), "number",
               "now to recorded"),
        Column("noise", _noise, "number",
               "half the distance of the slowest from the fastest round"),
    ]  # fmt: skip
    if any(call.warm for call in calls):
        columns += [
            Column("warm", lambda call: _median(call.warm), "number",
                   "without clearing the L2 cache"),
            Column("warm ratio", lambda call: _ratio(call.warm, call.recorded_ns), "number",
                   "warm to recorded"),
        ]  # fmt: skip
    if any(call.candidate for call in calls):
        columns += [
            Column("candidate", _candidate, "number"),
            Column("results", _verdict),
        ]  # fmt: skip
    columns.append(Column("notes", _notes, "prose"))
    return columns


_COMPARED: Final[list[Column[Comparison]]] = [
    Column("call", lambda one: one.name),
    Column("before", lambda one: time_cell(one.before.median_ns), "number"),
    Column("now", lambda one: time_cell(one.after.median_ns), "number"),
    Column("ratio", lambda one: DocumentCell(f"{one.ratio:.3f}", one.ratio), "number"),
    Column("verdict", lambda one: DocumentCell(one.verdict, tone=_TONES.get(one.verdict, ""))),
]


def _median(times: Times | None) -> DocumentCell | None:
    return None if times is None else time_cell(times.median_ns)


def _ratio(times: Times | None, recorded_ns: float | None) -> DocumentCell | None:
    if times is None or not recorded_ns:
        return None
    ratio = times.median_ns / recorded_ns
    return DocumentCell(f"{ratio:.2f}", ratio)


def _noise(call: Measured) -> DocumentCell | None:
    if call.time is None:
        return None
    return DocumentCell(f"±{percent(call.time.noise)}", call.time.noise)


def _candidate(call: Measured) -> DocumentCell | None:
    return None if call.candidate is None else _median(call.candidate.time)


def _verdict(call: Measured) -> DocumentCell | None:
    if call.candidate is None:
        return None
    verdict = call.candidate.verdict
    return DocumentCell(verdict, tone="better" if verdict == "right" else "worse")


def _notes(call: Measured) -> str:
    notes = [call.why, call.candidate and call.candidate.why]
    if call.repeats is False:
        notes.append("launches on equal inputs leave different bytes")
    if call.clock == "events":
        notes.append("timed by events")
    return "; ".join(note for note in notes if note)


def _machine(result: Result) -> Iterator[DocumentSection]:
    """Yield facts of the recorded run, the settings, and each GPU."""
    for title, content in (
        ("Recorded run", result.suite["source"]),
        ("Settings", result.settings),
        *((f"GPU {number}", gpu) for number, gpu in enumerate(result.gpus)),
    ):
        pairs = [(name, _fact(value)) for name, value in content.items()]
        yield DocumentSection(title, facts=pairs)


def _fact(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {item}" for name, item in value.items())
    return "" if value is None else str(value)


# JUnit XML of a suite's result: a test case for each call, candidate and comparison.
#
# A call passes if it can be launched; otherwise it is an error. A candidate that is wrong and a
# call that is slower than allowed are failures.


def result_junit(result: Result, comparisons: Sequence[Comparison], threshold: float) -> str:
    """Return the XML document; a call may be slower by the share `threshold`."""
    suites = {"calls": list(map(_call_case, result.calls))}
    tried = [(call, call.candidate) for call in result.calls if call.candidate is not None]
    if tried:
        suites["candidate"] = [_trial_case(call, trial) for call, trial in tried]
    if comparisons:
        suites["against"] = list(_comparison_cases(comparisons, threshold))
    return document("kvtrace suite run", suites)


def _call_case(call: Measured) -> ElementTree.Element:
    case = passing_case(call.kernel, call.name)
    if call.status == "failed":
        add_outcome(case, "error", call.why or "it cannot be launched")
    elif call.time is None:
        add_output(case, "launched without a GPU: no time was taken")
    else:
        case.set("time", f"{call.time.median_ns / 1e9:.9f}")
        text = f"{duration(call.time.median_ns)}, ±{percent(call.time.noise)} over the rounds"
        if call.recorded_ns:
            text += f"; recorded {duration(call.recorded_ns)}"
        add_output(case, text)
    return case


def _trial_case(call: Measured, trial: Trial) -> ElementTree.Element:
    case = passing_case(trial.function, call.name)
    if trial.verdict != "right":
        add_outcome(case, "failure", trial.why or trial.verdict, trial.verdict)
    elif trial.time is not None:
        case.set("time", f"{trial.time.median_ns / 1e9:.9f}")
        add_output(case, f"{duration(trial.time.median_ns)}")
    return case


def _comparison_cases(
    comparisons: Sequence[Comparison], threshold: float
) -> Iterator[ElementTree.Element]:
    for one in comparisons:
        case = passing_case("against", one.name)
        text = (
            f"{duration(one.before.median_ns)} to {duration(one.after.median_ns)} "
            f"({one.ratio:.3f} times): {one.verdict}"
        )
        if one.is_regression(threshold):
            add_outcome(case, "failure", text, "slower")
        elif one.verdict == "not known":
            add_outcome(case, "skipped", text)
        else:
            add_output(case, text)
        yield case
