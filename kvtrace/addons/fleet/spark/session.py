"""A trace's tables and views in a session of Spark, which reads the parts where they lie."""

import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from kvtrace.converters.query.query import BadQuery, column_values
from kvtrace.figures.scans import Scans, in_plain_folders
from kvtrace.figures.views import VIEWS, tables_of, view_texts
from kvtrace.schema.errors import BadSetting, KvtraceError
from kvtrace.schema.layout import fetch
from kvtrace.schema.remote import remote_folder
from kvtrace.schema.tables import TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kvtrace.schema.trace import Run, Trace

#: Several parts of a run may hold the same row of these.
_BY_CONTENT: Final = {"stacks": "stack_id", "artifacts": "sha256"}
_SETTINGS: Final = {
    "spark.sql.legacy.parquet.nanosAsLong": "true",
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",  # a run's id may be a number
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
}
#: A program on one machine is not asked for over a network, and shuffles little.
_LOCAL: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "4",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}


class SparkFailed(KvtraceError):
    """Spark could not be started, or did not do what it was asked."""

    slug = "spark-failed"


def spark_session(master: str | None) -> "SparkSession":
    """Return a session of the running Spark, or of a new one, with new views.

    Args:
        master: Where Spark runs, as local[4] or spark://host:7077; None: as Spark is configured.

    Raises:
        BadSetting: Spark, or Java for it, is not installed.
        SparkFailed: it does not start.

    """
    try:
        import sqlglot  # noqa: F401 - asked for here, so that both are missed in one sentence
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
    """See that there is a Java; which one, Spark says."""
    if "JAVA_HOME" not in os.environ and shutil.which("java") is None:
        raise BadSetting("Spark needs Java 17 or newer; install one, or let JAVA_HOME say where.")


class SparkTrace:
    """The tables of some runs, and the views over them, in a session of Spark.

    Parts of sealed runs are read by Spark's executors, so that they have to reach them under the
    same path; what is not sealed, or of an older format, is read here and sent to them.
    """

    def __init__(self, trace: "Trace", runs: Sequence["Run"], master: str | None = None) -> None:
        """Start Spark, or take the one that runs.

        Args:
            trace: The trace whose tables statements may read.
            runs: The runs whose rows they see.
            master: As in `spark_session`, whose errors are raised.

        """
        self._trace = trace
        self._runs = runs
        self._scans = Scans(trace, runs, itself=True)
        self._made: set[str] = set()
        self.session = spark_session(master)
        self._local = str(self.session.conf.get("spark.master", "")).startswith("local")

    def rows(self, text: str) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """Run one statement of DuckDB's SQL, and return column names and rows; see `table`."""
        found = self.table(text)
        columns = [column_values(found.column(index)) for index in range(found.num_columns)]
        return tuple(found.column_names), list(zip(*columns, strict=True))

    def table(self, text: str) -> pa.Table:
        """Run one statement of DuckDB's SQL; points in time are BIGINT, ns since 1970.

        Raises:
            BadQuery: it is not correct, or does not only read tables of the trace.
            SparkFailed: a task failed, as where executors do not find the files.

        """
        from pyspark.errors import AnalysisException, PySparkException

        from kvtrace.addons.fleet.spark.dialect import names_in, spark_sql

        known = {*TABLES, *self._trace.client_tables, *VIEWS}
        statement = spark_sql(text, known)
        self._make(names_in(text) & known)
        try:
            found: pa.Table = self.session.sql(statement).toArrow()
        except AnalysisException as error:
            raise BadQuery(first_line(error)) from error
        except PySparkException as error:
            raise SparkFailed(f"Spark failed on {first_line(error)}") from error
        return found

    def _make(self, names: Iterable[str]) -> None:
        """Make views of tables, and those over them, that are not made yet."""
        from kvtrace.addons.fleet.spark.dialect import spark_sql

        wanted = set(names)
        for name in tables_of(wanted):
            if name not in self._made:
                self._frame(name).createOrReplaceTempView(name)
        texts = view_texts(wanted)
        known = {*TABLES, *VIEWS}
        for name, text in texts.items():
            if name not in self._made:
                self.session.sql(spark_sql(text, known)).createOrReplaceTempView(name)
        self._made |= {*tables_of(wanted), *texts}

    def _frame(self, name: str) -> "DataFrame":
        table = self._trace.definition(name, self._runs)
        schema = _plain(table.schema)
        parts = self._scans.parts(name)
        if not in_plain_folders(self._trace.path.resolve(), parts):
            parts = {}
        rest = [run for run in self._runs if run.run_id not in parts]
        here: pa.Table = self._trace.table(name, rest)
        schema = schema.append(pa.field("run", pa.string()))
        frame = self.session.createDataFrame(here.cast(schema)) if here.num_rows else None
        if parts:
            paths = [path for files in parts.values() for path in files]
            read = self._read(table.name, schema, paths)
            several = any(len(files) > 1 for files in parts.values())
            if name in _BY_CONTENT and several:
                read = read.dropDuplicates(["run", _BY_CONTENT[name]])
            frame = read if frame is None else read.unionByName(frame)
        return self.session.createDataFrame(schema.empty_table()) if frame is None else frame

    def _read(self, name: str, schema: pa.Schema, paths: Sequence[Path]) -> "DataFrame":
        from pyspark.sql.pandas.types import from_arrow_schema

        if self._local:
            fetch(paths)
        folder = self._address(self._trace.path / name)
        reader = self.session.read.schema(from_arrow_schema(schema)).option("basePath", folder)
        return reader.parquet(*map(self._address, paths))

    def _address(self, path: Path) -> str:
        """Return where Spark finds a path, whatever its own file system is; nothing is escaped."""
        remote = remote_folder(path)
        if remote is not None and not self._local:
            return remote.address_of(path)
        return f"file://{path.resolve()}"


def _plain(schema: pa.Schema) -> pa.Schema:
    """Return a schema as Spark has it: points in time as integers, repeated strings as strings."""

    def kind(of: pa.DataType) -> pa.DataType:
        if pa.types.is_timestamp(of):
            return pa.int64()
        return of.value_type if pa.types.is_dictionary(of) else of

    return pa.schema([pa.field(field.name, kind(field.type)) for field in schema])


def first_line(error: Exception) -> str:
    """Return what an exception of Spark says first."""
    text = str(error).strip() or type(error).__name__
    return text.split("\n", 1)[0].strip()[:500]
