"""Why a launch cannot be decided."""

from __future__ import annotations

from kvtrace.schema.errors import KvtraceError


class Undecided(KvtraceError):
    """What the launch does may depend on roundings, or on an order, that a device chooses."""

    slug = "undecided"
