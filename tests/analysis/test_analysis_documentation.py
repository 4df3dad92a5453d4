"""docs/api.md runs from its first example to its last, and names what there is."""

import re
import runpy
from pathlib import Path

import pytest

from kvtrace.analysis.traces import OpenedTrace

PAGE = Path(__file__).resolve().parents[2] / "docs" / "api.md"


@pytest.mark.sweep
def test_examples_in_the_documentation_run(program, copied, tmp_path, monkeypatch, capsys):
    copied("device", "old")
    copied("device", "new")
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    script = tmp_path / "examples.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    runpy.run_path(str(script))

    stdout = capsys.readouterr().out
    assert len(blocks) == 9
    assert "out-of-bounds error" in stdout
    assert {"report.html", "train.perfetto-trace", "launches.csv"} <= {
        path.name for path in tmp_path.iterdir()
    }


def test_the_documentation_names_every_method():
    text = PAGE.read_text(encoding="utf-8")
    public = [name for name in vars(OpenedTrace) if not name.startswith("_")]

    assert [name for name in public if not re.search(rf"\b{name}\b", text)] == []
