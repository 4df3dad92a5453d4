"""`nki.typing` and `neuronxcc.nki.typing`: names for annotations."""

from kvtrace.addons.neuron.tensors import Tensor


class _Annotation:
    """A type of tensors, which annotations may subscript with an element type and a shape."""

    def __getitem__(self, key: object) -> type[Tensor]:
        del key
        return Tensor


tensor = _Annotation()
mutable_tensor = _Annotation()
scalar = _Annotation()
