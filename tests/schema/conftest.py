"""Fixtures of the tests of what is written."""

from tests.support.small_disk import small_disk

__all__ = ["small_disk"]
