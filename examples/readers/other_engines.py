"""The views of schema/views.sql in DuckDB, DataFusion or Polars, without kvtrace.

    python examples/readers/other_engines.py polars out/ \\
        "SELECT kernel, sum(weight) AS launches FROM launched WHERE NOT trial GROUP BY kernel"

Copy it with plain_reader.py, schema.json and views.sql. DuckDB runs views.sql as it is. The others
get the tables of the core profile from here, without columns of lists and maps, and the statements
at the end of views.sql.
"""

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from plain_reader import PART, check_columns, check_version, read_runs, schemas

HERE = Path(__file__).parent
#: Of kvtrace's installed package, it is `kvtrace/schema/views.sql`.
VIEWS_SQL = next(
    p for p in (HERE / "views.sql", HERE.parents[1] / "schema" / "views.sql") if p.exists()
)
CORE = ("runs", "kernels", "calls", "launches", "gpu_kernels")
FEATURES = ("weights", "trials", "graph-replays", "partial", "total-times")
Ask = Callable[[str], pa.Table]


def duckdb_tables(folder: str) -> Ask:
    """Return a function that asks DuckDB about a trace."""
    import duckdb

    database = duckdb.connect()
    database.execute(VIEWS_SQL.read_text().replace("'out/", f"'{folder}/"))
    return lambda query: database.sql(query).to_arrow_table()


def datafusion_tables(folder: str) -> Ask:
    """Return a function that asks DataFusion about a trace."""
    import datafusion

    context = datafusion.SessionContext()
    run = pa.schema([("run", pa.string())])
    for name, schema in checked(folder).items():
        files = [str(part) for part in parts(folder, name)]
        read = pa.unify_schemas([schema, run])
        dataset = ds.dataset(files, read, partitioning=ds.partitioning(run, flavor="hive"))
        context.from_arrow(dataset.to_table(), name=name)
    for name, query in portable_views():
        context.sql(f"CREATE VIEW {name} AS {query}")
    return lambda query: context.sql(query).to_arrow_table()


def polars_tables(folder: str) -> Ask:
    """Return a function that asks Polars about a trace."""
    import polars as pl

    context = pl.SQLContext()
    for name, schema in checked(folder).items():
        absent = pl.from_arrow(schema.append(pa.field("run", pa.string())).empty_table())
        frames = [
            pl.scan_parquet(
                part,
                schema=absent.drop("run").schema,
                hive_schema={"run": pl.String},
                missing_columns="insert",
                extra_columns="ignore",
                cast_options=pl.ScanCastOptions(categorical_to_string="allow"),
            )
            for part in parts(folder, name)
        ]
        context.register(name, pl.concat([*frames, absent.lazy()], how="diagonal"))
    for name, query in portable_views():
        context.register(name, context.execute(query))
    return lambda query: context.execute(query).collect().to_arrow()


def portable_views() -> list[tuple[str, str]]:
    """Return the views as SQL whose only function of one engine is written as a cast."""
    text = re.sub(r"epoch_ns\(([^)]*)\)", r"CAST(\1 AS BIGINT)", VIEWS_SQL.read_text())
    return re.findall(r"^CREATE OR REPLACE VIEW (\w+) AS$(.*?);$", text, re.DOTALL | re.MULTILINE)


def checked(folder: str) -> dict[str, pa.Schema]:
    """Return the flat columns of the core tables; ValueError if the trace has to be refused."""
    read_runs(folder, FEATURES)
    for name in CORE:
        for part in parts(folder, name):
            facts = pq.read_metadata(part).metadata or {}
            check_version(facts, part)
            stored = pq.read_schema(part)
            check_columns(stored.names, name, part)
            check_types(stored, name, part)
            if facts.get(b"kvtrace.table") != name.encode():
                raise ValueError(f"{part} is not of the table {name}")
    return {
        name: pa.schema(
            [
                field.with_type(pa.string()) if pa.types.is_dictionary(field.type) else field
                for field in schemas()[name]
                if not pa.types.is_nested(field.type)
            ]
        )
        for name in CORE
    }


def check_types(stored: pa.Schema, table: str, path: Path) -> None:
    """Raise ValueError if a column is of another type than the table's."""
    for field in schemas()[table]:
        if field.name in stored.names and not fits(stored.field(field.name).type, field.type):
            raise ValueError(f"{path}: {field.name} is not of the table's type {field.type}")


def fits(stored: pa.DataType, wanted: pa.DataType) -> bool:
    """Return whether values can be read as they are; fields of structs may be absent."""
    if pa.types.is_dictionary(stored) or pa.types.is_dictionary(wanted):
        return fits(getattr(stored, "value_type", stored), getattr(wanted, "value_type", wanted))
    if pa.types.is_struct(wanted):
        shared = {field.name for field in wanted} & {field.name for field in stored}
        return all(fits(stored.field(name).type, wanted.field(name).type) for name in shared)
    if pa.types.is_list(wanted):
        is_list = pa.types.is_list(stored) or pa.types.is_large_list(stored)
        return is_list and fits(stored.value_type, wanted.value_type)
    return stored == wanted or str(stored) == f"large_{wanted}"


def parts(folder: str, table: str) -> list[Path]:
    """Return the Parquet files of a table, of complete runs alone."""
    complete = {path.parent.name for path in Path(folder).glob("runs/run=*/part-*.parquet")}
    found = sorted(Path(folder).glob(f"{table}/run=*/part-*.parquet"))
    return [p for p in found if p.parent.name in complete and PART.fullmatch(p.name)]


ENGINES = {"duckdb": duckdb_tables, "datafusion": datafusion_tables, "polars": polars_tables}

if __name__ == "__main__":
    engine, trace, statement = sys.argv[1:]
    print(*ENGINES[engine](trace)(statement).to_pylist(), sep="\n")
