"""Fixtures of the tests of Inductor's launches."""

from tests.support.autotuned_by_inductor import autotuner

__all__ = ["autotuner"]
