"""Queries and passes on Spark over the same Parquet files, each query a text of SQL.

The texts are those of `kvtrace.figures.views`, which DuckDB runs as they are; sqlglot translates
them for Spark. With Ibis, the alternative, queries would be Python that generates SQL, which
neither the cookbook could show nor a user copy into `kvtrace sql`; queries of users would need
sqlglot anyway.

pyspark and sqlglot are imported when Spark is requested (`pip install kvtrace[spark]`).
"""

from kvtrace.addons.fleet.spark.session import SparkTrace, spark_session

__all__ = ["SparkTrace", "spark_session"]
