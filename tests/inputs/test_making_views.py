"""Views of tensors: of all, of one at a time, and of different kinds."""

from itertools import combinations

from kvtrace.inputs.cases import parsed_shapes, whole_tensor
from kvtrace.inputs.making import as_view, views_of


def test_transposed_views_have_the_last_axes_exchanged():
    view = as_view(whole_tensor("x", "float32", (2, 3, 5)), "transposed")
    assert (view.strides, view.storage) == ((15, 1, 3), 30)


def test_reversed_padded_and_expanded_views_have_their_strides():
    inputs = [whole_tensor("x", "float32", (2, 3, 5)), whole_tensor("at", "int64", (4,))]
    labels = [label for label, _ in views_of(inputs[:1])]
    assert labels == [
        f"{kind} views"
        for kind in ("strided", "offset", "transposed", "padded", "expanded", "reversed")
    ]
    assert [label for label, _ in views_of(inputs[1:])] == ["strided views", "offset views"]
    for kind, strides, storage in [
        ("reversed", (1, 2, 6), 30),
        ("padded", (24, 8, 1), 48),
        ("expanded", (0, 5, 1), 15),
    ]:
        view, at = (as_view(entry, kind) for entry in inputs)
        assert (view.strides, view.storage, at) == (strides, storage, inputs[1])


def test_each_tensor_is_a_view_alone_and_any_two_differ():
    inputs = parsed_shapes("x=f32[6, 4], y=f32[6, 4], z=f32[6, 4], n=3", [])
    cases = [view for _, view in views_of(inputs)]
    plain = [entry.strides for entry in inputs[:3]]
    for at in range(3):
        others = [other for other in range(3) if other != at]
        assert any(
            view[at].strides != plain[at]
            and all(view[other].strides == plain[other] for other in others)
            for view in cases
        )
    for one, other in combinations(range(3), 2):
        assert any(
            plain[one] != view[one].strides != view[other].strides != plain[other] for view in cases
        )


def test_one_tensor_has_no_mixed_views():
    labels = [label for label, _ in views_of(parsed_shapes("x=f32[6, 4]", []))]
    assert not any("alone" in label or "mixed" in label for label in labels)
