"""Kernels that stop at TTIR: what is recorded, what Triton's cache holds, what is made later."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from kvtrace.backends.triton import later_stages
from kvtrace.backends.triton.later_stages import complete_stages
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import resolve
from tests.support.tiers import needs
from tests.support.triton_versions import ROOT
from tests.support.warm_python import warm_python
from tests.support.without_gpu import torch_without_gpu

torch = torch_without_gpu()

PROGRAM = """
import json, os, sys
import torch, triton, triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = lanes < n
    tl.store(out + lanes, tl.load(x + lanes, mask=inside) + tl.load(y + lanes, mask=inside), inside)

@triton.jit
def product(a, b, out, BLOCK: tl.constexpr):
    rows = tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    tl.store(out + rows, tl.dot(tl.load(a + rows), tl.load(b + rows)))

@triton.jit
def twice(source, target, BLOCK: tl.constexpr):
    target.store([tl.program_id(0) * BLOCK, 0], source.load([tl.program_id(0) * BLOCK, 0]) * 2)

@triton.autotune([triton.Config({"BLOCK": 256}, num_warps=16),
                  triton.Config({"BLOCK": 32})], key=[])
@triton.jit
def tuned(a, b, out, BLOCK: tl.constexpr):
    rows = tl.arange(0, BLOCK)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    keep = rows < 1024
    found = tl.dot(tl.load(a + rows, keep, 0.0), tl.load(b + rows, keep, 0.0))
    tl.store(out + rows, found, keep)

torch.manual_seed(0)
seen = {}
x, y, out = torch.randn(1000), torch.randn(1000), torch.zeros(1000)
kernel = add[(4,)](x, y, out, 1000, BLOCK=256)
seen["add"] = torch.equal(out, x + y)
a, b, c = torch.randn(32, 32), torch.randn(32, 32), torch.zeros(32, 32)
second = product[(1,)](a, b, c, BLOCK=32)
rows, doubled = torch.randn(50, 64), torch.zeros(50, 64)
twice[(2,)](TensorDescriptor.from_tensor(rows, [32, 64]),
            TensorDescriptor.from_tensor(doubled, [32, 64]), BLOCK=32)
seen["descriptors"] = torch.equal(doubled, rows * 2)
seen["sum"] = [out.double().sum().item(), c.double().sum().item()]
seen["unfinished"] = type(kernel).__name__ == "UnfinishedKernel"
seen["compiled_kernel"] = isinstance(kernel, triton.compiler.CompiledKernel)
seen["one_class"] = type(kernel.metadata) is type(second.metadata)
later = ("triton.later_stages", "triton.background", "compiled.cubin", "compiled.hsaco")
seen["imported"] = [name for name in later if f"kvtrace.backends.{name}" in sys.modules]
cache = os.environ["TRITON_CACHE_DIR"]
seen["cached"] = sum(name.endswith(".cubin") for _, _, names in os.walk(cache) for name in names)
if "ask" in sys.argv:
    seen["warps"] = kernel.metadata.num_warps
    seen["shared"] = kernel.metadata.shared
    seen["asm"] = sorted(kernel.asm)
    seen["ptx"] = kernel.asm["ptx"][:400]
    seen["registers"] = kernel.n_regs
    seen["spills"] = kernel.n_spills
    seen["binary"] = len(kernel.kernel)
    seen["fields"] = sorted(kernel.metadata._asdict())
    seen["hash"] = kernel.hash
    seen["warmed"] = sorted(product.warmup(a, b, c, BLOCK=16, grid=(1,)).asm)
    try:
        add[(1,)](x, y, out, 1000, BLOCK=300)
    except Exception as error:
        seen["error"] = type(error).__name__
if "tune" in sys.argv:
    tuned[(1,)](a, b, c)
    seen["block"] = tuned.best_config.kwargs["BLOCK"]
print(json.dumps(seen))
"""


def _run_program(folder: Path, setting: str, *arguments: str, cache: str = "cache") -> Any:
    script = folder / "program.py"
    script.write_text(PROGRAM)
    (folder / cache).mkdir(exist_ok=True)
    variables = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "KVTRACE": str(folder / setting),
        "KVTRACE_COMPILE": setting,
        "TRITON_CACHE_DIR": str(folder / cache),
        "XDG_CACHE_HOME": str(folder / "home"),
    }
    done = warm_python().run(script, *arguments, folder=folder, environment=variables, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "could not be recorded" not in done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def _kernel_rows(out: Path) -> dict[str, Any]:
    return {row["name"]: row for row in resolve(str(out)).table("kernels", _COLUMNS).to_pylist()}


#: Columns that differ whenever a kernel is compiled and loaded another time.
_OF_A_COMPILATION = {
    "stages", "cache_hit", "cache_key", "compile_ns", "thread", "load_ns", "load_thread",
    "kernel_id", "run",
}  # fmt: skip
_COLUMNS = [c.name for c in TABLES["kernels"].columns if not c.name.endswith("_begin")]


def _message_codes(out: Path) -> list[str]:
    return [str(code) for code in resolve(str(out)).table("messages", ["code"])["code"].to_pylist()]


def _stages_of(kernel: Any) -> list[str]:
    return [stage["stage"] for stage in kernel["stages"] if stage["artifact"]]


@pytest.fixture(scope="module")
@needs("process")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("stopped")
    return {
        "folder": folder,
        "ttir": _run_program(folder, "ttir", cache="of-ttir"),
        "full": _run_program(folder, "full", cache="of-full"),
    }


def test_results_equal_those_of_full_compilation(runs: Any) -> None:
    assert runs["ttir"]["unfinished"]
    assert not runs["full"]["unfinished"]
    assert runs["ttir"]["compiled_kernel"]
    for name in ("add", "descriptors"):
        assert runs["ttir"][name]
        assert runs["full"][name]
    assert runs["ttir"]["sum"] == runs["full"]["sum"]


def test_stopping_at_ttir_needs_no_code_of_later_stages(runs: Any) -> None:
    assert runs["ttir"]["imported"] == []
    assert runs["ttir"]["one_class"]


def test_a_stopped_kernel_is_recorded_with_ttir_alone(runs: Any) -> None:
    stopped, whole = _kernel_rows(runs["folder"] / "ttir"), _kernel_rows(runs["folder"] / "full")
    assert set(stopped) == set(whole) == {"add", "product", "twice"}
    for name, kernel in stopped.items():
        assert _stages_of(kernel) == ["ttir", "ttir_generic"]
        assert kernel["registers"] is kernel["spills"] is kernel["shared_bytes"] is None
        assert kernel["cache_key"] == whole[name]["cache_key"]
        assert kernel["compile_ns"] > 0
        assert kernel["stages"][0]["artifact"] is None  # how long TTIR from Python took
        assert {"ptx", "cubin"} <= set(_stages_of(whole[name]))
    assert "stopped-at-ttir" in _message_codes(runs["folder"] / "ttir")
    assert "stopped-at-ttir" not in _message_codes(runs["folder"] / "full")


def test_triton_s_cache_has_no_stopped_kernel(runs: Any) -> None:
    assert runs["ttir"]["cached"] == 0
    assert list((runs["folder"] / "of-ttir").iterdir()) == []
    assert runs["full"]["cached"] == 3


@pytest.mark.process
def test_later_stages_are_those_of_a_full_run(
    runs: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))  # Triton has compiled none of them
    selection = resolve(str(runs["folder"] / "ttir"))
    assert list(complete_stages(selection, asked=True)) == []
    completed = {row["name"]: row for row in selection.table("kernels", _COLUMNS).to_pylist()}
    whole = _kernel_rows(runs["folder"] / "full")
    other = resolve(str(runs["folder"] / "full"))
    for name, kernel in completed.items():
        for column in kernel.keys() - _OF_A_COMPILATION:
            assert kernel[column] == whole[name][column], (
                f"{column} of {name}: what only a full compilation gives is in `late_columns` of "
                "backends/compiled_kernels/kernel_records.py"
            )
        assert _stages_of(kernel) == _stages_of(whole[name])
        for stage in ("ttgir", "ptx"):
            texts = [
                _without_locations(side.trace.artifact(_artifact(row, stage)))
                for side, row in ((selection, kernel), (other, whole[name]))
            ]
            assert texts[0] == texts[1], (name, stage)
    listed = selection.table("artifacts", ["sha256", "size_bytes", "kind"]).to_pylist()
    assert {_artifact(row, "cubin") for row in completed.values()} <= {r["sha256"] for r in listed}
    assert _kernel_rows(runs["folder"] / "ttir")["add"]["registers"] is None  # nothing was written


@pytest.mark.process
def test_why_later_stages_are_missing_is_said(
    runs: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(later_stages, "MOST_SECONDS", 0.01)
    (late,) = complete_stages(resolve(str(runs["folder"] / "ttir")), asked=False)
    assert late.startswith("3 of 3 kernels")
    assert "0.01 s were not enough to compile them" in late

    refusing = tmp_path / "ptxas"
    refusing.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "release 12.9, V12.9.86"\n')
    refusing.chmod(0o755)
    monkeypatch.setenv("TRITON_PTXAS_PATH", str(refusing))
    (failed,) = complete_stages(resolve(str(runs["folder"] / "ttir")), asked=True)
    assert failed.endswith("registers and shared memory: Triton could not compile them here")


def _artifact(row: Any, stage: str) -> str:
    (digest,) = (entry["artifact"] for entry in row["stages"] if entry["stage"] == stage)
    return str(digest)


def _without_locations(text: bytes | None) -> list[str]:
    """Instructions and ops; places, debug sections, and numbers of labels and locations go."""
    import re

    assert text is not None
    lines = text.decode().split(".section\t.debug")[0].splitlines()
    stripped = [re.sub(r"loc\(.*?\)+|\$L__\w+|//.*", "", line).strip() for line in lines]
    return [
        line for line in stripped
        if line and not line.startswith((".loc", ".file", "#loc", "#", ":", "tt.func"))
    ]  # fmt: skip


@pytest.mark.process
def test_full_compilation_ignores_kernels_stopped_at_ttir(tmp_path: Path) -> None:
    _run_program(tmp_path, "ttir")
    whole = _run_program(tmp_path, "full")
    assert not whole["unfinished"]
    assert whole["cached"] == 3
    assert all("cubin" in _stages_of(row) for row in _kernel_rows(tmp_path / "full").values())
    # And what a full run has left is taken whole by one that would stop.
    again = _run_program(tmp_path, "ttir")
    assert not again["unfinished"]
    for entry in (tmp_path / "cache").iterdir():
        (group,) = entry.glob("__grp__*.json")
        listed = json.loads(group.read_text())["child_paths"]
        assert any(name.endswith(".cubin") for name in listed)
        assert all(Path(path).is_file() for path in listed.values())


@pytest.mark.process
def test_a_request_for_a_later_stage_compiles_the_whole_kernel(tmp_path: Path) -> None:
    stopped = _run_program(tmp_path, "ttir", "ask", cache="one")
    whole = _run_program(tmp_path, "full", "ask", cache="two")
    assert stopped["unfinished"]
    assert stopped["error"] == whole["error"]
    for name in ("warps", "shared", "asm", "ptx", "registers", "spills", "binary", "fields",
                 "hash", "warmed"):  # fmt: skip
        assert stopped[name] == whole[name], name


@pytest.mark.process
def test_autotuner_stops_at_ttir_and_refuses_no_configuration(tmp_path: Path) -> None:
    stopped, whole = (_run_program(tmp_path, how, "tune") for how in ("ttir", "full"))
    assert (stopped["block"], whole["block"]) == (256, 32)


@pytest.mark.process
def test_in_the_background_triton_s_cache_is_filled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = _run_program(tmp_path, "background")
    assert output["unfinished"]
    codes = _message_codes(tmp_path / "background")
    cubins = list((tmp_path / "cache").rglob("*.cubin"))
    assert len(cubins) == 3 or "stages-left" in codes
    for entry in (tmp_path / "cache").iterdir():
        if list(entry.glob("__grp__*.json")):
            assert list(entry.glob("*.cubin"))
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    selection = resolve(str(tmp_path / "background"))
    assert list(complete_stages(selection, asked=True)) == []
    figures = selection.table("kernels", ["registers"])["registers"].to_pylist()
    assert all(registers > 0 for registers in figures)
    if len(cubins) == 3:  # nothing had to be compiled again
        assert len(list((tmp_path / "cache").rglob("*.cubin"))) == 3


@pytest.mark.process
def test_kernels_unfinished_in_the_background_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from types import SimpleNamespace

    from kvtrace.backends.triton import background

    codes: list[str] = []
    session: Any = SimpleNamespace(at_end=[], message=lambda *arguments: codes.append(arguments[1]))
    target = SimpleNamespace(backend="cuda", arch=90, warp_size=32)
    kernel: Any = SimpleNamespace(
        asm={"ttir": "no IR"}, metadata=SimpleNamespace(target=target), options={}
    )
    monkeypatch.setattr(background, "WAIT", 0.0)
    compiler = background.BackgroundCompiler(session)
    compiler.add(kernel)
    process = compiler._process
    assert process is not None
    assert session.at_end == [compiler.finish]
    compiler.finish()
    assert codes == ["stages-left"]
    assert process.process.poll() is not None
    assert not process.folder.exists()


@pytest.mark.process
def test_ttir_that_fails_to_compile_later_is_reported(
    runs: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    selection = resolve(str(runs["folder"] / "ttir"))
    monkeypatch.setattr(type(selection.trace), "artifact", lambda *_: b"no IR at all")
    (message,) = complete_stages(selection, asked=True)
    assert "3 of 3 kernels" in message
    assert selection.table("kernels", ["registers"])["registers"].null_count == 3


@pytest.mark.process
def test_options_that_command_ptxas_are_not_taken_from_a_trace(
    runs: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kvtrace.backends.triton import later_stages

    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(later_stages, "_UNSAFE_OPTIONS", frozenset({"arch"}))  # which each has
    selection = resolve(str(runs["folder"] / "ttir"))
    (message,) = complete_stages(selection, asked=True)
    assert "3 of 3 kernels" in message
    assert list(tmp_path.iterdir()) == []


def test_error_in_a_kernels_source_is_raised_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource, CompilationError

    from kvtrace.backends.triton.unfinished_kernels import StoppingCompiler

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    compiled_whole: list[Any] = []
    problems: list[Exception] = []
    compiler = StoppingCompiler(compiled_whole.append, lambda *_: None, problems.append)
    file = tmp_path / "kernels.py"
    file.write_text("def kernel(x):\n    x & 1.5\n")
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    source = ASTSource(triton.jit(names["kernel"]), {"x": "i32"})

    with pytest.raises(CompilationError) as raised:
        compiler.compile(
            lambda *arguments, **_: compiled_whole.append(arguments), source,
            target=GPUTarget("cuda", 90, 32), options={},
        )  # fmt: skip

    assert not compiled_whole
    assert not problems
    assert not any("code_generator" in str(entry.path) for entry in raised.traceback)
