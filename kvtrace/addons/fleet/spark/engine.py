"""The engine `spark` of commands that can run elsewhere."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kvtrace.addons.fleet.spark.session import SparkTrace
    from kvtrace.analysis.replaying import Engine as Evaluation
    from kvtrace.schema.trace import Run, Trace


class SparkEngine:
    """Spark at `master`, for example local[4]; errors are those of `spark_session`."""

    def tables(self, trace: "Trace", runs: "Sequence[Run]", master: str | None) -> "SparkTrace":
        """Return the tables of runs, for queries in SQL."""
        from kvtrace.addons.fleet.spark.session import SparkTrace

        return SparkTrace(trace, runs, master)

    def evaluation(self, master: str | None) -> "Evaluation":
        """Return a function that evaluates calls for clients on Spark."""
        from kvtrace.addons.fleet.spark.spreading import on_spark

        return on_spark(master)


ENGINE: Final = SparkEngine()
