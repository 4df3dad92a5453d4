"""A suite's result as JUnit XML, and as one self-contained HTML page: a plot of times, and tables.

The page has no script and requests nothing; every text of the suite is escaped.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from string import Template
from typing import Final
from xml.etree import ElementTree

from kvtrace.addons.suite.comparing import Comparison
from kvtrace.addons.suite.results import Measured, Result, Times, Trial, percent, sentences
from kvtrace.analysis.shown.markup import Column, facts, paragraph, shown, table, words
from kvtrace.converters.junit import add_outcome, add_output, document, passing_case
from kvtrace.text import duration, shorten

_TEMPLATE: Final = Path(__file__).with_name("page.html")
#: Calls with bars, those that take most time.
_MOST_CALLS: Final = 100
_WIDTH: Final = 1100
_NAMES: Final = 250
_VALUES: Final = 190
_BAR: Final = 14
_GAP: Final = 8
#: The kinds of bars: style and what they are.
_KINDS: Final = {
    "recorded": "recorded in the run", "before": "the result compared with", "now": "this result",
    "right": "candidate", "wrong": "candidate with wrong results",
}  # fmt: skip


def result_page(result: Result, comparisons: Sequence[Comparison], label: str) -> str:
    """Return the HTML page; `label` names the result that `comparisons` are with."""
    before = {one.name: one.before for one in comparisons}
    return Template(_TEMPLATE.read_text(encoding="utf-8")).substitute(
        title=words(result.suite["source"].get("command", "a recorded run")),
        sentences="".join(map(paragraph, sentences(result))),
        plot=_plot(result.calls, before),
        calls=shown(table(_call_columns(result.calls), result.calls, "Calls")),
        comparisons=_comparison_table(comparisons, label),
        gpus=shown(*_machine(result)),
    )


# ---- The plot ----

Bar = tuple[str, float, Times | None]


def _plot(calls: Sequence[Measured], before: dict[str, Times]) -> str:
    """Return bars of the time of all launches of each call: median times launches."""
    timed = [call for call in calls if call.time is not None]
    timed = sorted(
        timed, key=lambda call: -call.launches * (call.time.median_ns if call.time else 0)
    )
    groups = [(call, list(_bars(call, before))) for call in timed[:_MOST_CALLS]]
    if not groups:
        return ""
    longest = max(call.launches * ns for call, bars in groups for _, ns, _ in bars) or 1.0
    parts: list[str] = []
    y = 2
    for call, bars in groups:
        name = words(shorten(call.name, 36))
        parts.append(f'<g class="call"><title>{words(call.title)}</title>')
        parts.append(f'<text x="0" y="{y + _BAR - 3}">{name}</text>')
        for bar in bars:
            parts.append(_bar(bar, call.launches, (_WIDTH - _NAMES - _VALUES) / longest, y))
            y += _BAR
        parts.append("</g>")
        y += _GAP
    kinds = {kind for _, bars in groups for kind, _, _ in bars}
    legend = "".join(
        f'<span><i style="background:var(--{kind})"></i><b>{words(text)}</b></span>'
        for kind, text in _KINDS.items()
        if kind in kinds
    )
    omitted = len(timed) - len(groups)
    note = paragraph(f"{omitted} calls that take less time have no bars") if omitted else ""
    return (
        "<h2>Time by call</h2><p>Launches in the recorded run × the median of a launch; a line "
        f'spans the medians of the rounds.</p><p class="legend">{legend}</p>{note}'
        f'<svg viewBox="0 0 {_WIDTH} {y}" role="img" aria-label="Time by call">'
        f"{''.join(parts)}</svg>"
    )


def _bar(bar: Bar, launches: int, per_ns: float, y: int) -> str:
    """Return a bar, a line for the spread of its rounds, and its value; `per_ns` is a width."""
    kind, median_ns, times = bar
    value = f"{duration(launches * median_ns)} = {launches:,} × {duration(median_ns)}"
    told = words(f"{_KINDS[kind]}: {value}")
    end = launches * median_ns * per_ns
    text = (
        f'<rect class="{kind}" x="{_NAMES}" y="{y}" width="{end:.1f}" height="{_BAR - 1}">'
        f"<title>{told}</title></rect>"
    )
    if times is not None:
        low, high = (launches * edge(times.rounds) * per_ns for edge in (min, max))
        middle = y + (_BAR - 1) / 2
        text += (
            f'<line x1="{_NAMES + low:.1f}" x2="{_NAMES + high:.1f}" y1="{middle}" y2="{middle}"/>'
        )
        end = max(end, high)
    return text + f'<text x="{_NAMES + end + 6:.1f}" y="{y + _BAR - 3}">{words(value)}</text>'


def _bars(call: Measured, before: dict[str, Times]) -> Iterator[Bar]:
    if call.recorded_ns:
        yield "recorded", call.recorded_ns, None
    if call.name in before:
        yield "before", before[call.name].median_ns, before[call.name]
    if call.time is not None:
        yield "now", call.time.median_ns, call.time
    trial = call.candidate
    if trial is not None and trial.time is not None:
        kind = "right" if trial.verdict == "right" else "wrong"
        yield kind, trial.time.median_ns, trial.time


# ---- Tables ----


def _call_columns(calls: Sequence[Measured]) -> list[Column[Measured]]:
    columns: list[Column[Measured]] = [
        Column("call", lambda call: call.name),
        Column("launches", lambda call: f"{call.launches:,}", kind="number"),
        Column("share", lambda call: percent(call.share), kind="number",
               meaning="of the recorded run"),
        Column("recorded", lambda call: duration(call.recorded_ns), kind="number"),
        Column("now", lambda call: _median(call.time) or call.status, kind="number"),
        Column("ratio", lambda call: _ratio(call.time, call.recorded_ns), kind="number",
               meaning="now to recorded"),
        Column("noise", lambda call: f"±{percent(call.time.noise)}" if call.time else "",
               kind="number", meaning="half the distance of the slowest from the fastest round"),
    ]  # fmt: skip
    if any(call.warm for call in calls):
        columns += [
            Column("warm", lambda call: _median(call.warm), kind="number",
                   meaning="without clearing the L2 cache"),
            Column("ratio", lambda call: _ratio(call.warm, call.recorded_ns), kind="number",
                   meaning="warm to recorded"),
        ]  # fmt: skip
    if any(call.candidate for call in calls):
        columns += [
            Column("candidate", lambda call: call.candidate and _median(call.candidate.time),
                   kind="number"),
            Column("results", _verdict, tone=_tone),
        ]  # fmt: skip
    columns.append(Column("notes", _notes, kind="sentence"))
    return columns


def _median(times: Times | None) -> str:
    return "" if times is None else duration(times.median_ns)


def _ratio(times: Times | None, recorded_ns: float | None) -> str:
    return f"{times.median_ns / recorded_ns:.2f}" if times and recorded_ns else ""


def _verdict(call: Measured) -> str:
    return "" if call.candidate is None else call.candidate.verdict


def _tone(call: Measured) -> str:
    return {"right": "better", "": ""}.get(_verdict(call), "worse")


def _notes(call: Measured) -> str:
    notes = [call.why, call.candidate and call.candidate.why]
    if call.repeats is False:
        notes.append("launches on equal inputs leave different bytes")
    if call.clock == "events":
        notes.append("timed by events")
    return "; ".join(note for note in notes if note)


def _comparison_table(comparisons: Sequence[Comparison], label: str) -> str:
    if not comparisons:
        return ""
    tones = {"faster": "better", "slower": "worse"}
    columns: list[Column[Comparison]] = [
        Column("call", lambda one: one.name),
        Column("before", lambda one: duration(one.before.median_ns), kind="number"),
        Column("now", lambda one: duration(one.after.median_ns), kind="number"),
        Column("ratio", lambda one: f"{one.ratio:.3f}", kind="number"),
        Column("verdict", lambda one: one.verdict, tone=lambda one: tones.get(one.verdict, "")),
    ]
    return shown(table(columns, comparisons, words(f"Compared with {label}")))


def _machine(result: Result) -> Iterator[str]:
    """Yield facts of the recorded run, the settings, and each GPU."""
    for title, content in (
        ("Recorded run", result.suite["source"]),
        ("Settings", result.settings),
        *((f"GPU {number}", gpu) for number, gpu in enumerate(result.gpus)),
    ):
        yield f"<h2>{words(title)}</h2>"
        yield facts((name, _fact(value)) for name, value in content.items())


def _fact(value: object) -> object:
    if isinstance(value, dict):
        return ", ".join(f"{name} {item}" for name, item in value.items())
    return value


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
