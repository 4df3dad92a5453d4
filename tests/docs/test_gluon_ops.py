"""The table of Gluon's ops in howitworks.md says what the table of ops and the evaluator have."""

import re

import pytest

from kvtrace.evaluate.dialects import load_dialects
from kvtrace.evaluate.registry import LOWERINGS
from kvtrace.ir.buffer_ops import FORMS
from kvtrace.ir.ops import KINDS, PARTITIONED, SILENT
from tests.docs.pages import ROOT

PAGE = (ROOT / "docs" / "howitworks.md").read_text(encoding="utf-8")
TABLE = PAGE.partition("| target | evaluated and judged |")[2].partition("\n\n")[0]
CELLS = [line.split("|")[2:5] for line in TABLE.splitlines()[2:]]


@pytest.mark.parametrize("column", range(3))
def test_each_column_names_ops_of_its_kind(column):
    names = {name for row in CELLS for name in re.findall(r"`([a-z_]+\.\w+)`", row[column])}
    assert len(names) > 3
    load_dialects(KINDS)
    evaluated = {name for name in KINDS if name in LOWERINGS} | SILENT | FORMS.keys()
    if column == 2:
        assert names.isdisjoint(evaluated)
    else:
        assert names <= evaluated
        assert (names <= PARTITIONED) == (column == 1)
