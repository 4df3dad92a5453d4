// The storage of a tensor as a bar with the place of an access in it, and its spans as a table.

import { useMemo } from "preact/hooks";
import { formatBytes, formatCount, shortText } from "../../data/format";
import { figure, words } from "../../parts/columns";
import { type Column, Table } from "../../parts/table";
import type { Span, StorageView } from "./storage";

type Kind = "storage" | "view" | "access";
const KINDS: readonly Kind[] = ["storage", "view", "access"];

export function StorageDrawing({ of, name }: { of: StorageView; name: string }) {
  const low = Math.min(of.storage.first, of.access.first);
  const size = Math.max(1, Math.max(of.storage.end, of.access.end) - low);
  const rows = useMemo(() => spansOf(of, name), [of, name]);
  return (
    <div id="storage-drawing">
      <div
        class="finding-bar"
        role="img"
        aria-label={`The storage of ${shortText(name, 80)}: ${inWords(of)}`}
      >
        {KINDS.map((kind) => (
          <span
            key={kind}
            class={`key ${kind}`}
            style={{
              insetInlineStart: `${(100 * (of[kind].first - low)) / size}%`,
              inlineSize: `${(100 * (of[kind].end - of[kind].first)) / size}%`,
            }}
          />
        ))}
      </div>
      <p class="small">Bytes count from the tensor's data pointer. The access: {inWords(of)}.</p>
      <Table
        id="storage-spans"
        caption="Storage of the tensor"
        columns={SPAN_COLUMNS}
        rows={rows}
      />
    </div>
  );
}

interface SpanRow extends Span {
  readonly kind: Kind;
  readonly what: string;
}

function spansOf(of: StorageView, name: string): SpanRow[] {
  const what = {
    storage: `storage that ${name} lies in`,
    view: `${name} itself`,
    access: "the access",
  };
  return KINDS.map((kind) => ({ kind, what: what[kind], ...of[kind] }));
}

const SPAN_COLUMNS: readonly Column<SpanRow>[] = [
  {
    ...words("What", (row: SpanRow) => row.what),
    cell: (row) => (
      <>
        <span class={`key ${row.kind}`} aria-hidden="true" /> {shortText(row.what, 80)}
      </>
    ),
  },
  figure("first byte", "derived", (row) => row.first),
  figure("last byte", "derived", (row) => row.end - 1),
  figure("bytes", "derived", (row) => row.end - row.first),
];

/** Where the access is, as the bar shows it. */
function inWords({ access, view, storage }: StorageView): string {
  const bytes = `bytes ${formatCount(access.first)} to ${formatCount(access.end - 1)}`;
  if (access.end > storage.end)
    return `${bytes} end ${formatBytes(access.end - storage.end)} past the end of its storage`;
  if (access.first < storage.first)
    return `${bytes} begin ${formatBytes(storage.first - access.first)} before its storage`;
  if (access.end > view.end)
    return `${bytes} end ${formatBytes(access.end - view.end)} past the end of the tensor, inside its storage`;
  if (access.first < view.first)
    return `${bytes} begin ${formatBytes(view.first - access.first)} before the tensor, inside its storage`;
  return `${bytes}, inside the tensor`;
}
