// The first view: what ran, the figures, the timeline, the kernels, what was found.

import type { View, ViewProps } from "../../app/view";
import { DroppedNotes, Note, Section } from "../../parts/text";
import { Timeline, TIMELINE_KEYS } from "../../parts/timeline";
import { CompileCost } from "./compile_cost";
import { FindingsSummary } from "./findings_summary";
import { MarksTable, Messages } from "./messages";
import { TopKernels } from "./top_kernels";
import { TotalFigures } from "./total_figures";
import { WhatRan } from "./what_ran";

function Overview({ page, query }: ViewProps) {
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
      <Section title="Top kernels">
        <TopKernels page={page} query={query} />
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
      <Section title="Blind spots and messages" id="messages">
        <Messages page={page} />
      </Section>
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
