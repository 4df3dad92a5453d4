"""Inductor's autotuner, run for real; only its checks that there is a GPU are answered for it."""

import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

import kvtrace
from kvtrace.backends.inductor import origins
from kvtrace.capture.records import Origin
from kvtrace.ir import parse
from kvtrace.schema.contents import first_contents
from kvtrace.schema.trace import open_trace
from tests.support.autotuned_by_inductor import KERNEL

torch = pytest.importorskip("torch")
triton = pytest.importorskip("triton")


@pytest.mark.process
def test_every_launch_is_recorded_with_its_kernel(
    autotuner: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heuristics = pytest.importorskip("torch._inductor.runtime.triton_heuristics")
    original = heuristics.CachingAutotuner.run
    x, y = torch.randn(1000), torch.randn(1000)
    out, other = torch.empty(1000), torch.empty(500)

    with kvtrace.capture(tmp_path / "out"):
        assert heuristics.CachingAutotuner.run is not original
        for _ in range(5):
            autotuner.run(x, y, out, 1000, stream=0)
        autotuner.run(x[:500], y[:500], other, 500, stream=0)
    assert heuristics.CachingAutotuner.run is original
    assert torch.equal(out, x + y)
    assert torch.equal(other, (x + y)[:500])

    trace = open_trace(tmp_path / "out")
    (kernel,) = trace.table("kernels").drop_columns(["compile_begin"]).to_pylist()
    calls = trace.table("calls").to_pylist()
    launches = trace.table("launches", columns=["call_id", "phase"]).to_pylist()
    assert [launch["call_id"] for launch in launches] == [0, 0, 0, 0, 0, 1]
    assert {launch["phase"] for launch in launches} == {"run"}
    assert [call["grid_x"] for call in calls] == [4, 2]
    assert (kernel["name"], kernel["origin"]) == ("triton_poi_fused_add_0", "inductor")
    assert kernel["target"] == "cuda:90"
    assert (kernel["file"], kernel["line"]) == (str(tmp_path / "generated.py"), 6)
    assert dict(kernel["options"])["inductor.grid_type"] == "Grid1D"
    signature = [(entry["name"], entry["type"]) for entry in kernel["signature"]]
    assert signature[3:] == [("xnumel", "i32"), ("XBLOCK", "constexpr")]
    assert kernel["signature"][0]["divisibility"] == 16
    assert kernel["signature"][4]["constexpr"] == "256"
    names = [(entry["name"], entry["scalar"]) for entry in calls[0]["args"]]
    assert names[3:] == [("xnumel", "1000"), ("XBLOCK", "256")]
    assert calls[1]["args"][0]["shape"] == [500]

    stages = {stage["stage"]: stage["artifact"] for stage in kernel["stages"]}
    assert {"ttir", "ttir_generic", "ptx", "cubin"} <= stages.keys()
    assert kernel["cache_hit"] is False
    assert kernel["origins"] is None  # nothing was generated here, and no generated module launches

    assert kernel["compile_ns"] > 0
    text = trace.artifact(stages["ttir_generic"])
    assert text is not None
    assert len(parse(text.decode()).main.arguments) == 4


@pytest.mark.process
def test_a_kernel_whose_ir_names_another_file_has_its_own_source(
    autotuner: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KVTRACE_SOURCE", "files")
    own = tmp_path / "own.py"  # Triton's cache has the IR of an equal kernel in generated.py
    own.write_text(KERNEL + "# of this file\n")
    autotuner.filename = str(own)
    x = torch.ones(8)
    with kvtrace.capture(tmp_path / "out"):
        autotuner.run(x, x, x, 8, stream=0)
    trace = open_trace(tmp_path / "out")
    (kernel,) = trace.table("kernels", columns=["file", "files"]).to_pylist()
    files = {file["path"]: trace.artifact(file["artifact"]) for file in kernel["files"]}
    assert kernel["file"] == str(own)
    assert files == {
        str(own): own.read_bytes(),
        str(tmp_path / "generated.py"): KERNEL.encode(),
    }


@pytest.mark.process
@pytest.mark.parametrize("source", ["files", "off"])
def test_origins_of_a_generated_kernel_are_recorded(
    autotuner: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    monkeypatch.setenv("KVTRACE_SOURCE", source)
    monkeypatch.setattr(origins, "ORIGINS", origins.Origins())
    expected = Origin("aten.add", "total", "layers.0", "model.py", 3, "forward", "x + y")
    origins.ORIGINS.add("triton_poi_fused_add_0", KERNEL, [expected])
    x = torch.ones(8)
    with kvtrace.capture(tmp_path / "out"):
        autotuner.run(x, x, x, 8, stream=0)
    (kernel,) = open_trace(tmp_path / "out").table("kernels", columns=["origins"]).to_pylist()
    (recorded,) = kernel["origins"]
    assert recorded == asdict(expected) | ({"code": None} if source == "off" else {})


@pytest.mark.process
def test_a_cached_module_gives_operators_and_nodes_as_origins(
    autotuner: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(origins, "ORIGINS", origins.Origins())
    module = tmp_path / "ab" / "cabcdefg.py"
    module.parent.mkdir()
    module.write_text(
        "def call(triton_poi_fused_add_0, x):\n"
        "    # Topologically Sorted Source Nodes: [total], Original ATen: [aten.add]\n"
        "    triton_poi_fused_add_0.run(x, x, x, 8, stream=0)\n"
    )
    scope: dict[str, Any] = {}
    exec(compile(module.read_text(), str(module), "exec"), scope)
    with kvtrace.capture(tmp_path / "out"):
        scope["call"](autotuner, torch.ones(8))
    (kernel,) = open_trace(tmp_path / "out").table("kernels", columns=["origins"]).to_pylist()
    assert [(origin["op"], origin["node"]) for origin in kernel["origins"]] == [
        ("aten.add", None),
        (None, "total"),
    ]


@pytest.mark.process
def test_the_launcher_that_inductor_picks_stays_the_same(autotuner: Any, tmp_path: Path) -> None:
    x, out = torch.randn(100), torch.empty(100)
    with kvtrace.capture(tmp_path / "out"):
        autotuner.run(x, x, out, 100, stream=0)
        before = autotuner.launchers[0]
        assert before.__globals__["launch_enter_hook"] is not None
        assert not triton.knobs.runtime.launch_enter_hook.calls
        begin = time.process_time()
        autotuner.run(x, x, out, 100, stream=0)
        assert time.process_time() - begin < 5
        assert autotuner.launchers[0] is before


@pytest.mark.process
def test_a_launch_that_measures_is_a_trial_and_a_bound_method_records_too(
    autotuner: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, out = torch.randn(100), torch.empty(100)
    with kvtrace.capture(tmp_path / "out"):
        bound = autotuner.run
        bound(x, x, out, 100, stream=0)
        autotuner.run(x, x, out, 100, stream=0, benchmark_run=True)
        bound(x, x, out, 100, stream=0)
        autotuner.run(x, x, out, 100, stream=0)
    launches = open_trace(tmp_path / "out").table("launches", columns=["call_id", "phase"])
    assert launches["phase"].to_pylist() == ["run", "autotune", "run", "run"]
    assert launches["call_id"].to_pylist() == [0] * 4


@pytest.mark.process
def test_an_interpreted_run_is_not_recorded_as_inductors(autotuner: Any, tmp_path: Path) -> None:
    x, out = torch.randn(100), torch.empty(100)
    with kvtrace.capture(tmp_path / "out"):
        autotuner.run(x, x, out, 100, stream=0)
        other = object.__new__(type(autotuner))
        other.__dict__.update(vars(autotuner), triton_interpret=True)
        other.configs = [triton.Config({})]
        other.launchers = [lambda *_args, stream: None]
        other._interpret_args_grid = lambda args, _config: (args, (1,))
        other.fn = {(1,): lambda *_args, **_kwargs: "interpreted"}
        other._cached_launcher = None
        assert other.run(x, x, out, 100, stream=0) == "interpreted"
    assert open_trace(tmp_path / "out").table("launches").num_rows == 1


def test_a_kernel_outside_of_the_setting_is_not_recorded(autotuner: Any, tmp_path: Path) -> None:
    x, out = torch.randn(100), torch.empty(100)
    with kvtrace.capture(tmp_path / "out", kernels="other_*"), kvtrace.mark("step"):
        autotuner.run(x, x, out, 100, stream=0)
    trace = open_trace(tmp_path / "out")
    assert trace.table("marks").num_rows == 1
    assert trace.table("launches").num_rows == trace.table("kernels").num_rows == 0
    assert torch.equal(out, x + x)


@pytest.mark.costly("importing torch's code cache takes 5 s")
def test_compiled_graphs_keep_their_key_in_torchs_cache_while_recording(
    autotuner: Any, tmp_path: Path
) -> None:
    key_before = _graph_key(autotuner.fn)
    with kvtrace.capture(tmp_path / "out"):
        assert _graph_key(autotuner.fn) == key_before


def _graph_key(kernel: Any) -> str:
    """Return the key in torch's cache of a graph that launches a kernel."""
    from torch._higher_order_ops import triton_kernel_wrap as wrap
    from torch._inductor.codecache import CacheBase, compiled_fx_graph_hash

    graph = torch.fx.Graph()
    arguments = wrap.kernel_side_table.add_constant_args({"xnumel": 8})
    graph.call_function(
        wrap.triton_kernel_wrapper_mutation,
        kwargs={
            "kernel_idx": wrap.kernel_side_table.add_kernel(kernel),
            "constant_args_idx": arguments,
        },
    )
    graph.output(graph.placeholder("x"))
    CacheBase.get_system.cache_clear()  # the device, and Triton's version
    module = torch.fx.GraphModule({}, graph)
    return str(compiled_fx_graph_hash(module, [torch.ones(8)], {}, [])[0])


@pytest.mark.process
def test_contents_are_recorded_with_the_setting_tensors(autotuner: Any, tmp_path: Path) -> None:
    x, y, out = torch.randn(1000), torch.randn(1000), torch.zeros(1000)
    before = [tensor.clone().numpy().tobytes() for tensor in (x, y, out)]

    with kvtrace.capture(tmp_path / "out", tensors="all"):
        autotuner.run(x, y, out, 1000, stream=0)
        x.zero_()
        autotuner.run(x, y, out, 1000, stream=0)

    trace = open_trace(tmp_path / "out")
    (call,) = trace.table("calls").to_pylist()
    contents = first_contents(trace, trace.runs)[trace.runs[0].run_id, call["call_id"]]
    assert [trace.artifact(contents[place].artifact) for place in range(3)] == before


@pytest.mark.process
@pytest.mark.parametrize("size", [1000, 1100])
def test_launches_are_judged_before_they_happen(autotuner: Any, tmp_path: Path, size: int) -> None:
    x, out = torch.randn(1000), torch.zeros(1000)
    with kvtrace.capture(tmp_path / "out", sanitize="raise"):
        if size == 1000:
            autotuner.run(x, x, out, size, stream=0)
        else:
            with pytest.raises(kvtrace.KernelDefect, match="kernel triton_poi_fused_add_0"):
                autotuner.run(x, x, out, size, stream=0)

    trace = open_trace(tmp_path / "out")
    findings = trace.table("findings", columns=["rule", "verdict"]).to_pylist()
    verdicts = [row["verdict"] for row in findings if row["rule"] == "out-of-bounds"]
    assert len(verdicts) == 3
    assert set(verdicts) == {"proven" if size == 1000 else "violation"}
    assert trace.table("kernels").num_rows == trace.table("calls").num_rows == 1
    assert trace.table("launches").num_rows == (1 if size == 1000 else 0)
    assert bool(out.any()) is (size == 1000)
