"""Kernels that were generated, as Helion does, and the lines of the program that they are from."""

import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import kvtrace
from kvtrace.backends.compiled_kernels.written_lines import with_program_locations
from kvtrace.ir.locations import column_shift

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")

#: The column that the installed Triton counts as a line's first.
FIRST = 1 - column_shift(triton.__version__)

WRITTEN = """\
import helion

def doubled(x):
    out = empty_like(x)
    for tile in tiles(x):
        out[tile] = add(
            x[tile], x[tile]
        )
    return out
"""
#: As Helion 1.5 writes it: comments, and below them what they are of.
GENERATED = """\
import triton
import triton.language as tl

@triton.jit
def _helion_doubled(x, out, size):
    # src[{name}:5]: for tile in tiles(x):
    index = tl.program_id(0) * 32 + tl.arange(0, 32)
    # src[{name}:6]: out[tile] = add(
    # src[{name}:7]:     x[tile], x[tile]
    # src[{name}:8]: )
    loaded = tl.load(x + index)
    tl.store(out + index, loaded + loaded, mask=index < size)

def doubled(x, out):
    _helion_doubled[(2,)](x, out, 64)
"""


def import_text(file: Path, text: str, monkeypatch: pytest.MonkeyPatch, name: str) -> Any:
    file.write_text(text)
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    if name != "written":  # it is enough that the program's own module is there
        spec.loader.exec_module(module)
    return module


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A program's file, and the kernel that was generated from it elsewhere."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    written, generated = tmp_path / "kernels.py", tmp_path / "c1234.py"
    import_text(written, WRITTEN, monkeypatch, "written")
    module = import_text(generated, GENERATED.format(name="kernels.py"), monkeypatch, "generated")
    return SimpleNamespace(
        file=written, generated=generated, kernel=module._helion_doubled, launch=module.doubled
    )


@pytest.mark.process
def test_a_finding_in_generated_code_names_the_program_s_line(
    program: Any, tmp_path: Path, capfd: Any
) -> None:
    x, out = torch.ones(40), torch.empty(40)
    with kvtrace.capture(tmp_path / "out"):
        program.kernel[(2,)](x, out, 40)
    assert torch.equal(out, x + x)
    # what is said at once
    assert f"{program.file}:6: a load ends" in capfd.readouterr().err
    # and what the trace says, with an excerpt of what was written
    findings = [
        finding
        for finding in kvtrace.open(tmp_path / "out")
        .sanitize("out-of-bounds")
        .to_json()["verdicts"]
        if finding["verdict"] == "violation"
    ]
    ((place,),) = ({(finding["file"], finding["line"])} for finding in findings)
    assert place == (str(program.file), 6)
    assert str(program.file) in text_of_files(tmp_path / "out")


@pytest.mark.process
def test_a_launchs_stack_hides_generated_code(program: Any, tmp_path: Path) -> None:
    x = torch.ones(64)
    with kvtrace.capture(tmp_path / "out"):
        program.launch(x, torch.empty_like(x))
    (stack,) = kvtrace.open(tmp_path / "out").table("stacks").arrow.column("frames").to_pylist()
    assert Path(stack[0]["file"]) == Path(__file__)


def text_of_files(folder: Path) -> str:
    """All that the trace says of its kernels' files."""
    return str(kvtrace.open(folder).table("kernels").arrow.column("files").to_pylist())


def replaced_locations(program: Any, *lines: int) -> list[str]:
    file = str(program.generated)
    text = "\n".join(f'#loc{line} = loc("{file}":{line}:4)' for line in lines)
    return (
        with_program_locations(text, program.kernel)
        .replace(str(program.file.parent), "")
        .splitlines()
    )


def test_a_statement_on_several_lines_has_its_first_line(program: Any) -> None:
    assert replaced_locations(program, 5, 7, 11, 12) == [
        '#loc5 = loc("/c1234.py":5:4)',
        f'#loc7 = loc("/kernels.py":5:{4 + FIRST})',
        f'#loc11 = loc("/kernels.py":6:{8 + FIRST})',
        f'#loc12 = loc("/kernels.py":6:{8 + FIRST})',
    ]


def test_a_cache_may_have_the_ir_from_another_file(program: Any) -> None:
    text = '#loc = loc("/elsewhere/c9.py":5:0)\n#loc1 = loc("/elsewhere/c9.py":11:4)'
    assert f'loc("{program.file}":6:{8 + FIRST})' in with_program_locations(text, program.kernel)


def test_a_file_with_different_text_is_not_used(program: Any) -> None:
    program.file.write_text(WRITTEN.replace("add(", "multiply("))
    assert replaced_locations(program, 7, 11)[1] == '#loc11 = loc("/c1234.py":11:4)'


def test_locations_of_handwritten_kernels_stay() -> None:
    text = 'loc("/a/b.py":5:4)'
    assert with_program_locations(text, None) is text
    assert with_program_locations(text, SimpleNamespace(src="def kernel(x):\n    pass\n")) is text
