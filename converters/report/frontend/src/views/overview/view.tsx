// The first view: what ran, the figures, the timeline, the kernels, what was found.

import type { JSX } from "preact";

import { href } from "../../app/router";
import type { View, ViewProps } from "../../app/view";
import { formatCount } from "../../data/format";
import { DroppedNotes, Note, Section } from "../../parts/text";
import { TIMELINE_KEYS, Timeline } from "../../parts/timeline";
import { KernelTable } from "../kernels/table";
import { CompileCost } from "./compile_cost";
import { FindingsSummary } from "./findings_summary";
import { MarksTable } from "./marks";
import { Messages } from "./messages";
import { TotalFigures } from "./total_figures";
import { WhatRan } from "./what_ran";

const TOP = 10;

function Overview({ page, query }: ViewProps): JSX.Element {
  const { report } = page;
  return (
    <>
      <h1>Overview</h1>
      <WhatRan page={page} />
      <TotalFigures page={page} />
      <DroppedNotes page={page} />
      <Section title="Timeline">
        {report.tracks.length ? (
          <Timeline page={page} query={query} />
        ) : (
          <Note>Nothing was recorded that has a time.</Note>
        )}
      </Section>
      <Section title="Kernels by host time">
        <TopKernels page={page} />
      </Section>
      <Section title="Findings">
        <FindingsSummary page={page} />
      </Section>
      <Section title="Compile cost">
        <CompileCost page={page} />
      </Section>
      {report.marks.length ? (
        <Section title="Marks">
          <MarksTable page={page} />
        </Section>
      ) : null}
      <Section title="Messages">
        <Messages page={page} />
      </Section>
    </>
  );
}

function TopKernels({ page }: Pick<ViewProps, "page">): JSX.Element {
  const { kernels } = page.report;
  const ranked = kernels.map((_, index) => index);
  ranked.sort((a, b) => (kernels[b]?.host_ns ?? 0) - (kernels[a]?.host_ns ?? 0));
  return (
    <>
      <KernelTable page={page} kernels={ranked.slice(0, TOP)} caption="Kernels by host time" brief />
      {ranked.length > TOP ? (
        <p>
          <a href={href("kernels")}>All {formatCount(ranked.length)} kernels</a>
        </p>
      ) : null}
    </>
  );
}

const view: View = {
  name: "overview",
  title: "Overview",
  section: "overview",
  order: 10,
  routes: [""],
  keys: TIMELINE_KEYS,
  Component: Overview,
};

export default view;
