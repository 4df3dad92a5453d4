"""What other Parquet readers keep of a trace, as a table; docs/compatibility.md sums it up.

The trace has one run of each released minor version, from `schema/golden/`. The truth is what
pyarrow reads of the files one by one, united by name. Each engine, pinned, reads every table twice:
as its first page of documentation shows, and with the setting that unites by name. Run
`python benchmarks/parquet_readers.py`; it installs the engines in a temporary folder, and Spark
needs Java 17. What became of each column goes to the standard error.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import venv
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

PACKAGES = (
    "chdb==4.4.0",
    "daft==0.7.26",
    "datafusion==55.0.0",
    "duckdb==2.0.1",
    "fastparquet==2026.9.0",
    "pandas==3.1.1",
    "polars==2.1.0",
    "pyarrow==25.0.1",
    "pyspark==4.3.0",
)
GOLDEN = Path(__file__).parents[1] / "schema" / "golden"
NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}


class Reading(NamedTuple):
    """One way in which an engine reads the folder of a table."""

    setting: str  # what it is called in the table of the page
    read: Callable[[Path], Any]  # returns a `pyarrow.Table`


def parts(folder: Path) -> list[str]:
    return sorted(map(str, folder.glob("**/*.parquet")))


def duckdb_reading(options: str) -> Callable[[Path], Any]:
    def read(folder: Path) -> Any:
        import duckdb

        return duckdb.sql(f"FROM read_parquet('{folder}/**/*.parquet'{options})").to_arrow_table()

    return read


def polars_plain(folder: Path) -> Any:
    import polars

    return polars.read_parquet(folder, hive_partitioning=True).to_arrow()


def polars_diagonal(folder: Path) -> Any:
    import polars

    frames = [polars.scan_parquet(part, hive_partitioning=True) for part in parts(folder)]
    return polars.concat(frames, how="diagonal_relaxed").collect().to_arrow()


def datafusion_plain(folder: Path) -> Any:
    import datafusion

    context = datafusion.SessionContext()
    context.register_parquet("rows", str(folder))
    return context.sql("SELECT * FROM rows").to_arrow_table()


def daft_plain(folder: Path) -> Any:
    import daft

    return daft.read_parquet(f"{folder}/**/*.parquet", hive_partitioning=True).to_arrow()


def daft_united(folder: Path) -> Any:
    import daft
    import pyarrow
    import pyarrow.parquet
    from daft.schema import Schema

    schemas = [pyarrow.parquet.read_schema(part) for part in parts(folder)]
    united = pyarrow.unify_schemas(schemas, promote_options="permissive")
    for index, field in enumerate(united):
        if pyarrow.types.is_dictionary(field.type):  # as which daft would hand out null
            united = united.set(index, field.with_type(field.type.value_type))
    columns = {field.name: field.dtype for field in Schema.from_pyarrow_schema(united)}
    return daft.read_parquet(f"{folder}/**/*.parquet", schema=columns).to_arrow()


def chdb_reading(settings: str) -> Callable[[Path], Any]:
    def read(folder: Path) -> Any:
        import chdb

        query = f"SELECT * FROM file('{folder}/**/*.parquet', Parquet) {settings}"
        return chdb.query(query, "ArrowTable")

    return read


def pandas_plain(folder: Path) -> Any:
    import pandas
    import pyarrow

    frame = pandas.read_parquet(folder, dtype_backend="pyarrow")
    return pyarrow.Table.from_pandas(frame, preserve_index=False)


def pandas_united(folder: Path) -> Any:
    import pandas
    import pyarrow

    frames = [pandas.read_parquet(part, dtype_backend="pyarrow") for part in parts(folder)]
    return pyarrow.Table.from_pandas(pandas.concat(frames), preserve_index=False)


def fastparquet_plain(folder: Path) -> Any:
    import fastparquet
    import pyarrow

    frame = fastparquet.ParquetFile(str(folder)).to_pandas()
    return pyarrow.Table.from_pandas(frame, preserve_index=False)


def pyarrow_plain(folder: Path) -> Any:
    import pyarrow.dataset

    return pyarrow.dataset.dataset(folder, partitioning="hive").to_table()


def pyarrow_united(folder: Path) -> Any:
    import pyarrow
    import pyarrow.dataset

    rows = pyarrow.dataset.dataset(folder, partitioning="hive")
    schemas = [part.physical_schema for part in rows.get_fragments()]
    united = pyarrow.unify_schemas([rows.schema, *schemas], promote_options="permissive")
    return rows.replace_schema(united).to_table()


def spark_reading(**options: str) -> Callable[[Path], Any]:
    def read(folder: Path) -> Any:
        from pyspark.sql import SparkSession

        session = (
            SparkSession.builder.master("local[1]")
            .config("spark.ui.enabled", "false")
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("OFF")
        for name, value in options.items():
            session.conf.set(name.replace("_", "."), value)
        merged = "true" if options else "false"
        return session.read.option("mergeSchema", merged).parquet(str(folder)).toArrow()

    return read


UNITED_CLICKHOUSE = "SETTINGS schema_inference_mode = 'union'"
READINGS: dict[str, tuple[Reading, ...]] = {
    "pyarrow": (Reading("", pyarrow_plain), Reading("`unify_schemas`", pyarrow_united)),
    "duckdb": (
        Reading("", duckdb_reading("")),
        Reading("`union_by_name = true`", duckdb_reading(", union_by_name = true")),
    ),
    "polars": (
        Reading("", polars_plain),
        Reading('`concat(how="diagonal_relaxed")`', polars_diagonal),
    ),
    "datafusion": (Reading("", datafusion_plain),),
    "daft": (Reading("", daft_plain), Reading("`schema=`", daft_united)),
    "chdb": (
        Reading("", chdb_reading("")),
        Reading("`schema_inference_mode = 'union'`", chdb_reading(UNITED_CLICKHOUSE)),
    ),
    "pandas": (Reading("", pandas_plain), Reading("`concat` of files", pandas_united)),
    "fastparquet": (Reading("", fastparquet_plain),),
    "pyspark": (
        Reading("", spark_reading()),
        Reading(
            "`mergeSchema`, `nanosAsLong`",
            spark_reading(spark_sql_legacy_parquet_nanosAsLong="true"),
        ),
    ),
}


def mixed_trace(folder: Path) -> None:
    """Copy the runs of all versions into one trace, each under a run id of its own."""
    for number, version in enumerate(sorted(GOLDEN.iterdir())):
        for run in version.glob("trace/[!.]*/run=*"):
            shutil.copytree(run, folder / run.parent.name / f"{run.name[:-8]}{number:08x}")


def values(column: Any) -> Counter[str]:
    """Count the values of a column, times as nanoseconds, in a form without an engine's types."""
    import pyarrow

    column = pyarrow.chunked_array([column]) if isinstance(column, pyarrow.Array) else column
    if pyarrow.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    unit = 1
    if pyarrow.types.is_timestamp(column.type):
        unit = NANOSECONDS[column.type.unit]
        column = column.cast(pyarrow.int64())
    plain = column.to_pylist()
    return Counter(
        repr(value * unit if unit > 1 and value is not None else value) for value in plain
    )


def table_losses(truth: Any, rows: Any) -> dict[str, str]:
    """Return what became of each column that does not come back whole: "lost" or "changed"."""
    losses = {}
    for name in truth.column_names:
        if name not in rows.column_names:
            losses[name] = "lost"
            continue
        try:
            same = values(truth[name]) == values(rows[name])
        except UnicodeDecodeError:
            same = False
        if not same:
            losses[name] = "changed"
    return losses


def engine_losses(trace: Path, engine: str) -> list[dict[str, Any]]:
    """Read all tables with one engine, in each way, in this process."""
    import pyarrow
    import pyarrow.parquet

    readings = []
    for reading in READINGS[engine]:
        tables: dict[str, Any] = {}
        for folder in sorted(trace.iterdir()):
            files = [pyarrow.parquet.ParquetFile(part).read() for part in parts(folder)]
            truth = pyarrow.concat_tables(files, promote_options="permissive")
            try:
                rows = reading.read(folder)
            except Exception as error:  # noqa: BLE001 - any engine's: the table shows it
                tables[folder.name] = f"{type(error).__name__}: {error}".splitlines()[0][:160]
            else:
                tables[folder.name] = table_losses(truth, rows)
        readings.append({"setting": reading.setting, "tables": tables})
    return readings


def cell(tables: dict[str, Any]) -> str:
    """Return what an engine keeps, as one cell of the table."""
    refused = [name for name, losses in tables.items() if isinstance(losses, str)]
    texts = [f"refuses {len(refused)} of {len(tables)} tables"] if refused else []
    for word, phrase in (("lost", "silently lacks"), ("changed", "changes")):
        columns = Counter(
            name
            for name, losses in tables.items()
            if isinstance(losses, dict)
            for loss in losses.values()
            if loss == word
        )
        if columns:
            texts.append(f"{phrase} {columns.total()} columns of {len(columns)} tables")
    return ", ".join(texts) or "whole"


def main(arguments: list[str]) -> None:
    if arguments:
        print(json.dumps(engine_losses(Path(arguments[0]), arguments[1])))
        return
    with tempfile.TemporaryDirectory() as folder:
        venv.create(Path(folder, "venv"), with_pip=True)
        python = str(Path(folder, "venv", "bin", "python"))
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        mixed_trace(Path(folder, "trace"))
        print("| engine | as its first page reads | with | then |\n|---|---|---|---|")
        versions = dict(package.split("==") for package in PACKAGES)
        for engine in READINGS:
            command = [python, __file__, str(Path(folder, "trace")), engine]
            result = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            plain, *others = json.loads(result.stdout.splitlines()[-1])
            print(json.dumps([plain, *others]), file=sys.stderr)  # by column
            row = [f"{engine} {versions[engine]}", cell(plain["tables"])]
            row += [others[0]["setting"], cell(others[0]["tables"])] if others else ["", ""]
            print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
