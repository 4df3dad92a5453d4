"""Contracts: from a program's recording without a GPU to every verdict, and in any source."""

import json
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.addons.invariance.contracts import contracts_of
from kvtrace.capture.python_source import used_part
from kvtrace.cli import main
from kvtrace.schema.content import artifact_row
from kvtrace.schema.trace import open_trace, resolve
from kvtrace.schema.writer import RunWriter, new_run_id
from tests.support.warm_python import warm_python

KEPT = """import torch
import triton
import triton.language as tl

# kvtrace: invariant over M
@triton.jit
def scaled(x, y, M, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    mask = (at < N) & (row < M)
    values = tl.load(x + row * N + at, mask=mask, other=0.0)
    tl.store(y + row * N + at, values / N, mask=mask)

for rows in (3, 5):
    x = torch.randn(rows, 20)
    scaled[(rows,)](x, torch.empty_like(x), rows, 20, BLOCK=32)
"""
BROKEN = KEPT.replace("values / N", "values / M")
RULE = "not-invariant"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Be in the folder of a program that keeps its contract, with a baseline of it."""
    for name in [name for name in os.environ if name.startswith("KVTRACE")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bench.py").write_text(KEPT)
    assert gate("--save") == 0
    return tmp_path


def gate(*words: str) -> int:
    """Record the program, and compare its findings with the baseline's."""
    program = [*warm_python().command, "bench.py"]
    return main(["gate", "--fail-on", "findings.new", *words, "--", *program])


@pytest.mark.process
def test_broken_contract_fails_the_gate_and_is_in_every_format(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert gate() == 0
    (project / "bench.py").write_text(BROKEN)
    capsys.readouterr()

    assert gate("--sarif", "gate.sarif", "--junit", "gate.xml") == 1

    assert "findings.new: scaled" in capsys.readouterr().out
    (run,) = json.loads((project / "gate.sarif").read_text())["runs"]
    (result,) = [each for each in run["results"] if each["ruleId"] == RULE]
    assert result["level"] == "error"
    (place,) = result["locations"]
    line = BROKEN.splitlines().index("    tl.store(y + row * N + at, values / M, mask=mask)") + 1
    assert place["physicalLocation"]["region"]["startLine"] == line
    assert RULE in (project / "gate.xml").read_text()

    trace = str(project / ".kvtrace" / "gate")
    assert main(["sanitize", trace, "--json"]) == 1
    listed = json.loads(capsys.readouterr().out)["verdicts"]
    (found,) = [each for each in listed if each["rule"] == RULE]
    contract = BROKEN.splitlines().index("# kvtrace: invariant over M") + 1
    assert f"changes over M (contract in line {contract})" in found["message"]
    assert found["message"] in result["message"]["text"]


@pytest.mark.process
def test_kept_contract_is_proven(project: Path) -> None:
    trace = str(project / ".kvtrace" / "gate")

    rows = resolve(trace).table("findings", ["rule", "verdict", "message"]).to_pylist()

    (row,) = [row for row in rows if row["rule"] == RULE]
    assert (row["verdict"], "over M" in row["message"]) == ("proven", True)
    assert main(["sanitize", trace]) == 0


FILE = "/somewhere/kernels.py"
CONTRACT = "# kvtrace: invariant over {}"


def found_in(source: str, kernels: Mapping[str, int]) -> dict[str, str]:
    """Write a trace of kernels, each at the line of its `def`; return what contracts name."""
    with tempfile.TemporaryDirectory() as folder:
        writer = RunWriter(Path(folder), new_run_id())
        for number, (name, line) in enumerate(kernels.items()):
            lines = source.splitlines()[line - 1 :]
            body = [text for text in lines[1:] if text.startswith(" ") or not text]
            own = artifact_row("source", "\n".join([*lines[:1], *body[:3]]).encode())
            used = artifact_row("file", used_part(source, {line}).encode("utf-8", "replace"))
            writer.append_rows("artifacts", [own, used])
            row = {
                "kernel_id": number, "name": name, "file": FILE, "line": line,
                "source_artifact": own["sha256"],
                "files": [{"path": FILE, "artifact": used["sha256"]}],
            }  # fmt: skip
            writer.append_rows("kernels", [row])
        writer.seal({"ending": "exit"})
        trace = open_trace(Path(folder))
        return {name: each.over for name, each in contracts_of(trace, trace.runs).items()}


DECORATORS = st.lists(
    st.sampled_from(("@triton.jit", "@tuned(\n    configs=[1],  # def\n    key=[],\n)")),
    min_size=1, max_size=3,
)  # fmt: skip
PLACES = st.sampled_from(("none", "above", "apart", "first", "between", "inside", "end", "text"))


@pytest.mark.costly("random files; contracts by hand stay by day")
@given(kernels=st.lists(st.tuples(PLACES, DECORATORS), min_size=1, max_size=4))
def test_kernels_have_the_contract_at_their_definition(
    kernels: list[tuple[str, list[str]]],
) -> None:
    source = ["import triton", ""]
    lines: dict[str, int] = {}
    wanted: dict[str, str] = {}
    for number, (place, decorators) in enumerate(kernels):
        name, over = f"kernel{number}", f"M{number}"
        comment = CONTRACT.format(over)
        source += [comment, *(["", ""] if place == "apart" else [])] * (place in ("above", "apart"))
        head = list(decorators)
        head[-1] += f"  {comment}" * (place == "first")
        source += "\n".join(head).split("\n")
        source += [comment] * (place == "between")
        source.append(f"def {name}(x):")
        lines[name] = len(source)
        source += [f"    {comment}" if place == "inside" else "    pass"]
        source += [f"    text = '{comment}'" if place == "text" else "    x = 1"]
        source += ["    return x" + f"  {comment}" * (place == "end"), ""]
        if place not in ("none", "apart", "text"):
            wanted[name] = over
    assert found_in("\n".join(source), lines) == wanted


@given(
    st.lists(
        st.one_of(
            st.text(max_size=12),
            st.sampled_from(
                (
                    CONTRACT.format("M"), "@triton.jit", "def kernel(x):", "    pass", "(", ")",
                    '"""', "    # kvtrace: invariant over", "class A:", "\\", "\f", "",
                )
            ),
        ),
        max_size=12,
    )
)  # fmt: skip
def test_contracts_in_arbitrary_source_are_read_without_error(lines: list[str]) -> None:
    source = "\n".join(["def kernel(x):", *lines])

    found = found_in(source, {"kernel": 1})

    assert all(
        re.search(rf"kvtrace:\s*invariant\s+over\s+{over}", source) for over in found.values()
    )
