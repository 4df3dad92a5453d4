"""Traces that cannot have a fault recorded."""

import pytest

from kvtrace.cli import main
from kvtrace.converters.importers.importing import import_files
from tests.support.foreign_producer import write_foreign
from tests.support.foreign_traces import write_kineto


@pytest.mark.parametrize("producer", ["foreign", "imported"])
def test_no_fault_is_denied_of_a_trace_that_records_none(producer, tmp_path, capsys):
    out = tmp_path / "out"
    if producer == "foreign":
        write_foreign(out)
    else:
        import_files([write_kineto(tmp_path)], out)
    capsys.readouterr()
    assert main(["fault", str(out)]) == 0
    assert "No GPU fault is known" in " ".join(capsys.readouterr().out.split())
