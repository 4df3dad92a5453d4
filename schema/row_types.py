"""Types of rows, as `kvtrace.open("out/").kernels[0]`; docs/format.md has the columns' meanings.

Made from schema/tables.txt by `python -m kvtrace.schema.document`; do not edit by hand. Rows are
dictionaries; points in time are text, to the nanosecond. None means "not known".
"""

from typing import TypedDict


class Frame(TypedDict):
    """A value of a column with fields."""

    file: str | None
    line: int | None
    column: int | None
    function: str | None


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


class Operand(TypedDict):
    """A value of a column with fields."""

    name: str | None
    role: str | None
    dtype: str | None
    device: int | None
    shape: list[int] | None
    strides: list[int] | None
    offset_bytes: int | None
    storage_bytes: int | None


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


class Span(TypedDict):
    """A value of a column with fields."""

    offset_bytes: int | None
    size_bytes: int | None


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


class ContentsRow(TypedDict):
    """A row of the table `contents`."""

    seq: int
    call_id: int
    arg: int
    artifact: str | None
    offset_bytes: int | None
    view_offset_bytes: int | None
    run: str


class HostEventsRow(TypedDict):
    """A row of the table `host_events`."""

    record: int
    kind: str | None
    begin: str | None
    end: str | None
    thread: int | None
    bytes: int | None
    stack_id: int | None
    processor_ns: int | None
    run: str


class CollectivesRow(TypedDict):
    """A row of the table `collectives`."""

    record: int
    requested: str | None
    returned: str | None
    communicator: str | None
    group: str | None
    ranks: list[int] | None
    sequence: int | None
    peer: int | None
    operation: str | None
    reduction: str | None
    type: str | None
    elements: int | None
    bytes: int | None
    root: int | None
    run: str


class MarksRow(TypedDict):
    """A row of the table `marks`."""

    mark_id: int
    name: str | None
    begin: str | None
    end: str | None
    thread: int | None
    attributes: list[tuple[str, str]] | None
    run: str


class StacksRow(TypedDict):
    """A row of the table `stacks`."""

    stack_id: int
    frames: list[Frame] | None
    origins: list[Origin] | None
    files: list[ProgramFile] | None
    run: str


class ArtifactsRow(TypedDict):
    """A row of the table `artifacts`."""

    sha256: str
    kind: str | None
    size_bytes: int | None
    bytes: bytes | None
    dialect: str | None
    producer: str | None
    producer_version: str | None
    run: str


class GraphOpsRow(TypedDict):
    """A row of the table `graph_ops`."""

    graph_id: int
    op_index: int
    opcode: str | None
    operands: list[int] | None
    dtype: str | None
    shape: list[int] | None
    attributes: list[tuple[str, str]] | None
    stack_id: int | None
    input_name: str | None
    output_name: str | None
    aliases: str | None
    run: str


class BuffersRow(TypedDict):
    """A row of the table `buffers`."""

    call_id: int
    order: int
    event: str | None
    space: str | None
    bytes: int | None
    partitions: int | None
    name: str | None
    stack_id: int | None
    run: str


class MessagesRow(TypedDict):
    """A row of the table `messages`."""

    time: str
    level: str | None
    code: str | None
    text: str | None
    count: int | None
    run: str


class OperatorsRow(TypedDict):
    """A row of the table `operators`."""

    operator_id: int
    name: str | None
    tensors: list[Operand] | None
    stack_id: int | None
    run: str


class OperationsRow(TypedDict):
    """A row of the table `operations`."""

    record: int
    operator_id: int | None
    begin: str | None
    end: str | None
    thread: int | None
    addresses: list[int] | None
    graph_id: int | None
    run: str


class AllocationsRow(TypedDict):
    """A row of the table `allocations`."""

    record: int
    address: int | None
    bytes: int | None
    begin: str | None
    end: str | None
    thread: int | None
    device: int | None
    stream: int | None
    pool: int | None
    stack_id: int | None
    run: str


class ToolEventsRow(TypedDict):
    """A row of the table `tool_events`."""

    record: int
    phase: str | None
    category: str | None
    name: str | None
    begin: str | None
    end: str | None
    process: int | None
    thread: int | None
    correlation_id: int | None
    external_id: int | None
    members: str | None
    run: str


class CheckedLaunchesRow(TypedDict):
    """A row of the table `checked_launches`."""

    seq: int
    call_id: int
    why: str | None
    programs: list[int] | None
    bytes: int | None
    run: str


class CheckedMemoryRow(TypedDict):
    """A row of the table `checked_memory`."""

    seq: int
    call_id: int
    arg: int
    when: str
    spans: list[Span] | None
    artifact: str | None
    run: str


class DigestsRow(TypedDict):
    """A row of the table `digests`."""

    seq: int
    call_id: int
    arg: int
    when: str
    digest: int | None
    lines: int | None
    run: str


class NonFiniteRow(TypedDict):
    """A row of the table `non_finite`."""

    seq: int
    call_id: int
    arg: int
    when: str
    nan: bool | None
    infinity: bool | None
    run: str


class TensorStatisticsRow(TypedDict):
    """A row of the table `tensor_statistics`."""

    seq: int
    call_id: int
    arg: int
    elements: int | None
    sampled: int | None
    nans: int | None
    infinities: int | None
    negative_infinities: int | None
    zeros: int | None
    negatives: int | None
    minimum: float | None
    maximum: float | None
    mean: float | None
    deviation: float | None
    quantiles: list[float] | None
    sorted: str | None
    run: str


class OpsRow(TypedDict):
    """A row of the table `ops`."""

    call_id: int
    op_index: int
    op: str | None
    kind: str | None
    dtype: str | None
    stack_id: int | None
    executions: int | None
    elements: int | None
    masked_off: int | None
    bytes: int | None
    unique_bytes: int | None
    sectors: int | None
    flops: int | None
    loop: int | None
    buffer: str | None
    fresh_bytes: int | None
    run: str


class AccessesRow(TypedDict):
    """A row of the table `accesses`."""

    call_id: int
    op_index: int
    program: int | None
    iteration: int | None
    arg: str | None
    first: int | None
    last: int | None
    active: int | None
    layout: str | None
    run: str


class LoopsRow(TypedDict):
    """A row of the table `loops`."""

    call_id: int
    op_index: int
    stack_id: int | None
    trips_min: int | None
    trips_median: int | None
    trips_max: int | None
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


class ChecksRow(TypedDict):
    """A row of the table `checks`."""

    seq: int
    call_id: int
    arg: int
    answer: str | None
    reason: str | None
    name: str | None
    dtype: str | None
    elements: int | None
    undecided: int | None
    differing: int | None
    nearest: float | None
    bound: float | None
    worst_offset: int | None
    got: float | None
    expected: float | None
    worst_bound: float | None
    op_index: int | None
    program_x: int | None
    program_y: int | None
    program_z: int | None
    lane: list[int] | None
    pattern: str | None
    map_columns: int | None
    map: list[float] | None
    run: str
