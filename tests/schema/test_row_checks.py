"""Traces that break a rule of docs/format.md: `validate` refuses each with its sentence."""

import pytest

from kvtrace.cli import main
from tests.schema.broken_cases import RECOMMENDED, REQUIRED
from tests.schema.conformance_rows import PLAIN, RUN, parts, run_row
from tests.schema.make_conformance import write_parts


@pytest.mark.parametrize("sentence", [*REQUIRED, *RECOMMENDED])
def test_a_trace_that_breaks_a_rule_is_refused_with_its_sentence(sentence, tmp_path, capsys):
    is_warning = sentence in RECOMMENDED
    write_parts(tmp_path, (RECOMMENDED if is_warning else REQUIRED)[sentence])
    code = main(["trace", "validate", str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    (line,) = [line for line in lines if sentence in line]
    assert code == (0 if is_warning else 1)
    assert line.startswith("warning: ") == is_warning
    if not is_warning:
        assert lines[-1].startswith("1 problem in ")


def test_no_rule_is_broken_by_what_they_are_made_of(tmp_path, capsys):
    write_parts(tmp_path, parts(RUN, run_row(producer_version="1"), PLAIN))
    assert main(["trace", "validate", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{tmp_path} is fine\n"
