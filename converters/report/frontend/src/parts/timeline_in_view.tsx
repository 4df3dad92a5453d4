// What is in the part of the timeline that is shown: by kernel, and one by one.

import { useMemo } from "preact/hooks";
import { chosen, href, setQuery } from "../app/router";
import { launchOf } from "../data/executions";
import { formatCount, formatMoment, formatNanoseconds, shortText } from "../data/format";
import { launchNumber } from "../data/launch_numbers";
import { page } from "../data/page";
import { figure, words } from "./columns";
import { Value } from "./figure";
import { LaunchPanel } from "./launch_panel";
import { type Column, Table } from "./table";
import { Tabs } from "./tabs";
import {
  CallLink,
  Facts,
  fullName,
  KernelLink,
  kernelName,
  KindSwatch,
  Name,
  OTHERS,
  VariantLink,
} from "./text";
import { RowsInView } from "./timeline_in_rows";
import {
  eachInView,
  keyFunction,
  keyKernel,
  keyKind,
  rowNouns,
  type Slice,
  sliceName,
} from "./timeline_rows";
import type { Range, TimelineScene } from "./timeline_scene";
import type { Visit } from "./timeline_tree";

interface Sum {
  readonly kernel: number;
  /** The function on the device, where no kernel is known. */
  readonly name: string | null;
  readonly kind: string;
  count: number;
  host: number;
  executions: number;
  device: number;
}

const MOST_KERNELS = 12;
const MOST_SLICES = 20_000;

interface InViewProps {
  readonly scene: TimelineScene;
  readonly range: Range;
  /** The highlighted kernel. */
  readonly only: number | null;
  onChoose(slice: Slice): void;
}

export function InView(props: InViewProps) {
  const tab = chosen("in") ?? "kernels";
  return (
    <div id="in-view">
      <Tabs
        label="In view"
        chosen={tab}
        onChoose={(name) => setQuery({ in: name === "kernels" ? null : name })}
        tabs={[
          { name: "kernels", title: "Kernels in view" },
          { name: "rows", title: "Rows" },
          { name: "slices", title: "One by one" },
        ]}
      >
        {tab === "kernels" ? <ByKernel {...props} /> : null}
        {tab === "rows" ? <RowsInView scene={props.scene} range={props.range} /> : null}
        {tab === "slices" ? <OneByOne {...props} /> : null}
      </Tabs>
    </div>
  );
}

function ByKernel({ scene, range, only }: InViewProps) {
  const sums = useMemo(() => sumsInView(scene, range), [scene, range]);
  const device = sums.some((sum) => sum.executions > 0);
  const columns: (Column<Sum> | false)[] = [
    {
      label: "Kernel",
      cell: (sum) => <SumName sum={sum} />,
      key: (sum) => sum.name ?? kernelName(sum.kernel),
    },
    figure("launches", "measured", (sum) => (sum.name === null ? sum.count : null)),
    figure("host time", "measured", (sum) => (sum.name === null ? sum.host : null), "ns"),
    device && figure("executions", "measured", (sum) => sum.executions),
    device && figure("GPU time", "measured", (sum) => sum.device, "ns"),
  ];
  return (
    <>
      <Table
        caption="Kernels in the part of the timeline that is in view"
        columns={columns}
        rows={sums}
        leaving={device ? ["host time", "launches"] : []}
        chosen={sums.find((sum) => sum.kernel === only) ?? null}
        onChoose={({ kernel }) => {
          if (kernel >= 0) setQuery({ kernel: kernel === only ? null : kernel });
        }}
        empty="No launch in view."
      />
      <p class="muted small">
        Host time is of all launches in view; other tables leave out those that compiled, loaded or
        tuned their kernel.
      </p>
      {sums.some((sum) => sum.kernel === OTHERS) ? (
        <p class="muted small">
          Bins tell only the kernels with most time apart: the figures of a kernel are of the bins
          in which it is one of them, and all else is of other kernels. Zoom in for single ones.
        </p>
      ) : null}
    </>
  );
}

function SumName({ sum }: { sum: Sum }) {
  if (sum.name === null) return <KernelLink kernel={sum.kernel} />;
  return (
    <span class="kernel-name" title={`Library kernel or copy: ${sum.kind}`}>
      <KindSwatch kind={sum.kind} />
      <Name of={sum.name} />
    </span>
  );
}

function OneByOne({ scene, range, onChoose }: InViewProps) {
  const [slices, left] = useMemo(() => slicesInView(scene, range), [scene, range]);
  const begin = ({ row, index }: Slice): number => row.begin[index] as number;
  const length = ({ row, index }: Slice): number =>
    (row.end[index] as number) - begin({ row, index });
  const columns: Column<Slice>[] = [
    words("What", (slice) => rowNouns(slice.row)[0]),
    words("Name", (slice) => sliceName(slice), { limit: 120 }),
    figure("begin", "measured", begin, "moment"),
    figure("duration", "measured", length, "ns"),
    words("Row", (slice) => slice.row.label),
  ];
  return (
    <>
      <Table
        caption="Launches, executions, marks and compilations in view"
        columns={columns}
        rows={slices}
        sort="begin"
        direction="ascending"
        height={12}
        onChoose={onChoose}
        empty="Nothing in view."
      />
      {left ? (
        <p class="muted small">{formatCount(left)} more are in view: zoom in for them.</p>
      ) : null}
    </>
  );
}

function sumsInView(scene: TimelineScene, range: Range): Sum[] {
  const sums = new Map<number, Sum>();
  const of = (key: number): Sum => {
    let sum = sums.get(key);
    if (!sum) {
      const [kernel, name, kind] = [keyKernel(key), keyFunction(key), keyKind(key) ?? "other"];
      sum = { kernel, name, kind, count: 0, host: 0, executions: 0, device: 0 };
      sums.set(key, sum);
    }
    return sum;
  };
  for (const row of scene.rows) {
    if (row.kind !== "launch" && row.kind !== "device") continue;
    const host = row.kind === "launch";
    const add: Visit = (_begin, _end, key, count, busy) => {
      const sum = of(key);
      sum[host ? "count" : "executions"] += count;
      sum[host ? "host" : "device"] += busy;
    };
    scene.each(row, range, add, Infinity);
  }
  return [...sums.values()]
    .sort((a, b) => b.device - a.device || b.host - a.host)
    .filter(({ kernel }, place) => place < MOST_KERNELS || kernel === OTHERS);
}

/** Slices in view, at most so many, and how many are left out. */
function slicesInView(scene: TimelineScene, range: Range): [Slice[], left: number] {
  const found: Slice[] = [];
  let all = 0;
  for (const row of scene.rows) {
    scene.each(row, range, (_begin, _end, _kernel, count) => (all += count));
    eachInView(row, range, (index) => {
      if (found.length < MOST_SLICES) found.push({ row, index });
    });
  }
  return [found, all - found.length];
}

export function SliceDetails({ slice }: { slice: Slice }) {
  const { row, index } = slice;
  const behind = row.indices?.[index] ?? -1;
  if (row.kind === "launch") return <LaunchPanel row={behind} />;
  const [begin, end] = [row.begin[index] as number, row.end[index] as number];
  const name = shortText(sliceName(slice));
  const full = row.kind === "device" ? fullName(sliceName(slice)) : undefined;
  const mark = row.marks[index];
  const variant = row.variants[index];
  return (
    <div class="panel">
      <h3>
        {row.kind === "mark"
          ? `Mark ${name}`
          : row.kind === "device"
            ? `${name} on ${row.label}`
            : name}
      </h3>
      <Facts
        entries={[
          ["Begin", formatMoment(begin)],
          ["Duration", <Value source="measured">{formatNanoseconds(end - begin)}</Value>],
          ["Function", full ? <code class="wrap">{full}</code> : null],
          ["Variant", variant === undefined ? null : <VariantLink variant={variant} />],
          ["Launch", row.kind === "device" ? <CausingLaunch execution={behind} /> : null],
          ["Call", row.columns ? <CallLink call={row.columns.call[behind] ?? -1} /> : null],
          ...Object.entries(mark?.attributes ?? {}).map(
            ([key, value]) => [shortText(key, 80), shortText(value)] as const,
          ),
        ]}
      />
    </div>
  );
}

function CausingLaunch(props: { execution: number }) {
  const launch = launchOf(props.execution);
  const seq = page.device.launch[props.execution] ?? -1;
  if (launch !== null)
    return <a href={href(`launch/${launchNumber(launch)}`)}>{formatCount(seq)}</a>;
  return (
    <span class="muted">
      {seq < 0 ? "library kernels (cuBLAS, cuDNN, torch)" : `${formatCount(seq)}, not on this page`}
    </span>
  );
}
