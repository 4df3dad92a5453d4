"""`neuronxcc.nki.typing`: names for annotations."""

from kvtrace.addons.neuron.older.tiles import Tile


class _Annotation:
    """`nt.tensor`, which annotations may index with a type and a shape."""

    def __getitem__(self, key: object) -> type[Tile]:
        del key
        return Tile


tensor = _Annotation()
mutable_tensor = _Annotation()
scalar = _Annotation()
