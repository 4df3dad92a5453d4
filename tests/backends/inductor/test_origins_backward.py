"""Modules of calls of libraries in generated forwards and backwards, beside autograd's numbers."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kvtrace.backends.inductor import origins
from kvtrace.backends.inductor.libraries import GENERATOR
from kvtrace.backends.inductor.origins import note_origins, origins_of_line
from kvtrace.backends.replacements import Replacements
from tests.support.attention_model import Model
from tests.support.tiers import needs

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

#: Calls of libraries in generated code, each with the operator that it runs.
CALLS = {
    "extern_kernels.mm(": "aten.mm",
    "extern_kernels.addmm(": "aten.addmm",
    "_for_cpu.default(": "aten._scaled_dot_product_flash_attention_for_cpu",
    "_for_cpu_backward.default(": "aten._scaled_dot_product_flash_attention_for_cpu_backward",
}


@pytest.fixture(scope="module")
@needs("process")  # the first use of Inductor starts workers
def compiled() -> Iterator[tuple[list[Any], list[Path]]]:
    """The graphs of a training step and the files that Inductor wrote for them, not run."""
    pytest.importorskip(GENERATOR)
    from functorch.compile import make_boxed_func
    from torch._dynamo.backends.common import aot_autograd
    from torch._guards import TracingContext
    from torch._inductor.codecache import PyCodeCache
    from torch._inductor.debug import DebugContext
    from torch._inductor.decomposition import select_decomp_table
    from torch._inductor.graph import GraphLowering
    from torch._inductor.virtualized import V

    graphs, files, problems = [], [], []
    replaced = Replacements()

    def generate(module: Any, inputs: Any) -> Any:
        graphs.append(module.graph)
        lowering = GraphLowering(module)
        with (
            V.set_graph_handler(lowering),
            V.set_fake_mode(TracingContext.get().fake_mode),
            V.set_debug_handler(DebugContext()),
        ):
            lowering.run(*inputs)
            files.append(Path(PyCodeCache.write(lowering.codegen()[0].value)[1]))
        return make_boxed_func(module.forward)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(origins, "ORIGINS", origins.Origins())
        note_origins(replaced, problems.append)
        backend = aot_autograd(
            fw_compiler=generate, bw_compiler=generate, decompositions=select_decomp_table()
        )
        torch._dynamo.reset()
        model = torch.compile(Model(), backend=backend)
        model(torch.ones(2, 8, 32, requires_grad=True)).backward()
        replaced.undo()
        yield graphs, files
    assert problems == []
    torch._dynamo.reset()


def calls_of(files: list[Path]) -> Iterator[tuple[str, Any]]:
    """Yield the operator of each call of a library, and the origins that the trace would have."""
    for file in files:
        for number, line in enumerate(file.read_text().splitlines(), 1):
            for text, operator in CALLS.items():
                if text in line:
                    yield operator, origins_of_line(str(file), number, keep_code=True)


def module_by_sequence_number(graphs: list[Any]) -> dict[int, str | None]:
    """Return the module in which autograd made the node of each number, as the forward says."""
    modules: dict[int, str | None] = {}
    for node in graphs[0].nodes:
        if node.op == "call_function":
            modules.setdefault(
                node.meta["seq_nr"], origins._module(node.meta.get("nn_module_stack"))
            )
    return modules


def test_each_call_of_a_library_has_the_module_of_its_autograd_node(compiled: Any) -> None:
    graphs, files = compiled
    forward = module_by_sequence_number(graphs)
    # given the operators' own numbers of autograd
    nodes = {node.name: node for graph in graphs for node in graph.nodes}
    recorded = list(calls_of(files))
    for operator, call_origins in recorded:
        own = call_origins[0]
        assert own.op == operator
        same_place = [
            node for node in nodes.values()
            if origins._origin(node) == own and node.op == "call_function"
        ]  # fmt: skip
        # then the call's module is that of the forward with this number
        assert same_place
        assert {forward.get(node.meta["seq_nr"]) for node in same_place} == {own.module}
    backward = [own[0].module for operator, own in recorded if operator.endswith("_backward")]
    assert sorted(backward) == ["layers.0.self_attn", "layers.1.self_attn"]


def test_equal_comments_of_two_files_have_calls_of_their_own() -> None:
    known = origins.Origins()
    comment = "# Topologically Sorted Source Nodes: [mm], Original ATen: [aten.mm]"
    first, second = (origins.Origin("aten.mm", "mm", module) for module in ("a", "b"))
    lines = origins.GeneratedLines(["def call():", f"    {comment}", "    extern_kernels.mm(x, y)"])
    for file, origin in (("one.py", first), ("two.py", second)):
        known.add_call(comment, [origin])
        known.add_file(file, "\n".join(lines))
    assert known.of_call("one.py", lines, 1) == (first,)
    assert known.of_call("two.py", lines, 1) == (second,)
    assert known.of_call("three.py", lines, 1) is None


def test_equal_comments_of_one_file_are_told_apart_by_order_unless_one_is_missing() -> None:
    known = origins.Origins()
    comment = "# Source Nodes: [mm], Original ATen: [aten.mm]"
    both = [origins.Origin("aten.mm", "mm", module) for module in ("a", "b")]
    for origin in both:
        known.add_call(comment, [origin])
    lines = origins.GeneratedLines(
        [comment, "extern_kernels.mm(x, y)", comment, "extern_kernels.mm(y, z)"]
    )
    known.add_file("one.py", "\n".join(lines))
    assert [known.of_call("one.py", lines, index) for index in (0, 2)] == [(o,) for o in both]
    assert known.of_call("one.py", origins.GeneratedLines(lines[:2]), 0) == tuple(both)
