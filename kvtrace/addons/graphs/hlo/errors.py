"""What can be wrong with a program that is traced into a graph; each text names the user's line."""

from typing import ClassVar, Self

from numpy.exceptions import AxisError

from kvtrace.addons.graphs.hlo.frames import user_place
from kvtrace.schema.errors import KvtraceError


class GraphError(KvtraceError):
    """A program cannot be traced, or a graph cannot be used as asked."""

    slug: ClassVar[str] = "graph"

    @classmethod
    def here(cls, text: str) -> Self:
        """Make the error with the line of the user's program that is running: `text at FILE:LINE`.

        `text` is what was found; where a semicolon follows, what comes after it is what to do.
        """
        found, semicolon, advice = text.partition("; ")
        place = user_place()
        where = f" at {place}" if place else ""
        return cls(f"{found}{where}{semicolon}{advice}.")


class UnsupportedFunction(GraphError):
    """A function has no form as graph ops."""

    slug = "graph-unsupported"


class UnsupportedMethod(UnsupportedFunction, AttributeError):
    """A method or attribute of NumPy's arrays that tensors do not have."""


class DataDependent(GraphError):
    """The program asks for a value that is known only when the graph runs."""

    slug = "graph-data-dependent"


class DtypeNotOnTarget(GraphError):
    """An element type that the target does not have."""

    slug = "graph-dtype"


class ShapeMismatch(GraphError, ValueError):
    """Shapes that do not fit each other, or an axis named twice; a ValueError, as NumPy's."""

    slug = "graph-shape"


class BadAxis(ShapeMismatch, AxisError):
    """An axis that is not there; an AxisError, as NumPy's."""


class BadIndex(GraphError, IndexError):
    """An index that does not fit its tensor; an IndexError, as NumPy's."""

    slug = "graph-index"


class BadArgument(GraphError, ValueError):
    """An argument with a value or of a kind that a function does not take in a graph."""

    slug = "graph-argument"


class SignatureMismatch(GraphError):
    """Arguments that do not fit a traced function's annotations, or a graph's inputs."""

    slug = "graph-signature"


class RefusedMutation(GraphError):
    """An assignment in place that cannot be followed, or that an annotation forbids."""

    slug = "graph-mutation"


class ForeignTensor(GraphError):
    """A tensor of one trace is used in another, or after its trace has ended."""

    slug = "graph-foreign-tensor"
