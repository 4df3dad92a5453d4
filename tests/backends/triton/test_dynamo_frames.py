"""torch.compile around launches that run in the evaluator: results and records are as in eager."""

import pytest

from tests.support.corpus_cases import vector_add

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

pytestmark = pytest.mark.costly("imports Dynamo")


def doubled(x):
    out = torch.empty_like(x)
    vector_add[(2,)](x, x, out, x.numel(), BLOCK=64)
    return out + 1


def launcher(x):
    """Launch in a function of its own, which Dynamo traces as a frame of its own."""
    out = torch.empty_like(x)
    for launch in [vector_add[(2,)]]:
        launch(x, x, out, x.numel(), BLOCK=64)
    return out


def by_launcher(x):
    return launcher(x) + 1


@pytest.mark.parametrize("function", [doubled, by_launcher])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_compiled_function_launches_as_it_does_without_compiling(function, backend, tmp_path):
    import kvtrace
    from kvtrace.schema.trace import open_trace

    x = torch.arange(100.0)
    torch._dynamo.reset()
    with kvtrace.capture(tmp_path / "out"):
        expected = function(x)
        compiled = torch.compile(function, backend=backend)
        results = [compiled(x) for _ in range(2)]
    assert all(torch.equal(result, expected) for result in results)
    assert open_trace(tmp_path / "out").table("launches").num_rows == 3


def test_an_autotuned_kernel_launches_in_a_compiled_function(tmp_path):
    import triton

    import kvtrace
    from kvtrace.schema.trace import open_trace

    tuned = triton.autotune([triton.Config({"BLOCK": 64})], key=["size"])(vector_add)

    def function(x):
        out = torch.empty_like(x)
        tuned[(2,)](x, x, out, x.numel())
        return out * 2

    x = torch.arange(100.0)
    torch._dynamo.reset()
    with kvtrace.capture(tmp_path / "out"):
        result = torch.compile(function, backend="eager")(x)
    assert torch.equal(result, 4 * x)
    assert open_trace(tmp_path / "out").table("launches").num_rows == 1
