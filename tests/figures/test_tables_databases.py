"""Databases that print nothing by themselves, and one that all share."""

import gc
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import duckdb
import pyarrow as pa
import pytest

from kvtrace.figures.tables import Catalog, database, free_unused, scratch
from tests.support.tree import ROOT, package_files

TRACE = "tests/fixtures/h200/train"


def test_a_long_query_draws_no_progress():
    # a query that takes two seconds would, which no test should
    with database() as connection, Catalog().connect() as other, scratch() as shared:
        for each in (connection, other, shared):
            asked = each.execute("SELECT current_setting('enable_progress_bar')")
            assert asked.fetchall() == [(False,)]
        ((zone,),) = other.execute("SELECT current_setting('TimeZone')").fetchall()
        assert zone == "UTC"


def sum_in_database(number):
    """Sum a table in a connection to the shared database, under names that all use."""
    with scratch() as connection:
        connection.register("rows", pa.table({"x": [number, 1]}))
        connection.execute("CREATE TEMP TABLE place AS FROM rows")
        return connection.execute("SELECT sum(x)::INT FROM place").fetchall()


def test_connections_to_the_shared_database_do_not_see_each_others_tables():
    with scratch() as one:
        one.execute("CREATE TEMP TABLE place AS SELECT 7 AS x")
        with ThreadPoolExecutor(8) as threads:
            assert list(threads.map(sum_in_database, range(64))) == [[(n + 1,)] for n in range(64)]
        assert one.execute("FROM place").fetchall() == [(7,)]
    with scratch() as later, pytest.raises(duckdb.CatalogException):
        later.execute("FROM place")


def catalogs():
    """Return the names of the shared database's catalogs."""
    with scratch() as connection:
        return {
            name
            for (name,) in connection.execute(
                "SELECT database_name FROM duckdb_databases()"
            ).fetchall()
        }


def test_catalogs_have_tables_of_their_own_which_go_when_nothing_uses_them():
    one, other = Catalog(), Catalog()
    first, second = one.connect(), other.connect()
    first.execute("CREATE TABLE place AS SELECT 7 AS x")
    second.execute("CREATE TABLE place AS SELECT 8 AS x")
    with one.connect() as again:
        assert again.execute("FROM place").fetchall() == [(7,)]
    names = {one.name, other.name}
    del one, other, again
    gc.collect()
    used = Catalog()
    assert names | {used.name} <= catalogs()  # as connections use them
    assert second.execute("FROM place").fetchall() == [(8,)]
    del first, second
    free_unused()
    assert (names | {used.name}) & catalogs() == {used.name}


def query_new_catalog(number):
    """Query a view of rows of Python in a catalog that only a connection uses."""
    catalog = Catalog()
    rows = pa.table({"x": [number, 1]})
    catalog.database.from_arrow(rows).create_view("place")
    del rows
    with catalog.connect() as connection:
        del catalog
        gc.collect(0)
        free_unused()
        return [connection.sql("SELECT sum(x)::INT FROM place").fetchall() for _ in range(4)]


def test_catalogs_of_threads_last_as_long_as_their_connections():
    with ThreadPoolExecutor(4) as threads:
        sums = list(threads.map(query_new_catalog, range(16)))
    assert sums == [[[(n + 1,)]] * 4 for n in range(16)]


FORKING = """
import os, sys
from kvtrace.figures.tables import scratch
from kvtrace.figures.tables import open_times
from kvtrace.schema.trace import resolve

found = resolve(sys.argv[1])

def sum():
    with scratch() as connection, open_times(found.trace, found.runs, "launch_times") as launches:
        ((many,),) = launches.execute("SELECT count(*) FROM launch_times").fetchall()
        summed = "SELECT sum(i)::INT FROM range(200000) r(i) WHERE i < 3"
        return connection.execute(summed).fetchall() if many else None

assert sum() == [(3,)]
if (child := os.fork()) == 0:
    sys.exit(0 if sum() == [(3,)] else 3)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), sum())
"""


@pytest.mark.process
def test_forked_child_has_its_own_database_and_exits_normally():
    # DuckDB ends a child that frees the parent's database: its threads are not there
    ran = subprocess.run(
        [sys.executable, "-c", FORKING, TRACE],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert (ran.stdout, ran.stderr) == ("0 [(3,)]\n", "")


def test_only_one_module_creates_duckdb_databases():
    makers = {
        path.relative_to(ROOT).as_posix()
        for path in package_files(".py")
        if re.search(r"duckdb\.connect\(", path.read_text())
    }
    assert makers == {"kvtrace/figures/tables.py"}
