-- A trace in DuckDB 2.0 or newer, without kvtrace: each table of the format, with the columns that files
-- lack as nulls, of complete runs alone; and the views `launched` and `executed`, which are those of
-- `kvtrace sql`: `weight` is the number of launches or executions that a row stands for, `trial` says
-- whether they are an autotuner's, `host_ns` and `device_ns` what one took, `call_id` and `kernel_id` what
-- was executed. The folder is `out`; for another, replace 'out/ in this text.
--
-- Made from schema/tables.txt and kvtrace's views by `python -m docs_site.views_sql`; do not edit by hand.

-- Refuse files of another major version or table, and those that lack a required column.
SET VARIABLE kvtrace_checked = (
  WITH facts AS (
    SELECT file, regexp_extract(file, '([^/]+)/run=[^/]*/[^/]*$', 1) AS folder,
      max(decode(value)) FILTER (decode(key) = 'kvtrace.format_version') AS version,
      max(decode(value)) FILTER (decode(key) = 'kvtrace.table') AS named
    FROM glob('out/*/run=*/part-*.parquet')
    LEFT JOIN parquet_kv_metadata('out/*/run=*/part-*.parquet') ON file_name = file
    GROUP BY file
  ), required AS (
    FROM (VALUES {required}) AS required (folder, name)
  ), columns AS (
    SELECT file_name AS file, list(DISTINCT split_part(path_in_schema, ',', 1)) AS names
    FROM parquet_metadata('out/*/run=*/part-*.parquet') GROUP BY file_name
  )
  SELECT count(error(file || ': ' || CASE
      WHEN version IS NULL THEN 'it names no version of the format'
      WHEN version NOT LIKE '1.%' THEN 'version ' || version || ' of the format is not 1'
      WHEN named IS DISTINCT FROM folder THEN 'it is not of the table ' || folder
      ELSE 'column ' || name || ' is missing' END))
  FROM facts LEFT JOIN columns USING (file) LEFT JOIN required USING (folder)
  WHERE folder IN (SELECT folder FROM required) AND (version IS NULL OR version NOT LIKE '1.%'
    OR named IS DISTINCT FROM folder OR NOT list_contains(names, name))
);
