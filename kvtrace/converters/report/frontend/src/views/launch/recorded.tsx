// Tensors of the call whose contents were recorded: figures, a histogram, and the tensor as a file.

import { useCallback, useMemo } from "preact/hooks";

import { words, code, figure } from "../../parts/columns";
import {
  formatCount,
  formatTuple,
  plural,
  shortText,
  threeFigures,
  type Maybe,
} from "../../data/format";
import type { Page } from "../../data/page";
import { WithTable } from "../../parts/beside";
import { Canvas, type Drawing } from "../../parts/canvas";
import { type Column, Table } from "../../parts/table";
import { Missing } from "../../parts/text";
import type { CallBlock, Histogram, RecordedTensor } from "./blocks";
import { download } from "./values";
import { choose, chosenNumber } from "./state";
import { isWidened, npyOf } from "./values";

export function Recorded(props: { page: Page; block: CallBlock }) {
  const { page, block } = props;
  const position = chosenNumber("tensor");
  const shown = block.values.find((value) => value.arg === position) ?? block.values[0];
  const rows = useMemo(() => block.values, [block]);
  if (!shown) {
    return (
      <Missing
        what="No contents of this call's tensors were recorded. To record them, run the program with"
        command="KVTRACE_TENSORS=all"
      />
    );
  }
  const measured = (label: string, name: "min" | "max" | "mean" | "zeros" | "nan" | "inf") =>
    figure<RecordedTensor>(label, "measured", ({ histogram }) => histogram?.[name], plain);
  const columns: Column<RecordedTensor>[] = [
    code("Tensor", ({ name }) => name, { limit: 80 }),
    { label: "Type", cell: ({ dtype }) => dtype ?? "" },
    words("Shape", ({ shape }) => formatTuple(shape)),
    measured("min", "min"),
    measured("max", "max"),
    measured("mean", "mean"),
    measured("zeros", "zeros"),
    measured("NaN", "nan"),
    measured("infinite", "inf"),
    { label: "File", cell: (tensor) => <DownloadButton page={page} tensor={tensor} /> },
  ];
  return (
    <>
      <Table
        id="recorded-tensors"
        caption="Recorded tensors"
        columns={columns}
        rows={rows}
        chosen={shown}
        onChoose={(tensor) => choose({ tensor: tensor.arg })}
      />
      {shown.histogram?.counts.length ? <Bars tensor={shown} histogram={shown.histogram} /> : null}
      <p class="small muted">Measured: contents as they were before the call's first launch.</p>
    </>
  );
}

function plain(value: Maybe<number>): string {
  if (value == null) return "–";
  if (Number.isInteger(value)) return formatCount(value);
  return Math.abs(value) < 1e-3 ? value.toExponential(2) : threeFigures(value);
}

function DownloadButton(props: { page: Page; tensor: RecordedTensor }) {
  const { page, tensor } = props;
  const name = `tensor/${tensor.artifact}`;
  if (!page.has(name)) return <span class="muted">left out of this page</span>;
  const save = async (): Promise<void> => {
    const file = npyOf(tensor, await page.bytes(name));
    if (file) download(`${tensor.name ?? "tensor"}.npy`, file);
  };
  return (
    <button type="button" class="quiet small" onClick={() => void save()}>
      Download .npy{isWidened(tensor.dtype) ? " (float32)" : ""}
      <span class="hidden"> of {shortText(tensor.name, 80)}</span>
    </button>
  );
}

interface Bin {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

function Bars(props: { tensor: RecordedTensor; histogram: Histogram }) {
  const { tensor, histogram } = props;
  const bins = useMemo(
    () =>
      histogram.counts.map((count, bin): Bin => ({
        from: histogram.edges[bin] ?? 0,
        to: histogram.edges[bin + 1] ?? 0,
        count,
      })),
    [histogram],
  );
  const draw = useCallback((drawing: Drawing) => paintBars(drawing, bins), [bins]);
  const name = shortText(tensor.name, 80);
  const columns: Column<Bin>[] = [
    figure("from", null, ({ from }) => from, plain),
    figure("to", null, ({ to }) => to, plain),
    figure("elements", "measured", ({ count }) => count),
  ];
  return (
    <WithTable
      name={`Values of ${name}`}
      canvas={
        <figure class="launch-histogram" id="histogram" data-tensor={name}>
          <figcaption class="small muted">
            Values of {name}, finite ones in {plural(bins.length, "bin")}
          </figcaption>
          <div class="canvas-box">
            <Canvas label={`Histogram of the values of ${name}`} height={120} draw={draw} />
          </div>
        </figure>
      }
      table={() => (
        <Table
          id="histogram-table"
          caption={`Values of ${name}`}
          columns={columns}
          rows={bins}
          height={10}
        />
      )}
    />
  );
}

function paintBars({ context, width, height, colours }: Drawing, bins: readonly Bin[]): void {
  context.fillStyle = colours.back;
  context.fillRect(0, 0, width, height);
  const most = bins.reduce((top, { count }) => Math.max(top, count), 0) || 1;
  const wide = (width - 16) / bins.length;
  context.fillStyle = colours.accent;
  bins.forEach(({ count }, bin) => {
    const tall = ((height - 32) * count) / most;
    context.fillRect(
      8 + bin * wide,
      height - 20 - tall,
      Math.max(wide - 1, 1),
      count ? Math.max(tall, 1) : 0,
    );
  });
  context.fillStyle = colours.muted;
  context.fillText(plain(bins[0]?.from ?? null), 8, height - 9);
  context.textAlign = "end";
  context.fillText(plain(bins.at(-1)?.to ?? null), width - 8, height - 9);
  context.fillText(formatCount(most), width - 8, 8);
  context.textAlign = "start";
}
