"""SQL views that join a trace's tables, and queries over these views.

They run on any engine that has the tables of docs/format.md with an additional column `run`
(stacks and artifacts once for each run): DuckDB executes the texts unchanged, sqlglot translates
them for Spark. So the texts use only SQL that has the same meaning in both:

- SELECT with WITH, JOIN (USING, ON), EXISTS, WHERE, GROUP BY of named columns, HAVING, ORDER BY,
  UNION, UNION ALL; CASE, coalesce, greatest, least, CAST; count, sum, min, max, median, and FILTER
  (WHERE …) behind them; window functions with all of PARTITION BY, ORDER BY and ROWS BETWEEN;
  IS [NOT] DISTINCT FROM.
- Types BIGINT, DOUBLE, BOOLEAN, VARCHAR. Sums of ns are cast to BIGINT, which holds 292 years.
- A column that is a word of SQL is in double quotes, as "end". Frames are counted from 1.
- One function of the engine: `epoch_ns(time)`, ns since 1970 of a point in time, as BIGINT.
- No macro, list function, hash, star with EXCLUDE, GROUP BY ALL, QUALIFY, ASOF, or DISTINCT ON.

Queries over a hundred million rows sum by call before kernels are joined. The few launches in which
a kernel was compiled or tuned are joined from tables of their own. A row stands for `weight`
launches or executions, by which counts and sums are multiplied; a weight that is null or below 1
counts as 1.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from kvtrace.figures.identity import SOURCE
from kvtrace.figures.kernels import (
    EXECUTED,
    FURTHER_SUMS,
    KERNEL_FIGURES,
    LAUNCH_COLUMNS,
    LAUNCHED,
    sums,
)
from kvtrace.figures.scans import quoted
from kvtrace.schema.features import TRIALS

_SOURCE: Final = re.compile(r"(?<!DISTINCT )\b(FROM|JOIN) (\w+)")
_TRIALS: Final = ", ".join(f"'{phase}'" for phase in sorted(TRIALS))


def phase_flags(phase: str) -> str:
    """Return SQL of the columns `tuning` and `captured`, given SQL of a launch's phase."""
    return (
        f"coalesce({phase} IN ({_TRIALS}), false) AS tuning, "
        f"coalesce({phase} = 'graph_capture', false) AS captured"
    )


_LAUNCH_NS: Final = """CASE WHEN l."exit" < l."enter" THEN 0
                ELSE epoch_ns(l."exit") - epoch_ns(l."enter") END"""
_WEIGHT: Final = "greatest(l.weight, 1)"
_ADDED: Final = "".join(f", l.{c} * {_WEIGHT} AS {c}" for c in LAUNCH_COLUMNS)
_LAUNCH_TIMES: Final = f"""
        SELECT l.run, l.seq, l.call_id, l."enter", l."exit", {_LAUNCH_NS} AS ns,
            {phase_flags("l.phase")},
            {{compiling}} AS compiling,
            NOT ({{compiling}}) AND l."enter" IS NOT NULL AND l."exit" IS NOT NULL
                AND NOT coalesce(l.phase IN ({_TRIALS}), false) AS steady,
            {_WEIGHT} AS weight, {_LAUNCH_NS} * {_WEIGHT} AS taken, l.phase{_ADDED}
        FROM launches l {{compilers}}
"""  # noqa: S608
_SUMMED: Final = "".join(f", CAST(sum({c}) AS BIGINT) AS {c}" for c in LAUNCH_COLUMNS)
_LAUNCHED: Final = ", ".join(
    f"l.{c}" for c in dict.fromkeys(("thread", "device", "stream", *LAUNCH_COLUMNS))
)
#: Each launch once, also of files that have a number twice.
_COMPILERS: Final = (
    "LEFT JOIN (SELECT DISTINCT run, seq FROM compiling) s ON s.run = l.run AND s.seq = l.seq"
)
_EXECUTION_TIMES: Final = """
        SELECT p.run, p.record, p.launch_seq, p.call_id, p."start", p."end",
            CASE WHEN p.device_ns < 0 THEN 0 ELSE p.device_ns END AS ns,
            {trial} AS tuning, p.graph_id IS NOT NULL AS replayed,
            p.device_ns IS NOT NULL AND NOT ({trial}) AS steady,
            p.device_ns IS NOT NULL AS timed, p.name, p.kind, p.bytes,
            p.weight, CASE WHEN p.device_ns < 0 THEN 0 ELSE p.device_ns END * p.weight AS taken,
            p.requested IS NOT NULL AS asked, p.stack_id, p.forward_stack_id
        FROM placed p {trials}
"""
_EXECUTED: Final = f"""
        SELECT p.run, p.record, k.name AS kernel, k.module, {SOURCE} AS source, p.call_id,
            c.kernel_id, p.launch_seq, p."start", p."end", {{trial}} AS trial,
            CASE WHEN p.device_ns < 0 THEN 0 ELSE p.device_ns END AS device_ns, p.device, p.stream,
            p.graph_id, p.name, p.kind, p.bytes, p.weight, epoch_ns(p."start") AS start_ns,
            epoch_ns(p."end") AS end_ns
        FROM placed p LEFT JOIN calls c ON c.run = p.run AND c.call_id = p.call_id
        LEFT JOIN kernels k ON k.run = c.run AND k.kernel_id = c.kernel_id {{trials}}
"""  # noqa: S608
_JOINED_TRIALS: Final = """LEFT JOIN tuning t ON t.run = p.run AND t.seq = p.launch_seq
        LEFT JOIN between_trials b ON b.run = p.run AND b.record = p.record"""

#: Names of the figures of a call in `call_sums`.
_CALL_FIGURES: Final = tuple(
    dict.fromkeys(
        (
            *("launches", "tuning_launches", "host_ns", "compiling_launches", "compiling_ns"),
            *("device_executions", "device_ns"),
            *FURTHER_SUMS,
        )
    )
)
#: Figures of a call, from the sums of its launches or executions; a missing count is 0.
_OF_CALL: Final = ", ".join(
    f"coalesce({of}.{name}, 0) AS {name}"
    if KERNEL_FIGURES[name].unit == "count"
    else f"{of}.{name}"
    for name in _CALL_FIGURES
    for of in ("h" if KERNEL_FIGURES[name] in LAUNCHED else "d",)
)
_OF_KERNEL: Final = ", ".join(f"CAST(sum(s.{name}) AS BIGINT) AS {name}" for name in _CALL_FIGURES)


#: Columns of `launch_times` that sums by call are made of, as rows of `launch_sums` have them.
LAUNCHES_AT_REST: Final = (
    f"run, call_id, phase, {phase_flags('phase')}, compiling, steady, weight, taken_ns AS taken"
)
_UNKNOWN: Final = "".join(f", CAST(NULL AS BIGINT) AS {c}" for c in LAUNCH_COLUMNS)
_FURTHER: Final = "".join(f", {column}" for column in LAUNCH_COLUMNS)
#: By view of rows that others add up: columns that they need, and these of stored sums of rows, in
#: tables with a name; with "older_" before it, in those of rows that a recording has dropped.
_AT_REST: Final = {
    "launch_times": (
        "run, call_id, phase, tuning, captured, compiling, steady, weight, taken"
        f'{_FURTHER}, "exit"',
        f'{LAUNCHES_AT_REST}{_UNKNOWN}, last_end AS "exit"',
        "launch_sums",
    ),
    "execution_times": (
        "run, call_id, tuning, replayed, timed, steady, weight, taken",
        "run, call_id, tuning, replayed, timed, timed AND NOT tuning AS steady, weight, "
        "taken_ns AS taken",
        "execution_sums",
    ),
}
#: Views of which `views_at_rest` has other texts.
ADDED_UP: Final = frozenset(("launch_groups", "phase_sums", "execution_groups"))

#: The view `placed` if each execution has a call, as usual: the search for others takes half of the
#: view's time.
PLACED_PLAINLY: Final = """
    SELECT run, record, launch_seq, CASE WHEN kind IS NULL THEN call_id END AS call_id, "start",
        "end", epoch_ns("end") - epoch_ns("start") AS device_ns, device, stream, graph_id, name,
        kind, bytes, greatest(weight, 1) AS weight, requested, stack_id, forward_stack_id
    FROM gpu_kernels"""

#: Views by name; each uses only tables and views before it.
VIEWS: Final = {
    # A unique call with its kernel, and the line of the program that launched it first.
    "called": f"""
        SELECT c.run, c.call_id, c.kernel_id, k.name AS kernel, k.module, {SOURCE} AS source,
            k.file, k.line, c.grid_x, c.grid_y, c.grid_z, c.stack_id,
            s.frames[1].file AS called_file, s.frames[1].line AS called_line,
            s.frames[1].function AS called_function
        FROM calls c JOIN kernels k USING (run, kernel_id)
        LEFT JOIN stacks s ON s.run = c.run AND s.stack_id = c.stack_id
    """,  # noqa: S608
    # A launch with its call and kernel; `trial` by an autotuner or a warm-up.
    "launched": f"""
        SELECT l.run, l.seq, k.name AS kernel, k.module, {SOURCE} AS source, l.call_id,
            c.kernel_id, l.phase, l."enter", l."exit",
            coalesce(l.phase IN ({_TRIALS}), false) AS trial, {_LAUNCH_NS} AS host_ns,
            c.grid_x, c.grid_y, c.grid_z, {_LAUNCHED},
            {_WEIGHT} AS weight, epoch_ns(l."enter") AS enter_ns,
            epoch_ns(l."exit") AS exit_ns
        FROM launches l JOIN calls c USING (run, call_id) JOIN kernels k USING (run, kernel_id)
    """,  # noqa: S608
    # An execution on a device; the call is the launch's call if the row has none. Copies and fills
    # are none of a kernel, whatever asked for them.
    "placed": f"""
        {PLACED_PLAINLY} WHERE gpu_kernels.call_id IS NOT NULL OR launch_seq IS NULL
            OR kind IS NOT NULL
        UNION ALL
        SELECT g.run, g.record, g.launch_seq, l.call_id, g."start", g."end",
            epoch_ns(g."end") - epoch_ns(g."start") AS device_ns, g.device, g.stream, g.graph_id,
            g.name, g.kind, g.bytes, greatest(g.weight, 1) AS weight, g.requested, g.stack_id,
            g.forward_stack_id
        FROM gpu_kernels g LEFT JOIN (
            SELECT a.run, a.seq, a.call_id FROM launches a WHERE EXISTS (
                SELECT 1 FROM gpu_kernels u
                WHERE u.run = a.run AND u.launch_seq = a.seq AND u.call_id IS NULL)
        ) l ON l.run = g.run AND l.seq = g.launch_seq
        WHERE g.call_id IS NULL AND g.launch_seq IS NOT NULL AND g.kind IS NULL
    """,  # noqa: S608
    # A launch made by an autotuner or a warm-up.
    "tuning": f"""
        SELECT run, seq, call_id, thread, phase, "enter", "exit", greatest(weight, 1) AS weight
        FROM launches WHERE phase IN ({_TRIALS})
    """,  # noqa: S608
    # An execution on a device with its call and kernel; null without a known launch. `trial` if its
    # launch is one.
    "executed": _EXECUTED.format(
        trial="t.seq IS NOT NULL",
        trials="LEFT JOIN tuning t ON t.run = p.run AND t.seq = p.launch_seq",
    ),
    # A mark, in ns; `ns` and `end_ns` are null for an instant.
    "marked": """
        SELECT run, mark_id, name, thread, epoch_ns("begin") AS begin_ns,
            epoch_ns("end") AS end_ns, epoch_ns("end") - epoch_ns("begin") AS ns
        FROM marks
    """,
    # A launch in which an autotuner tried its configurations: the last trial of the launch's
    # thread before the launch's row began during the launch.
    "holding": f"""
        SELECT run, seq, call_id, phase, "enter", "exit", weight FROM (
            SELECT l.run, l.seq, l.call_id, l.phase, l."enter", l."exit",
                greatest(l.weight, 1) AS weight,
                max(CASE WHEN l.phase IN ({_TRIALS}) THEN l."enter" END) OVER (
                    PARTITION BY l.run, l.thread ORDER BY l.seq
                    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS trial
            FROM launches l JOIN (
                SELECT run, thread, max("enter") AS newest FROM tuning GROUP BY run, thread
            ) t ON t.run = l.run AND t.thread IS NOT DISTINCT FROM l.thread
            WHERE l."enter" <= t.newest
        ) threads
        WHERE coalesce(phase, 'run') NOT IN ({_TRIALS}) AND "enter" <= trial AND trial < "exit"
    """,  # noqa: S608
    # A launch in which the compilation or loading of its kernel began.
    "compiled_in": """
        SELECT l.run, l.seq, l.call_id, l.phase, l."enter", l."exit",
            greatest(l.weight, 1) AS weight
        FROM launches l JOIN (
            SELECT c.run, c.call_id, k.compile_begin, k.load_begin
            FROM calls c JOIN kernels k USING (run, kernel_id)
            WHERE k.compile_begin IS NOT NULL OR k.load_begin IS NOT NULL
        ) b ON b.run = l.run AND b.call_id = l.call_id
        WHERE l."enter" <= (SELECT max(greatest(compile_begin, load_begin)) FROM kernels)
            AND l."exit" > (SELECT min(least(compile_begin, load_begin)) FROM kernels)
            AND (l."enter" <= b.compile_begin AND b.compile_begin < l."exit"
                OR l."enter" <= b.load_begin AND b.load_begin < l."exit")
    """,
    # A launch whose time includes more than launching: compiling, loading or tuning the kernel.
    "compiling": """
        SELECT run, seq, call_id, phase, "enter", "exit", weight FROM compiled_in
        UNION
        SELECT run, seq, call_id, phase, "enter", "exit", weight FROM holding
    """,
    # A launch with flags for figures: `tuning` by an autotuner or a warm-up; `captured` into a
    # graph; `compiling` if its kernel was compiled, loaded or tuned in it; `steady` if its time is
    # only that of launching. A launch during which a clock was set back took 0 ns. `taken` is the
    # time of all launches that the row stands for.
    "launch_times": _LAUNCH_TIMES.format(compiling="s.seq IS NOT NULL", compilers=_COMPILERS),
    # Sums of the launches of a call with equal flags.
    "launch_groups": f"""
        SELECT run, call_id, phase, tuning, captured, compiling, steady,
            CAST(sum(weight) AS BIGINT) AS weight, CAST(sum(taken) AS BIGINT) AS taken{_SUMMED}
        FROM launch_times GROUP BY run, call_id, phase, tuning, captured, compiling, steady
    """,  # noqa: S608
    # Sums of all launches of a call by phase, also of those that compiled, and the last one's end.
    "phase_sums": """
        SELECT run, call_id, coalesce(phase, 'run') AS phase,
            CAST(sum(weight) AS BIGINT) AS launches, CAST(sum(taken) AS BIGINT) AS host_ns,
            max("exit") AS last_exit
        FROM launch_times GROUP BY run, call_id, coalesce(phase, 'run')
    """,
    # An execution without a known launch that ran between two trials, as a kernel that empties the
    # caches: the nearest executions before and after with a known launch are trials.
    # (Twice the time, and one more for a trial, fits into 64 bits until 2116.)
    "between_trials": """
        SELECT run, record FROM (
            SELECT run, record, call_id,
                max(mark) OVER (PARTITION BY run ORDER BY "start", record
                    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS before,
                min(mark) OVER (PARTITION BY run ORDER BY "start", record
                    ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS behind
            FROM (
                SELECT p.run, p.record, p.call_id, p."start",
                    CASE WHEN p.call_id IS NOT NULL THEN epoch_ns(p."start") * 2
                        + CASE WHEN t.seq IS NULL THEN 0 ELSE 1 END END AS mark
                FROM placed p JOIN (
                    SELECT e.run, min(e."start") AS first, max(e."start") AS last
                    FROM placed e JOIN tuning u ON u.run = e.run AND u.seq = e.launch_seq
                    GROUP BY e.run
                ) s ON s.run = p.run AND s.first <= p."start" AND p."start" <= s.last
                LEFT JOIN tuning t ON t.run = p.run AND t.seq = p.launch_seq
            ) marked
        ) ordered
        WHERE call_id IS NULL AND before % 2 = 1 AND behind % 2 = 1
    """,
    # An execution with flags for figures, as `launch_times`; `replayed` by a graph.
    "execution_times": _EXECUTION_TIMES.format(
        trial="t.seq IS NOT NULL OR b.record IS NOT NULL", trials=_JOINED_TRIALS
    ),
    # Sums of the executions of a call with equal flags, as `launch_groups`.
    "execution_groups": """
        SELECT run, call_id, tuning, replayed, timed, steady,
            CAST(sum(weight) AS BIGINT) AS weight, CAST(sum(taken) AS BIGINT) AS taken
        FROM execution_times GROUP BY run, call_id, tuning, replayed, timed, steady
    """,
    # Sums of the launches of a call.
    "host_sums": f"""
        SELECT run, call_id, {sums(LAUNCHED)} FROM launch_groups GROUP BY run, call_id
    """,  # noqa: S608
    # Sums of the executions of a call, if some are not of trials.
    "device_sums": f"""
        SELECT run, call_id, {sums(EXECUTED)} FROM execution_groups WHERE call_id IS NOT NULL
        GROUP BY run, call_id HAVING sum(CASE WHEN steady THEN 1 ELSE 0 END) > 0
    """,  # noqa: S608
    "call_sums": f"""
        SELECT c.run, c.call_id, c.kernel_id, {_OF_CALL}
        FROM calls c LEFT JOIN host_sums h ON h.run = c.run AND h.call_id = c.call_id
        LEFT JOIN device_sums d ON d.run = c.run AND d.call_id = c.call_id
    """,  # noqa: S608
    # Sums of the calls of a kernel (`identity.py`) over the runs.
    "kernel_sums": f"""
        SELECT k.module, k.name AS kernel, {SOURCE} AS source, {_OF_KERNEL}
        FROM call_sums s JOIN kernels k ON k.run = s.run AND k.kernel_id = s.kernel_id
        GROUP BY k.module, k.name, {SOURCE}
    """,  # noqa: S608
}

#: The views for runs without launches of autotuners and warm-ups.
VIEWS_WITHOUT_TRIALS: Final = VIEWS | {
    "compiling": VIEWS["compiled_in"],
    "executed": _EXECUTED.format(trial="false", trials=""),
    "execution_times": _EXECUTION_TIMES.format(trial="false", trials=""),
}


def launch_times(compiling: int) -> str:
    """Return SQL of the view `launch_times`; `compiling` is the last `seq` of that view, or -1.

    Only launches up to this `seq` are joined with the view `compiling`; nearly all come later, so
    this halves the time.
    """
    joined = f"{VIEWS['launch_times']} WHERE l.seq <= {compiling}"
    later = _LAUNCH_TIMES.format(compiling="false", compilers=f"WHERE l.seq > {compiling}")
    return f"{joined} UNION ALL {later}" if compiling >= 0 else later


def execution_times(trials: int) -> str:
    """Return SQL of the view `execution_times`; `trials` is the last `record` of a trial, or -1.

    Only executions up to this `record` are joined with trials.
    """
    if trials < 0:
        return VIEWS_WITHOUT_TRIALS["execution_times"]
    joined = f"{VIEWS['execution_times']} WHERE p.record <= {trials}"
    later = _EXECUTION_TIMES.format(trial="false", trials=f"WHERE p.record > {trials}")
    return f"{joined} UNION ALL {later}"


def views_at_rest(
    stored: Sequence[str], others: Sequence[str], older: Sequence[str]
) -> dict[str, str]:
    """Return `VIEWS` in which runs are added up from what is stored of them.

    `stored` has the ids of runs with valid sums (`stored.py`), `others` those of other runs,
    and `older` those of runs that keep sums of rows that they have dropped (`stored.py`).
    """
    texts = dict(VIEWS)
    for view, (columns, of_sums, stored_table) in _AT_REST.items() if stored or older else ():
        rows = " UNION ALL ".join(
            f"SELECT {names} FROM {table} WHERE run IN ({', '.join(map(quoted, runs))})"  # noqa: S608
            for names, table, runs in (
                (of_sums, stored_table, stored),
                (columns, view, others),
                (of_sums, f"older_{stored_table}", older),
            )
            if runs
        )
        for name in ADDED_UP:
            texts[name] = texts[name].replace(f"FROM {view} ", f"FROM ({rows}) r ")
    return texts


def view_statements(names: Iterable[str] = VIEWS, views: Mapping[str, str] = VIEWS) -> list[str]:
    """Return CREATE VIEW statements of views and the views that they use, in executable order."""
    texts = view_texts(names, views)
    return [f'CREATE VIEW "{name}" AS {text}' for name, text in texts.items()]


def view_texts(names: Iterable[str], views: Mapping[str, str] = VIEWS) -> dict[str, str]:
    """Return the SELECT texts of views and the views that they use, by name, used views first."""
    required_names = _with_used(names, views)
    return {name: text for name, text in views.items() if name in required_names}


def tables_of(names: Iterable[str], views: Mapping[str, str] = VIEWS) -> tuple[str, ...]:
    """Return the sorted tables that are among `names` or are read by views among `names`."""
    return tuple(name for name in sorted(_with_used(names, views)) if name not in views)


def _with_used(names: Iterable[str], views: Mapping[str, str]) -> set[str]:
    """Return `names` with all tables and views that their views read, directly or not."""
    required_names = set(names)
    for name, text in reversed(list(views.items())):
        if name in required_names:
            required_names |= _used(text)
    return required_names


def _used(text: str) -> set[str]:
    """Return the names of tables and views that follow FROM and JOIN in a query."""
    return {name for _, name in _SOURCE.findall(text)}
