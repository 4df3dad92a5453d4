// What converters/report/model.py and its blocks hold, as the page reads it.
//
// null means "not known" and is never shown as a zero. Times are whole nanoseconds, sizes bytes.
// An index is a place in one of the report's arrays; in columns -1 stands for "none".

export type Grid = readonly [number | null, number | null, number | null];
/** File, line from 1, function; innermost first in a stack. */
export type Frame = readonly [file: string | null, line: number | null, name: string | null];
export type Stack = readonly Frame[];

export interface Run {
  readonly run_id: string;
  readonly label: string;
  readonly command: string | null;
  readonly directory: string | null;
  readonly host: string | null;
  readonly pid: number | null;
  readonly rank: number | null;
  readonly started: string | null;
  readonly duration_ns: number | null;
  readonly git_commit: string | null;
  readonly git_branch: string | null;
  readonly git_dirty: boolean | null;
  readonly versions: Readonly<Record<string, string>>;
  readonly devices: readonly string[];
  readonly mode: string | null;
  readonly settings: Readonly<Record<string, string>>;
  readonly ending: string | null;
  readonly sealed: boolean;
  readonly schema_version: string | null;
  readonly self_overhead_ns: number | null;
  readonly dropped_rows: number | null;
}

export interface Totals {
  readonly launches: number;
  readonly host_ns: number;
  readonly compile_ns: number;
  readonly kernels: number;
  readonly variants: number;
  readonly calls: number;
  readonly gpu_kernels: number | null;
  readonly device_ns: number | null;
  readonly bytes: number | null;
  readonly flops: number | null;
  readonly evaluated_calls: number | null;
  /** Distinct findings with that verdict. */
  readonly violations: number | null;
  readonly phases: Readonly<Record<string, number>>;
  /** Compile time of each stage over all variants, where it was timed. */
  readonly stages: Readonly<Record<string, number>>;
}

/** A kernel function: all its variants together. */
export interface Kernel {
  readonly name: string;
  readonly module: string | null;
  readonly file: string | null;
  readonly line: number | null;
  readonly origin: string | null;
  readonly variants: readonly number[];
  readonly calls: number;
  readonly launches: number;
  /** Of the launches, those of autotuners and warm-ups. */
  readonly tuning_launches: number;
  /** The other launches; those captured into a graph count as often as it was replayed. */
  readonly runs: number;
  readonly host_ns: number;
  readonly device_ns: number | null;
  readonly device_executions: number | null;
  /** Bytes and FLOPs of all runs of the calls that were replayed. */
  readonly bytes: number | null;
  readonly flops: number | null;
  /** Time at best of all runs on `Report.limits`; null unless every call that ran has one. */
  readonly best_ns: number | null;
  /** Share of the time at best in the measured time of as many runs. */
  readonly achieved: number | null;
  readonly compile_ns: number | null;
  readonly registers: number | null;
  readonly spills: number | null;
  readonly shared_bytes: number | null;
  readonly violations: number | null;
  readonly unknowns: number | null;
  /** Accesses of its calls with any verdict. */
  readonly judged: number;
}

/** One compiler stage of a variant; `text` is the number of a block with its text. */
export interface Stage {
  readonly stage: string;
  readonly text: number | null;
  readonly size_bytes: number | null;
  readonly duration_ns: number | null;
}

export interface SourceFile {
  readonly path: string;
  readonly text: number | null;
  /** Number of the text's first line in the file. */
  readonly first_line: number;
}

export interface Parameter {
  readonly name: string | null;
  readonly type: string | null;
  readonly constexpr: string | null;
  readonly divisibility: number | null;
}

/** A fact of a variant's specialisation that differs; null where a side does not have it. */
export interface Change {
  readonly what: string;
  readonly before: string | null;
  readonly after: string | null;
}

/** What differs from the nearest variant of the same kernel that the run compiled before. */
export interface Recompiled {
  readonly nearest: number;
  readonly changes: readonly Change[];
}

/** Warps on a multiprocessor at once, of how many, and what keeps there from being more. */
export interface Occupancy {
  readonly warps: number;
  readonly of: number;
  readonly limited_by: string;
}

export interface Variant {
  readonly kernel: number;
  readonly run: number;
  readonly kernel_id: number;
  readonly target: string | null;
  readonly warp_size: number | null;
  readonly num_warps: number | null;
  readonly num_ctas: number | null;
  readonly num_stages: number | null;
  readonly options: Readonly<Record<string, string>>;
  readonly shared_bytes: number | null;
  readonly registers: number | null;
  readonly spills: number | null;
  readonly cache_hit: boolean | null;
  readonly cache_key: string | null;
  /** Since the page's origin. */
  readonly compile_begin: number | null;
  readonly compile_ns: number | null;
  /** null for the first variant of a kernel in its run. */
  readonly recompiled: Recompiled | null;
  readonly occupancy: Occupancy | null;
  readonly signature: readonly Parameter[];
  readonly stages: readonly Stage[];
  readonly files: readonly SourceFile[];
  readonly launches: number;
  readonly calls: number;
  readonly host_ns: number;
}

export interface Argument {
  readonly name: string | null;
  readonly kind: string | null;
  readonly dtype: string | null;
  readonly device: string | null;
  readonly shape: readonly number[] | null;
  readonly strides: readonly number[] | null;
  readonly offset_bytes: number | null;
  readonly storage_bytes: number | null;
  readonly alias_group: number | null;
  readonly alignment: number | null;
  readonly scalar: string | null;
  /** Names the block "tensor/<value>" where the contents were recorded. */
  readonly value: string | null;
}

/** Where work stands under the roof of a device. */
export interface Position {
  readonly memory_ns: number;
  readonly uncached_ns: number | null;
  readonly compute_ns: number;
  readonly best_ns: number;
  readonly bound: "memory" | "caches" | "compute";
  readonly achieved: number | null;
}

/** One launch of a call under the roof of `Report.limits`; rates are FLOPs per second. */
export interface Roofline {
  readonly position: Position;
  /** FLOPs per distinct byte; null where there are no bytes. */
  readonly intensity: number | null;
  /** What its mix of operations could reach; null where there are no FLOPs. */
  readonly roof: number | null;
  readonly attainable: number | null;
  /** Over the measured median device time. */
  readonly reached: number | null;
  /** Share of the time at best in that time. */
  readonly achieved: number | null;
}

/**
 * Peaks of the device that figures are held against: bytes per second, and operations per second
 * by element type; `how` it was chosen: recorded, given, or assumed.
 */
export interface Limits {
  readonly name: string;
  readonly how: string;
  readonly reported: string | null;
  /** The data sheet. */
  readonly source: string;
  readonly bandwidth: number;
  readonly matrix: Readonly<Record<string, number>>;
  readonly vector: Readonly<Record<string, number>>;
}

/** A distinct call: `args` are places in `Report.arguments`, `stack` in `Report.stacks`. */
export interface Call {
  readonly variant: number;
  readonly run: number;
  readonly call_id: number;
  readonly grid: Grid;
  readonly args: readonly number[];
  readonly stack: number | null;
  readonly launches: number;
  /** As in `Kernel`. */
  readonly tuning_launches: number;
  readonly runs: number;
  readonly host_ns: number;
  /** Of launches that are no autotuner's or warm-up's, as the median on the device. */
  readonly host_median_ns: number | null;
  readonly device_ns: number | null;
  readonly device_executions: number | null;
  readonly device_median_ns: number | null;
  /** Of one launch; a lower bound if `unknown_accesses` is not 0. */
  readonly bytes: number | null;
  readonly flops: number | null;
  /** Distinct bytes that one launch reads, and that it writes. */
  readonly unique_bytes: number | null;
  readonly mask_efficiency: number | null;
  readonly sector_efficiency: number | null;
  readonly unknown_accesses: number | null;
  readonly roofline: Roofline | null;
}

export interface SourcePlace {
  readonly file: string | null;
  readonly line: number | null;
  readonly column: number | null;
  readonly function: string | null;
}

export interface Finding {
  readonly finding_id: string;
  readonly rule: string;
  readonly verdict: string;
  readonly severity: string;
  readonly kernel: string;
  readonly file: string | null;
  readonly line: number | null;
  readonly column: number | null;
  readonly access: string | null;
  readonly arg: string | null;
  readonly tensor: string | null;
  readonly program: readonly [number, number, number] | null;
  readonly iteration: number | null;
  readonly lane: readonly number[] | null;
  readonly address_offset: number | null;
  readonly past_end_bytes: number | null;
  readonly lanes: number | null;
  readonly expression: string | null;
  readonly method: string | null;
  readonly reason: string | null;
  readonly message: string | null;
  readonly other_program: readonly [number, number, number] | null;
  readonly nearest: string | null;
  readonly assumption: string | null;
  readonly hint: string | null;
  readonly suppressed: boolean;
  readonly suppress_reason: string | null;
  readonly run: string | null;
  readonly call: number | null;
  readonly grid: readonly [number, number, number] | null;
  readonly calls: number;
  readonly launches: number;
  /** The call as it would be written. */
  readonly invocation: string | null;
  readonly launched_at: SourcePlace | null;
  readonly source: string | null;
  /** Empty: the stacks are the report's, see `PlacedFinding`. */
  readonly stack: readonly never[];
  readonly other_stack: readonly never[];
}

/** A finding and where it is on the page. */
export interface PlacedFinding {
  readonly found: Finding;
  readonly kernel: number | null;
  readonly variant: number | null;
  readonly call: number | null;
  readonly stack: number | null;
  readonly other_stack: number | null;
  /** `index` of the op in the block "call/<call>". */
  readonly op: number | null;
  readonly other_op: number | null;
  /** Calls that have it, the first 100; the witness is that of `call`. */
  readonly in_calls: readonly number[];
}

export interface FindingCount {
  readonly rule: string | null;
  readonly verdict: string | null;
  readonly severity: string | null;
  readonly count: number;
}

/** What kvtrace itself had to say of a run. */
export interface Message {
  readonly run: number;
  readonly level: string | null;
  readonly code: string | null;
  readonly text: string | null;
  readonly count: number | null;
}

/** A user's range, or an instant (duration null). */
export interface Mark {
  readonly run: number;
  readonly name: string | null;
  readonly begin: number;
  readonly duration: number | null;
  readonly thread: number | null;
  readonly attributes: Readonly<Record<string, string>>;
}

/** One row of the timeline: a host thread ("host"), or a stream of a device. */
export interface Track {
  readonly label: string;
  readonly kind: string;
  readonly run: number;
  readonly thread: number | null;
}

/** Something that did not fit into the page, and the command that shows it. */
export interface Dropped {
  readonly what: string;
  readonly text: string;
  readonly command: string;
}

export interface Report {
  readonly title: string;
  /** The trace as it stands in commands: quoted for a shell. */
  readonly trace: string;
  readonly kvtrace: string;
  readonly origin: string | null;
  readonly span_ns: number;
  readonly runs: readonly Run[];
  readonly totals: Totals;
  /** What rooflines are drawn for: recorded, or assumed for the kernels' compile target. */
  readonly limits: Limits | null;
  /** Where figures are from, by kind of row and field: true is measured, false derived. */
  readonly measured: Readonly<Record<string, Readonly<Record<string, boolean>>>>;
  readonly kernels: readonly Kernel[];
  readonly variants: readonly Variant[];
  readonly arguments: readonly Argument[];
  readonly calls: readonly Call[];
  readonly stacks: readonly Stack[];
  readonly findings: readonly PlacedFinding[];
  /** null where `kvtrace sanitize` has not run. */
  readonly finding_counts: readonly FindingCount[] | null;
  readonly messages: readonly Message[];
  readonly notes: readonly string[];
  readonly marks: readonly Mark[];
  readonly compiles: readonly (readonly [
    variant: number,
    begin: number,
    duration: number,
    track: number,
  ])[];
  readonly tracks: readonly Track[];
  readonly phases: readonly string[];
  /** Names of functions on the device, also of those that no launch here is known for. */
  readonly device_names: readonly string[];
  /** Width of the timeline's bins, where launches were left out. */
  readonly bin_ns: number | null;
  readonly dropped: readonly Dropped[];
}

export type Column = Uint8Array | Uint16Array | Uint32Array | Float64Array;

/** The block "launches": one row a launch, in order of time. */
export interface SliceColumns {
  readonly begin: Column;
  readonly duration: Column;
  readonly kernel: Column;
  readonly call: Column;
  readonly track: Column;
  readonly phase: Column;
  readonly seq: Column;
}

/** The block "device". */
export interface ExecutionColumns extends SliceColumns {
  /** `seq` of the launch that caused it, in its run; -1 where that is not known. */
  readonly launch: Column;
  /** Place in `Report.device_names`. */
  readonly name: Column;
}

/** The block "bins": counts and busy time of each track, bin and kernel. */
export interface BinColumns {
  readonly track: Column;
  readonly bin: Column;
  readonly kernel: Column;
  readonly count: Column;
  readonly busy: Column;
}

/** Which source lines each line of a text comes from (converters/report/locations.py). */
export interface LineLinks {
  readonly files: readonly string[];
  /** Each a stack of [place in `files`, line from 1], innermost first. */
  readonly stacks: readonly (readonly (readonly [file: number, line: number])[])[];
  /** For each line (from 0) a place in `stacks`, or -1. */
  readonly lines: readonly number[];
}

/** A block "texts/<number>": a source file or a compiler stage. */
export interface Text {
  readonly text: string;
  readonly links: LineLinks | null;
}
