// Tensors of the call whose contents were recorded: figures, a histogram, and the tensor as a file.

import { chosenNumber, setQuery } from "../../app/router";
import { formatNumber, formatTuple, plural, shortText } from "../../data/format";
import { page } from "../../data/page";
import type { CallOps, Histogram, RecordedValue } from "../../data/types";
import { WithTable } from "../../parts/beside";
import { code, figure, words } from "../../parts/columns";
import { Table } from "../../parts/table";
import { Missing } from "../../parts/text";
import { download, isWidened, npyOf } from "../../accesses/values";

const MEASURED = [
  ["min", "min"],
  ["max", "max"],
  ["mean", "mean"],
  ["zeros", "zeros"],
  ["NaN", "nan"],
  ["infinite", "inf"],
] as const;

export function Recorded({ block }: { block: CallOps }) {
  const position = chosenNumber("tensor");
  const shown = block.values.find((value) => value.arg === position) ?? block.values[0];
  if (!shown) {
    return (
      <Missing
        what="No contents of this call's tensors were recorded. To record them, run the program with"
        command="KVTRACE_TENSORS=all"
      />
    );
  }
  return (
    <>
      <Table<RecordedValue>
        id="recorded-tensors"
        caption="Recorded tensors"
        columns={[
          code("Tensor", ({ name }) => name, { limit: 80 }),
          words("Type", ({ dtype }) => dtype ?? ""),
          words("Shape", ({ shape }) => formatTuple(shape)),
          ...MEASURED.map(([label, name]) =>
            figure<RecordedValue>(
              label,
              "measured",
              ({ histogram }) => histogram?.[name],
              "number",
            ),
          ),
          { label: "File", cell: (tensor) => <DownloadButton tensor={tensor} /> },
        ]}
        rows={block.values}
        chosen={shown}
        onChoose={(tensor) => setQuery({ tensor: tensor.arg })}
      />
      {shown.histogram?.counts.length ? (
        <Bins name={shortText(shown.name, 80)} histogram={shown.histogram} />
      ) : null}
      <p class="small muted">Measured: contents as they were before the call's first launch.</p>
    </>
  );
}

function DownloadButton({ tensor }: { tensor: RecordedValue }) {
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

function Bins({ name, histogram: { counts, edges } }: { name: string; histogram: Histogram }) {
  const most = Math.max(...counts);
  const said = (bin: number): string =>
    `${formatNumber(edges[bin])} to ${formatNumber(edges[bin + 1])}: ${plural(counts[bin] ?? 0, "element")}`;
  const bins = [...counts.keys()];
  return (
    <>
      <p class="small muted">
        Values of {name}, finite ones in {plural(bins.length, "bin")} from {formatNumber(edges[0])}{" "}
        to {formatNumber(edges.at(-1))}
      </p>
      <WithTable
        name={`Values of ${name}`}
        canvas={
          <div class="launch-bins" role="img" aria-label={`Histogram of the values of ${name}`}>
            {counts.map((count, bin) => (
              <span key={bin} title={said(bin)}>
                <span style={{ blockSize: `${(100 * count) / most}%` }} />
              </span>
            ))}
          </div>
        }
        table={() => (
          <Table<number>
            id="histogram-table"
            caption={`Values of ${name}`}
            columns={[
              figure("from", null, (bin) => edges[bin], "number"),
              figure("to", null, (bin) => edges[bin + 1], "number"),
              figure("elements", "measured", (bin) => counts[bin]),
            ]}
            rows={bins}
            height={10}
          />
        )}
      />
    </>
  );
}
