"""The README of a suite, for readers who do not know kvtrace, and the facts of calls in it."""

from __future__ import annotations

import textwrap
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kvtrace.clients.recorded import estimated_costs
from kvtrace.evaluate import TensorArgument
from kvtrace.evaluate.errors import UNFIT
from kvtrace.ir.data_dependence import leading_integers
from kvtrace.ir.memory_sites import memory_sites
from kvtrace.progress import progress
from kvtrace.recorded_calls.recorded import UnreadyCall, calls_of
from kvtrace.schema.errors import KvtraceError
from kvtrace.schema.layout import pass_parts, run_folder
from kvtrace.text import count, duration, percent, plural
from kvtrace.verdicts.judge import judge_launches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kvtrace.addons.suite.choice import WeighedCall
    from kvtrace.addons.suite.model import Entry, Suite
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.schema.trace import Selection, Trace


_WIDTH: Final = 100
_TEXT: Final = """\
# {title}

These are the Triton kernels that a real program launched, with the arguments that it passed: a
benchmark and a test for anyone who tunes, rewrites or generates such kernels. Each entry is a call
that was recorded, and has the weight that it had in the program.

{stands_for}

{facts}

## Run it

```
python run.py
```

times every entry on a GPU. It needs `torch` and `triton`, and nothing else. Without a GPU, kvtrace,
the tool that recorded the calls, evaluates the kernels: `kvtrace run -o out/ run.py`.

**The files are recorded code.** Running them compiles and launches it with your rights; read them
first if you do not trust where they are from.

## What is in it

| file | |
|---|---|
| `suite.json` | the index: each entry, its weight, and what it stands for |
| `calls/NAME.py` | a call, as data: grid, compile options, memory, arguments |
| `kernels/` | the kernels: Triton IR (`.ttir`), which is launched, and Python source (`.py`) |
| `contents/` | contents of memory as they were recorded, compressed by zlib |
| `launching.py` | how a call is launched: compiles, makes the memory, passes arguments |
| `run.py` | times the entries; `device.py`, `cache.py`, `results.py`, `candidates.py` |

To use an entry in your own harness:

```python
import runpy
import tempfile
from pathlib import Path

import launching

call = runpy.run_path("calls/{example}.py")["CALL"]
device, interface = launching.active_device()
memory = launching.new_storages(call, device)     # every storage, as bytes by name
arguments = launching.arguments(call, memory)     # every argument by name; tensors are views
with tempfile.TemporaryDirectory() as folder:
    launch = launching.prepared(call, Path(folder))
    launch(arguments)
```

## What is as recorded, and what is not

- As recorded: kernel, compile options, grid, scalars; of tensors their types, shapes, strides,
  where they begin in their memory, and which of them share memory.
- Contents are {contents}. Random ones have
  fixed seeds: floats from a normal distribution, integers from 0 to 3.
- Calls that do the same work are one entry: the code and the grid are the same, and so is every
  argument that an address, a mask, a branch or a loop depends on. The heaviest is launched.
- A kernel that updates memory in place finds its own results when it is launched again. Make new
  storages where that matters.
- With many kernels, their IR is in the calls' own files, and their source is left out.
- What the device touched before a launch is touched again before each timed one, where it was
  recorded (`before` in `suite.json`); else the L2 cache is cleared.
- Addresses, and what else ran on the device, are not reproduced.

## Entries

*Share* is of the weight of all Triton kernels of the program. *Checks* are what kvtrace's rules say
of the call's memory accesses, races, overflows …: how many rules are proven to be kept, and those
that are not. A dash: not judged.

{table}
{left_out}"""


def readme(suite: Suite) -> str:
    """Return the text of a suite's `README.md`."""
    return _TEXT.format(
        title=_title(suite),
        stands_for=_filled(_stands_for(suite)),
        facts="\n".join(f"- {name}: {_code(fact)}" for name, fact in suite.source.items()),
        example=suite.entries[0].name,
        contents=_contents(suite),
        table="\n".join(_table(suite)),
        left_out="\n".join(_left_out(suite)),
    )


def _title(suite: Suite) -> str:
    return f"A suite of {plural(len(suite.entries), 'GPU kernel call')}"


def _stands_for(suite: Suite) -> str:
    launches = sum(entry.launches for entry in suite.entries)
    calls = sum(len(entry.calls) for entry in suite.entries)
    if suite.weighed_by == "launches":
        return (
            f"It stands for {percent(suite.covered)} of the {count(suite.weight)} launches of "
            f"Triton kernels ({plural(calls, 'different call')}); times on the device were not "
            "recorded."
        )
    text = (
        f"It stands for {percent(suite.covered)} of the {duration(suite.weight)} that Triton "
        f"kernels took on the device, in {plural(launches, 'launch')} of "
        f"{plural(calls, 'different call')}."
    )
    if suite.device_ns:
        triton = percent(suite.weight / suite.device_ns)
        text += (
            f" With kernels of libraries, copies and fills the device worked for "
            f"{duration(suite.device_ns)}, of which Triton's kernels are {triton}."
        )
    return text


def _filled(text: str) -> str:
    return "\n".join(textwrap.wrap(text, _WIDTH, break_on_hyphens=False))


def _contents(suite: Suite) -> str:
    origins = [origin for entry in suite.entries for origin in entry.inputs.values()]
    numbers = ((origins.count(name), name) for name in ("recorded", "drawn", "random"))
    listed = [f"{name} for {plural(number, 'storage')}" for number, name in numbers if number]
    return ", ".join(listed) or "none, since no entry has memory"


def _table(suite: Suite) -> Iterator[str]:
    yield "| entry | share | launches | median when recorded | checks |"
    yield "|---|---:|---:|---:|---|"
    for entry in suite.entries:
        yield (
            f"| [`{entry.name}`](calls/{entry.name}.py) | {percent(entry.share)} | "
            f"{count(entry.launches)} | {duration(entry.median_ns)} | {_checks(entry)} |"
        )


def _checks(entry: Entry) -> str:
    """Return which rules are not proven, or that all are."""
    if not entry.checks:
        return "-"
    open_rules = [
        f"{rule}: {verdict}" for rule, verdict in entry.checks.items() if verdict != "proven"
    ]
    return ", ".join(open_rules) or f"{len(entry.checks)} proven"


def _left_out(suite: Suite) -> Iterator[str]:
    if not suite.left_out:
        return
    yield "\nLeft out:\n"
    for left_out in suite.left_out:
        yield f"- {_code(left_out.name)}, {percent(left_out.share)}: {left_out.why}"


def _code(text: str) -> str:
    """Return a text as code in Markdown, which a text from a trace cannot leave."""
    return f"`{text.replace('`', chr(39))}`"


#: The pass that fills the table `findings`.
_SANITIZER: Final = "sanitizer"
#: Verdicts that count before others where a rule has several.
_ORDER: Final = ("violation", "unknown", "proven")
#: Seconds for calls of which the trace has no verdicts; later ones have none in the suite.
MOST_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class CallFacts:
    """Facts of a call that follow from its IR.

    Attributes:
        checks: the worst verdict of each rule of the sanitizer.
        updated: storages that the kernel both reads and writes, by name.
        leading: storages whose contents decide what work it does, as indices and lengths do.
    """

    checks: Mapping[str, str] = field(default_factory=dict)
    updated: tuple[str, ...] = ()
    leading: tuple[str, ...] = ()


def facts_of_calls(
    selection: Selection, groups: Sequence[Sequence[WeighedCall]], seconds: float = MOST_SECONDS
) -> list[CallFacts]:
    """Return the facts of the first call of each group; verdicts are of all its calls.

    Verdicts are from the trace where it was sanitized; else the first call is judged, in the order
    of the groups, until `seconds` are used up. Calls that cannot be evaluated have no facts.
    """
    trace = selection.trace
    recorded = _recorded_verdicts(selection)
    judged = {
        run.run_id
        for run in selection.runs
        if pass_parts(run_folder(trace.path, "findings", run.run_id), _SANITIZER)
    }
    evaluable = _evaluable_calls(trace, [calls[0] for calls in groups])
    deadline = time.monotonic() + seconds
    facts = []
    costs = {run.run_id: estimated_costs(trace, run) for run in selection.runs}
    group_costs = [costs[calls[0].run.run_id][calls[0].call_id] for calls in groups]
    with progress("suite: judging calls") as report:
        for number, calls in enumerate(groups, start=1):
            call = evaluable.get(calls[0])
            pairs: list[tuple[str, str]] = []
            if calls[0].run.run_id in judged:
                places = [(weighed.run.run_id, weighed.call_id) for weighed in calls]
                pairs = [pair for place in places for pair in recorded.get(place, ())]
            elif call is not None and time.monotonic() < deadline:
                pairs = _judged(call)
            updated, leading = ((), ()) if call is None else _storages(call)
            facts.append(CallFacts(_worst(pairs), updated, leading))
            report(sum(group_costs[:number]), sum(group_costs))
    return facts


def _evaluable_calls(trace: Trace, weighed: Sequence[WeighedCall]) -> dict[WeighedCall, Call]:
    calls: dict[WeighedCall, Call] = {}
    for run in dict.fromkeys(one.run for one in weighed):
        by_id = {one.call_id: one for one in weighed if one.run == run}
        for call in calls_of(trace, run, by_id):
            if not isinstance(call, UnreadyCall):
                calls[by_id[call.call_id]] = call
    return calls


def _storages(call: Call) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the storages that a call updates, and those whose contents decide its work."""
    tensors = {
        position: argument
        for position, argument in enumerate(call.arguments)
        if isinstance(argument, TensorArgument)
    }
    names: dict[int, str] = {}
    for argument in tensors.values():
        names.setdefault(id(argument.storage), argument.name)
    leading_ops = leading_integers(call.module)
    kinds: dict[str, set[str]] = {name: set() for name in names.values()}
    leading: dict[str, None] = {}
    for site in memory_sites(call.module):
        reached = [argument for position, argument in tensors.items() if site.reaches(position)]
        for name in (names[id(argument.storage)] for argument in reached):
            kinds[name].add(site.kind)
            if site.op.index in leading_ops:
                leading[name] = None
    updated = [name for name, found in kinds.items() if "atomic" in found or len(found) > 1]
    return tuple(updated), tuple(leading)


def _recorded_verdicts(selection: Selection) -> Mapping[tuple[str, int], list[tuple[str, str]]]:
    """Return (rule, verdict) of each finding of a call, by run id and call id."""
    verdicts: dict[tuple[str, int], list[tuple[str, str]]] = {}
    for row in selection.table("findings", ["call_id", "rule", "verdict"]).to_pylist():
        pairs = verdicts.setdefault((row["run"], row["call_id"]), [])
        pairs.append((str(row["rule"]), str(row["verdict"])))
    return verdicts


def _judged(call: Call) -> list[tuple[str, str]]:
    """Return (rule, verdict) of each claim on a call; none if it cannot be judged."""
    try:
        return [(verdict.rule, verdict.verdict) for verdict in judge_launches(call)]
    except (KvtraceError, *UNFIT):  # the call has no checks then, as the README says
        return []


def _worst(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the worst verdict of each rule, by the rule's name."""
    worst: dict[str, str] = {}
    for rule, verdict in sorted(pairs):
        worst[rule] = min(worst.get(rule, verdict), verdict, key=_rank)
    return worst


def _rank(verdict: str) -> int:
    return _ORDER.index(verdict) if verdict in _ORDER else len(_ORDER)
