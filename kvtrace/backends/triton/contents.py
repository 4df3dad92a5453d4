"""Contents of tensors as they were before a launch, for `KVTRACE_TENSORS=int` and `all`.

A launch changes its tensors, so what it began with must be copied before it, when it is not yet
known which kernel it will be. A launch is taken for new when its function and its arguments'
metadata have not been seen; a new grid alone is not noticed, and then nothing is kept for the call.
"""

import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from kvtrace.capture.arguments import is_tensor, short_dtype, storage_contents
from kvtrace.capture.hot import Recorder
from kvtrace.capture.hot_choice import tensor_types
from kvtrace.capture.session import Session

#: Storages larger than this are not copied.
LIMIT_BYTES: Final = 256 << 20

#: Launches that are remembered as seen, at most.
_SEEN: Final = 100_000


class Contents:
    """Copies the storages of new launches' tensors, and gives them to the calls' records."""

    def __init__(self, session: Session, describe: Callable[[Any], Any]) -> None:
        """Keep what the session's setting `tensors` asks for."""
        import sys

        self._session = session
        self._everything = session.settings.tensors == "all"
        types = tensor_types(sys.modules.get("torch"))
        self._keys = Recorder(describe, session.problem, types, _SEEN)
        self._seen: set[tuple[Any, ...]] = set()
        self._copies = threading.local()

    def before(self, function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Copy what has to be kept if the launch that comes now is new."""
        key = (id(function), *self._keys.key(0, (1,), args, dict(kwargs)))
        if key in self._seen:
            self._copies.found = {}
            return
        if len(self._seen) >= _SEEN:
            self._seen.clear()
        self._seen.add(key)
        self._copies.found = {
            value.untyped_storage().data_ptr(): self._copy(value)
            for value in (*args, *kwargs.values())
            if self._wanted(value)
        }

    def of(self, value: Any) -> bytes | None:
        """The contents of a tensor's storage before the launch that has just been made."""
        found: dict[int, bytes | None] = getattr(self._copies, "found", {})
        if not found or not hasattr(value, "untyped_storage"):
            return None
        return found.get(value.untyped_storage().data_ptr())

    def _wanted(self, value: Any) -> bool:
        if not is_tensor(value) or not hasattr(value, "untyped_storage"):
            return False
        return self._everything or short_dtype(value.dtype)[0] in "iu"

    def _copy(self, value: Any) -> bytes | None:
        size = value.untyped_storage().nbytes()
        if size > LIMIT_BYTES:
            self._session.message(
                "info",
                "contents-too-large",
                f"contents of tensors of more than {LIMIT_BYTES >> 20} MiB are not kept",
            )
            return None
        return storage_contents(value)
