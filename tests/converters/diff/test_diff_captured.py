"""Differences of real recordings of a real program, made without a GPU."""

import json
import os
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from kvtrace.cli import main
from kvtrace.converters.diff import compare, difference_text
from kvtrace.converters.profile.recompiles import Change
from kvtrace.schema.trace import resolve
from tests.support.kept import kept
from tests.support.warm_python import warm_python

pytestmark = [
    pytest.mark.skipif(find_spec("triton") is None, reason="nothing here can launch"),
    pytest.mark.costly("replays and judges five traces; written traces are compared by day"),
]

ROOT = Path(__file__).parents[3]
PROGRAM = '''"""Adds and scales."""
import torch
import triton
import triton.language as tl

@triton.jit
def add(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets, mask=mask)
    y = tl.load(y_ptr + offsets, mask=mask)
    tl.store(out_ptr + offsets, x + y, mask=mask)

@triton.jit
def scale(x_ptr, out_ptr, n, factor, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, x * factor, mask=offsets < n)

n, block = 1000, 128
x, y, out = torch.ones(n), torch.ones(n), torch.empty(n)
for _ in range(3):
    add[(triton.cdiv(n, block),)](x, y, out, n, BLOCK=block)
    scale[(triton.cdiv(n, 256),)](out, out, n, 0.5, BLOCK=256)
assert out.eq(1).all()
'''
VERSIONS = {
    "first": PROGRAM,
    "again": PROGRAM,
    "moved": PROGRAM.replace('"""Adds and scales."""', '"""Adds.\n\nAnd scales.\n"""'),
    "block": PROGRAM.replace("block = 1000, 128", "block = 1000, 256"),
    "mask": PROGRAM.replace("x + y, mask=mask", "x + y"),
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A directory with a trace of each version, each recorded in a process of its own."""
    top = kept(_record, tmp_path_factory.mktemp("recorded") / "kept")
    for name in VERSIONS:
        assert main(["replay", str(top / name / "out")]) == 0
        assert main(["sanitize", str(top / name / "out")]) == int(name == "mask")
    return top


def _record(top):
    environment = os.environ | {"TRITON_CACHE_DIR": str(top / "cache"), "KVTRACE": "out"}
    for name, text in VERSIONS.items():
        folder = top / name
        folder.mkdir()
        (folder / "program.py").write_text(text)
        program = folder / "program.py"
        done = warm_python().run(program, folder=folder, environment=environment)
        assert done.returncode == 0, done.stderr
    shutil.rmtree(top / "cache")


def test_sanitize_prints_text_json_and_sarif(recorded, capsys):
    out = str(recorded / "mask/out")
    assert main(["sanitize", out, "--blocks"]) == 1
    text = " ".join(capsys.readouterr().out.split())
    assert "error[out-of-bounds]: store ends 4 bytes past the" in text
    assert "kernel add" in text
    assert main(["sanitize", out, "--json"]) == 1
    rules = {found["rule"]: found for found in json.loads(capsys.readouterr().out)["verdicts"]}
    assert sorted(rules) == ["out-of-bounds", "undefined-lanes"], rules
    found = rules["out-of-bounds"]
    assert (found["verdict"], found["past_end_bytes"], found["launches"]) == ("violation", 4, 3)
    assert main(["sanitize", out, "--sarif"]) == 1
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert sorted((result["ruleId"], result["level"]) for result in run["results"]) == [
        ("out-of-bounds", "error"),
        ("undefined-lanes", "warning"),
    ]


def difference(recorded, name):
    return compare(resolve(str(recorded / "first/out")), resolve(str(recorded / name / "out")))


@pytest.mark.parametrize("name", ["again", "moved"])
def test_same_program_recorded_twice_has_no_differences(recorded, name):
    found = difference(recorded, name)
    assert found.empty, difference_text(found)
    assert found.same_kernels == 2
    assert found.before.totals.launches == 6


def test_exit_code_depends_on_differences(recorded, capsys):
    first, again, block = (str(recorded / name / "out") for name in ("first", "again", "block"))
    assert main(["diff", first, again, "--exit-code"]) == 0
    assert main(["diff", first, block, "--exit-code"]) == 1


def test_changed_block_size_is_reported_with_few_other_changes(recorded):
    found = difference(recorded, "block")
    (kernel,) = found.kernels
    assert kernel.name == "add"
    assert kernel.source is None
    (variant,) = kernel.variants
    assert variant.changes == (Change("constexpr BLOCK", "128", "256"),)
    assert [c.change for c in variant.calls] == [Change("grid", "(8, 1, 1)", "(4, 1, 1)")]
    assert variant.code is not None
    assert variant.code.stage == "ttir"
    assert variant.code.substitutions == (("128", "256"),)
    assert variant.code.lines == ()
    assert {c.what for c in variant.resources} <= {"registers", "spills", "shared_bytes"}
    assert variant.work == ()  # as many bytes and FLOPs
    assert found.findings == ()


def test_removed_mask_is_reported_with_few_other_changes(recorded):
    found = difference(recorded, "mask")
    (kernel,) = found.kernels
    assert kernel.source is not None
    assert [line for line in kernel.source.lines[2:] if line[0] in "+-"] == [
        "-    tl.store(out_ptr + offsets, x + y, mask=mask)",
        "+    tl.store(out_ptr + offsets, x + y)",
    ]
    (variant,) = kernel.variants
    assert variant.changes == ()
    assert variant.calls == ()
    assert variant.code is not None
    assert (variant.code.removed, variant.code.added) == (1, 1)
    assert [c.what for c in variant.work] == ["bytes"]
    findings = {one.finding.rule: one for one in found.findings}
    assert sorted(findings) == ["out-of-bounds", "undefined-lanes"]
    assert {one.status for one in findings.values()} == {"new"}
    finding = findings["out-of-bounds"]
    assert (finding.finding.rule, finding.finding.access) == ("out-of-bounds", "store")
    assert finding.finding.line == 1 + PROGRAM.splitlines().index(
        "    tl.store(out_ptr + offsets, x + y, mask=mask)"
    )
