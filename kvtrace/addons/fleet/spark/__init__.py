"""The same questions on Spark, over the same Parquet files: each is one text of SQL.

The texts are those of `kvtrace.figures.views`, which DuckDB takes as they are; sqlglot writes
them for Spark. Ibis was the other choice: then the questions would be Python that makes SQL, which
neither the cookbook could show nor a user copy into `kvtrace sql`; and what a user writes himself
would need sqlglot all the same.

pyspark and sqlglot are imported when Spark is asked for (`pip install kvtrace[spark]`).
"""

from kvtrace.addons.fleet.spark.session import SparkTrace, spark_session

__all__ = ["SparkTrace", "spark_session"]
