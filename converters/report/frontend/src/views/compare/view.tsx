// What differs between two traces; only in pages that `kvtrace diff --html` writes.

import { NotHere } from "../../app/boundary";
import { href } from "../../app/router";
import type { View, ViewProps } from "../../app/view";
import { shortText } from "../../data/format";
import type { Page } from "../../data/page";
import { useBlock } from "../../data/use_block";
import { Note } from "../../parts/text";
import type { Comparison } from "./blocks";
import "./compare.css";
import { Merge } from "./headline";
import { KernelComparison } from "./kernel";
import { ComparisonOverview } from "./overview";

const BLOCK = "compare";

function Compare({ page, params, query }: ViewProps) {
  const loaded = useBlock<Comparison>(page, BLOCK);
  if (loaded.state === "missing") return <NotHere what="comparison" />;
  if (loaded.state !== "ready") {
    return (
      <>
        <h1>Compare</h1>
        {loaded.state === "failed" ? <Note>{loaded.reason}</Note> : <p class="muted">…</p>}
      </>
    );
  }
  const comparison = loaded.value;
  const place = params["kernel"];
  if (place === undefined) return <Whole page={page} comparison={comparison} query={query} />;
  const kernel = comparison.kernels[Number(place)];
  if (!kernel) return <NotHere what="kernel that differs" />;
  return (
    <>
      <h1>{shortText(kernel.name, 200)}, before and after</h1>
      <Legend comparison={comparison} />
      <p>
        <a href={href("compare")}>All that differs</a>
      </p>
      <KernelComparison key={place} page={page} kernel={kernel} query={query} />
    </>
  );
}

function Whole(props: { page: Page; comparison: Comparison; query: URLSearchParams }) {
  return (
    <>
      <Merge answers={props.comparison.answers} />
      <Legend comparison={props.comparison} />
      <ComparisonOverview {...props} />
    </>
  );
}

function Legend({ comparison: { before, after } }: { comparison: Comparison }) {
  return (
    <p class="compare-legend wrap">
      <span class="swatch" aria-hidden="true" /> before: {shortText(before.label, 200)}{" "}
      <span class="swatch after" aria-hidden="true" /> after: {shortText(after.label, 200)}, which
      the rest of this report is of
    </p>
  );
}

const view: View = {
  name: "compare",
  title: "Compare",
  section: "compare",
  order: 5,
  routes: ["compare", "compare/:kernel"],
  shown: (page) => page.has(BLOCK),
  keys: [["[ ]", "Previous or next change of the texts side by side"]],
  Component: Compare,
};

export default view;
