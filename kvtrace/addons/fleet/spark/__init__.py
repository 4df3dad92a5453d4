"""Queries and passes on Spark over a trace's Parquet files.

The SQL is that of `kvtrace.figures.views` for DuckDB; sqlglot translates it for Spark. With Ibis,
the alternative, queries would be Python that generates SQL, which could not be shown in the
cookbook nor copied into `kvtrace sql`; users' queries would need sqlglot anyway.

pyspark and sqlglot are imported when Spark is requested (`pip install kvtrace[spark]`).
"""

from kvtrace.addons.fleet.spark.session import SparkTrace, spark_session

__all__ = ["SparkTrace", "spark_session"]
