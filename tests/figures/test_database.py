"""Databases that print nothing of their own."""

import re

from kvtrace.figures.database import another_connection, database
from tests.support.tree import ROOT, package_files


def test_a_long_query_draws_no_progress():
    # a query that takes two seconds would, which no test should
    with database() as connection, another_connection(connection) as other:
        for each in (connection, other):
            asked = each.execute("SELECT current_setting('enable_progress_bar')")
            assert asked.fetchall() == [(False,)]
        ((zone,),) = other.execute("SELECT current_setting('TimeZone')").fetchall()
        assert zone == "UTC"


def test_databases_are_made_in_one_place():
    makers = {
        path.relative_to(ROOT).as_posix()
        for path in package_files(".py")
        if re.search(r"duckdb\.connect\(", path.read_text())
    }
    assert makers == {"kvtrace/figures/database.py"}
