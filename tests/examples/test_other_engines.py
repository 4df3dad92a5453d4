"""The views of schema/views.sql in DuckDB, DataFusion and Polars, over the conformance suite."""

import os
from collections import Counter
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

import pytest

import kvtrace
from docs_site import views_sql
from tests.support.readers import Case, conformance_cases, other_engines
from tests.support.tiers import some
from tests.support.tree import ROOT

ANSWERED = [case for case in conformance_cases() if case.answer]
REJECTED = [case for case in conformance_cases() if not case.answer]
READERS = other_engines()
LAUNCHES = """
    SELECT run, kernel_id, sum(CASE WHEN trial THEN 0 ELSE weight END) AS launches,
        sum(CASE WHEN trial THEN weight ELSE 0 END) AS trials
    FROM launched GROUP BY run, kernel_id
"""
EXECUTIONS = """
    SELECT run, kernel_id, sum(CASE WHEN trial THEN 0 ELSE weight END) AS executions,
        sum(CASE WHEN trial THEN weight ELSE 0 END) AS trial_executions,
        sum(CASE WHEN NOT trial THEN device_ns * weight END) AS device_ns
    FROM executed WHERE kernel_id IS NOT NULL GROUP BY run, kernel_id
"""
OTHERS = """
    SELECT run, name, sum(weight) AS executions, sum(device_ns * weight) AS device_ns
    FROM executed WHERE kind IS NULL AND call_id IS NULL GROUP BY run, name
"""
MEMORY = """
    SELECT run, kind, sum(weight) AS operations, sum(bytes * weight) AS bytes
    FROM executed WHERE kind IS NOT NULL GROUP BY run, kind
"""
REASON = (
    "version|of the table|table's type|call_id|furlongs|zero|agic bytes|footer|enter is|kind is"
)


@pytest.fixture(params=["duckdb", "datafusion", "polars"])
def engine(request: pytest.FixtureRequest) -> Any:
    if os.environ.get("KVTRACE_REQUIRE_SPARK") != "1" and find_spec(request.param) is None:
        pytest.skip(f"needs {request.param}")
    return READERS.ENGINES[request.param]


def sums(rows: list[dict[str, Any]], *keys: str) -> dict[Any, dict[str, int]]:
    """Sums by key, those that are 0 or null left out: an engine may have no row for them."""
    return {
        tuple(row.pop(key) for key in keys): counts
        for row in rows
        if (counts := {name: int(v) for name, v in row.items() if name not in keys and v})
    }


def expected(case: Case, part: str, key: str, names: str) -> dict[Any, dict[str, int]]:
    rows = [{"run": run["run_id"], **row} for run in case.answer["runs"] for row in run[part]]
    kept = ["run", key, *names.split()]
    return sums([{name: row[name] for name in kept} for row in rows], "run", key)


@pytest.mark.parametrize("case", some(ANSWERED, 8, 1), ids=lambda case: case.name)
def test_views_count_as_the_case_says(engine: Any, case: Case) -> None:
    ask = engine(str(case.trace))

    def asked(query: str, key: str) -> Mapping[Any, Any]:
        return sums(ask(query).to_pylist(), "run", key)

    assert asked(LAUNCHES, "kernel_id") == expected(case, "kernels", "kernel_id", "launches trials")
    assert asked(EXECUTIONS, "kernel_id") == expected(
        case, "kernels", "kernel_id", "executions trial_executions device_ns"
    )
    assert asked(OTHERS, "name") == expected(
        case, "other_executions", "name", "executions device_ns"
    )
    assert asked(MEMORY, "kind") == expected(case, "memory_operations", "kind", "operations bytes")
    runs = ask("SELECT run FROM runs")["run"].to_pylist()
    assert Counter(runs) == Counter(run["run_id"] for run in case.answer["runs"])


@pytest.mark.parametrize("case", some(REJECTED, 4, 1), ids=lambda case: case.name)
def test_traces_to_reject_are_rejected(engine: Any, case: Case) -> None:
    with pytest.raises(Exception, match=REASON):  # each engine has errors of its own
        engine(str(case.trace))(LAUNCHES)


def test_views_sql_is_up_to_date_and_in_the_package() -> None:
    path = views_sql.VIEWS_SQL
    assert path.read_text(encoding="utf-8") == views_sql.text(), "python -m docs_site.views_sql"
    assert '"views.sql"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize("view", views_sql.PUBLISHED)
def test_views_of_a_recorded_trace_are_those_of_kvtrace(view: str) -> None:
    folder = ROOT / "schema" / "example" / "trace"
    ask = READERS.ENGINES["duckdb"](str(folder))
    key = "seq" if view == "launched" else "record"
    query = f"SELECT * FROM {view} ORDER BY run, {key}"
    own = kvtrace.open(folder).sql(query).arrow
    assert own.num_rows
    assert ask(query).cast(own.schema).equals(own)
