"""Commands of add-ons on traces without IR: nothing is claimed that could not be seen."""

import pytest

from kvtrace.cli import main
from kvtrace.converters.importers.importing import import_files
from tests.support.foreign_producer import write_foreign
from tests.support.foreign_traces import write_kineto


@pytest.fixture(params=["foreign", "imported"])
def trace(request, tmp_path):
    if request.param == "imported":
        import_files([write_kineto(tmp_path)], tmp_path / "out")
    else:
        write_foreign(tmp_path / "out")
    return tmp_path / "out"


def said(capsys, *words):
    code = main([str(word) for word in words])
    output = capsys.readouterr()
    return code, " ".join(output.out.split()), " ".join(output.err.split())


def test_add_ons_claim_nothing_of_what_they_cannot_see(trace, capsys):
    _, out, _ = said(capsys, "fleet", trace, "-o", trace.parent / "fleet.html")
    assert "no run was checked for findings: none has IR that can be judged" in out
    code, _, err = said(capsys, "check", trace)
    assert code == 2
    assert "has no IR" in err
    assert "No GPU fault is known" in said(capsys, "fault", trace)[1]
    assert "nothing to judge" in said(capsys, "invariance", trace)[1]
