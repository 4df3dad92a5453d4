// Written by model_types.py from the dataclasses that fill the page; `make frontend` does so again.
//
// null means "not known" and is never shown as a zero. Times are whole nanoseconds, sizes bytes. An
// index is a place in one of the report's arrays.

/** All data of the page, before the selection within the size budget. */
export interface Report {
  readonly title: string;
  readonly trace: string;
  readonly kvtrace: string;
  /** Earliest time on the timeline, ISO 8601 in UTC. */
  readonly origin: string | null;
  readonly span_ns: number;
  readonly runs: readonly Run[];
  readonly totals: Totals;
  /** Whether figures are measured or derived, by kind of row and field (`MEASURED`). */
  readonly measured: Readonly<Record<string, Readonly<Record<string, boolean>>>>;
  readonly further: readonly FurtherFigure[];
  readonly kernels: readonly Kernel[];
  readonly variants: readonly Variant[];
  readonly arguments: readonly Argument[];
  readonly calls: readonly Call[];
  /** Frames innermost first: file, line, function. */
  readonly stacks: readonly (readonly (readonly [string | null, number | null, string | null])[])[];
  readonly findings: readonly PlacedFinding[];
  /** Causes in the order of the terminal's output. */
  readonly causes: readonly Cause[];
  /** Summary lines of lints of generated code, as in the terminal's output. */
  readonly lints: readonly string[];
  /** null if nothing was judged and the runs found nothing. */
  readonly finding_counts: readonly FindingCount[] | null;
  /** `kvtrace sanitize` has run; without it, findings are those of the runs themselves. */
  readonly judged: boolean;
  readonly messages: readonly Message[];
  /** Notes from reading the trace, such as a torn journal. */
  readonly notes: readonly string[];
  readonly marks: readonly Mark[];
  /** Variant, begin since the origin, duration, track. */
  readonly compiles: readonly (readonly [number, number, number, number])[];
  readonly tracks: readonly Track[];
  readonly phases: readonly string[];
  /** Names of device functions, including those without a known launch. */
  readonly device_names: readonly string[];
  /** Kind of each device function: Triton, a library's name, copy, fill or other. */
  readonly device_kinds: readonly string[];
  /** First screen: summary of the time and advice; null without times. */
  readonly answer: Answer | null;
  /** The part of the runs that times cover; null if nothing was timed. */
  readonly window: Window | null;
  /** All device work, whoever launched it; null without a device timeline. */
  readonly device_time: DeviceTime | null;
  /** Device of the rooflines: recorded, or assumed for the kernels' compile target. */
  readonly limits: Limits | null;
  readonly bin_ns: number | null;
  readonly dropped: readonly Dropped[];
}

/** The block `call/<index>`. */
export interface CallOps {
  readonly measured: boolean;
  readonly ops: readonly Op[];
  readonly loops: readonly Loop[];
  readonly accesses: readonly Access[];
  readonly dots: readonly Dot[];
  readonly values: readonly RecordedValue[];
  readonly notes: readonly CallNote[];
}

/** The block `kernel/<kernel>`. */
export interface KernelBlock {
  readonly measured: boolean;
  readonly loads: readonly Load[];
  readonly tunings: readonly Tuning[];
}

/**
 * The block `called/<grouping>`: steps in order, parents first; step 0 is the root.
 *
 * `kernel` is the index of a kernel of the report, or -1 for other steps.
 */
export interface CalledBlock {
  readonly notes: readonly string[];
  readonly parent: readonly number[];
  readonly label: readonly string[];
  readonly file: readonly (string | null)[];
  readonly line: readonly (number | null)[];
  readonly note: readonly (string | null)[];
  readonly kernel: readonly number[];
  readonly figures: CalledFigures;
}

/**
 * Figures of some ops, summed.
 *
 * `time_share`: share of the roofline time (not measured) summed over all ops; null if the device's
 * limits are not known. `masked_share`: share of lanes masked off. `sector_efficiency` and the sums
 * are as in docs/profile.md.
 */
export interface LineFigures {
  readonly time_share: number | null;
  readonly bytes: number | null;
  readonly unique_bytes: number | null;
  readonly flops: number | null;
  readonly masked_share: number | null;
  readonly sector_efficiency: number | null;
  readonly ops: readonly number[];
}

/**
 * The source lines behind every line of a text (from 0).
 *
 * `lines[i]` is an index into `stacks`, or -1 for a line without a location; a stack is a tuple of
 * (index into `files`, line from 1), innermost first.
 */
export interface LineLinks {
  readonly files: readonly string[];
  readonly stacks: readonly (readonly (readonly [number, number])[])[];
  readonly lines: readonly number[];
}

/** The block "since"; `why` says why nothing was compared, or is "". */
export interface Since {
  readonly why: string;
  readonly before: string | null;
  readonly summary: string;
  readonly rows: readonly SinceRow[];
  readonly more: number;
  readonly command: string;
}

/** One captured process. */
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
  readonly overhead: string | null;
  readonly dropped_rows: number | null;
}

/** Figures over all runs of the page. Derived ones are null until their pass has run. */
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
  /** Distinct findings with the verdict "violation". */
  readonly violations: number | null;
  readonly phases: Readonly<Record<string, number>>;
  /** Compile time by stage over all variants, of timed stages. */
  readonly stages: Readonly<Record<string, number>>;
}

/** An additional measured figure of kernels (`kvtrace/figures/kernels.py`). */
export interface FurtherFigure {
  readonly name: string;
  readonly unit: "count" | "ns" | "bytes";
  readonly label: string;
}

/** A kernel function with all its variants. */
export interface Kernel {
  readonly name: string;
  readonly module: string | null;
  readonly file: string | null;
  readonly line: number | null;
  readonly origin: string | null;
  readonly variants: readonly number[];
  readonly calls: number;
  readonly launches: number;
  /** Launches of autotuners and warm-ups, which no other figure includes. */
  readonly tuning_launches: number;
  /** Launches, where a launch captured into a graph counts once per replay of the graph. */
  readonly runs: number;
  readonly host_ns: number;
  readonly device_ns: number | null;
  readonly device_executions: number | null;
  readonly bytes: number | null;
  /** Bytes and FLOPs over all runs of replayed calls. */
  readonly flops: number | null;
  /** Best time of all runs on `Report.limits`; null unless known for every executed call. */
  readonly best_ns: number | null;
  /** Best time over the measured time of as many runs. */
  readonly achieved: number | null;
  readonly compile_ns: number | null;
  readonly registers: number | null;
  readonly spills: number | null;
  readonly shared_bytes: number | null;
  readonly violations: number | null;
  readonly unknowns: number | null;
  /** Accesses of the kernel's calls with any verdict. */
  readonly judged: number;
  /** Values of the figures in `Report.further`, by name. */
  readonly further: Readonly<Record<string, number | null>>;
}

/** A compiled variant of a kernel. */
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
  /** Time since the page's origin. */
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

/** An argument of a call. */
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
  /** Name of the block `tensor/<value>`, if the contents were recorded. */
  readonly value: string | null;
}

/** A unique call. `args` are indices into `Report.arguments`, `stack` into `stacks`. */
export interface Call {
  readonly variant: number;
  readonly run: number;
  readonly call_id: number;
  readonly grid: readonly [number | null, number | null, number | null];
  readonly args: readonly number[];
  readonly stack: number | null;
  readonly launches: number;
  readonly tuning_launches: number;
  /** As in `Kernel`. */
  readonly runs: number;
  readonly host_ns: number;
  /** Median over launches outside autotuning and warm-up; `device_median_ns` likewise. */
  readonly host_median_ns: number | null;
  readonly device_ns: number | null;
  readonly device_executions: number | null;
  readonly device_median_ns: number | null;
  readonly bytes: number | null;
  /** Bytes and FLOPs of one launch; bytes are a lower bound if `unknown_accesses` is not 0. */
  readonly flops: number | null;
  /** Distinct bytes that one launch reads, plus those that it writes. */
  readonly unique_bytes: number | null;
  readonly mask_efficiency: number | null;
  readonly sector_efficiency: number | null;
  readonly unknown_accesses: number | null;
  readonly roofline: Roofline | null;
}

/**
 * A violation, an unknown or a note, with the page's indexes.
 *
 * `found` has no stacks: `stack` and `other_stack` are indexes into `Report.stacks`.
 */
export interface PlacedFinding {
  readonly found: Finding;
  readonly kernel: number | null;
  readonly variant: number | null;
  readonly call: number | null;
  readonly stack: number | null;
  readonly other_stack: number | null;
  /** `op_index` of the op in the call's TTIR, as in the block `call/<call>`. */
  readonly op: number | null;
  readonly other_op: number | null;
  /** Calls with the finding, the first 100; the witness is that of `call`. */
  readonly in_calls: readonly number[];
  /** Index into `Report.causes`; null for a lint of generated code. */
  readonly cause: number | null;
}

/** Findings that one change would fix, with numbers of unique calls and launches. */
export interface Cause {
  readonly calls: number;
  readonly launches: number;
}

/** The number of accesses (over unique calls) with a verdict. */
export interface FindingCount {
  readonly rule: string | null;
  readonly verdict: string | null;
  readonly severity: string | null;
  readonly count: number;
}

/** A message of kvtrace on a run. */
export interface Message {
  readonly run: number;
  readonly level: string | null;
  readonly code: string | null;
  readonly text: string | null;
  readonly count: number | null;
}

/** A user's range, or an instant (duration null), relative to the page's origin. */
export interface Mark {
  readonly run: number;
  readonly name: string | null;
  readonly begin: number;
  readonly duration: number | null;
  readonly thread: number | null;
  readonly attributes: Readonly<Record<string, string>>;
}

/** A row of the timeline: a host thread, or a stream of a device. */
export interface Track {
  readonly label: string;
  readonly kind: string;
  readonly run: number;
  readonly thread: number | null;
}

/** Summary of the time and advice; without device times, all is null or empty. */
export interface Answer {
  /** The part of the runs that the figures cover, as a sentence. */
  readonly part: string | null;
  readonly gaps: Gaps | null;
  /** Label of each cause of a gap. */
  readonly causes: Readonly<Record<string, string>>;
  /** A sentence on slow steps, and what the slowest has more of; null without such steps. */
  readonly slow_steps: string | null;
  /** Begin of the part after the page's origin; null without a window. */
  readonly begin_ns: number | null;
  readonly advice: readonly Advice[];
  readonly ran: readonly Ran[];
}

/**
 * The part of the runs that figures are of.
 *
 * Attributes: begin: When the first run's devices began the part, in ns since 1970. end: When the
 * last run's devices ended the part. how: `mark` or `period`: repeated steps; `asked`: a requested
 * part; `whole`: all runs. name: Name of the mark, if any. steps: Number of steps, those of each
 * run counted; null if no steps are known. runs: Number of runs that have steps, for example the
 * ranks of a job. step_ns: Median time from the begin of a step to the begin of the next.
 * before_ns: Time before the part, of the run with the longest. before_compiling_ns: Part of it in
 * which that run compiled or loaded kernels. after_ns: Time after the part, of the run with the
 * longest.
 */
export interface Window {
  readonly begin: number;
  readonly end: number;
  readonly how: "mark" | "period" | "asked" | "whole";
  readonly name: string | null;
  readonly steps: number | null;
  readonly step_ns: number | null;
  readonly before_ns: number;
  readonly before_compiling_ns: number;
  readonly after_ns: number;
  readonly runs: number;
}

/**
 * Measured device time by name, and the devices' idle time.
 *
 * `tuning_ns` is the time of autotuners and warm-ups, which no row includes. The rows and
 * `tuning_ns` add up to `busy.busy_ns` + `busy.overlapped_ns`, over runs.
 */
export interface DeviceTime {
  readonly rows: readonly DeviceRow[];
  readonly executions: number;
  readonly device_ns: number;
  readonly tuning_executions: number;
  readonly tuning_ns: number;
  readonly devices: number;
  readonly busy: Busy;
  readonly steps: Steps | null;
}

/** Peak rates of the device of the rooflines, in bytes and operations per second. */
export interface Limits {
  readonly name: string;
  /** Recorded, given, or assumed. */
  readonly how: string;
  readonly reported: string | null;
  /** Name of the data sheet. */
  readonly source: string;
  readonly bandwidth: number;
  /** Rate by element type. */
  readonly matrix: Readonly<Record<string, number>>;
  readonly vector: Readonly<Record<string, number>>;
}

/** A part that did not fit: a sentence, and the command that shows the part. */
export interface Dropped {
  readonly what: string;
  readonly text: string;
  readonly command: string;
}

/**
 * Figures of an op over all programs of a launch; `index` is its position in generic TTIR.
 *
 * `loop` is the enclosing loop, `buffer` the argument that a memory op accesses; `elements` counts
 * lanes, including masked-off ones.
 */
export interface Op {
  readonly index: number;
  readonly stack: number | null;
  readonly op: string;
  readonly kind: string | null;
  readonly dtype: string | null;
  readonly loop: number | null;
  readonly executions: number | null;
  readonly elements: number | null;
  readonly masked_off: number | null;
  readonly bytes: number | null;
  readonly unique_bytes: number | null;
  readonly sectors: number | null;
  readonly flops: number | null;
  readonly buffer: string | null;
}

/**
 * A loop, its enclosing loop if known, and its trip counts over programs.
 *
 * `before` is the index of the op that the loop precedes, for a loop whose own index is no op's.
 */
export interface Loop {
  readonly index: number;
  readonly before: number;
  readonly name: string | null;
  readonly stack: number | null;
  readonly loop: number | null;
  readonly min: number | null;
  readonly median: number | null;
  readonly max: number | null;
}

/** A record of accesses; `first` and `last` are bytes from the argument's data pointer. */
export interface Access {
  readonly op: number;
  readonly arg: string | null;
  readonly program: number | null;
  readonly iteration: number | null;
  readonly first: number | null;
  readonly last: number | null;
  readonly active: number | null;
  readonly layout: AccessLayout | null;
}

/**
 * A product C[m, n] = A[m, k] · B[k, n] in each execution; indices are those of ops.
 *
 * `a` and `b` are the loads that the factors come from elementwise, and `a_transposed` and
 * `b_transposed` whether the tiles are transposed in between; `c` is the only store that the sum
 * reaches. `loop` is the innermost loop around the product.
 */
export interface Dot {
  readonly op: number;
  readonly m: number | null;
  readonly n: number | null;
  readonly k: number | null;
  readonly a: number | null;
  readonly a_transposed: boolean;
  readonly b: number | null;
  readonly b_transposed: boolean;
  readonly c: number | null;
  readonly loop: number | null;
}

/**
 * A tensor argument as recorded before the call's first launch.
 *
 * `arg` is the position of the argument in the call; `artifact` names the block `tensor/<artifact>`
 * with the storage's bytes, in which `offset_bytes`, `shape` and `strides` (in elements) locate the
 * elements. `histogram` is null if the type is not supported, or the storage is incomplete or
 * larger than 256 MiB.
 */
export interface RecordedValue {
  readonly arg: number;
  readonly name: string | null;
  readonly artifact: string;
  readonly dtype: string | null;
  readonly offset_bytes: number;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly histogram: Histogram | null;
  readonly measured: boolean;
}

/** A note on figures of an op that passes skipped for their cost. */
export interface CallNote {
  readonly op: number;
  readonly text: string;
}

/** A load of a variant's binary onto a device, with its duration. */
export interface Load {
  readonly variant: number;
  readonly duration_ns: number;
}

/** The trials of a kernel on one set of arguments, fastest first, and `why` one was chosen. */
export interface Tuning {
  readonly run: number;
  readonly arguments: string;
  readonly trials: readonly Trial[];
  readonly why: string;
}

/** Figures with a value for each step, over all that is below; null: unknown for all. */
export interface CalledFigures {
  readonly runs: readonly number[] | null;
  readonly device_ns: readonly number[] | null;
  readonly host_ns: readonly number[] | null;
  readonly bytes: readonly number[] | null;
  readonly compile_ns: readonly number[] | null;
}

/** A line of the headline of `kvtrace diff`. */
export interface SinceRow {
  readonly kernel: string;
  readonly what: string;
  readonly values: string;
  readonly by: string;
  readonly direction: string;
  readonly sure: string;
}

/** Changes from the most similar variant of the kernel that the run compiled before. */
export interface Recompiled {
  /** Index into `Report.variants`. */
  readonly nearest: number;
  readonly changes: readonly Change[];
}

/** Warps on a multiprocessor at once, the most it can hold, and the limiting resource. */
export interface Occupancy {
  readonly warps: number;
  readonly of: number;
  readonly limited_by: string;
}

/** A parameter of a kernel: its type, or its compile-time constant. */
export interface Parameter {
  readonly name: string | null;
  readonly type: string | null;
  readonly constexpr: string | null;
  readonly divisibility: number | null;
}

/** A compiler stage of a variant. `text` is an index into `Report.texts`. */
export interface Stage {
  readonly stage: string;
  readonly text: number | null;
  readonly size_bytes: number | null;
  readonly duration_ns: number | null;
}

/** A source file; `first_line` is the number of the text's first line in the file. */
export interface SourceFile {
  readonly path: string;
  readonly text: number | null;
  readonly first_line: number;
}

/**
 * Roofline position of one launch of a call on `Report.limits`.
 *
 * `position` has roofline times; `intensity` is FLOPs per distinct byte (null: no bytes). In FLOPs
 * per second, `roof` is the peak for the launch's mix of operations (null: no FLOPs), `attainable`
 * the rate in its roofline time, `reached` the rate in its measured median device time. `achieved`
 * is the roofline time over that median.
 */
export interface Roofline {
  readonly position: Position;
  readonly intensity: number | null;
  readonly roof: number | null;
  readonly attainable: number | null;
  readonly reached: number | null;
  readonly achieved: number | null;
}

/**
 * A verdict of one rule on one access of a unique call.
 *
 * `file`, `line` and `column` are those of the innermost frame of `stack`, or of the kernel's
 * definition without a stack. `program`, `iteration`, `lane`, `address_offset` and `past_end_bytes`
 * describe the witness, `other_program` and `other_stack` the second access of a race. `calls` and
 * `launches` count, over all runs, the unique calls with an equal finding and their launches.
 * `invocation` is the call as source text, `launched_at` the place of its first launch. A finding
 * is `suppressed` if a comment in the source says that it is intended, with `suppress_reason`.
 * `generated` means that Inductor wrote the kernel, from `operators`. Findings that one change
 * would fix have the same `cause` (causes.py).
 */
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
  readonly invocation: string | null;
  readonly launched_at: StackFrame | null;
  readonly source: string | null;
  readonly stack: readonly StackFrame[];
  readonly other_stack: readonly StackFrame[];
  readonly generated: boolean;
  readonly operators: readonly Operator[];
  readonly cause: string;
}

/**
 * Idle time of devices by cause; times are measured.
 *
 * `by_cause` splits `idle_ns`, the largest first. `small` is the part of it between kernels shorter
 * than `SMALL`, while the host only launched and ran Python. `short_executions` has the kernels
 * that ran so shortly, the most frequent first. `paused_ns` is the part of the cause `host` in
 * `pauses`, gaps of at least `PAUSE`, which the pace of launching does not explain. `steps` are
 * those of each run with at most `MOST_STEPS` steps.
 */
export interface Gaps {
  readonly idle_ns: number;
  readonly by_cause: Readonly<Record<string, number>>;
  readonly groups: readonly GapGroup[];
  readonly small: Readonly<Record<string, number>>;
  readonly short_executions: readonly ShortExecutions[];
  readonly paused_ns: number;
  readonly pauses: number;
  readonly steps: readonly StepTimes[];
}

/**
 * Something that costs performance, its location, and what to try.
 *
 * `rule` is a slug; `kernel` is null where it is about the whole program. `cost_ns` is what could
 * be saved at most, over the window of all runs, where that is known.
 */
export interface Advice {
  readonly rule: string;
  readonly kernel: string | null;
  readonly file: string | null;
  readonly line: number | null;
  readonly text: string;
  readonly figures: readonly Figure[];
  readonly cost_ns: number | null;
}

/** A row of the table: a Triton kernel, a library's kernel, a copy or a fill. */
export interface Ran {
  readonly name: string;
  /** Triton, a library's name, copy, fill or other. */
  readonly kind: string;
  /** File and line of the kernel, if known. */
  readonly place: string;
  /** Index into `Report.kernels`. */
  readonly kernel: number | null;
  readonly executions: number;
  readonly device_ns: number | null;
  /** Bytes or FLOPs per second, whichever is the bound. */
  readonly rate: Rate | null;
  /** Roofline time divided by the measured time. */
  readonly achieved: number | null;
}

/**
 * All executions on devices under one name.
 *
 * `kind` says whose it is: Triton, a library's name, copy, fill or other; of another tool's traces
 * custom, too (`figures/makers.py`). `share` is that of all rows. `bytes` are those copied or
 * filled. `step_ns` is the mean time in one step of one run, where there are steps. `module` and
 * `source` are a Triton kernel's (`identity.py`); `file` and `line` are its definition, or of a
 * library's kernel the line that most of its time comes from.
 */
export interface DeviceRow {
  readonly name: string;
  readonly kind: string;
  readonly executions: number;
  readonly device_ns: number;
  readonly median_ns: number;
  readonly share: number;
  readonly bytes: number | null;
  readonly step_ns: number | null;
  readonly module: string | null;
  readonly file: string | null;
  readonly line: number | null;
  readonly source: string | null;
}

/**
 * Time of a window of a run, or a sum over runs; of a whole run from the first execution on.
 *
 * Of a run with several devices, one is busy while any is. `overlapped_ns` is time in which more
 * than one execution ran, counted as often as there were others. `idle_ns` is the rest of
 * `span_ns`.
 */
export interface Busy {
  readonly span_ns: number;
  readonly busy_ns: number;
  readonly overlapped_ns: number;
  readonly idle_ns: number;
}

/**
 * Steps of a window, of all runs: by the mark `name`, or null by the period of launches.
 *
 * `number` counts the steps of each of the `runs` that have steps. `span_ns` is how long the
 * devices took for all of them, idle time included.
 */
export interface Steps {
  readonly name: string | null;
  readonly number: number;
  readonly span_ns: number;
  readonly runs: number;
}

/** Addresses of a record as progressions, as docs/accesses.md describes. */
export interface AccessLayout {
  readonly base: number;
  readonly programs?: readonly [number, readonly (readonly [number, number, number])[]];
  readonly trips?: readonly [number, readonly (readonly [number, number, number])[]];
  readonly lanes?: readonly (readonly [number, number])[];
  readonly box?: readonly (readonly [number, number])[];
  readonly active?: readonly (readonly [number, number])[] | null;
  readonly runs?: readonly (readonly [number, number, number, number, number])[] | null;
  readonly around?: readonly (readonly [number, number])[];
}

/**
 * Histogram of a tensor; `edges` has one entry more than `counts`. null: no finite value.
 *
 * `nan`, `inf` (both signs) and `zeros` count elements; the bins count finite elements, including
 * zeros. `mean` is that of finite elements, in float64.
 */
export interface Histogram {
  readonly elements: number;
  readonly edges: readonly number[];
  readonly counts: readonly number[];
  readonly nan: number;
  readonly inf: number;
  readonly zeros: number;
  readonly min: number | number | null;
  readonly max: number | number | null;
  readonly mean: number | null;
}

/** A configuration; its time is on the device, without the first trial; null: not recorded. */
export interface Trial {
  readonly variant: number;
  readonly configuration: Readonly<Record<string, string>>;
  readonly launches: number;
  readonly median_ns: number | null;
  readonly kept: boolean;
}

/** The value of a fact on both sides; null where a side lacks the fact. */
export interface Change {
  readonly what: string;
  readonly before: string | null;
  readonly after: string | null;
}

/**
 * Position of launches on a device's roofline; times in nanoseconds, over all launches.
 *
 * `bound` is `memory` if even the distinct bytes take longer than the arithmetic, `compute` if the
 * arithmetic takes longer than all requested bytes, and `caches` in between, where cache hits
 * decide. `best_ns` is the attainable time; `achieved` is `best_ns` over the measured time, at most
 * 1, or null without a device timeline.
 */
export interface Position {
  readonly memory_ns: number;
  readonly uncached_ns: number | null;
  readonly compute_ns: number;
  readonly best_ns: number;
  readonly bound: "memory" | "caches" | "compute";
  readonly achieved: number | null;
}

/** One frame of a source stack; lines and columns count from 1. */
export interface StackFrame {
  readonly file: string | null;
  readonly line: number | null;
  readonly column: number | null;
  readonly function: string | null;
}

/** An operator of the program that a kernel was generated from, with its module and line. */
export interface Operator {
  readonly op: string;
  readonly module: string | null;
  readonly file: string | null;
  readonly line: number | null;
  readonly code: string | null;
}

/**
 * Gaps with one cause between the same executions and lines.
 *
 * Attributes: cause: Why the devices waited. number: Number of gaps. total_ns: Sum of the gaps'
 * durations. longest_ns: Duration of the longest gap. ends: Executions around the longest gap.
 * place: The host's line with the cause, if known. held_ns: Nanoseconds of the gaps by host
 * activity, `host` being Python and other code. events: Number of events in the gaps, by kind:
 * launches, allocations … kernels: Kernels that were compiled or loaded in the gaps.
 */
export interface GapGroup {
  readonly cause:
    | "compile"
    | "collect"
    | "allocate"
    | "synchronize"
    | "launch"
    | "host"
    | "device"
    | "short"
    | "unknown";
  readonly number: number;
  readonly total_ns: number;
  readonly longest_ns: number;
  readonly ends: Ends;
  readonly place: Place | null;
  readonly held_ns: Readonly<Record<string, number>>;
  readonly events: Readonly<Record<string, number>>;
  readonly kernels: readonly string[];
}

/** The executions of one kernel that took less than `SMALL`; copies and fills have none. */
export interface ShortExecutions {
  readonly name: string;
  readonly number: number;
  readonly total_ns: number;
}

/**
 * Durations of a run's steps on devices, and the idle time in each step by cause, in ns.
 *
 * `first` is the number of the first step in the run, as `--steps` counts, and `begin` the begin of
 * each step after that of the window. A gap before a step's first execution belongs to the step
 * before it, since a step begins with its first execution.
 */
export interface StepTimes {
  readonly run: string;
  readonly first: number;
  readonly begin: readonly number[];
  readonly duration_ns: readonly number[];
  readonly idle_ns: Readonly<Record<string, readonly number[]>>;
}

/** A figure that a piece of advice is based on. */
export interface Figure {
  readonly name: string;
  readonly value: string;
  readonly how: "measured" | "derived" | "assumed";
}

/** Bytes or FLOPs per second; a lower bound (`at_least`) if some accesses were not counted. */
export interface Rate {
  readonly per_second: number;
  readonly unit: "B/s" | "FLOP/s";
  readonly at_least: boolean;
}

/** The executions before and after a gap: names, and the lines that requested them. */
export interface Ends {
  readonly before: string;
  readonly after: string;
  readonly before_place: Place | null;
  readonly after_place: Place | null;
}

/** A line of the program. */
export interface Place {
  readonly file: string;
  readonly line: number | null;
  readonly function: string | null;
}
