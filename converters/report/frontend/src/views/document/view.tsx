// A page that is no report of a trace, as `kvtrace fleet` writes: sentences and tables. It is then the
// page's only view.

import { NotHere } from "../../app/boundary";
import type { View, ViewProps } from "../../app/view";
import { DOCUMENT } from "../../data/page";
import type { DocumentCell, DocumentContent, DocumentSection, Head } from "../../data/types";
import { useBlock } from "../../data/use_block";
import { type Column, Table } from "../../parts/table";
import { Note, Section } from "../../parts/text";
import "./document.css";
import { PointLine } from "./point_line";

type Row = readonly DocumentCell[];

function DocumentView({ page }: ViewProps) {
  const loaded = useBlock<DocumentContent>(page, DOCUMENT);
  if (loaded.state === "missing") return <NotHere what="document" />;
  if (loaded.state === "failed") return <Note>{loaded.reason}</Note>;
  if (loaded.state === "loading") return <p class="muted">…</p>;
  const { title, sentences, sections } = loaded.value;
  return (
    <>
      <h1>{title}</h1>
      {sentences.map((sentence, place) => (
        <p key={place} class="wrap">
          {sentence}
        </p>
      ))}
      {sections.map((section, place) => (
        <Part key={place} section={section} />
      ))}
    </>
  );
}

function Part({ section: { heading, heads, rows } }: { section: DocumentSection }) {
  return (
    <Section title={heading}>
      <Table caption={heading} columns={heads.map(columnOf)} rows={rows} leaving={[]} />
    </Section>
  );
}

function columnOf({ label, kind }: Head, place: number): Column<Row> {
  const cellOf = (row: Row): DocumentCell => row[place] as DocumentCell;
  return {
    label,
    number: kind === "number",
    prose: kind === "prose",
    cell: (row) => <CellContent cell={cellOf(row)} />,
    key: (row) => cellOf(row).number ?? cellOf(row).text,
    text: (row) => cellOf(row).line?.label ?? cellOf(row).text,
  };
}

function CellContent({ cell: { text, line } }: { cell: DocumentCell }) {
  return line ? <PointLine line={line} /> : <>{text}</>;
}

const view: View = {
  name: DOCUMENT,
  title: "All",
  section: null,
  order: 99,
  routes: [""],
  shown: () => false,
  Component: DocumentView,
};

export default view;
