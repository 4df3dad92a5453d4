"""The engine `spark` of commands that can be worked out elsewhere."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from kvtrace.addons.fleet.spark.session import SparkTrace
    from kvtrace.analysis.replaying import Engine as Evaluation
    from kvtrace.schema.trace import Run, Trace


class SparkEngine:
    """Spark; `master` says where it runs, as local[4]. Errors as `spark_session`."""

    def tables(self, trace: "Trace", runs: "Sequence[Run]", master: str | None) -> "SparkTrace":
        """Return the tables of runs, which are asked in SQL."""
        from kvtrace.addons.fleet.spark.session import SparkTrace

        return SparkTrace(trace, runs, master)

    def evaluation(self, master: str | None) -> "Evaluation":
        """Return what evaluates calls for clients."""
        from kvtrace.addons.fleet.spark.spreading import on_spark

        return on_spark(master)


ENGINE: Final = SparkEngine()
