"""`cached_property` as in the standard library, without the lock of Python 3.11.

That lock belongs to the class, not to the instance, and is held while a value is computed. A
process that is forked while another thread computes a value inherits the held lock, and waits
forever at its own first use of the property. Python 3.12 has removed the lock.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable
    from functools import cached_property as cached_property
else:

    class cached_property:  # noqa: N801 - used as the standard one
        """A property that is computed once for each instance, which needs a `__dict__`.

        Several threads may compute the value at once; all of them get the same value.
        """

        def __init__(self, function: "Callable[[Any], Any]") -> None:
            self._function = function
            self.__doc__ = function.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            """Store `name`, the key in the instance's `__dict__` for the value."""
            self._name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            """Compute the value, store it in the instance's `__dict__`, and return it."""
            if instance is None:
                return self
            return instance.__dict__.setdefault(self._name, self._function(instance))
