"""The core profile is frozen: these columns stay, with these types, and none is added."""

from docs_site.format_pages import type_text
from kvtrace.schema.tables import CORE_TABLES, TABLES
from kvtrace.schema.versions import version_numbers

ARGUMENT = (
    "list<struct<name: string, kind: string, dtype: string, device: string, shape: list<int64>, "
    "strides: list<int64>, offset_bytes: int64, storage_bytes: int64, alias_group: int32, "
    "alignment: int32, scalar: string, value_artifact: string>>"
)
DEVICE = "list<struct<index: int32, name: string, capability: string, memory_bytes: int64>>"
PARAMETER = "list<struct<name: string, type: string, constexpr: string, divisibility: int32>>"
TIME = "timestamp[ns, UTC]"

#: Never edit a line of these; `!` marks a required column.
FROZEN = f"""
runs: run_id! string, group_id string, started {TIME}, ended {TIME}, command string,
  directory string, host string, pid int64, parent_run_id string, rank int32, world_size int32,
  git_root string, git_commit string, git_branch string, git_dirty bool, versions facts,
  devices {DEVICE}, schema_version string, ending name, dropped_rows int64, source name,
  producer name, producer_version string, required_features list<string>
kernels: kernel_id! int64, name! name, module name, file name, line int32, signature {PARAMETER},
  target name, warp_size int32, num_warps int32, num_ctas int32, num_stages int32, options facts,
  shared_bytes int64, registers int32, spills int32, origin name, function name
calls: call_id! int64, kernel_id! int64, grid_x int64, grid_y int64, grid_z int64, args {ARGUMENT}
launches: seq! int64, call_id! int64, enter {TIME}, exit {TIME}, thread int64, device int32,
  stream int64, phase name, graph_id int64, weight int32
gpu_kernels: record! int64, launch_seq int64, call_id int64, start! {TIME}, end! {TIME},
  device int32, stream int64, correlation_id int64, graph_id int64, graph_node_id int64, name name,
  grid_x int64, grid_y int64, grid_z int64, registers int32, shared_bytes int64, kind name,
  bytes int64, weight int32, block_x int32, block_y int32, block_z int32
"""


def test_the_core_profile_is_as_it_was_frozen():
    lines = [
        f"{table.name}: "
        + ", ".join(
            f"{c.name}{'!' if c.name in table.required else ''} {type_text(c.type)}"
            for c in table.columns
        )
        for table in CORE_TABLES.values()
    ]

    assert " ".join(lines).split() == FROZEN.split()


def test_columns_that_come_after_the_freeze_are_extensions():
    later = [
        (name, column.name)
        for name, table in CORE_TABLES.items()
        for column in table.columns
        if version_numbers(column.since) > (1, 12)
    ]

    assert later == []


def test_a_core_table_has_the_columns_of_its_table_and_its_keys():
    for name, table in CORE_TABLES.items():
        assert table.keys == TABLES[name].keys
        assert set(table.names) < set(TABLES[name].names)
        assert set(TABLES[name].required) <= set(table.names)
