"""The engine `spark`, for commands with the option --engine."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kvtrace.addons.fleet.spark.session import SparkTrace
    from kvtrace.analysis.replaying import Engine as Evaluation
    from kvtrace.schema.trace import Run, Trace


class SparkEngine:
    """Engine that queries tables and evaluates calls on Spark.

    `master` is Spark's address, for example local[4]; for errors see `spark_session`.
    """

    def tables(self, trace: "Trace", runs: "Sequence[Run]", master: str | None) -> "SparkTrace":
        """Return the tables of runs, for queries in SQL."""
        from kvtrace.addons.fleet.spark.session import SparkTrace

        return SparkTrace(trace, runs, master)

    def evaluation(self, master: str | None) -> "Evaluation":
        """Return a function that evaluates runs' calls for clients on Spark."""
        from kvtrace.addons.fleet.spark.spreading import on_spark

        return on_spark(master)


ENGINE: Final = SparkEngine()
