// The first view: what ran, the figures, the timeline, the kernels, what was found.

import { useMemo } from "preact/hooks";
import type { View } from "../../app/view";
import { page } from "../../data/page";
import { DroppedNotes, Note, Section } from "../../parts/text";
import { Timeline, TIMELINE_KEYS } from "../../parts/timeline";
import { KernelTable } from "../kernels/table";
import { TimeOfDevices } from "./device_time";
import { FindingsSummary } from "./findings_summary";
import { Messages } from "./messages";
import "./overview.css";
import { Recompiles } from "./recompiles";
import { SinceLastRun } from "./since";
import { TotalFigures } from "./total_figures";
import { WhatRan } from "./what_ran";

function Overview() {
  const { report } = page;
  const kernels = useMemo(() => report.kernels.map((_, index) => index), [report]);
  return (
    <>
      <h1>Overview</h1>
      <WhatRan />
      <TotalFigures />
      <DroppedNotes />
      <div class="overview-top">
        <TimeOfDevices />
        <SinceLastRun />
        <Section title="Findings">
          <FindingsSummary />
        </Section>
        <Recompiles />
      </div>
      <Section title="Timeline">
        {report.tracks.length ? <Timeline /> : <Note>Nothing was recorded that has a time.</Note>}
      </Section>
      <Section title="Top kernels">
        <KernelTable kernels={kernels} caption="Top kernels" height={10} brief />
      </Section>
      <Section title="Blind spots and messages" id="messages">
        <Messages />
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
