"""Fixtures: the suite that is exported."""

from tests.addons.suite.training_suite import changed, training

__all__ = ["changed", "training"]
