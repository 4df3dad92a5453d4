"""Traces of which nothing can be checked."""

import pytest

from kvtrace.cli import main
from kvtrace.converters.importers.importing import import_files
from tests.support.foreign_producer import write_foreign
from tests.support.foreign_traces import write_kineto


@pytest.mark.parametrize("producer", ["foreign", "imported"])
def test_a_trace_without_ir_is_not_checked(producer, tmp_path, capsys):
    out = tmp_path / "out"
    if producer == "foreign":
        write_foreign(out)
    else:
        import_files([write_kineto(tmp_path)], out)
    capsys.readouterr()
    assert main(["check", str(out)]) == 2
    assert "has no TTIR, with which results of launches are compared" in capsys.readouterr().err
    assert not (out / "checks").exists()  # an empty part would say that the run was checked
