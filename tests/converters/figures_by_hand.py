"""Figures of a trace by SQL over its Parquet files, without kvtrace's code or views.

The SQL says what docs/format.md and docs/profile.md say in words. `step` has the steps of the
steady part, `inside` the executions in them, `launched` the launches, without autotuners' trials.
"""

from pathlib import Path
from typing import Any

from kvtrace.figures.steps import program_steps
from kvtrace.schema.trace import open_trace
from tests.support.hand_tables import tables_of

_STEPS_BY_MARK = """
CREATE TEMP TABLE host_step AS
SELECT run, row_number() OVER (PARTITION BY run ORDER BY moment) - 1 AS n, moment FROM (
    SELECT run, epoch_ns("begin") AS moment FROM marks WHERE name = 'step'
    UNION ALL
    SELECT run, epoch_ns(max("end")) FROM marks WHERE name = 'step' GROUP BY run)
"""
# Steps that no mark names are those that kvtrace finds (tests/figures/test_step_search.py).
_STEPS_FOUND = """
CREATE TEMP TABLE host_step AS SELECT * FROM (VALUES {rows}) found(run, n, moment)
"""
_SETUP = """
CREATE TEMP TABLE execution AS
SELECT g.run, record, name, kind, bytes, coalesce(g.call_id, l.call_id) AS call_id,
    {stack} AS stack_id, epoch_ns(start) AS start_ns, epoch_ns("end") AS end_ns,
    end_ns - start_ns AS ns,
    coalesce({requested}, CASE WHEN g.graph_id IS NULL THEN epoch_ns(enter) END) AS asked,
    coalesce(phase IN ('autotune', 'warmup'), false) AS trial
FROM gpu_kernels g LEFT JOIN launches l ON l.run = g.run AND l.seq = g.launch_seq;

-- On devices a step begins when the work of earlier steps has ended, but not before the host began
-- it, and not after its own work; the last step ends where the next would begin, or, without any
-- work of a next one, when the host and all work have ended.
CREATE TEMP TABLE all_steps AS
WITH known AS (
    SELECT s.run, n, moment, max(end_ns) FILTER (coalesce(asked, start_ns) < moment) AS ended,
        min(start_ns) FILTER (asked >= moment) AS begun, max(end_ns) AS last
    FROM host_step s LEFT JOIN execution e ON e.run = s.run GROUP BY ALL),
bound AS (
    SELECT run, n, moment, CASE WHEN begun IS NULL THEN greatest(moment, last)
        ELSE least(greatest(moment, coalesce(ended, moment)), begun) END AS device FROM known)
SELECT b.run, n, moment AS host_begin, lead(moment) OVER later AS host_end,
    b.device AS device_begin, lead(b.device) OVER later AS device_end,
    device_end - device_begin AS ns
FROM bound b WINDOW later AS (PARTITION BY run ORDER BY n)
QUALIFY host_end IS NOT NULL;

-- The first steps are start-up if something was compiled, loaded, tuned or captured in them, or if
-- they took more than twice the median.
CREATE TEMP TABLE step AS
WITH setup AS (
    SELECT run, epoch_ns(compile_begin) AS moment FROM kernels
    UNION ALL SELECT run, epoch_ns(load_begin) FROM kernels
    UNION ALL SELECT run, epoch_ns(enter) FROM launches
    WHERE phase IN ('autotune', 'warmup', 'graph_capture')),
steady AS (
    SELECT s.run, min(n) AS first FROM all_steps s
    JOIN (SELECT run, median(ns) AS middle FROM all_steps GROUP BY run) m ON m.run = s.run
    WHERE ns <= 2 * middle AND NOT EXISTS (
        SELECT 1 FROM setup u
        WHERE u.run = s.run AND u.moment >= s.host_begin AND u.moment < s.host_end)
    GROUP BY s.run)
SELECT a.* FROM all_steps a JOIN steady USING (run) WHERE n >= first;

CREATE TEMP TABLE part AS
SELECT run, min(host_begin) AS host_begin, max(host_end) AS host_end,
    min(device_begin) AS device_begin, max(device_end) AS device_end
FROM step GROUP BY run;

CREATE TEMP TABLE inside AS
SELECT e.* FROM execution e JOIN part USING (run)
WHERE NOT trial AND start_ns >= device_begin AND start_ns < device_end;

-- Each execution with the time that no execution before it covers, and the idle time before it.
CREATE TEMP TABLE covered AS
SELECT *, greatest(0, end_ns - greatest(start_ns, coalesce(busy_until, 0))) AS new_ns
FROM (
    SELECT *, max(end_ns) OVER (PARTITION BY run ORDER BY start_ns, record
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS busy_until
    FROM inside);

CREATE TEMP TABLE kernel AS
SELECT run, kernel_id, name, CASE WHEN module IS NULL THEN source_artifact END AS source, module,
    compile_ns, coalesce(cache_hit, false) AS cache_hit, row_number() OVER (
        PARTITION BY run, module, name, source ORDER BY kernel_id) AS nth
FROM kernels;

CREATE TEMP TABLE launched AS
SELECT l.run, l.call_id, epoch_ns(exit) - epoch_ns(enter) AS ns
FROM launches l JOIN part USING (run)
WHERE epoch_ns(enter) >= host_begin AND epoch_ns(enter) < host_end
    AND phase NOT IN ('autotune', 'warmup')
"""
# Idle time by cause, as docs/profile.md has it under "Gaps".
_CAUSES = """
CREATE TEMP TABLE gap AS
WITH latency AS (  -- what a launch takes: twice the first percentile, at least 5 and at most 50 µs
    SELECT run, floor(greatest(5000, least(50000, 2 * quantile_cont(start_ns - asked, 0.01))))
        ::BIGINT AS latency FROM inside WHERE asked IS NOT NULL GROUP BY run),
ends AS (
    SELECT run, busy_until AS low, start_ns AS high, asked, min(asked) OVER (PARTITION BY run
        ORDER BY start_ns, record ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS latest
    FROM covered QUALIFY start_ns > busy_until
    UNION ALL
    SELECT run, any_value(device_begin), min(start_ns), arg_min(asked, start_ns),
        arg_min(asked, start_ns)
    FROM inside JOIN part USING (run) GROUP BY run HAVING min(start_ns) > any_value(device_begin)
    UNION ALL
    -- until the end of its last step the host requested nothing of the next one
    SELECT run, max(end_ns), any_value(device_end), any_value(device_end), NULL
    FROM inside JOIN part USING (run) GROUP BY run HAVING max(end_ns) < any_value(device_end))
SELECT row_number() OVER () AS gap, run, low, high, high - low AS ns, asked,
    coalesce(coalesce(asked, latest) <= low AND coalesce(asked, latest) < high - latency, false)
        AS ahead,
    EXISTS (SELECT 1 FROM kernels k WHERE k.run = e.run AND k.origin = 'inductor'
        AND (epoch_ns(k.compile_begin) >= low AND epoch_ns(k.compile_begin) < high
            OR epoch_ns(k.load_begin) >= low AND epoch_ns(k.load_begin) < high)) AS generated
FROM ends e JOIN latency USING (run);

-- Gaps in pieces that steps cut.
CREATE TEMP TABLE piece AS
WITH cut AS (
    SELECT gap, unnest(list_distinct(list_concat([low, high], list(device_begin)
        FILTER (device_begin > low AND device_begin < high)))) AS moment
    FROM gap JOIN step USING (run) GROUP BY gap, low, high),
pieces AS (
    SELECT gap, moment AS low, lead(moment) OVER (PARTITION BY gap ORDER BY moment) AS high
    FROM cut)
SELECT row_number() OVER () AS piece, p.gap, g.run, p.low, p.high, p.high - p.low AS ns,
    greatest(p.low, least(p.high, coalesce(asked, p.high))) AS until
FROM pieces p JOIN gap g USING (gap) WHERE p.high IS NOT NULL;

CREATE TEMP TABLE activity AS
WITH every AS (
    SELECT run, 1 AS place, epoch_ns(compile_begin) AS low,
        low + coalesce(compile_ns, 0) AS high FROM kernels WHERE compile_begin IS NOT NULL
    UNION ALL SELECT run, 1, epoch_ns(load_begin), epoch_ns(load_begin) + coalesce(load_ns, 0)
    FROM kernels WHERE load_begin IS NOT NULL
    UNION ALL SELECT run, CASE kind WHEN 'collect' THEN 2 WHEN 'synchronize' THEN 4 ELSE 3 END,
        epoch_ns("begin"), epoch_ns("end") FROM host_events
    UNION ALL SELECT run, 5, epoch_ns(enter), epoch_ns(exit) FROM launches
    WHERE epoch_ns(exit) - epoch_ns(enter) < 1000000),
near AS (  -- until the request waits and launches count, then launching alone
    SELECT piece, place, greatest(a.low, p.low) AS low,
        least(a.high, CASE WHEN place <= 3 THEN p.high ELSE until END) AS high
    FROM piece p JOIN every a ON a.run = p.run AND a.low < p.high AND a.high > p.low
    UNION ALL SELECT piece, 5, until, high FROM piece),
before AS (  -- of each moment only the first activity in the order counts
    SELECT piece, upto, low, high, max(high) OVER (PARTITION BY piece, upto ORDER BY low, high
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS covered
    FROM near, (SELECT unnest([1, 2, 3, 4, 5]) AS upto) WHERE place <= upto AND high > low)
SELECT piece, upto, sum(greatest(0, high - greatest(low, coalesce(covered, low)))) AS ns
FROM before GROUP BY piece, upto;

CREATE TEMP TABLE cause AS
WITH upto AS (
    SELECT p.*, coalesce(c1, 0) AS c1, coalesce(c2, 0) AS c2, coalesce(c3, 0) AS c3,
        coalesce(c4, 0) AS c4, coalesce(c5, 0) AS c5
    FROM piece p LEFT JOIN (
        SELECT piece, max(ns) FILTER (upto = 1) AS c1, max(ns) FILTER (upto = 2) AS c2,
            max(ns) FILTER (upto = 3) AS c3, max(ns) FILTER (upto = 4) AS c4,
            max(ns) FILTER (upto = 5) AS c5
        FROM activity GROUP BY piece) USING (piece)),
free AS (SELECT gap, sum(ns - c5) AS free_ns FROM upto GROUP BY gap),
known AS (
    SELECT u.*, g.asked, g.generated, g.ahead,
        g.ns < 20000 AND (g.ahead OR g.asked IS NULL AND free_ns = g.ns AND NOT generated) AS short
    FROM upto u JOIN gap g USING (gap) JOIN free USING (gap)),
part_of AS (
    SELECT run, gap, low,
        [{'cause': 'compile', 'ns': c1 + CASE WHEN generated THEN c5 - c4 + ns - c5 ELSE 0 END},
         {'cause': 'collect', 'ns': c2 - c1}, {'cause': 'allocate', 'ns': c3 - c2},
         {'cause': 'synchronize', 'ns': c4 - c3},
         {'cause': 'launch', 'ns': CASE WHEN generated THEN 0 ELSE c5 - c4 END},
         {'cause': CASE WHEN asked IS NULL THEN 'unknown' ELSE 'host' END,
          'ns': CASE WHEN generated THEN 0 ELSE ns - c5 END}] AS parts, short, ahead, ns
    FROM known),
listed AS (
    SELECT run, gap, low, unnest(CASE WHEN short THEN [{'cause': 'short', 'ns': ns}]
        WHEN ahead THEN [{'cause': 'device', 'ns': ns}] ELSE parts END) AS entry FROM part_of)
SELECT run, gap, low, entry.cause AS cause, entry.ns::BIGINT AS ns FROM listed WHERE entry.ns > 0
"""


def _found_steps(folder: Path) -> str:
    """Return rows of run id, number and begin of each step, and of the end of the last one."""
    trace = open_trace(folder)
    found = {run.run_id: program_steps(trace, run) for run in trace.runs}
    return ", ".join(
        f"('{run}', {number}, {moment})"
        for run, steps in found.items()
        if steps is not None
        for number, moment in enumerate(steps.bounds.tolist())
    )


class HandSql:
    """A trace's tables and the tables above, in a database of their own."""

    def __init__(self, folder: Path) -> None:
        self._database = tables_of(folder)
        columns = {name for (name, *_) in self.rows("DESCRIBE gpu_kernels")}
        by_mark = self.value("SELECT count(*) FROM marks WHERE name = 'step'") > 0
        self._database.execute(
            _STEPS_BY_MARK if by_mark else _STEPS_FOUND.format(rows=_found_steps(folder))
        )
        self._database.execute(
            _SETUP.format(
                requested="epoch_ns(requested)" if "requested" in columns else "NULL",
                stack="g.stack_id" if "stack_id" in columns else "NULL::BIGINT",
            )
        )

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        return self._database.execute(sql).fetchall()

    def value(self, sql: str) -> Any:
        """Return the only value of a query's only row."""
        ((value,),) = self.rows(sql)
        return value

    def idle_by_cause(self) -> dict[str, int]:
        """Return the idle nanoseconds in the steps by cause; only of runs with host events."""
        self._database.execute(_CAUSES)
        return dict(self.rows("SELECT cause, sum(ns)::BIGINT FROM cause GROUP BY cause"))
