"""`cached_property` as in the standard library, without the lock that Python 3.11 has in it.

That lock is one of the class, not of the instance, and is held while the value is worked out. A
process that is forked while another thread works one out inherits the lock held, forever, and
waits at its own first use of the property. Python 3.12 has no such lock any more, either.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from functools import cached_property as cached_property
else:

    class cached_property:  # noqa: N801 - used as the standard one
        """A property that is worked out once for each instance, which needs a `__dict__`.

        Threads that ask at once may each work it out; all of them are given the same value.
        """

        def __init__(self, function: "Callable[[Any], Any]") -> None:
            self._function = function
            self.__doc__ = function.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            """Remember the name under which instances keep the value."""
            self._name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            """Work the value out; later the instance's own attribute is found first."""
            if instance is None:
                return self
            return instance.__dict__.setdefault(self._name, self._function(instance))
