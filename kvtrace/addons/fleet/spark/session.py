"""A trace's tables and views in a session of Spark, which reads the Parquet files in place."""

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from kvtrace.converters.query.query import BadQuery, names_and_rows
from kvtrace.figures.scans import Scans, in_plain_folders
from kvtrace.figures.views import VIEWS, tables_of, view_texts
from kvtrace.schema.content import BY_CONTENT
from kvtrace.schema.errors import BadSetting, KvtraceError
from kvtrace.schema.layout import fetch
from kvtrace.schema.remote import remote_folder
from kvtrace.schema.tables import TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kvtrace.schema.trace import Run, Trace

_SETTINGS: Final = {
    "spark.sql.legacy.parquet.nanosAsLong": "true",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",  # a run's id may be a number
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
}
#: Settings for Spark on one machine: no network, few partitions.
_LOCAL: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "4",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


class SparkFailed(KvtraceError):
    """Spark could not be started, or failed."""

    slug = "spark-failed"


def spark_session(master: str | None) -> "SparkSession":
    """Return a new session with its own views; start Spark if this process has none running.

    Args:
        master: Spark's address, such as local[4] or spark://host:7077; None: as configured.

    Raises:
        BadSetting: Spark, or Java for it, is not installed.
        SparkFailed: Spark does not start.
    """
    try:
        import sqlglot  # noqa: F401 - so that one sentence names both packages
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise BadSetting(
            "Spark is not installed; install kvtrace[spark], which brings pyspark and sqlglot."
        ) from error
    if master is None or master.startswith("local"):
        _find_java()
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("kvtrace")
    if master is not None:
        builder = builder.master(master)
    for name, value in _LOCAL.items() if (master or "local").startswith("local") else ():
        builder = builder.config(name, value)
    try:
        session = builder.getOrCreate().newSession()
        for name, value in _SETTINGS.items():
            session.conf.set(name, value)
    except Exception as error:
        raise SparkFailed(f"Spark does not start ({first_line(error)}).") from error
    return session


def _find_java() -> None:
    """Raise BadSetting if Java is not installed; Spark itself checks the version."""
    if "JAVA_HOME" not in os.environ and shutil.which("java") is None:
        raise BadSetting("Spark needs Java 17 or newer; install Java, or set JAVA_HOME.")


class SparkTrace:
    """The tables and views of some runs in a session of Spark.

    Spark's executors read parts of sealed runs, which they must reach under the same path. Runs
    that are not sealed, or of an older format, are read in this process and sent to the executors.
    """

    def __init__(self, trace: "Trace", runs: Sequence["Run"], master: str | None = None) -> None:
        """Start Spark if needed; errors as `spark_session`.

        Args:
            trace: The trace whose tables statements read.
            runs: The runs whose rows statements read.
            master: Where Spark runs, such as local[4]; None: as configured.
        """
        self._trace = trace
        self._runs = runs
        self._scans = Scans(trace, runs, itself=True)
        self._made_views: set[str] = set()
        self.session = spark_session(master)
        self._local = str(self.session.conf.get("spark.master", "")).startswith("local")

    def rows(self, text: str) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """Run one statement of DuckDB's SQL, and return column names and rows; see `table`."""
        return names_and_rows(self.table(text))

    def table(self, text: str) -> pa.Table:
        """Run one statement of DuckDB's SQL; points in time are BIGINT, ns since 1970.

        Raises:
            BadQuery: the statement is not correct, or does not only read tables of the trace.
            SparkFailed: a task failed, for example since executors do not find the files.
        """
        from pyspark.errors import AnalysisException, PySparkException

        from kvtrace.addons.fleet.spark.dialect import names_in, spark_sql

        names = {*TABLES, *self._trace.client_tables, *VIEWS}
        statement = spark_sql(text, names)
        self._make_views(names_in(text) & names)
        try:
            result: pa.Table = self.session.sql(statement).toArrow()
        except AnalysisException as error:
            raise BadQuery(first_line(error)) from error
        except PySparkException as error:
            raise SparkFailed(f"Spark failed on {first_line(error)}") from error
        return result

    def _make_views(self, names: Iterable[str]) -> None:
        """Create the views and tables in `names`, and those that they read, unless they exist."""
        from kvtrace.addons.fleet.spark.dialect import spark_sql

        view_names = set(names)
        for name in tables_of(view_names):
            if name not in self._made_views:
                self._table_frame(name).createOrReplaceTempView(name)
        texts = view_texts(view_names)
        allowed = {*TABLES, *VIEWS}
        for name, text in texts.items():
            if name not in self._made_views:
                self.session.sql(spark_sql(text, allowed)).createOrReplaceTempView(name)
        self._made_views |= {*tables_of(view_names), *texts}

    def _table_frame(self, name: str) -> "DataFrame":
        table = self._trace.definition(name, self._runs)
        schema = _schema_for_spark(table.schema)
        parts = self._scans.parts(name)
        if not in_plain_folders(self._trace.path.resolve(), parts):
            parts = {}
        other_runs = [run for run in self._runs if run.run_id not in parts]
        local_rows: pa.Table = self._trace.table(name, other_runs)
        schema = schema.append(pa.field("run", pa.string()))
        frame = (
            self.session.createDataFrame(local_rows.cast(schema)) if local_rows.num_rows else None
        )
        if parts:
            paths = [path for files in parts.values() for path in files]
            part_rows = self._read_parquet(table.name, schema, paths)
            has_several_parts = any(len(files) > 1 for files in parts.values())
            if name in BY_CONTENT and has_several_parts:
                part_rows = part_rows.dropDuplicates(["run", BY_CONTENT[name]])
            frame = part_rows if frame is None else part_rows.unionByName(frame)
        return self.session.createDataFrame(schema.empty_table()) if frame is None else frame

    def _read_parquet(self, name: str, schema: pa.Schema, paths: Sequence[Path]) -> "DataFrame":
        from pyspark.sql.pandas.types import from_arrow_schema

        if self._local:
            fetch(paths)
        folder = self._address(self._trace.path / name)
        reader = self.session.read.schema(from_arrow_schema(schema)).option("basePath", folder)
        return reader.parquet(*map(self._address, paths))

    def _address(self, path: Path) -> str:
        """Return the full address of a local or stored path for Spark, without escapes."""
        remote = remote_folder(path)
        if remote is not None and not self._local:
            return remote.address_of(path)
        return f"file://{path.resolve()}"


def _schema_for_spark(schema: pa.Schema) -> pa.Schema:
    """Return a schema in which timestamps are int64 and dictionaries are their value types."""

    def plain_type(type_: pa.DataType) -> pa.DataType:
        if pa.types.is_timestamp(type_):
            return pa.int64()
        return type_.value_type if pa.types.is_dictionary(type_) else type_

    return pa.schema([pa.field(field.name, plain_type(field.type)) for field in schema])


def first_line(error: Exception) -> str:
    """Return the first line of an exception's text, or its type if it has none."""
    text = str(error).strip() or type(error).__name__
    return text.split("\n", 1)[0].strip()[:500]
