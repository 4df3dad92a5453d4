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
    FROM glob('out/*/run=*/part-*[0-9][0-9][0-9][0-9][0-9].parquet')
    LEFT JOIN parquet_kv_metadata('out/*/run=*/part-*[0-9][0-9][0-9][0-9][0-9].parquet') ON file_name = file
    WHERE regexp_extract(file, '/(run=[^/]*)/[^/]*$', 1) IN (
      SELECT regexp_extract(file, '/(run=[^/]*)/[^/]*$', 1) FROM glob('out/runs/run=*/part-*[0-9][0-9][0-9][0-9][0-9].parquet'))
    GROUP BY file
  ), required AS (
    FROM (VALUES ('runs', 'run_id'),
      ('kernels', 'kernel_id'), ('kernels', 'name'),
      ('calls', 'call_id'), ('calls', 'kernel_id'),
      ('launches', 'seq'), ('launches', 'call_id'),
      ('gpu_kernels', 'record'), ('gpu_kernels', 'start'), ('gpu_kernels', 'end'),
      ('contents', 'seq'), ('contents', 'call_id'), ('contents', 'arg'),
      ('host_events', 'record'),
      ('collectives', 'record'),
      ('marks', 'mark_id'),
      ('stacks', 'stack_id'), ('stacks', 'frames'),
      ('artifacts', 'sha256'), ('artifacts', 'size_bytes'), ('artifacts', 'bytes'),
      ('graph_ops', 'graph_id'), ('graph_ops', 'op_index'),
      ('buffers', 'call_id'), ('buffers', 'order'),
      ('messages', 'time'),
      ('operators', 'operator_id'),
      ('operations', 'record'),
      ('allocations', 'record'),
      ('tool_events', 'record'),
      ('checked_launches', 'seq'), ('checked_launches', 'call_id'),
      ('checked_memory', 'seq'), ('checked_memory', 'call_id'), ('checked_memory', 'arg'), ('checked_memory', 'when'),
      ('digests', 'seq'), ('digests', 'call_id'), ('digests', 'arg'), ('digests', 'when'),
      ('non_finite', 'seq'), ('non_finite', 'call_id'), ('non_finite', 'arg'), ('non_finite', 'when'),
      ('tensor_statistics', 'seq'), ('tensor_statistics', 'call_id'), ('tensor_statistics', 'arg'),
      ('ops', 'call_id'), ('ops', 'op_index'),
      ('accesses', 'call_id'), ('accesses', 'op_index'),
      ('loops', 'call_id'), ('loops', 'op_index'),
      ('findings', 'finding_id'),
      ('checks', 'seq'), ('checks', 'call_id'), ('checks', 'arg')) AS required (folder, name)
  ), types AS (
    FROM (VALUES ('runs', 'run_id', 'VARCHAR'), ('runs', 'group_id', 'VARCHAR'), ('runs', 'started', 'TIMESTAMPTZ_NS'), ('runs', 'ended', 'TIMESTAMPTZ_NS'), ('runs', 'command', 'VARCHAR'), ('runs', 'directory', 'VARCHAR'), ('runs', 'host', 'VARCHAR'), ('runs', 'pid', 'BIGINT'), ('runs', 'parent_run_id', 'VARCHAR'), ('runs', 'rank', 'INTEGER'), ('runs', 'world_size', 'INTEGER'), ('runs', 'git_root', 'VARCHAR'), ('runs', 'git_commit', 'VARCHAR'), ('runs', 'git_branch', 'VARCHAR'), ('runs', 'git_dirty', 'BOOLEAN'), ('runs', 'versions', 'MAP(VARCHAR, VARCHAR)'), ('runs', 'devices', 'STRUCT(%)[]'), ('runs', 'mode', 'VARCHAR'), ('runs', 'settings', 'MAP(VARCHAR, VARCHAR)'), ('runs', 'schema_version', 'VARCHAR'), ('runs', 'ending', 'VARCHAR'), ('runs', 'self_overhead_ns', 'BIGINT'), ('runs', 'dropped_rows', 'BIGINT'), ('runs', 'overhead', 'STRUCT(%)'), ('runs', 'source', 'VARCHAR'), ('runs', 'producer', 'VARCHAR'), ('runs', 'producer_version', 'VARCHAR'), ('runs', 'required_features', 'VARCHAR[]'), ('runs', 'index', 'INTEGER'), ('runs', 'name', 'VARCHAR'), ('runs', 'capability', 'VARCHAR'), ('runs', 'memory_bytes', 'BIGINT'), ('runs', 'start_ns', 'BIGINT'), ('runs', 'launches_ns', 'BIGINT'), ('runs', 'waits_ns', 'BIGINT'), ('runs', 'profiler_ns', 'BIGINT'), ('runs', 'end_ns', 'BIGINT'), ('runs', 'running_ns', 'BIGINT'), ('runs', 'thread_ns', 'BIGINT'),
      ('kernels', 'kernel_id', 'BIGINT'), ('kernels', 'name', 'VARCHAR'), ('kernels', 'module', 'VARCHAR'), ('kernels', 'file', 'VARCHAR'), ('kernels', 'line', 'INTEGER'), ('kernels', 'source_artifact', 'VARCHAR'), ('kernels', 'files', 'STRUCT(%)[]'), ('kernels', 'signature', 'STRUCT(%)[]'), ('kernels', 'target', 'VARCHAR'), ('kernels', 'warp_size', 'INTEGER'), ('kernels', 'num_warps', 'INTEGER'), ('kernels', 'num_ctas', 'INTEGER'), ('kernels', 'num_stages', 'INTEGER'), ('kernels', 'options', 'MAP(VARCHAR, VARCHAR)'), ('kernels', 'shared_bytes', 'BIGINT'), ('kernels', 'registers', 'INTEGER'), ('kernels', 'spills', 'INTEGER'), ('kernels', 'origin', 'VARCHAR'), ('kernels', 'cache_hit', 'BOOLEAN'), ('kernels', 'cache_key', 'VARCHAR'), ('kernels', 'compile_begin', 'TIMESTAMPTZ_NS'), ('kernels', 'compile_ns', 'BIGINT'), ('kernels', 'thread', 'BIGINT'), ('kernels', 'stages', 'STRUCT(%)[]'), ('kernels', 'function', 'VARCHAR'), ('kernels', 'load_begin', 'TIMESTAMPTZ_NS'), ('kernels', 'load_ns', 'BIGINT'), ('kernels', 'load_thread', 'BIGINT'), ('kernels', 'origins', 'STRUCT(%)[]'), ('kernels', 'path', 'VARCHAR'), ('kernels', 'artifact', 'VARCHAR'), ('kernels', 'type', 'VARCHAR'), ('kernels', 'constexpr', 'VARCHAR'), ('kernels', 'divisibility', 'INTEGER'), ('kernels', 'stage', 'VARCHAR'), ('kernels', 'duration_ns', 'BIGINT'), ('kernels', 'op', 'VARCHAR'), ('kernels', 'node', 'VARCHAR'), ('kernels', 'code', 'VARCHAR'),
      ('calls', 'call_id', 'BIGINT'), ('calls', 'kernel_id', 'BIGINT'), ('calls', 'grid_x', 'BIGINT'), ('calls', 'grid_y', 'BIGINT'), ('calls', 'grid_z', 'BIGINT'), ('calls', 'args', 'STRUCT(%)[]'), ('calls', 'stack_id', 'BIGINT'), ('calls', 'stated', 'STRUCT(%)'), ('calls', 'name', 'VARCHAR'), ('calls', 'kind', 'VARCHAR'), ('calls', 'dtype', 'VARCHAR'), ('calls', 'device', 'VARCHAR'), ('calls', 'shape', 'BIGINT[]'), ('calls', 'strides', 'BIGINT[]'), ('calls', 'offset_bytes', 'BIGINT'), ('calls', 'storage_bytes', 'BIGINT'), ('calls', 'alias_group', 'INTEGER'), ('calls', 'alignment', 'INTEGER'), ('calls', 'scalar', 'VARCHAR'), ('calls', 'value_artifact', 'VARCHAR'), ('calls', 'flops8', 'DOUBLE'), ('calls', 'flops16', 'DOUBLE'), ('calls', 'flops32', 'DOUBLE'), ('calls', 'flops64', 'DOUBLE'), ('calls', 'flops', 'DOUBLE'), ('calls', 'bytes', 'DOUBLE'),
      ('launches', 'seq', 'BIGINT'), ('launches', 'call_id', 'BIGINT'), ('launches', 'enter', 'TIMESTAMPTZ_NS'), ('launches', 'exit', 'TIMESTAMPTZ_NS'), ('launches', 'thread', 'BIGINT'), ('launches', 'device', 'INTEGER'), ('launches', 'stream', 'BIGINT'), ('launches', 'phase', 'VARCHAR'), ('launches', 'graph_id', 'BIGINT'), ('launches', 'weight', 'INTEGER'), ('launches', 'addresses', 'BIGINT[]'),
      ('gpu_kernels', 'record', 'BIGINT'), ('gpu_kernels', 'launch_seq', 'BIGINT'), ('gpu_kernels', 'call_id', 'BIGINT'), ('gpu_kernels', 'start', 'TIMESTAMPTZ_NS'), ('gpu_kernels', 'end', 'TIMESTAMPTZ_NS'), ('gpu_kernels', 'device', 'INTEGER'), ('gpu_kernels', 'stream', 'BIGINT'), ('gpu_kernels', 'correlation_id', 'BIGINT'), ('gpu_kernels', 'graph_id', 'BIGINT'), ('gpu_kernels', 'graph_node_id', 'BIGINT'), ('gpu_kernels', 'name', 'VARCHAR'), ('gpu_kernels', 'grid_x', 'BIGINT'), ('gpu_kernels', 'grid_y', 'BIGINT'), ('gpu_kernels', 'grid_z', 'BIGINT'), ('gpu_kernels', 'registers', 'INTEGER'), ('gpu_kernels', 'shared_bytes', 'BIGINT'), ('gpu_kernels', 'kind', 'VARCHAR'), ('gpu_kernels', 'bytes', 'BIGINT'), ('gpu_kernels', 'weight', 'INTEGER'), ('gpu_kernels', 'requested', 'TIMESTAMPTZ_NS'), ('gpu_kernels', 'stack_id', 'BIGINT'), ('gpu_kernels', 'block_x', 'INTEGER'), ('gpu_kernels', 'block_y', 'INTEGER'), ('gpu_kernels', 'block_z', 'INTEGER'), ('gpu_kernels', 'request_thread', 'BIGINT'), ('gpu_kernels', 'forward_stack_id', 'BIGINT'), ('gpu_kernels', 'grade', 'VARCHAR'), ('gpu_kernels', 'external_id', 'BIGINT'), ('gpu_kernels', 'members', 'VARCHAR'), ('gpu_kernels', 'impossible', 'VARCHAR'), ('gpu_kernels', 'stated_end', 'TIMESTAMPTZ_NS'),
      ('contents', 'seq', 'BIGINT'), ('contents', 'call_id', 'BIGINT'), ('contents', 'arg', 'INTEGER'), ('contents', 'artifact', 'VARCHAR'), ('contents', 'offset_bytes', 'BIGINT'), ('contents', 'view_offset_bytes', 'BIGINT'),
      ('host_events', 'record', 'BIGINT'), ('host_events', 'kind', 'VARCHAR'), ('host_events', 'begin', 'TIMESTAMPTZ_NS'), ('host_events', 'end', 'TIMESTAMPTZ_NS'), ('host_events', 'thread', 'BIGINT'), ('host_events', 'bytes', 'BIGINT'), ('host_events', 'stack_id', 'BIGINT'), ('host_events', 'processor_ns', 'BIGINT'),
      ('collectives', 'record', 'BIGINT'), ('collectives', 'requested', 'TIMESTAMPTZ_NS'), ('collectives', 'returned', 'TIMESTAMPTZ_NS'), ('collectives', 'communicator', 'VARCHAR'), ('collectives', 'group', 'VARCHAR'), ('collectives', 'ranks', 'INTEGER[]'), ('collectives', 'sequence', 'BIGINT'), ('collectives', 'peer', 'INTEGER'), ('collectives', 'operation', 'VARCHAR'), ('collectives', 'reduction', 'VARCHAR'), ('collectives', 'type', 'VARCHAR'), ('collectives', 'elements', 'BIGINT'), ('collectives', 'bytes', 'BIGINT'), ('collectives', 'root', 'INTEGER'),
      ('marks', 'mark_id', 'BIGINT'), ('marks', 'name', 'VARCHAR'), ('marks', 'begin', 'TIMESTAMPTZ_NS'), ('marks', 'end', 'TIMESTAMPTZ_NS'), ('marks', 'thread', 'BIGINT'), ('marks', 'attributes', 'MAP(VARCHAR, VARCHAR)'),
      ('stacks', 'stack_id', 'BIGINT'), ('stacks', 'frames', 'STRUCT(%)[]'), ('stacks', 'origins', 'STRUCT(%)[]'), ('stacks', 'files', 'STRUCT(%)[]'), ('stacks', 'file', 'VARCHAR'), ('stacks', 'line', 'INTEGER'), ('stacks', 'column', 'INTEGER'), ('stacks', 'function', 'VARCHAR'), ('stacks', 'op', 'VARCHAR'), ('stacks', 'node', 'VARCHAR'), ('stacks', 'module', 'VARCHAR'), ('stacks', 'code', 'VARCHAR'), ('stacks', 'path', 'VARCHAR'), ('stacks', 'artifact', 'VARCHAR'),
      ('artifacts', 'sha256', 'VARCHAR'), ('artifacts', 'kind', 'VARCHAR'), ('artifacts', 'size_bytes', 'BIGINT'), ('artifacts', 'bytes', 'BLOB'), ('artifacts', 'dialect', 'VARCHAR'), ('artifacts', 'producer', 'VARCHAR'), ('artifacts', 'producer_version', 'VARCHAR'),
      ('graph_ops', 'graph_id', 'BIGINT'), ('graph_ops', 'op_index', 'INTEGER'), ('graph_ops', 'opcode', 'VARCHAR'), ('graph_ops', 'operands', 'INTEGER[]'), ('graph_ops', 'dtype', 'VARCHAR'), ('graph_ops', 'shape', 'BIGINT[]'), ('graph_ops', 'attributes', 'MAP(VARCHAR, VARCHAR)'), ('graph_ops', 'stack_id', 'BIGINT'), ('graph_ops', 'input_name', 'VARCHAR'), ('graph_ops', 'output_name', 'VARCHAR'), ('graph_ops', 'aliases', 'VARCHAR'),
      ('buffers', 'call_id', 'BIGINT'), ('buffers', 'order', 'BIGINT'), ('buffers', 'event', 'VARCHAR'), ('buffers', 'space', 'VARCHAR'), ('buffers', 'bytes', 'BIGINT'), ('buffers', 'partitions', 'INTEGER'), ('buffers', 'name', 'VARCHAR'), ('buffers', 'stack_id', 'BIGINT'),
      ('messages', 'time', 'TIMESTAMPTZ_NS'), ('messages', 'level', 'VARCHAR'), ('messages', 'code', 'VARCHAR'), ('messages', 'text', 'VARCHAR'), ('messages', 'count', 'BIGINT'),
      ('operators', 'operator_id', 'BIGINT'), ('operators', 'name', 'VARCHAR'), ('operators', 'tensors', 'STRUCT(%)[]'), ('operators', 'stack_id', 'BIGINT'), ('operators', 'role', 'VARCHAR'), ('operators', 'dtype', 'VARCHAR'), ('operators', 'device', 'INTEGER'), ('operators', 'shape', 'BIGINT[]'), ('operators', 'strides', 'BIGINT[]'), ('operators', 'offset_bytes', 'BIGINT'), ('operators', 'storage_bytes', 'BIGINT'),
      ('operations', 'record', 'BIGINT'), ('operations', 'operator_id', 'BIGINT'), ('operations', 'begin', 'TIMESTAMPTZ_NS'), ('operations', 'end', 'TIMESTAMPTZ_NS'), ('operations', 'thread', 'BIGINT'), ('operations', 'addresses', 'BIGINT[]'), ('operations', 'graph_id', 'BIGINT'),
      ('allocations', 'record', 'BIGINT'), ('allocations', 'address', 'BIGINT'), ('allocations', 'bytes', 'BIGINT'), ('allocations', 'begin', 'TIMESTAMPTZ_NS'), ('allocations', 'end', 'TIMESTAMPTZ_NS'), ('allocations', 'thread', 'BIGINT'), ('allocations', 'device', 'INTEGER'), ('allocations', 'stream', 'BIGINT'), ('allocations', 'pool', 'BIGINT'), ('allocations', 'stack_id', 'BIGINT'),
      ('tool_events', 'record', 'BIGINT'), ('tool_events', 'phase', 'VARCHAR'), ('tool_events', 'category', 'VARCHAR'), ('tool_events', 'name', 'VARCHAR'), ('tool_events', 'begin', 'TIMESTAMPTZ_NS'), ('tool_events', 'end', 'TIMESTAMPTZ_NS'), ('tool_events', 'process', 'BIGINT'), ('tool_events', 'thread', 'BIGINT'), ('tool_events', 'correlation_id', 'BIGINT'), ('tool_events', 'external_id', 'BIGINT'), ('tool_events', 'members', 'VARCHAR'),
      ('checked_launches', 'seq', 'BIGINT'), ('checked_launches', 'call_id', 'BIGINT'), ('checked_launches', 'why', 'VARCHAR'), ('checked_launches', 'programs', 'BIGINT[]'), ('checked_launches', 'bytes', 'BIGINT'),
      ('checked_memory', 'seq', 'BIGINT'), ('checked_memory', 'call_id', 'BIGINT'), ('checked_memory', 'arg', 'INTEGER'), ('checked_memory', 'when', 'VARCHAR'), ('checked_memory', 'spans', 'STRUCT(%)[]'), ('checked_memory', 'artifact', 'VARCHAR'), ('checked_memory', 'offset_bytes', 'BIGINT'), ('checked_memory', 'size_bytes', 'BIGINT'),
      ('digests', 'seq', 'BIGINT'), ('digests', 'call_id', 'BIGINT'), ('digests', 'arg', 'INTEGER'), ('digests', 'when', 'VARCHAR'), ('digests', 'digest', 'BIGINT'), ('digests', 'lines', 'INTEGER'),
      ('non_finite', 'seq', 'BIGINT'), ('non_finite', 'call_id', 'BIGINT'), ('non_finite', 'arg', 'INTEGER'), ('non_finite', 'when', 'VARCHAR'), ('non_finite', 'nan', 'BOOLEAN'), ('non_finite', 'infinity', 'BOOLEAN'),
      ('tensor_statistics', 'seq', 'BIGINT'), ('tensor_statistics', 'call_id', 'BIGINT'), ('tensor_statistics', 'arg', 'INTEGER'), ('tensor_statistics', 'elements', 'BIGINT'), ('tensor_statistics', 'sampled', 'BIGINT'), ('tensor_statistics', 'nans', 'BIGINT'), ('tensor_statistics', 'infinities', 'BIGINT'), ('tensor_statistics', 'negative_infinities', 'BIGINT'), ('tensor_statistics', 'zeros', 'BIGINT'), ('tensor_statistics', 'negatives', 'BIGINT'), ('tensor_statistics', 'minimum', 'DOUBLE'), ('tensor_statistics', 'maximum', 'DOUBLE'), ('tensor_statistics', 'mean', 'DOUBLE'), ('tensor_statistics', 'deviation', 'DOUBLE'), ('tensor_statistics', 'quantiles', 'DOUBLE[]'), ('tensor_statistics', 'sorted', 'VARCHAR'),
      ('ops', 'call_id', 'BIGINT'), ('ops', 'op_index', 'INTEGER'), ('ops', 'op', 'VARCHAR'), ('ops', 'kind', 'VARCHAR'), ('ops', 'dtype', 'VARCHAR'), ('ops', 'stack_id', 'BIGINT'), ('ops', 'executions', 'BIGINT'), ('ops', 'elements', 'BIGINT'), ('ops', 'masked_off', 'BIGINT'), ('ops', 'bytes', 'BIGINT'), ('ops', 'unique_bytes', 'BIGINT'), ('ops', 'sectors', 'BIGINT'), ('ops', 'flops', 'BIGINT'), ('ops', 'loop', 'INTEGER'), ('ops', 'buffer', 'VARCHAR'), ('ops', 'fresh_bytes', 'BIGINT'),
      ('accesses', 'call_id', 'BIGINT'), ('accesses', 'op_index', 'INTEGER'), ('accesses', 'program', 'BIGINT'), ('accesses', 'iteration', 'BIGINT'), ('accesses', 'arg', 'VARCHAR'), ('accesses', 'first', 'BIGINT'), ('accesses', 'last', 'BIGINT'), ('accesses', 'active', 'BIGINT'), ('accesses', 'layout', 'VARCHAR'),
      ('loops', 'call_id', 'BIGINT'), ('loops', 'op_index', 'INTEGER'), ('loops', 'stack_id', 'BIGINT'), ('loops', 'trips_min', 'BIGINT'), ('loops', 'trips_median', 'BIGINT'), ('loops', 'trips_max', 'BIGINT'),
      ('findings', 'finding_id', 'VARCHAR'), ('findings', 'call_id', 'BIGINT'), ('findings', 'op_index', 'INTEGER'), ('findings', 'rule', 'VARCHAR'), ('findings', 'verdict', 'VARCHAR'), ('findings', 'severity', 'VARCHAR'), ('findings', 'access', 'VARCHAR'), ('findings', 'stack_id', 'BIGINT'), ('findings', 'program_x', 'BIGINT'), ('findings', 'program_y', 'BIGINT'), ('findings', 'program_z', 'BIGINT'), ('findings', 'iteration', 'BIGINT'), ('findings', 'lane', 'BIGINT[]'), ('findings', 'arg', 'VARCHAR'), ('findings', 'address_offset', 'BIGINT'), ('findings', 'past_end_bytes', 'BIGINT'), ('findings', 'lanes', 'BIGINT'), ('findings', 'expression', 'VARCHAR'), ('findings', 'method', 'VARCHAR'), ('findings', 'reason', 'VARCHAR'), ('findings', 'message', 'VARCHAR'), ('findings', 'solver_ns', 'BIGINT'), ('findings', 'other_program_x', 'BIGINT'), ('findings', 'other_program_y', 'BIGINT'), ('findings', 'other_program_z', 'BIGINT'), ('findings', 'other_op_index', 'INTEGER'), ('findings', 'other_stack_id', 'BIGINT'), ('findings', 'nearest', 'VARCHAR'), ('findings', 'assumption', 'VARCHAR'),
      ('checks', 'seq', 'BIGINT'), ('checks', 'call_id', 'BIGINT'), ('checks', 'arg', 'INTEGER'), ('checks', 'answer', 'VARCHAR'), ('checks', 'reason', 'VARCHAR'), ('checks', 'name', 'VARCHAR'), ('checks', 'dtype', 'VARCHAR'), ('checks', 'elements', 'BIGINT'), ('checks', 'undecided', 'BIGINT'), ('checks', 'differing', 'BIGINT'), ('checks', 'nearest', 'DOUBLE'), ('checks', 'bound', 'DOUBLE'), ('checks', 'worst_offset', 'BIGINT'), ('checks', 'got', 'DOUBLE'), ('checks', 'expected', 'DOUBLE'), ('checks', 'worst_bound', 'DOUBLE'), ('checks', 'op_index', 'INTEGER'), ('checks', 'program_x', 'BIGINT'), ('checks', 'program_y', 'BIGINT'), ('checks', 'program_z', 'BIGINT'), ('checks', 'lane', 'BIGINT[]'), ('checks', 'pattern', 'VARCHAR'), ('checks', 'map_columns', 'INTEGER'), ('checks', 'map', 'DOUBLE[]')) AS types (folder, name, type)
  ), stored AS (
    SELECT file_name AS file, list(DISTINCT split_part(path_in_schema, ',', 1)) AS names
    FROM parquet_metadata('out/*/run=*/part-*[0-9][0-9][0-9][0-9][0-9].parquet') GROUP BY file_name
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
      FROM parquet_schema('out/*/run=*/part-*[0-9][0-9][0-9][0-9][0-9].parquet')) USING (file, name)
    WHERE duckdb_type NOT LIKE types.type
  )
  SELECT error(min_by(file || ': ' || fault, (step, file))) FROM faults WHERE fault IS NOT NULL
);

-- A captured process.
CREATE OR REPLACE VIEW runs AS SELECT run::VARCHAR AS run,
  "run_id"::VARCHAR AS "run_id",
  "group_id"::VARCHAR AS "group_id",
  "started"::TIMESTAMPTZ_NS AS "started",
  "ended"::TIMESTAMPTZ_NS AS "ended",
  "command"::VARCHAR AS "command",
  "directory"::VARCHAR AS "directory",
  "host"::VARCHAR AS "host",
  "pid"::BIGINT AS "pid",
  "parent_run_id"::VARCHAR AS "parent_run_id",
  "rank"::INTEGER AS "rank",
  "world_size"::INTEGER AS "world_size",
  "git_root"::VARCHAR AS "git_root",
  "git_commit"::VARCHAR AS "git_commit",
  "git_branch"::VARCHAR AS "git_branch",
  "git_dirty"::BOOLEAN AS "git_dirty",
  "versions"::MAP(VARCHAR, VARCHAR) AS "versions",
  "devices"::STRUCT("index" INTEGER, "name" VARCHAR, "capability" VARCHAR, "memory_bytes" BIGINT)[] AS "devices",
  "mode"::VARCHAR AS "mode",
  "settings"::MAP(VARCHAR, VARCHAR) AS "settings",
  "schema_version"::VARCHAR AS "schema_version",
  "ending"::VARCHAR AS "ending",
  "self_overhead_ns"::BIGINT AS "self_overhead_ns",
  "dropped_rows"::BIGINT AS "dropped_rows",
  "overhead"::STRUCT("start_ns" BIGINT, "launches_ns" BIGINT, "waits_ns" BIGINT, "profiler_ns" BIGINT, "end_ns" BIGINT, "running_ns" BIGINT, "thread_ns" BIGINT) AS "overhead",
  "source"::VARCHAR AS "source",
  "producer"::VARCHAR AS "producer",
  "producer_version"::VARCHAR AS "producer_version",
  "required_features"::VARCHAR[] AS "required_features"
FROM (FROM read_parquet('out/runs/run=*/part-*[0-9][0-9][0-9][0-9][0-9].parquet', union_by_name = true, allow_empty = true, hive_types_autocast = false)
  UNION ALL BY NAME SELECT NULL AS "run", NULL AS "run_id", NULL AS "group_id", NULL AS "started", NULL AS "ended", NULL AS "command", NULL AS "directory", NULL AS "host", NULL AS "pid", NULL AS "parent_run_id", NULL AS "rank", NULL AS "world_size", NULL AS "git_root", NULL AS "git_commit", NULL AS "git_branch", NULL AS "git_dirty", NULL AS "versions", NULL AS "devices", NULL AS "mode", NULL AS "settings", NULL AS "schema_version", NULL AS "ending", NULL AS "self_overhead_ns", NULL AS "dropped_rows", NULL AS "overhead", NULL AS "source", NULL AS "producer", NULL AS "producer_version", NULL AS "required_features" WHERE false)
WHERE CASE WHEN list_has_all(['weights', 'trials', 'graph-replays', 'partial', 'total-times'], coalesce(required_features, [])) THEN true
  ELSE error('run ' || run_id || ' requires ' || required_features::VARCHAR) END;

-- A compiled variant of a kernel.
CREATE OR REPLACE VIEW kernels AS SELECT run::VARCHAR AS run,
  "kernel_id"::BIGINT AS "kernel_id",
  "name"::VARCHAR AS "name",
  "module"::VARCHAR AS "module",
  "file"::VARCHAR AS "file",
  "line"::INTEGER AS "line",
  "source_artifact"::VARCHAR AS "source_artifact",
  "files"::STRUCT("path" VARCHAR, "artifact" VARCHAR)[] AS "files",
  "signature"::STRUCT("name" VARCHAR, "type" VARCHAR, "constexpr" VARCHAR, "divisibility" INTEGER)[] AS "signature",
  "target"::VARCHAR AS "target",
  "warp_size"::INTEGER AS "warp_size",
  "num_warps"::INTEGER AS "num_warps",
  "num_ctas"::INTEGER AS "num_ctas",
  "num_stages"::INTEGER AS "num_stages",
  "options"::MAP(VARCHAR, VARCHAR) AS "options",
  "shared_bytes"::BIGINT AS "shared_bytes",
  "registers"::INTEGER AS "registers",
  "spills"::INTEGER AS "spills",
  "origin"::VARCHAR AS "origin",
  "cache_hit"::BOOLEAN AS "cache_hit",
  "cache_key"::VARCHAR AS "cache_key",
  "compile_begin"::TIMESTAMPTZ_NS AS "compile_begin",
  "compile_ns"::BIGINT AS "compile_ns",
  "thread"::BIGINT AS "thread",
  "stages"::STRUCT("stage" VARCHAR, "artifact" VARCHAR, "duration_ns" BIGINT)[] AS "stages",
  "function"::VARCHAR AS "function",
  "load_begin"::TIMESTAMPTZ_NS AS "load_begin",
  "load_ns"::BIGINT AS "load_ns",
  "load_thread"::BIGINT AS "load_thread",
  "origins"::STRUCT("op" VARCHAR, "node" VARCHAR, "module" VARCHAR, "file" VARCHAR, "line" INTEGER, "function" VARCHAR, "code" VARCHAR)[] AS "origins"
FROM (FROM read_parquet('out/kernels/run=*/part-*[0-9][0-9][0-9][0-9][0-9].parquet', union_by_name = true, allow_empty = true, hive_types_autocast = false)
  UNION ALL BY NAME SELECT NULL AS "run", NULL AS "kernel_id", NULL AS "name", NULL AS "module", NULL AS "file", NULL AS "line", NULL AS "source_artifact", NULL AS "files", NULL AS "signature", NULL AS "target", NULL AS "warp_size", NULL AS "num_warps", NULL AS "num_ctas", NULL AS "num_stages", NULL AS "options", NULL AS "shared_bytes", NULL AS "registers", NULL AS "spills", NULL AS "origin", NULL AS "cache_hit", NULL AS "cache_key", NULL AS "compile_begin", NULL AS "compile_ns", NULL AS "thread", NULL AS "stages", NULL AS "function", NULL AS "load_begin", NULL AS "load_ns", NULL AS "load_thread", NULL AS "origins" WHERE false)
WHERE run IN (SELECT run FROM runs);

-- A unique call: kernel variant, grid and argument metadata.
CREATE OR REPLACE VIEW calls AS SELECT run::VARCHAR AS run,
  "call_id"::BIGINT AS "call_id",
  "kernel_id"::BIGINT AS "kernel_id",
  "grid_x"::BIGINT AS "grid_x",
  "grid_y"::BIGINT AS "grid_y",
  "grid_z"::BIGINT AS "grid_z",
  "args"::STRUCT("name" VARCHAR, "kind" VARCHAR, "dtype" VARCHAR, "device" VARCHAR, "shape" BIGINT[], "strides" BIGINT[], "offset_bytes" BIGINT, "storage_bytes" BIGINT, "alias_group" INTEGER, "alignment" INTEGER, "scalar" VARCHAR, "value_artifact" VARCHAR)[] AS "args",
  "stack_id"::BIGINT AS "stack_id",
  "stated"::STRUCT("name" VARCHAR, "flops8" DOUBLE, "flops16" DOUBLE, "flops32" DOUBLE, "flops64" DOUBLE, "flops" DOUBLE, "bytes" DOUBLE) AS "stated"
FROM (FROM read_parquet('out/calls/run=*/part-*[0-9][0-9][0-9][0-9][0-9].parquet', union_by_name = true, allow_empty = true, hive_types_autocast = false)
  UNION ALL BY NAME SELECT NULL AS "run", NULL AS "call_id", NULL AS "kernel_id", NULL AS "grid_x", NULL AS "grid_y", NULL AS "grid_z", NULL AS "args", NULL AS "stack_id", NULL AS "stated" WHERE false)
WHERE run IN (SELECT run FROM runs);

-- One launch.
CREATE OR REPLACE VIEW launches AS SELECT run::VARCHAR AS run,
  "seq"::BIGINT AS "seq",
  "call_id"::BIGINT AS "call_id",
  "enter"::TIMESTAMPTZ_NS AS "enter",
  "exit"::TIMESTAMPTZ_NS AS "exit",
  "thread"::BIGINT AS "thread",
  "device"::INTEGER AS "device",
  "stream"::BIGINT AS "stream",
  "phase"::VARCHAR AS "phase",
  "graph_id"::BIGINT AS "graph_id",
  "weight"::INTEGER AS "weight",
  "addresses"::BIGINT[] AS "addresses"
FROM (FROM read_parquet('out/launches/run=*/part-*[0-9][0-9][0-9][0-9][0-9].parquet', union_by_name = true, allow_empty = true, hive_types_autocast = false)
  UNION ALL BY NAME SELECT NULL AS "run", NULL AS "seq", NULL AS "call_id", NULL AS "enter", NULL AS "exit", NULL AS "thread", NULL AS "device", NULL AS "stream", NULL AS "phase", NULL AS "graph_id", NULL AS "weight", NULL AS "addresses" WHERE false)
WHERE run IN (SELECT run FROM runs);

-- One execution on the device: of a kernel, or a copy or fill of memory.
CREATE OR REPLACE VIEW gpu_kernels AS SELECT run::VARCHAR AS run,
  "record"::BIGINT AS "record",
  "launch_seq"::BIGINT AS "launch_seq",
  "call_id"::BIGINT AS "call_id",
  "start"::TIMESTAMPTZ_NS AS "start",
  "end"::TIMESTAMPTZ_NS AS "end",
  "device"::INTEGER AS "device",
  "stream"::BIGINT AS "stream",
  "correlation_id"::BIGINT AS "correlation_id",
  "graph_id"::BIGINT AS "graph_id",
  "graph_node_id"::BIGINT AS "graph_node_id",
  "name"::VARCHAR AS "name",
  "grid_x"::BIGINT AS "grid_x",
  "grid_y"::BIGINT AS "grid_y",
  "grid_z"::BIGINT AS "grid_z",
  "registers"::INTEGER AS "registers",
  "shared_bytes"::BIGINT AS "shared_bytes",
  "kind"::VARCHAR AS "kind",
  "bytes"::BIGINT AS "bytes",
  "weight"::INTEGER AS "weight",
  "requested"::TIMESTAMPTZ_NS AS "requested",
  "stack_id"::BIGINT AS "stack_id",
  "block_x"::INTEGER AS "block_x",
  "block_y"::INTEGER AS "block_y",
  "block_z"::INTEGER AS "block_z",
  "request_thread"::BIGINT AS "request_thread",
  "forward_stack_id"::BIGINT AS "forward_stack_id",
  "grade"::VARCHAR AS "grade",
  "external_id"::BIGINT AS "external_id",
  "members"::VARCHAR AS "members",
  "impossible"::VARCHAR AS "impossible",
  "stated_end"::TIMESTAMPTZ_NS AS "stated_end"
FROM (FROM read_parquet('out/gpu_kernels/run=*/part-*[0-9][0-9][0-9][0-9][0-9].parquet', union_by_name = true, allow_empty = true, hive_types_autocast = false)
  UNION ALL BY NAME SELECT NULL AS "run", NULL AS "record", NULL AS "launch_seq", NULL AS "call_id", NULL AS "start", NULL AS "end", NULL AS "device", NULL AS "stream", NULL AS "correlation_id", NULL AS "graph_id", NULL AS "graph_node_id", NULL AS "name", NULL AS "grid_x", NULL AS "grid_y", NULL AS "grid_z", NULL AS "registers", NULL AS "shared_bytes", NULL AS "kind", NULL AS "bytes", NULL AS "weight", NULL AS "requested", NULL AS "stack_id", NULL AS "block_x", NULL AS "block_y", NULL AS "block_z", NULL AS "request_thread", NULL AS "forward_stack_id", NULL AS "grade", NULL AS "external_id", NULL AS "members", NULL AS "impossible", NULL AS "stated_end" WHERE false)
WHERE run IN (SELECT run FROM runs);

-- What one argument's tensor held at one launch.
CREATE OR REPLACE VIEW contents AS SELECT run::VARCHAR AS run,
  "seq"::BIGINT AS "seq",
  "call_id"::BIGINT AS "call_id",
  "arg"::INTEGER AS "arg",
  "artifact"::VARCHAR AS "artifact",
  "offset_bytes"::BIGINT AS "offset_bytes",
  "view_offset_bytes"::BIGINT AS "view_offset_bytes"
FROM (FROM read_parquet('out/contents/run=*/part-*[0-9][0-9][0-9][0-9][0-9].parquet', union_by_name = true, allow_empty = true, hive_types_autocast = false)
  UNION ALL BY NAME SELECT NULL AS "run", NULL AS "seq", NULL AS "call_id", NULL AS "arg", NULL AS "artifact", NULL AS "offset_bytes", NULL AS "view_offset_bytes" WHERE false)
WHERE run IN (SELECT run FROM runs);

-- What the host did while the device may have waited.
CREATE OR REPLACE VIEW host_events AS SELECT run::VARCHAR AS run,
  "record"::BIGINT AS "record",
  "kind"::VARCHAR AS "kind",
  "begin"::TIMESTAMPTZ_NS AS "begin",
  "end"::TIMESTAMPTZ_NS AS "end",
  "thread"::BIGINT AS "thread",
  "bytes"::BIGINT AS "bytes",
  "stack_id"::BIGINT AS "stack_id",
  "processor_ns"::BIGINT AS "processor_ns"
FROM (FROM read_parquet('out/host_events/run=*/part-*[0-9][0-9][0-9][0-9][0-9].parquet', union_by_name = true, allow_empty = true, hive_types_autocast = false)
  UNION ALL BY NAME SELECT NULL AS "run", NULL AS "record", NULL AS "kind", NULL AS "begin", NULL AS "end", NULL AS "thread", NULL AS "bytes", NULL AS "stack_id", NULL AS "processor_ns" WHERE false)
WHERE run IN (SELECT run FROM runs);

-- A collective operation, or a send or receive, that the host requested.
CREATE OR REPLACE VIEW collectives AS SELECT run::VARCHAR AS run,
  "record"::BIGINT AS "record",
  "requested"::TIMESTAMPTZ_NS AS "requested",
  "returned"::TIMESTAMPTZ_NS AS "returned",
  "communicator"::VARCHAR AS "communicator",
  "group"::VARCHAR AS "group",
  "ranks"::INTEGER[] AS "ranks",
  "sequence"::BIGINT AS "sequence",
  "peer"::INTEGER AS "peer",
  "operation"::VARCHAR AS "operation",
  "reduction"::VARCHAR AS "reduction",
  "type"::VARCHAR AS "type",
  "elements"::BIGINT AS "elements",
  "bytes"::BIGINT AS "bytes",
  "root"::INTEGER AS "root"
FROM (FROM read_parquet('out/collectives/run=*/part-*[0-9][0-9][0-9][0-9][0-9].parquet', union_by_name = true, allow_empty = true, hive_types_autocast = false)
  UNION ALL BY NAME SELECT NULL AS "run", NULL AS "record", NULL AS "requested", NULL AS "returned", NULL AS "communicator", NULL AS "group", NULL AS "ranks", NULL AS "sequence", NULL AS "peer", NULL AS "operation", NULL AS "reduction", NULL AS "type", NULL AS "elements", NULL AS "bytes", NULL AS "root" WHERE false)
WHERE run IN (SELECT run FROM runs);

-- A user's range or instant.
CREATE OR REPLACE VIEW marks AS SELECT run::VARCHAR AS run,
  "mark_id"::BIGINT AS "mark_id",
  "name"::VARCHAR AS "name",
  "begin"::TIMESTAMPTZ_NS AS "begin",
  "end"::TIMESTAMPTZ_NS AS "end",
  "thread"::BIGINT AS "thread",
  "attributes"::MAP(VARCHAR, VARCHAR) AS "attributes"
FROM (FROM read_parquet('out/marks/run=*/part-*[0-9][0-9][0-9][0-9][0-9].parquet', union_by_name = true, allow_empty = true, hive_types_autocast = false)
  UNION ALL BY NAME SELECT NULL AS "run", NULL AS "mark_id", NULL AS "name", NULL AS "begin", NULL AS "end", NULL AS "thread", NULL AS "attributes" WHERE false)
WHERE run IN (SELECT run FROM runs);

-- A distinct Python or IR call stack.
CREATE OR REPLACE VIEW stacks AS SELECT DISTINCT ON (run, "stack_id") run::VARCHAR AS run,
  "stack_id"::BIGINT AS "stack_id",
  "frames"::STRUCT("file" VARCHAR, "line" INTEGER, "column" INTEGER, "function" VARCHAR)[] AS "frames",
  "origins"::STRUCT("op" VARCHAR, "node" VARCHAR, "module" VARCHAR, "file" VARCHAR, "line" INTEGER, "function" VARCHAR, "code" VARCHAR)[] AS "origins",
  "files"::STRUCT("path" VARCHAR, "artifact" VARCHAR)[] AS "files"
FROM (FROM read_parquet('out/stacks/run=*/part-*[0-9][0-9][0-9][0-9][0-9].parquet', union_by_name = true, allow_empty = true, hive_types_autocast = false)
  UNION ALL BY NAME SELECT NULL AS "run", NULL AS "stack_id", NULL AS "frames", NULL AS "origins", NULL AS "files" WHERE false)
WHERE run IN (SELECT run FROM runs);

-- Content, stored once per hash.
CREATE OR REPLACE VIEW artifacts AS SELECT DISTINCT ON (run, "sha256") run::VARCHAR AS run,
  "sha256"::VARCHAR AS "sha256",
  "kind"::VARCHAR AS "kind",
  "size_bytes"::BIGINT AS "size_bytes",
  "bytes"::BLOB AS "bytes",
  "dialect"::VARCHAR AS "dialect",
  "producer"::VARCHAR AS "producer",
  "producer_version"::VARCHAR AS "producer_version"
FROM (FROM read_parquet('out/artifacts/run=*/part-*[0-9][0-9][0-9][0-9][0-9].parquet', union_by_name = true, allow_empty = true, hive_types_autocast = false)
  UNION ALL BY NAME SELECT NULL AS "run", NULL AS "sha256", NULL AS "kind", NULL AS "size_bytes", NULL AS "bytes", NULL AS "dialect", NULL AS "producer", NULL AS "producer_version" WHERE false)
WHERE run IN (SELECT run FROM runs);

-- One op of a traced tensor graph.
CREATE OR REPLACE VIEW graph_ops AS SELECT run::VARCHAR AS run,
  "graph_id"::BIGINT AS "graph_id",
  "op_index"::INTEGER AS "op_index",
  "opcode"::VARCHAR AS "opcode",
  "operands"::INTEGER[] AS "operands",
  "dtype"::VARCHAR AS "dtype",
  "shape"::BIGINT[] AS "shape",
  "attributes"::MAP(VARCHAR, VARCHAR) AS "attributes",
  "stack_id"::BIGINT AS "stack_id",
  "input_name"::VARCHAR AS "input_name",
  "output_name"::VARCHAR AS "output_name",
  "aliases"::VARCHAR AS "aliases"
FROM (FROM read_parquet('out/graph_ops/run=*/part-*[0-9][0-9][0-9][0-9][0-9].parquet', union_by_name = true, allow_empty = true, hive_types_autocast = false)
  UNION ALL BY NAME SELECT NULL AS "run", NULL AS "graph_id", NULL AS "op_index", NULL AS "opcode", NULL AS "operands", NULL AS "dtype", NULL AS "shape", NULL AS "attributes", NULL AS "stack_id", NULL AS "input_name", NULL AS "output_name", NULL AS "aliases" WHERE false)
WHERE run IN (SELECT run FROM runs);

-- An on-chip buffer event.
CREATE OR REPLACE VIEW buffers AS SELECT run::VARCHAR AS run,
  "call_id"::BIGINT AS "call_id",
  "order"::BIGINT AS "order",
  "event"::VARCHAR AS "event",
  "space"::VARCHAR AS "space",
  "bytes"::BIGINT AS "bytes",
  "partitions"::INTEGER AS "partitions",
  "name"::VARCHAR AS "name",
  "stack_id"::BIGINT AS "stack_id"
FROM (FROM read_parquet('out/buffers/run=*/part-*[0-9][0-9][0-9][0-9][0-9].parquet', union_by_name = true, allow_empty = true, hive_types_autocast = false)
  UNION ALL BY NAME SELECT NULL AS "run", NULL AS "call_id", NULL AS "order", NULL AS "event", NULL AS "space", NULL AS "bytes", NULL AS "partitions", NULL AS "name", NULL AS "stack_id" WHERE false)
WHERE run IN (SELECT run FROM runs);

-- A message of kvtrace about a run.
CREATE OR REPLACE VIEW messages AS SELECT run::VARCHAR AS run,
  "time"::TIMESTAMPTZ_NS AS "time",
  "level"::VARCHAR AS "level",
  "code"::VARCHAR AS "code",
  "text"::VARCHAR AS "text",
  "count"::BIGINT AS "count"
FROM (FROM read_parquet('out/messages/run=*/part-*[0-9][0-9][0-9][0-9][0-9].parquet', union_by_name = true, allow_empty = true, hive_types_autocast = false)
  UNION ALL BY NAME SELECT NULL AS "run", NULL AS "time", NULL AS "level", NULL AS "code", NULL AS "text", NULL AS "count" WHERE false)
WHERE run IN (SELECT run FROM runs);

-- A unique call of an operator of torch: its name and its tensors' metadata.
CREATE OR REPLACE VIEW operators AS SELECT run::VARCHAR AS run,
  "operator_id"::BIGINT AS "operator_id",
  "name"::VARCHAR AS "name",
  "tensors"::STRUCT("name" VARCHAR, "role" VARCHAR, "dtype" VARCHAR, "device" INTEGER, "shape" BIGINT[], "strides" BIGINT[], "offset_bytes" BIGINT, "storage_bytes" BIGINT)[] AS "tensors",
  "stack_id"::BIGINT AS "stack_id"
FROM (FROM read_parquet('out/operators/run=*/part-*[0-9][0-9][0-9][0-9][0-9].parquet', union_by_name = true, allow_empty = true, hive_types_autocast = false)
  UNION ALL BY NAME SELECT NULL AS "run", NULL AS "operator_id", NULL AS "name", NULL AS "tensors", NULL AS "stack_id" WHERE false)
WHERE run IN (SELECT run FROM runs);

-- One call of an operator of torch that no operator of the namespace aten made.
CREATE OR REPLACE VIEW operations AS SELECT run::VARCHAR AS run,
  "record"::BIGINT AS "record",
  "operator_id"::BIGINT AS "operator_id",
  "begin"::TIMESTAMPTZ_NS AS "begin",
  "end"::TIMESTAMPTZ_NS AS "end",
  "thread"::BIGINT AS "thread",
  "addresses"::BIGINT[] AS "addresses",
  "graph_id"::BIGINT AS "graph_id"
FROM (FROM read_parquet('out/operations/run=*/part-*[0-9][0-9][0-9][0-9][0-9].parquet', union_by_name = true, allow_empty = true, hive_types_autocast = false)
  UNION ALL BY NAME SELECT NULL AS "run", NULL AS "record", NULL AS "operator_id", NULL AS "begin", NULL AS "end", NULL AS "thread", NULL AS "addresses", NULL AS "graph_id" WHERE false)
WHERE run IN (SELECT run FROM runs);

-- Memory of torch's caching allocator, or of an empty tensor that generated code made.
CREATE OR REPLACE VIEW allocations AS SELECT run::VARCHAR AS run,
  "record"::BIGINT AS "record",
  "address"::BIGINT AS "address",
  "bytes"::BIGINT AS "bytes",
  "begin"::TIMESTAMPTZ_NS AS "begin",
  "end"::TIMESTAMPTZ_NS AS "end",
  "thread"::BIGINT AS "thread",
  "device"::INTEGER AS "device",
  "stream"::BIGINT AS "stream",
  "pool"::BIGINT AS "pool",
  "stack_id"::BIGINT AS "stack_id"
FROM (FROM read_parquet('out/allocations/run=*/part-*[0-9][0-9][0-9][0-9][0-9].parquet', union_by_name = true, allow_empty = true, hive_types_autocast = false)
  UNION ALL BY NAME SELECT NULL AS "run", NULL AS "record", NULL AS "address", NULL AS "bytes", NULL AS "begin", NULL AS "end", NULL AS "thread", NULL AS "device", NULL AS "stream", NULL AS "pool", NULL AS "stack_id" WHERE false)
WHERE run IN (SELECT run FROM runs);

-- An event of an imported file that is not an execution: an operator, a Python function, a call of the device's API, a flow; so that a converter can give back what came.
CREATE OR REPLACE VIEW tool_events AS SELECT run::VARCHAR AS run,
  "record"::BIGINT AS "record",
  "phase"::VARCHAR AS "phase",
  "category"::VARCHAR AS "category",
  "name"::VARCHAR AS "name",
  "begin"::TIMESTAMPTZ_NS AS "begin",
  "end"::TIMESTAMPTZ_NS AS "end",
  "process"::BIGINT AS "process",
  "thread"::BIGINT AS "thread",
  "correlation_id"::BIGINT AS "correlation_id",
  "external_id"::BIGINT AS "external_id",
  "members"::VARCHAR AS "members"
FROM (FROM read_parquet('out/tool_events/run=*/part-*[0-9][0-9][0-9][0-9][0-9].parquet', union_by_name = true, allow_empty = true, hive_types_autocast = false)
  UNION ALL BY NAME SELECT NULL AS "run", NULL AS "record", NULL AS "phase", NULL AS "category", NULL AS "name", NULL AS "begin", NULL AS "end", NULL AS "process", NULL AS "thread", NULL AS "correlation_id", NULL AS "external_id", NULL AS "members" WHERE false)
WHERE run IN (SELECT run FROM runs);

-- A launch whose memory was kept, so that it can be computed again.
CREATE OR REPLACE VIEW checked_launches AS SELECT run::VARCHAR AS run,
  "seq"::BIGINT AS "seq",
  "call_id"::BIGINT AS "call_id",
  "why"::VARCHAR AS "why",
  "programs"::BIGINT[] AS "programs",
  "bytes"::BIGINT AS "bytes"
FROM (FROM read_parquet('out/checked_launches/run=*/part-*[0-9][0-9][0-9][0-9][0-9].parquet', union_by_name = true, allow_empty = true, hive_types_autocast = false)
  UNION ALL BY NAME SELECT NULL AS "run", NULL AS "seq", NULL AS "call_id", NULL AS "why", NULL AS "programs", NULL AS "bytes" WHERE false)
WHERE run IN (SELECT run FROM runs);

-- What one storage held before or after a launch that is checked.
CREATE OR REPLACE VIEW checked_memory AS SELECT run::VARCHAR AS run,
  "seq"::BIGINT AS "seq",
  "call_id"::BIGINT AS "call_id",
  "arg"::INTEGER AS "arg",
  "when"::VARCHAR AS "when",
  "spans"::STRUCT("offset_bytes" BIGINT, "size_bytes" BIGINT)[] AS "spans",
  "artifact"::VARCHAR AS "artifact"
FROM (FROM read_parquet('out/checked_memory/run=*/part-*[0-9][0-9][0-9][0-9][0-9].parquet', union_by_name = true, allow_empty = true, hive_types_autocast = false)
  UNION ALL BY NAME SELECT NULL AS "run", NULL AS "seq", NULL AS "call_id", NULL AS "arg", NULL AS "when", NULL AS "spans", NULL AS "artifact" WHERE false)
WHERE run IN (SELECT run FROM runs);

-- A digest of what one storage held before or after a launch.
CREATE OR REPLACE VIEW digests AS SELECT run::VARCHAR AS run,
  "seq"::BIGINT AS "seq",
  "call_id"::BIGINT AS "call_id",
  "arg"::INTEGER AS "arg",
  "when"::VARCHAR AS "when",
  "digest"::BIGINT AS "digest",
  "lines"::INTEGER AS "lines"
FROM (FROM read_parquet('out/digests/run=*/part-*[0-9][0-9][0-9][0-9][0-9].parquet', union_by_name = true, allow_empty = true, hive_types_autocast = false)
  UNION ALL BY NAME SELECT NULL AS "run", NULL AS "seq", NULL AS "call_id", NULL AS "arg", NULL AS "when", NULL AS "digest", NULL AS "lines" WHERE false)
WHERE run IN (SELECT run FROM runs);

-- Whether one storage held a NaN or an infinity before or after a launch.
CREATE OR REPLACE VIEW non_finite AS SELECT run::VARCHAR AS run,
  "seq"::BIGINT AS "seq",
  "call_id"::BIGINT AS "call_id",
  "arg"::INTEGER AS "arg",
  "when"::VARCHAR AS "when",
  "nan"::BOOLEAN AS "nan",
  "infinity"::BOOLEAN AS "infinity"
FROM (FROM read_parquet('out/non_finite/run=*/part-*[0-9][0-9][0-9][0-9][0-9].parquet', union_by_name = true, allow_empty = true, hive_types_autocast = false)
  UNION ALL BY NAME SELECT NULL AS "run", NULL AS "seq", NULL AS "call_id", NULL AS "arg", NULL AS "when", NULL AS "nan", NULL AS "infinity" WHERE false)
WHERE run IN (SELECT run FROM runs);

-- Numbers of one argument's tensor, as one launch found it: of all elements, or a sample.
CREATE OR REPLACE VIEW tensor_statistics AS SELECT run::VARCHAR AS run,
  "seq"::BIGINT AS "seq",
  "call_id"::BIGINT AS "call_id",
  "arg"::INTEGER AS "arg",
  "elements"::BIGINT AS "elements",
  "sampled"::BIGINT AS "sampled",
  "nans"::BIGINT AS "nans",
  "infinities"::BIGINT AS "infinities",
  "negative_infinities"::BIGINT AS "negative_infinities",
  "zeros"::BIGINT AS "zeros",
  "negatives"::BIGINT AS "negatives",
  "minimum"::DOUBLE AS "minimum",
  "maximum"::DOUBLE AS "maximum",
  "mean"::DOUBLE AS "mean",
  "deviation"::DOUBLE AS "deviation",
  "quantiles"::DOUBLE[] AS "quantiles",
  "sorted"::VARCHAR AS "sorted"
FROM (FROM read_parquet('out/tensor_statistics/run=*/part-*[0-9][0-9][0-9][0-9][0-9].parquet', union_by_name = true, allow_empty = true, hive_types_autocast = false)
  UNION ALL BY NAME SELECT NULL AS "run", NULL AS "seq", NULL AS "call_id", NULL AS "arg", NULL AS "elements", NULL AS "sampled", NULL AS "nans", NULL AS "infinities", NULL AS "negative_infinities", NULL AS "zeros", NULL AS "negatives", NULL AS "minimum", NULL AS "maximum", NULL AS "mean", NULL AS "deviation", NULL AS "quantiles", NULL AS "sorted" WHERE false)
WHERE run IN (SELECT run FROM runs);

-- One IR op of one call.
CREATE OR REPLACE VIEW ops AS SELECT run::VARCHAR AS run,
  "call_id"::BIGINT AS "call_id",
  "op_index"::INTEGER AS "op_index",
  "op"::VARCHAR AS "op",
  "kind"::VARCHAR AS "kind",
  "dtype"::VARCHAR AS "dtype",
  "stack_id"::BIGINT AS "stack_id",
  "executions"::BIGINT AS "executions",
  "elements"::BIGINT AS "elements",
  "masked_off"::BIGINT AS "masked_off",
  "bytes"::BIGINT AS "bytes",
  "unique_bytes"::BIGINT AS "unique_bytes",
  "sectors"::BIGINT AS "sectors",
  "flops"::BIGINT AS "flops",
  "loop"::INTEGER AS "loop",
  "buffer"::VARCHAR AS "buffer",
  "fresh_bytes"::BIGINT AS "fresh_bytes"
FROM (FROM read_parquet('out/ops/run=*/part-*[0-9][0-9][0-9][0-9][0-9].parquet', union_by_name = true, allow_empty = true, hive_types_autocast = false)
  UNION ALL BY NAME SELECT NULL AS "run", NULL AS "call_id", NULL AS "op_index", NULL AS "op", NULL AS "kind", NULL AS "dtype", NULL AS "stack_id", NULL AS "executions", NULL AS "elements", NULL AS "masked_off", NULL AS "bytes", NULL AS "unique_bytes", NULL AS "sectors", NULL AS "flops", NULL AS "loop", NULL AS "buffer", NULL AS "fresh_bytes" WHERE false)
WHERE run IN (SELECT run FROM runs);

-- One memory op of one program (and iteration), compact.
CREATE OR REPLACE VIEW accesses AS SELECT run::VARCHAR AS run,
  "call_id"::BIGINT AS "call_id",
  "op_index"::INTEGER AS "op_index",
  "program"::BIGINT AS "program",
  "iteration"::BIGINT AS "iteration",
  "arg"::VARCHAR AS "arg",
  "first"::BIGINT AS "first",
  "last"::BIGINT AS "last",
  "active"::BIGINT AS "active",
  "layout"::VARCHAR AS "layout"
FROM (FROM read_parquet('out/accesses/run=*/part-*[0-9][0-9][0-9][0-9][0-9].parquet', union_by_name = true, allow_empty = true, hive_types_autocast = false)
  UNION ALL BY NAME SELECT NULL AS "run", NULL AS "call_id", NULL AS "op_index", NULL AS "program", NULL AS "iteration", NULL AS "arg", NULL AS "first", NULL AS "last", NULL AS "active", NULL AS "layout" WHERE false)
WHERE run IN (SELECT run FROM runs);

-- One loop of one call.
CREATE OR REPLACE VIEW loops AS SELECT run::VARCHAR AS run,
  "call_id"::BIGINT AS "call_id",
  "op_index"::INTEGER AS "op_index",
  "stack_id"::BIGINT AS "stack_id",
  "trips_min"::BIGINT AS "trips_min",
  "trips_median"::BIGINT AS "trips_median",
  "trips_max"::BIGINT AS "trips_max"
FROM (FROM read_parquet('out/loops/run=*/part-*[0-9][0-9][0-9][0-9][0-9].parquet', union_by_name = true, allow_empty = true, hive_types_autocast = false)
  UNION ALL BY NAME SELECT NULL AS "run", NULL AS "call_id", NULL AS "op_index", NULL AS "stack_id", NULL AS "trips_min", NULL AS "trips_median", NULL AS "trips_max" WHERE false)
WHERE run IN (SELECT run FROM runs);

-- A verdict on one access, or a defect.
CREATE OR REPLACE VIEW findings AS SELECT run::VARCHAR AS run,
  "finding_id"::VARCHAR AS "finding_id",
  "call_id"::BIGINT AS "call_id",
  "op_index"::INTEGER AS "op_index",
  "rule"::VARCHAR AS "rule",
  "verdict"::VARCHAR AS "verdict",
  "severity"::VARCHAR AS "severity",
  "access"::VARCHAR AS "access",
  "stack_id"::BIGINT AS "stack_id",
  "program_x"::BIGINT AS "program_x",
  "program_y"::BIGINT AS "program_y",
  "program_z"::BIGINT AS "program_z",
  "iteration"::BIGINT AS "iteration",
  "lane"::BIGINT[] AS "lane",
  "arg"::VARCHAR AS "arg",
  "address_offset"::BIGINT AS "address_offset",
  "past_end_bytes"::BIGINT AS "past_end_bytes",
  "lanes"::BIGINT AS "lanes",
  "expression"::VARCHAR AS "expression",
  "method"::VARCHAR AS "method",
  "reason"::VARCHAR AS "reason",
  "message"::VARCHAR AS "message",
  "solver_ns"::BIGINT AS "solver_ns",
  "other_program_x"::BIGINT AS "other_program_x",
  "other_program_y"::BIGINT AS "other_program_y",
  "other_program_z"::BIGINT AS "other_program_z",
  "other_op_index"::INTEGER AS "other_op_index",
  "other_stack_id"::BIGINT AS "other_stack_id",
  "nearest"::VARCHAR AS "nearest",
  "assumption"::VARCHAR AS "assumption"
FROM (FROM read_parquet('out/findings/run=*/part-*[0-9][0-9][0-9][0-9][0-9].parquet', union_by_name = true, allow_empty = true, hive_types_autocast = false)
  UNION ALL BY NAME SELECT NULL AS "run", NULL AS "finding_id", NULL AS "call_id", NULL AS "op_index", NULL AS "rule", NULL AS "verdict", NULL AS "severity", NULL AS "access", NULL AS "stack_id", NULL AS "program_x", NULL AS "program_y", NULL AS "program_z", NULL AS "iteration", NULL AS "lane", NULL AS "arg", NULL AS "address_offset", NULL AS "past_end_bytes", NULL AS "lanes", NULL AS "expression", NULL AS "method", NULL AS "reason", NULL AS "message", NULL AS "solver_ns", NULL AS "other_program_x", NULL AS "other_program_y", NULL AS "other_program_z", NULL AS "other_op_index", NULL AS "other_stack_id", NULL AS "nearest", NULL AS "assumption" WHERE false)
WHERE run IN (SELECT run FROM runs);

-- One storage after a checked launch, compared with what the kernel's IR computes.
CREATE OR REPLACE VIEW checks AS SELECT run::VARCHAR AS run,
  "seq"::BIGINT AS "seq",
  "call_id"::BIGINT AS "call_id",
  "arg"::INTEGER AS "arg",
  "answer"::VARCHAR AS "answer",
  "reason"::VARCHAR AS "reason",
  "name"::VARCHAR AS "name",
  "dtype"::VARCHAR AS "dtype",
  "elements"::BIGINT AS "elements",
  "undecided"::BIGINT AS "undecided",
  "differing"::BIGINT AS "differing",
  "nearest"::DOUBLE AS "nearest",
  "bound"::DOUBLE AS "bound",
  "worst_offset"::BIGINT AS "worst_offset",
  "got"::DOUBLE AS "got",
  "expected"::DOUBLE AS "expected",
  "worst_bound"::DOUBLE AS "worst_bound",
  "op_index"::INTEGER AS "op_index",
  "program_x"::BIGINT AS "program_x",
  "program_y"::BIGINT AS "program_y",
  "program_z"::BIGINT AS "program_z",
  "lane"::BIGINT[] AS "lane",
  "pattern"::VARCHAR AS "pattern",
  "map_columns"::INTEGER AS "map_columns",
  "map"::DOUBLE[] AS "map"
FROM (FROM read_parquet('out/checks/run=*/part-*[0-9][0-9][0-9][0-9][0-9].parquet', union_by_name = true, allow_empty = true, hive_types_autocast = false)
  UNION ALL BY NAME SELECT NULL AS "run", NULL AS "seq", NULL AS "call_id", NULL AS "arg", NULL AS "answer", NULL AS "reason", NULL AS "name", NULL AS "dtype", NULL AS "elements", NULL AS "undecided", NULL AS "differing", NULL AS "nearest", NULL AS "bound", NULL AS "worst_offset", NULL AS "got", NULL AS "expected", NULL AS "worst_bound", NULL AS "op_index", NULL AS "program_x", NULL AS "program_y", NULL AS "program_z", NULL AS "lane", NULL AS "pattern", NULL AS "map_columns", NULL AS "map" WHERE false)
WHERE run IN (SELECT run FROM runs);

-- What follows is SQL of other engines, too, with CAST(x AS BIGINT) in place of epoch_ns(x).

CREATE OR REPLACE VIEW launched AS
SELECT l.run, l.seq, k.name AS kernel, k.module, CASE WHEN k.module IS NULL THEN coalesce(k.source_artifact, k.file) END AS source, l.call_id,
    c.kernel_id, l.phase, l."enter", l."exit",
    coalesce(l.phase IN ('autotune', 'warmup'), false) AS trial, CASE WHEN l."exit" < l."enter" THEN 0
        ELSE epoch_ns(l."exit") - epoch_ns(l."enter") END AS host_ns,
    c.grid_x, c.grid_y, c.grid_z, l.thread, l.device, l.stream,
    greatest(l.weight, 1) AS weight, epoch_ns(l."enter") AS enter_ns,
    epoch_ns(l."exit") AS exit_ns
FROM launches l JOIN calls c USING (run, call_id) JOIN kernels k USING (run, kernel_id);

CREATE OR REPLACE VIEW placed AS
SELECT run, record, launch_seq, CASE WHEN kind IS NULL THEN call_id END AS call_id, "start",
    "end", epoch_ns("end") - epoch_ns("start") AS device_ns, device, stream, graph_id, name,
    kind, bytes, greatest(weight, 1) AS weight, requested, stack_id, forward_stack_id
FROM gpu_kernels WHERE gpu_kernels.call_id IS NOT NULL OR launch_seq IS NULL
        OR kind IS NOT NULL
    UNION ALL
    SELECT g.run, g.record, g.launch_seq, l.call_id, g."start", g."end",
        epoch_ns(g."end") - epoch_ns(g."start") AS device_ns, g.device, g.stream, g.graph_id,
        g.name, g.kind, g.bytes, greatest(g.weight, 1) AS weight, g.requested, g.stack_id,
        g.forward_stack_id
    FROM gpu_kernels g LEFT JOIN (
        SELECT a.run, a.seq, a.call_id FROM launches a WHERE EXISTS (
            SELECT 1 FROM gpu_kernels u
            WHERE u.run = a.run AND u.launch_seq = a.seq AND u.call_id IS NULL)
    ) l ON l.run = g.run AND l.seq = g.launch_seq
    WHERE g.call_id IS NULL AND g.launch_seq IS NOT NULL AND g.kind IS NULL;

CREATE OR REPLACE VIEW tuning AS
SELECT run, seq, call_id, thread, phase, "enter", "exit", greatest(weight, 1) AS weight
FROM launches WHERE phase IN ('autotune', 'warmup');

CREATE OR REPLACE VIEW executed AS
SELECT p.run, p.record, k.name AS kernel, k.module, CASE WHEN k.module IS NULL THEN coalesce(k.source_artifact, k.file) END AS source, p.call_id,
    c.kernel_id, p.launch_seq, p."start", p."end", t.seq IS NOT NULL AS trial,
    CASE WHEN p.device_ns < 0 THEN 0 ELSE p.device_ns END AS device_ns, p.device, p.stream,
    p.graph_id, p.name, p.kind, p.bytes, p.weight, epoch_ns(p."start") AS start_ns,
    epoch_ns(p."end") AS end_ns
FROM placed p LEFT JOIN calls c ON c.run = p.run AND c.call_id = p.call_id
LEFT JOIN kernels k ON k.run = c.run AND k.kernel_id = c.kernel_id LEFT JOIN tuning t ON t.run = p.run AND t.seq = p.launch_seq;
