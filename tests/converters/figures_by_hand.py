"""Figures of a trace by SQL over its Parquet files, without any of kvtrace's code or views.

The SQL says what docs/format.md and docs/profile.md say in words. `step` has the steps of the
steady part, `inside` the executions in them, `launched` the launches, without autotuners' trials.
"""

from pathlib import Path
from typing import Any

from tests.support.hand_tables import tables_of

_STEPS_BY_MARK = """
CREATE TEMP TABLE host_step AS
SELECT run, row_number() OVER (PARTITION BY run ORDER BY moment) - 1 AS n, moment FROM (
    SELECT run, epoch_ns("begin") AS moment FROM marks WHERE name = 'step'
    UNION ALL
    SELECT run, epoch_ns(max("end")) FROM marks WHERE name = 'step' GROUP BY run)
"""
# The calls of one thread repeat after as many launches as most calls come again after.
_STEPS_BY_PERIOD = """
CREATE TEMP TABLE host_step AS
WITH thread AS (SELECT run, mode(thread) AS thread FROM launches GROUP BY run),
sequence AS (
    SELECT run, call_id, epoch_ns(enter) AS moment, row_number() OVER (ORDER BY enter) - 1 AS i
    FROM launches JOIN thread USING (run, thread) JOIN marks USING (run)
    WHERE name = 'steady' AND enter >= "begin" AND enter < "end" AND phase = 'run'),
period AS (
    SELECT mode(distance) AS p FROM (
        SELECT i - lag(i) OVER (PARTITION BY call_id ORDER BY i) AS distance FROM sequence))
SELECT run, i // p AS n, moment FROM sequence, period WHERE i % p = 0
"""
_SETUP = """
CREATE TEMP TABLE execution AS
SELECT g.run, record, name, kind, bytes, coalesce(g.call_id, l.call_id) AS call_id,
    {stack} AS stack_id, epoch_ns(start) AS start_ns, epoch_ns("end") AS end_ns,
    end_ns - start_ns AS ns,
    coalesce({requested}, CASE WHEN g.graph_id IS NULL THEN epoch_ns(enter) END) AS asked,
    coalesce(phase IN ('autotune', 'warmup'), false) AS trial
FROM gpu_kernels g LEFT JOIN launches l ON l.run = g.run AND l.seq = g.launch_seq;

-- On devices a step begins with the first execution that was requested in it; the last step ends
-- where the next one would begin, else with the last execution.
CREATE TEMP TABLE all_steps AS
WITH bound AS (
    SELECT s.run, n, moment, min(start_ns) AS device
    FROM host_step s LEFT JOIN execution e ON e.run = s.run AND e.asked >= s.moment GROUP BY ALL),
last AS (SELECT run, max(end_ns) AS device FROM execution GROUP BY run)
SELECT b.run, n, moment AS host_begin, lead(moment) OVER later AS host_end,
    b.device AS device_begin, coalesce(lead(b.device) OVER later, last.device) AS device_end,
    device_end - device_begin AS ns
FROM bound b JOIN last USING (run) WINDOW later AS (PARTITION BY run ORDER BY n)
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
    SELECT run, max(end_ns), any_value(device_end), NULL, NULL
    FROM inside JOIN part USING (run) GROUP BY run HAVING max(end_ns) < any_value(device_end))
SELECT row_number() OVER () AS gap, run, low, high, high - low AS ns, asked,
    coalesce(greatest(low, least(high, asked)), high) AS until,  -- the host had not asked before
    coalesce(asked, latest) <= low AND coalesce(asked, latest) < high - latency AS ahead,
    EXISTS (SELECT 1 FROM host_events h WHERE h.run = e.run AND h.kind = 'synchronize'
        AND epoch_ns(h."begin") <= low AND epoch_ns(h."end") >= low - 10000
        AND 2 * (epoch_ns(h."end") - epoch_ns(h."begin")) >= high - low) AS waiting,
    EXISTS (SELECT 1 FROM kernels k WHERE k.run = e.run AND k.origin = 'inductor'
        AND (epoch_ns(k.compile_begin) >= low AND epoch_ns(k.compile_begin) < high
            OR epoch_ns(k.load_begin) >= low AND epoch_ns(k.load_begin) < high)) AS generated
FROM ends e JOIN latency USING (run);

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
near AS (
    SELECT gap, place, greatest(a.low, g.low) AS low, least(a.high, g.until) AS high
    FROM gap g JOIN every a ON a.run = g.run AND a.low < g.until AND a.high > g.low),
before AS (  -- of each moment only the first activity in the order counts
    SELECT gap, upto, low, high, max(high) OVER (PARTITION BY gap, upto ORDER BY low, high
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS covered
    FROM near, (SELECT unnest([1, 2, 3, 4, 5]) AS upto) WHERE place <= upto)
SELECT gap, upto, sum(greatest(0, high - greatest(low, coalesce(covered, low)))) AS ns
FROM before GROUP BY gap, upto;

CREATE TEMP TABLE cause AS
WITH upto AS (
    SELECT g.*, coalesce(c1, 0) AS compile, coalesce(c2, 0) - compile AS collect,
        coalesce(c3, 0) - coalesce(c2, 0) AS allocate, coalesce(c4, 0) - coalesce(c3, 0) AS waited,
        coalesce(c5, 0) - coalesce(c4, 0) + high - until AS launching,
        g.ns - coalesce(c5, 0) - (high - until) AS host
    FROM gap g LEFT JOIN (
        SELECT gap, max(ns) FILTER (upto = 1) AS c1, max(ns) FILTER (upto = 2) AS c2,
            max(ns) FILTER (upto = 3) AS c3, max(ns) FILTER (upto = 4) AS c4,
            max(ns) FILTER (upto = 5) AS c5
        FROM activity GROUP BY gap) USING (gap)),
caused AS (
    SELECT run, low, ns, CASE WHEN ahead THEN 'device' WHEN generated THEN 'compile'
        WHEN waiting AND 2 * (compile + collect + allocate) < ns THEN 'synchronize'
        ELSE CASE greatest(compile, collect, allocate, waited, launching, host)
            WHEN compile THEN 'compile' WHEN collect THEN 'collect' WHEN allocate THEN 'allocate'
            WHEN waited THEN 'synchronize' WHEN launching THEN 'launch'
            ELSE CASE WHEN asked IS NULL THEN 'unknown' ELSE 'host' END END END AS cause
    FROM upto)
SELECT run, low, ns,
    CASE WHEN ns < 20000 AND cause IN ('device', 'unknown') THEN 'short' ELSE cause END AS cause
FROM caused
"""


class HandSql:
    """A trace's tables and the tables above, in a database of their own."""

    def __init__(self, folder: Path) -> None:
        self._database = tables_of(folder)
        columns = {name for (name, *_) in self.rows("DESCRIBE gpu_kernels")}
        by_mark = self.value("SELECT count(*) FROM marks WHERE name = 'step'") > 0
        self._database.execute(_STEPS_BY_MARK if by_mark else _STEPS_BY_PERIOD)
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
