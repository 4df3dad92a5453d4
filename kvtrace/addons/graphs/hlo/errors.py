"""Errors of programs that are traced into graphs; each text names the user's line."""

from typing import ClassVar, Self

from numpy.exceptions import AxisError

from kvtrace.addons.graphs.hlo.frames import user_location
from kvtrace.schema.errors import KvtraceError


class GraphError(KvtraceError):
    """A program cannot be traced, or a graph does not support the requested use."""

    slug: ClassVar[str] = "graph"

    @classmethod
    def here(cls, text: str) -> Self:
        """Return the error with the running line of the user's program: `text at FILE:LINE`.

        `text` says what was found; a part after a semicolon says what to do.
        """
        finding, semicolon, advice = text.partition("; ")
        user_line = user_location()
        location = f" at {user_line}" if user_line else ""
        return cls(f"{finding}{location}{semicolon}{advice}.")


class UnsupportedFunction(GraphError):
    """A function has no form as graph ops."""

    slug = "graph-unsupported"


class UnsupportedMethod(UnsupportedFunction, AttributeError):
    """A method or attribute of NumPy's arrays that tensors do not have."""


class DataDependent(GraphError):
    """The program needs a value while tracing that is known only when the graph runs."""

    slug = "graph-data-dependent"


class DtypeNotOnTarget(GraphError):
    """An element type that the target does not have."""

    slug = "graph-dtype"


class ShapeMismatch(GraphError, ValueError):
    """Shapes that do not fit each other, or an axis named twice; also a ValueError, as in NumPy."""

    slug = "graph-shape"


class BadAxis(ShapeMismatch, AxisError):
    """An axis that the tensor does not have; also an AxisError, as in NumPy."""


class BadIndex(GraphError, IndexError):
    """An index that does not fit its tensor; also an IndexError, as in NumPy."""

    slug = "graph-index"


class BadArgument(GraphError, ValueError):
    """An argument whose value or type a function does not support in a graph."""

    slug = "graph-argument"


class SignatureMismatch(GraphError):
    """Arguments that do not fit a traced function's annotations, or a graph's inputs."""

    slug = "graph-signature"


class RefusedMutation(GraphError):
    """An assignment in place that a graph cannot express, or that an annotation forbids."""

    slug = "graph-mutation"


class ForeignTensor(GraphError):
    """A tensor of one trace is used in another, or after its trace has ended."""

    slug = "graph-foreign-tensor"
