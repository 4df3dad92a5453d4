"""Types of rows, as `kvtrace.open("out/").kernels[0]`; docs/format.md has the columns' meanings.

Made from schema/tables.txt by `python -m docs_site.format_pages`; do not edit by hand. Rows are
dictionaries; points in time are text, to the nanosecond. None means "not known".
"""

from typing import TypedDict


class Argument(TypedDict):
    """A value of a column with fields."""

    name: str | None
    kind: str | None
    dtype: str | None
    device: str | None
    shape: list[int] | None
    strides: list[int] | None
    offset_bytes: int | None
    storage_bytes: int | None
    alias_group: int | None
    alignment: int | None
    scalar: str | None
    value_artifact: str | None


class Parameter(TypedDict):
    """A value of a column with fields."""

    name: str | None
    type: str | None
    constexpr: str | None
    divisibility: int | None


class Stage(TypedDict):
    """A value of a column with fields."""

    stage: str | None
    artifact: str | None
    duration_ns: int | None


class Device(TypedDict):
    """A value of a column with fields."""

    index: int | None
    name: str | None
    capability: str | None
    memory_bytes: int | None


class ProgramFile(TypedDict):
    """A value of a column with fields."""

    path: str | None
    artifact: str | None


class Overhead(TypedDict):
    """A value of a column with fields."""

    start_ns: int | None
    launches_ns: int | None
    waits_ns: int | None
    profiler_ns: int | None
    end_ns: int | None
    running_ns: int | None
    thread_ns: int | None


class StatedWork(TypedDict):
    """A value of a column with fields."""

    name: str | None
    flops8: float | None
    flops16: float | None
    flops32: float | None
    flops64: float | None
    flops: float | None
    bytes: float | None


class Origin(TypedDict):
    """A value of a column with fields."""

    op: str | None
    node: str | None
    module: str | None
    file: str | None
    line: int | None
    function: str | None
    code: str | None


class RunsRow(TypedDict):
    """A row of the table `runs`."""

    run_id: str
    group_id: str | None
    started: str | None
    ended: str | None
    command: str | None
    directory: str | None
    host: str | None
    pid: int | None
    parent_run_id: str | None
    rank: int | None
    world_size: int | None
    git_root: str | None
    git_commit: str | None
    git_branch: str | None
    git_dirty: bool | None
    versions: list[tuple[str, str]] | None
    devices: list[Device] | None
    mode: str | None
    settings: list[tuple[str, str]] | None
    schema_version: str | None
    ending: str | None
    self_overhead_ns: int | None
    dropped_rows: int | None
    overhead: Overhead | None
    source: str | None
    producer: str | None
    producer_version: str | None
    required_features: list[str] | None
    run: str


class KernelsRow(TypedDict):
    """A row of the table `kernels`."""

    kernel_id: int
    name: str | None
    module: str | None
    file: str | None
    line: int | None
    source_artifact: str | None
    files: list[ProgramFile] | None
    signature: list[Parameter] | None
    target: str | None
    warp_size: int | None
    num_warps: int | None
    num_ctas: int | None
    num_stages: int | None
    options: list[tuple[str, str]] | None
    shared_bytes: int | None
    registers: int | None
    spills: int | None
    origin: str | None
    cache_hit: bool | None
    cache_key: str | None
    compile_begin: str | None
    compile_ns: int | None
    thread: int | None
    stages: list[Stage] | None
    function: str | None
    load_begin: str | None
    load_ns: int | None
    load_thread: int | None
    origins: list[Origin] | None
    run: str


class CallsRow(TypedDict):
    """A row of the table `calls`."""

    call_id: int
    kernel_id: int | None
    grid_x: int | None
    grid_y: int | None
    grid_z: int | None
    args: list[Argument] | None
    stack_id: int | None
    stated: StatedWork | None
    run: str


class LaunchesRow(TypedDict):
    """A row of the table `launches`."""

    seq: int
    call_id: int
    enter: str | None
    exit: str | None
    thread: int | None
    device: int | None
    stream: int | None
    phase: str | None
    graph_id: int | None
    weight: int | None
    addresses: list[int] | None
    run: str


class GpuKernelsRow(TypedDict):
    """A row of the table `gpu_kernels`."""

    record: int
    launch_seq: int | None
    call_id: int | None
    start: str | None
    end: str | None
    device: int | None
    stream: int | None
    correlation_id: int | None
    graph_id: int | None
    graph_node_id: int | None
    name: str | None
    grid_x: int | None
    grid_y: int | None
    grid_z: int | None
    registers: int | None
    shared_bytes: int | None
    kind: str | None
    bytes: int | None
    weight: int | None
    requested: str | None
    stack_id: int | None
    block_x: int | None
    block_y: int | None
    block_z: int | None
    request_thread: int | None
    forward_stack_id: int | None
    grade: str | None
    external_id: int | None
    members: str | None
    impossible: str | None
    stated_end: str | None
    run: str


class FindingsRow(TypedDict):
    """A row of the table `findings`."""

    finding_id: str
    call_id: int | None
    op_index: int | None
    rule: str | None
    verdict: str | None
    severity: str | None
    access: str | None
    stack_id: int | None
    program_x: int | None
    program_y: int | None
    program_z: int | None
    iteration: int | None
    lane: list[int] | None
    arg: str | None
    address_offset: int | None
    past_end_bytes: int | None
    lanes: int | None
    expression: str | None
    method: str | None
    reason: str | None
    message: str | None
    solver_ns: int | None
    other_program_x: int | None
    other_program_y: int | None
    other_program_z: int | None
    other_op_index: int | None
    other_stack_id: int | None
    nearest: str | None
    assumption: str | None
    run: str
