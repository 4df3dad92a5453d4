"""Fixtures of the tests of memory."""

from tests.support.free_driver import free_driver

__all__ = ["free_driver"]
