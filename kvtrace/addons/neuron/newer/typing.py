"""`nki.typing`: names for annotations."""

from kvtrace.addons.neuron.newer.tensors import NkiTensor


class _Annotation:
    """`tensor`, which annotations may subscript with a type and a shape."""

    def __getitem__(self, key: object) -> type[NkiTensor]:
        del key
        return NkiTensor


tensor = _Annotation()
