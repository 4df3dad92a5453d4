-- A trace in DuckDB 2.0 or newer, without kvtrace: each table of the format, with the columns that files
-- lack as nulls, of complete runs alone; and the views `launched` and `executed`, which are those of
-- `kvtrace sql`: `weight` is the number of launches or executions that a row stands for, `trial` says
-- whether they are an autotuner's, `host_ns` and `device_ns` what one took, `call_id` and `kernel_id` what
-- was executed. The folder is `out`; for another, replace 'out/ in this text.
--
-- Made from schema/tables.txt and kvtrace's views by `python -m docs_site.views_sql`; do not edit by hand.

-- Refuse files of another major version or table, and those that lack a required column or have one of
-- another type. Files of runs that are not complete do not matter, but DuckDB has to be able to open them.
SET VARIABLE kvtrace_checked = (
  WITH facts AS (
    SELECT file, regexp_extract(file, '([^/]+)/run=[^/]*/[^/]*$', 1) AS folder,
      max(decode(value)) FILTER (decode(key) = 'kvtrace.format_version') AS version,
      max(decode(value)) FILTER (decode(key) = 'kvtrace.table') AS named
    FROM glob('out/*/{parts}')
    LEFT JOIN parquet_kv_metadata('out/*/{parts}') ON file_name = file
    WHERE regexp_extract(file, '/(run=[^/]*)/[^/]*$', 1) IN (
      SELECT regexp_extract(file, '/(run=[^/]*)/[^/]*$', 1) FROM glob('out/runs/{parts}'))
    GROUP BY file
  ), required AS (
    FROM (VALUES {required}) AS required (folder, name)
  ), types AS (
    FROM (VALUES {types}) AS types (folder, name, type)
  ), stored AS (
    SELECT file_name AS file, list(DISTINCT split_part(path_in_schema, ',', 1)) AS names
    FROM parquet_metadata('out/*/{parts}') GROUP BY file_name
  ), faults AS (
    SELECT 1 AS step, file, CASE
      WHEN version IS NULL THEN 'it names no version of the format'
      WHEN version NOT LIKE '1.%' THEN 'version ' || version || ' of the format is not 1'
      WHEN named IS DISTINCT FROM folder THEN 'it is not of the table ' || folder END AS fault
    FROM facts WHERE folder IN (SELECT folder FROM required)
    UNION ALL SELECT 2, file, 'column ' || name || ' is missing'
    FROM facts JOIN stored USING (file) JOIN required USING (folder) WHERE NOT list_contains(names, name)
    UNION ALL SELECT 3, file, name || ' is ' || duckdb_type || ', not ' || types.type
    FROM facts JOIN types USING (folder)
    JOIN (SELECT file_name AS file, name, duckdb_type
      FROM parquet_schema('out/*/{parts}')) USING (file, name)
    WHERE duckdb_type NOT LIKE types.type
  )
  SELECT error(min_by(file || ': ' || fault, (step, file))) FROM faults WHERE fault IS NOT NULL
);
