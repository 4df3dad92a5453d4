"""What generated kernels were made from: by Inductor's generator, and by its modules' comments."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import kvtrace
from kvtrace.backends.inductor import origins
from kvtrace.backends.inductor.libraries import GENERATOR
from kvtrace.backends.inductor.origins import (
    calling_module,
    note_origins,
    origins_of,
    origins_of_line,
)
from kvtrace.backends.replacements import Replacements
from kvtrace.capture.records import Origin
from tests.support.tiers import needs

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
nn = torch.nn

CODE = """
@triton_heuristics.pointwise(filename=__file__)
@triton.jit
def triton_poi_fused_add_0(in_ptr0, out_ptr0, xnumel, XBLOCK: tl.constexpr):
    xmask = tl.full([XBLOCK], True, tl.int1)

    tl.store(out_ptr0, tl.load(in_ptr0), xmask)


def get_args():
    return ()
"""

MODULE = """
# Topologically Sorted Source Nodes: [x, y], Original ATen: [aten.mul]
# Source node to ATen node mapping:
triton_poi_fused_mul_0 = async_compile.triton('triton_poi_fused_mul_0', '''
''')

class Runner:
    def call(self, args):
        # Topologically Sorted Source Nodes: [x, y], Original ATen: [aten.mul]
        stream0 = get_raw_stream(0)
        triton_poi_fused_mul_0.run(arg0, buf0, 4, stream=stream0)
        # Unsorted Source Nodes: [z], Original ATen: [aten.mul, aten.neg]
        stream0 = get_raw_stream(0)
        triton_poi_fused_mul_0.run(arg1, buf1, 4, stream=stream0)
        extern_kernels.mm(buf0, buf1, out=buf2)
        triton_poi_unknown_1.run(arg1, buf1, 4, stream=stream0)
"""


class Scale(nn.Module):  # type: ignore[name-defined,misc]
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(8))

    def forward(self, x: Any) -> Any:
        return (x * self.weight).sin()


class Model(nn.Module):  # type: ignore[name-defined,misc]
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([Scale(), Scale()])

    def forward(self, x: Any) -> Any:
        for layer in self.layers:
            x = layer(x @ torch.ones(8, 8))
        return x


@pytest.fixture
def known_origins(monkeypatch: pytest.MonkeyPatch) -> origins.Origins:
    mine = origins.Origins()
    monkeypatch.setattr(origins, "ORIGINS", mine)
    return mine


@pytest.fixture
def modules() -> list[Path]:
    """Modules that Inductor wrote for `generated`, which adds them."""
    return []


@pytest.fixture
@needs("process")  # the first use of Inductor starts workers
def generated(
    known_origins: origins.Origins,
    monkeypatch: pytest.MonkeyPatch,
    modules: list[Path],
) -> Iterator[dict[str, str]]:
    """Codes of a model's kernels by name: generated for real, and neither compiled nor run."""
    pytest.importorskip(GENERATOR)
    from torch._inductor import config
    from torch._inductor.codecache import PyCodeCache
    from torch._inductor.graph import GraphLowering
    from torch.utils import _triton

    codes: dict[str, str] = {}
    problems: list[Exception] = []
    replaced = Replacements()
    owner = sys.modules[GENERATOR].TritonScheduling
    original = owner.define_kernel
    note_origins(replaced, problems.append)
    hooked = owner.define_kernel

    def noted(*args: Any) -> Any:
        name = hooked(*args)
        codes[name] = args[1]
        return name

    def stop(self: Any) -> Any:
        modules.append(Path(PyCodeCache.write(self.codegen()[0].value)[1]))
        raise InterruptedError

    monkeypatch.setattr(owner, "define_kernel", noted)
    monkeypatch.setattr(_triton, "triton_hash_with_backend", lambda: "")
    monkeypatch.setattr(GraphLowering, "compile_to_module", stop)
    with (
        config.patch(cpu_backend="triton", force_disable_caches=True),
        pytest.raises(Exception, match="InterruptedError"),
    ):
        torch.compile(Model())(torch.ones(4, 8))
    monkeypatch.setattr(owner, "define_kernel", hooked)
    yield codes
    assert problems == []
    replaced.undo()
    assert owner.define_kernel is original
    torch._dynamo.reset()


def test_operators_modules_and_lines_are_those_of_the_program(generated: dict[str, str]) -> None:
    lines_by_operator = {}
    for name, code in generated.items():
        for origin in origins_of(name, code, None, keep_code=True) or ():
            lines_by_operator[origin.op, origin.module] = origin
    assert {("aten.mul", "layers.0"), ("aten.mul", "layers.1"), ("aten.sin", "layers.0")} <= set(
        lines_by_operator
    )
    sine = lines_by_operator["aten.sin", "layers.1"]
    assert sine.file == __file__
    assert sine.function == "forward"
    assert sine.code == "return (x * self.weight).sin()"
    assert sine.line
    assert Path(__file__).read_text().splitlines()[sine.line - 1].strip() == sine.code
    assert sine.node


def test_a_kernel_that_two_layers_use_has_the_origins_of_both(generated: dict[str, str]) -> None:
    shared = [
        origins_of(name, code, None, keep_code=True) or () for name, code in generated.items()
    ]
    modules = [
        {origin.module for origin in kernel_origins if origin.op == "aten.mul"}
        for kernel_origins in shared
    ]
    assert {"layers.0", "layers.1"} in modules


def test_a_call_of_a_library_has_the_line_of_its_product(
    generated: dict[str, str], modules: list[Path]
) -> None:
    products = [
        origins_of_line(str(file), number, keep_code=True)
        for file in modules
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if "extern_kernels.mm(" in line
    ]
    # what is computed for it may be among its origins, which begin with the call's own
    firsts = [call_origins[0] for call_origins in products if call_origins]
    assert len(products) == len(firsts) == 2
    product = ("aten.mm", __file__, "x = layer(x @ torch.ones(8, 8))")
    assert {(origin.op, origin.file, origin.code) for origin in firsts} == {product}


def test_a_line_that_was_not_generated_has_no_origin(tmp_path: Path) -> None:
    assert origins_of_line(__file__, 3, keep_code=True) is None
    folder = tmp_path / "i3"
    folder.mkdir()
    file = folder / "ci3v7zobhq7edny4.py"
    file.write_text(MODULE)
    lines = MODULE.splitlines()
    second = next(i for i, line in enumerate(lines, 1) if "run(arg1" in line)
    assert origins_of_line(str(file), second, keep_code=True) == (
        Origin(op="aten.mul"), Origin(op="aten.neg"), Origin(node="z"),
    )  # fmt: skip
    assert origins_of_line(str(file), second + 1, keep_code=True) is None


def test_origins_lack_code_if_sources_are_off(known_origins: origins.Origins) -> None:
    known_origins.add(
        "k", CODE, [Origin("aten.add", "y", "a.b", "m.py", 3, "forward", "y = x + 1")]
    )
    (origin,) = origins_of("k", CODE, None, keep_code=True) or ()
    (bare,) = origins_of("k", CODE, None, keep_code=False) or ()
    assert origin.code == "y = x + 1"
    assert bare == Origin("aten.add", "y", "a.b", "m.py", 3, "forward", None)


def test_origins_are_found_by_kernel_name_and_body(known_origins: origins.Origins) -> None:
    known_origins.add("k", CODE, [Origin("aten.add")])
    function = CODE[CODE.index("def triton") : CODE.index("\n\ndef get_args")]
    assert known_origins.of("k", function.replace("triton_poi_fused_add_0", "triton_")) is not None
    assert known_origins.of("k", function.replace("in_ptr0)", "in_ptr1)")) is None
    assert known_origins.of("other", function) is None
    assert known_origins.of("k", None) is None


def test_operators_and_nodes_are_read_from_comments_of_the_calling_module(
    known_origins: origins.Origins, tmp_path: Path
) -> None:
    module = tmp_path / "module.py"
    module.write_text(MODULE)
    commented = origins_of("triton_poi_fused_mul_0", CODE, str(module), keep_code=True)
    assert commented == (
        Origin(op="aten.mul"), Origin(node="x"), Origin(node="y"), Origin(op="aten.neg"),
        Origin(node="z"),
    )  # fmt: skip
    assert origins_of("triton_poi_unknown_1", CODE, str(module), keep_code=True) is None
    assert (
        origins_of("triton_poi_fused_mul_0", CODE, str(tmp_path / "no.py"), keep_code=True) is None
    )


def test_the_calling_module_is_found_by_how_inductor_names_it(tmp_path: Path) -> None:
    folder = tmp_path / "i3"
    folder.mkdir()
    file = folder / "ci3v7zobhq7edny4.py"
    scope: dict[str, Any] = {"calling_module": calling_module}
    exec(compile("def call():\n    return calling_module()", str(file), "exec"), scope)
    assert scope["call"]() == str(file)
    assert calling_module() is None


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("L['self'].blocks.0.attention", "blocks.0.attention"),
        ("L['self']._modules['layers']._modules['0'].mlp", "layers.0.mlp"),
        ("L['model']._orig_mod.layers[3]", "layers.3"),
        ("L['self']", None),
    ],
)
def test_paths_of_modules_are_written_as_torch_names_them(path: str, module: str | None) -> None:
    node = SimpleNamespace(
        name="mul",
        target="mul",
        meta={"fwd_nn_module_stack": {"a": ("", None), "b": (path, nn.Module)}},
    )
    assert origins._origin(node).module == module


def test_a_failure_of_kvtrace_is_counted_and_generation_continues(
    known_origins: origins.Origins, monkeypatch: pytest.MonkeyPatch
) -> None:
    class TritonScheduling:
        def define_kernel(self, src_code: str, node_schedule: Any, kernel: Any) -> str:
            return f"named {src_code}"

    generator: Any = SimpleNamespace(TritonScheduling=TritonScheduling)
    monkeypatch.setitem(sys.modules, GENERATOR, generator)
    problems: list[Exception] = []
    replaced = Replacements()
    note_origins(replaced, problems.append)
    assert TritonScheduling().define_kernel("x", 5, kernel=None) == "named x"
    assert TritonScheduling().define_kernel(src_code="x", node_schedule=(), kernel=0) == "named x"
    assert [type(problem) for problem in problems] == [TypeError]
    replaced.undo()


def test_the_generator_is_hooked_during_a_recording_only(tmp_path: Path) -> None:
    owner = pytest.importorskip(GENERATOR).TritonScheduling
    original = owner.define_kernel
    with kvtrace.capture(tmp_path / "out"):
        assert owner.define_kernel.__wrapped__ is original
    assert owner.define_kernel is original
