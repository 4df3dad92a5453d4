import re
import typing
from pathlib import Path

import numpy as np
import pytest

import kvtrace.addons.graphs.hlo as hlo
from kvtrace.addons.graphs.hlo import float32, mutable, mutable_tensor, ops, tensor, trace
from kvtrace.addons.graphs.hlo.errors import (
    BadArgument,
    DataDependent,
    DtypeNotOnTarget,
    ForeignTensor,
    GraphError,
    RefusedMutation,
    ShapeMismatch,
    SignatureMismatch,
    UnsupportedFunction,
)
from tests.addons.graphs.hlo import xla
from tests.addons.graphs.hlo.agreement import agree

X = np.arange(12, dtype=np.float32).reshape(3, 4)
HERE = re.escape(__file__)


class Pair(typing.NamedTuple):
    low: np.ndarray
    high: np.ndarray


# -- signatures and calls -------------------------------------------------------------------------


def test_a_function_is_traced_once_per_signature_and_returns_numpys_results():
    traced_shapes = []

    @trace
    def scaled(x, factor, *, shift=0.0):
        traced_shapes.append((x.shape, factor))
        return x * factor + shift

    for x in (X, X + 1, X[:2], X.astype(np.float64)):
        np.testing.assert_array_equal(scaled(x, 2.0, shift=1.0), x * 2.0 + 1.0)
    scaled(X, 3.0)

    assert traced_shapes == [((3, 4), 2.0), ((2, 4), 2.0), ((3, 4), 2.0), ((3, 4), 3.0)]
    assert len(scaled.graphs) == 4


def test_arguments_and_results_may_be_nested_and_are_named_by_their_path():
    @trace
    def step(params, batch, pair):
        low = params["w"] @ batch[0]
        return {"loss": low.sum(), "parts": [low, pair.high]}

    arguments = ({"w": X, "name": "fixed"}, (X.T, 3), Pair(X, X + 1))
    graph = step.specialize(*arguments)
    result = step(*arguments)

    assert [i.name for i in graph.inputs] == ["params.w", "batch.0", "pair.low", "pair.high"]
    assert [o.name for o in graph.outputs] == ["loss", "parts.0", "parts.1"]
    np.testing.assert_allclose(result["loss"], (X @ X.T).sum())
    np.testing.assert_array_equal(result["parts"][1], X + 1)


def test_specialize_accepts_annotations_in_place_of_arrays():
    graph = trace(lambda x, y: x @ y).specialize(
        tensor[float32, (2, 3)], tensor["bfloat16", (3, 5)]
    )

    assert [(i.dtype.name, i.shape) for i in graph.inputs] == [
        ("float32", (2, 3)),
        ("bfloat16", (3, 5)),
    ]
    assert graph.outputs[0].shape == (2, 5)


def test_graphs_refuse_arrays_that_do_not_fit():
    graph = trace(lambda x: x + 1).specialize(X)

    with pytest.raises(SignatureMismatch, match=r"the input x of the graph .* is float32\[3, 4\]"):
        graph.run(X[:2])
    with pytest.raises(SignatureMismatch, match="has 1 inputs, but 2 arrays"):
        graph.run(X, X)
    with pytest.raises(SignatureMismatch, match="missing a required argument: 'x'"):
        trace(lambda x: x).specialize()


def test_traced_functions_call_each_other_and_decorate_methods():
    inner = trace(lambda x: x * 2)

    class Model:
        def __init__(self):
            self.weight = X

        @trace
        def forward(self, x):
            return inner(x) @ self.weight.T

    model = Model()
    np.testing.assert_allclose(model.forward(X), (X * 2) @ X.T)
    assert inner.graphs == ()


def test_operations_work_on_arrays_outside_of_a_trace():
    np.testing.assert_allclose(ops.silu(X), X / (1 + np.exp(-X)), rtol=1e-6)
    np.testing.assert_array_equal(ops.maximum(X, 3), np.maximum(X, 3))
    assert "gelu" in dir(ops)
    with pytest.raises(AttributeError, match="has no 'gelo'; it has"):
        _ = ops.gelo


def test_the_package_has_its_public_names():
    for name in hlo.__all__:
        assert getattr(hlo, name) is not None
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = hlo.nothing


# -- names and aliases ----------------------------------------------------------------------------


def test_results_have_numbers_the_keys_of_a_dict_or_the_names_in_outputs():
    def program(x):
        total = x.sum()
        return total, {"scaled": x * 2}, x + 1, total

    assert names_of(trace(program)) == ["output0", "scaled", "output2", "output3"]
    assert names_of(trace(program, outputs=["a", "b", "c", "d"])) == ["a", "b", "c", "d"]
    assert names_of(trace(lambda x: x)) == ["output"]
    with pytest.raises(SignatureMismatch, match="returns 4 tensors, but 1 names"):
        trace(program, outputs="a").specialize(X)


def names_of(traced):
    return [output.name for output in traced.specialize(X).outputs]


def test_a_parameter_written_in_place_is_an_output_even_if_not_returned():
    def update(weights, momentum, gradient):
        momentum *= 0.9
        momentum += gradient
        weights -= 0.1 * momentum
        return weights

    graph = agree(update, X, X * 2, X + 1)

    assert graph.aliases == {"weights": "weights", "momentum": "momentum"}
    assert [o.name for o in graph.outputs] == ["weights", "momentum"]
    text = graph.to_stablehlo()
    assert 'kvtrace.name = "weights", tf.aliasing_output = 0 : i32' in text
    assert 'kvtrace.name = "momentum", tf.aliasing_output = 1 : i32' in text
    assert "{0}: (0, {}, may-alias), {1}: (1, {}, may-alias)" in xla.hlo_text(text)


def test_calls_write_in_place_and_return_the_array_itself():
    @trace
    def increase(x):
        before = x.copy()
        x += 1
        return x, before

    x = X.copy()
    after, before = increase(x)

    assert after is x
    np.testing.assert_array_equal(x, X + 1)
    np.testing.assert_array_equal(before, X)


def test_an_input_and_a_constant_can_be_returned():
    agree(lambda x: (x, x, np.ones(3, np.float32)), X)


# -- annotations ----------------------------------------------------------------------------------


def test_annotations_are_checked_and_extents_of_one_name_are_equal():
    N, M = typing.TypeVar("N"), "columns"

    @trace
    def product(x: tensor[float32, (N, 4)], y: tensor[float32, (4, M)], z: tensor[float32, (N,)]):
        return x @ y + z[:, None]

    assert product(X, X.T, X[:, 0]).shape == (3, 3)
    refused(product, X.astype(np.float64), X.T, X[:, 0], match="annotated float32, and .* float64")
    refused(product, X[:, :2], X.T, X[:, 0], match="annotated with 4 elements on axis 1")
    refused(product, X, X.T, X[0], match="annotated with 3 elements .* on axis 0, and .* has 4")
    refused(product, X[0], X.T, X[0], match="annotated with 2 axes")


def refused(traced, *arguments, match):
    with pytest.raises(SignatureMismatch, match=match):
        traced(*arguments)


def test_annotated_parameters_are_written_to_only_if_mutable():
    def program(x: tensor[float32, (3, 4)], y: tensor[mutable, float32, (4,)], z: mutable_tensor):
        y[0] = 1
        z += 1
        x[0] = 2

    with pytest.raises(RefusedMutation, match="x is written to, and annotated without mutable"):
        trace(program).specialize(X, X[0], X)


def test_annotations_may_be_text_optional_or_of_other_things():
    def program(x: "tensor[float32, (3, None)]", y: "tensor | None" = None, n: int = 2):
        return x * n if y is None else x + y

    assert trace(program)(X).shape == (3, 4)
    refused(trace(program), X[:2], match="3 elements")


def test_shapes_and_types_are_known_while_tracing():
    def program(x):
        assert np.shape(x) == x.shape == (3, 4)
        assert (np.ndim(x), np.size(x), np.size(x, 1), len(x), x.nbytes) == (2, 12, 4, 3, 48)
        with pytest.raises(AttributeError):
            x.shape = (12,)
        return x + x.ndim

    agree(program, X, numpy=lambda x: x + 2)


# -- errors: one sentence, the user's line, what to do --------------------------------------------


def complaint(error, program, *arguments, **settings):
    with pytest.raises(error) as caught:
        trace(program, **settings).specialize(*arguments)
    text = str(caught.value)
    assert isinstance(caught.value, GraphError)
    assert "\n" not in text
    assert text.endswith(".")
    assert text.count("test_traced.py:") == 1, text
    line = int(text.partition("test_traced.py:")[2].partition(";")[0].rstrip("."))
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    assert "# here" in lines[line - 1]
    return text


def test_an_unsupported_function_is_refused_with_its_name():
    def program(x):
        return np.linalg.svd(x)  # here

    assert "numpy.linalg.svd has no form as graph ops" in complaint(UnsupportedFunction, program, X)
    assert "numpy.spacing" in complaint(
        UnsupportedFunction,
        lambda x: np.spacing(x),  # here
        X,
    )


def test_methods_that_tensors_lack_are_refused():
    text = complaint(UnsupportedFunction, lambda x: x.searchsorted(3), X)  # here
    assert "attribute searchsorted has no form" in text

    def program(x):
        assert not hasattr(x, "searchsorted")
        assert not hasattr(x, "__cuda_array_interface__")
        assert getattr(x, "name", None) is None
        return x

    trace(program).specialize(X)


def test_functions_with_results_of_unknown_size_are_refused():
    complaint(DataDependent, lambda x: np.nonzero(x), X)  # here
    complaint(DataDependent, lambda x: x.nonzero(), X)  # here
    assert "numpy.unique" in complaint(DataDependent, lambda x: np.unique(x), X)  # here


def test_a_branch_that_depends_on_data_is_refused():
    def program(x):
        if x.sum() > 3:  # here
            return x
        return -x

    assert "np.where" in complaint(DataDependent, program, X)

    def count(n):
        return sum(i for i in range(n))  # here

    assert "not an array" in complaint(DataDependent, count, np.array(3))
    complaint(DataDependent, lambda x: float(x[0, 0]), X)  # here
    complaint(DataDependent, lambda x: np.asarray(x), X)  # here
    complaint(DataDependent, lambda x: x.tolist(), X)  # here
    complaint(DataDependent, lambda x: np.where(x > 0), X)  # here


def test_an_element_type_that_the_target_lacks_is_refused():
    def program(x):
        return x.astype(np.float64) + 1  # here

    text = complaint(DtypeNotOnTarget, program, X, target="neuron")
    assert "the target neuron has no float64" in text
    assert "use float32" in text
    complaint(DtypeNotOnTarget, lambda x: x * np.ones(4), X, target="neuron")  # here
    complaint(DtypeNotOnTarget, lambda x: x.astype(np.complex64), X)  # here
    with pytest.raises(
        DtypeNotOnTarget, match=r"argument x of .* float64, which the target neuron"
    ):
        trace(lambda x: x, target="neuron").specialize(X.astype(np.float64))


def test_shapes_that_do_not_fit_are_refused():
    def program(x):
        y = x + 1
        return y @ y  # here

    assert "do not multiply" in complaint(ShapeMismatch, program, X)
    assert "could not be broadcast" in complaint(ShapeMismatch, lambda x: x + x[:, :3], X)  # here
    complaint(ShapeMismatch, lambda x: x.reshape(5, 5), X)  # here
    complaint(np.exceptions.AxisError, lambda x: x.sum(axis=2), X)  # here
    complaint(ShapeMismatch, lambda x: np.expand_dims(x, -4), X)  # here
    complaint(ShapeMismatch, lambda x: np.concatenate([x, x.T]), X)  # here
    complaint(ShapeMismatch, lambda x: np.split(x, 5), X)  # here


def test_arguments_that_a_graph_does_not_support_are_refused():
    complaint(BadArgument, lambda x: np.sum(x, axis="rows"), X)  # here
    complaint(BadArgument, lambda n: n + 300, np.array([1], np.uint8))  # here
    complaint(BadArgument, lambda x: x & 1, X)  # here
    complaint(BadArgument, lambda x: x + "text", X)  # here
    complaint(BadArgument, lambda n: n.__iadd__(0.5), np.array([1]))  # here
    complaint(BadArgument, lambda x: -(x > 0), X)  # here


def test_writing_into_arrays_that_are_no_tensors_is_refused():
    outside = np.zeros((3, 4), np.float32)

    def program(x):
        np.add(x, 1, out=outside)  # here

    complaint(RefusedMutation, program, X)
    complaint(RefusedMutation, lambda x: np.copyto(outside, x), X)  # here


def test_tensors_cannot_be_used_after_their_trace():
    leaked = []
    trace(leaked.append).specialize(X)

    with pytest.raises(ForeignTensor, match="used after its trace has ended"):
        _ = leaked[0] + 1
    with pytest.raises(ForeignTensor, match="used outside the trace that made it"):
        trace(lambda x: x + leaked[0]).specialize(X)


def test_unknown_targets_and_backends_are_refused():
    with pytest.raises(BadArgument, match="no target 'tpu'; choose one of xla, neuron"):
        trace(lambda x: x, target="tpu")
    assert callable(trace(backend="hlo")(lambda x: x))


def test_written_arrays_must_be_writable_and_unshared():
    @trace
    def step(a, b):
        a += 1
        return a + b

    memory = np.zeros(6, np.float32)
    np.testing.assert_array_equal(step(memory[::2], memory[1::2]), [1, 1, 1])
    np.testing.assert_array_equal(memory, [1, 0, 1, 0, 1, 0])
    step(memory[4:3:-1], memory[3:2:-1])
    for a, b in ((memory, memory), (memory[:4], memory[2:]), (memory[3::-1], memory[:4])):
        before = memory.copy()
        with pytest.raises(RefusedMutation, match=rf"shares memory.* at {HERE}:\d+; pass a copy"):
            step(a, b)
        np.testing.assert_array_equal(memory, before)
    frozen = np.broadcast_to(np.float32(1), (3,))
    with pytest.raises(RefusedMutation, match=rf"read-only at {HERE}:\d+; pass a copy"):
        step(frozen, memory[:3])
    read = trace(lambda a, b: a + b)
    np.testing.assert_array_equal(read(frozen, frozen), [2, 2, 2])


def test_errors_of_calls_name_the_line_of_the_call():
    @trace(target="neuron")
    def double(x: tensor[float32, (3,)]):
        return x * 2

    for array, match in (
        (np.zeros(3, np.int32), "annotated float32, and its argument is int32"),
        (np.zeros(4, np.float32), "annotated with 3 elements on axis 0"),
        (np.zeros((1, 3), np.float32), "annotated with 1 axes"),
    ):
        with pytest.raises(SignatureMismatch, match=rf"{match}.* at {HERE}:\d+; \w+ "):
            double(array)
    with pytest.raises(
        SignatureMismatch, match=rf"missing .*'x'.* at {HERE}:\d+; its parameters are \(x\)"
    ):
        double()
    with pytest.raises(DtypeNotOnTarget, match=rf"float64.* at {HERE}:\d+; pass it as float32"):
        trace(lambda x: x, target="neuron")(np.zeros(3))
    with pytest.raises(SignatureMismatch, match=rf"numbers from 0 on at {HERE}:\d+; write them"):
        double.specialize(tensor[float32, (-3,)])
    with pytest.raises(BadArgument, match=rf"a function, not 3 at {HERE}:\d+; write trace"):
        trace(3)
    with pytest.raises(DataDependent, match=rf"depends on data at {HERE}:\d+; use np.where"):
        trace(lambda x: x[x > 1])(np.zeros(3))


def test_a_wrong_annotation_is_refused_also_where_it_is_left_as_text():
    def as_text(x: "tensor[float32, 8]", other: "no_such_name[3]"):  # noqa: F821
        return x

    with pytest.raises(BadArgument, match="put extents in parentheses"):
        trace(as_text).specialize(np.ones(8, np.float32), 1)


@pytest.mark.parametrize(
    "program",
    [
        lambda x: np.transpose(x, (0,)),
        lambda x: np.transpose(x, (0, 0)),
        lambda x: np.transpose(x, (0, 2)),
        lambda x: np.concatenate([x, x], axis=4),
        lambda x: np.concatenate([x, np.ones(3, np.float32)]),
        lambda x: np.concatenate([x, np.ones((3, 5), np.float32)]),
        lambda x: np.stack([x, np.ones((3, 5), np.float32)]),
        lambda x: np.roll(x, (1, 2, 3), axis=(0, 1)),
        lambda x: x.reshape(5, 5),
        lambda x: np.split(x, 5),
        lambda x: np.squeeze(x, axis=0),
        lambda x: x[..., ...],
        lambda x: x[0, 0, 0],
        lambda x: x[9],
        lambda x: np.take(x, [0, 9], axis=0),
        lambda x: x[np.array([True, False])],
        lambda x: x[..., np.array([True, False])],
        lambda x: x + np.ones((5, 1, 7), np.float32),
    ],
)
def test_errors_begin_with_numpys_words(program):
    with pytest.raises((ValueError, IndexError)) as numpys:
        program(X)

    words = re.split(r";|,? but |: objects", str(numpys.value))[0].strip()
    with pytest.raises(type(numpys.value), match="^" + re.escape(words)):
        trace(program).specialize(X)
