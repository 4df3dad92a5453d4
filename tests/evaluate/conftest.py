"""Fixtures of the evaluator's tests."""

from tests.support.free_driver import free_driver

__all__ = ["free_driver"]
