// The first view: what add-ons have to say first, errors, where the time went, what to try, what else
// was found, what ran; then the rest.

import type { View } from "../../app/view";
import { page } from "../../data/page";
import { WithRows } from "../../parts/rows";
import { DroppedNotes, NOTHING, Note, Section } from "../../parts/text";
import { Timeline, TIMELINE_KEYS } from "../../parts/timeline";
import { totals } from "../findings/counts";
import { AllThatRan } from "./all_that_ran";
import { CostlyLines } from "./costly_lines";
import { FindingsSummary } from "./findings_summary";
import { PARTS } from "./further";
import { Messages } from "./messages";
import "./overview.css";
import { Ranks } from "./ranks";
import { Recompiles } from "./recompiles";
import { StepTime } from "./step_time";
import { TotalFigures } from "./total_figures";
import { WhatRan } from "./what_ran";
import { WhatToTry } from "./what_to_try";

function Overview() {
  const { report } = page;
  const hasErrors = Boolean(totals(report).get("error"));
  const isEmpty = !report.totals.launches && !report.kernels.length && !report.device_time;
  return isEmpty ? (
    <WithoutKernels />
  ) : (
    <>
      <h1 class="hidden">Overview</h1>
      {PARTS.filter((part) => part.shown()).map(({ Component }, place) => (
        <Component key={place} />
      ))}
      {hasErrors ? <Findings /> : null}
      <Ranks />
      <StepTime />
      <div class="overview-top">
        <WhatToTry />
        <div class="overview-side">
          {hasErrors ? null : <Findings />}
          <CostlyLines />
        </div>
      </div>
      <AllThatRan />
      <DroppedNotes />
      <Section title="Timeline">
        {report.tracks.length ? (
          <WithRows>{() => <Timeline />}</WithRows>
        ) : (
          <Note>No launches or executions with times were recorded.</Note>
        )}
      </Section>
      <Recompiles />
      <Section title="Warnings and notes" id="messages">
        <Messages />
      </Section>
      <Section title="What was recorded" id="what-ran">
        <WhatRan />
        <TotalFigures />
      </Section>
    </>
  );
}

function Findings() {
  return (
    <Section title="Findings" id="overview-findings">
      <FindingsSummary />
    </Section>
  );
}

/** What there is to say of a trace in which nothing ran. */
function WithoutKernels() {
  return (
    <>
      <h1 class="hidden">Overview</h1>
      <Note kind="warning">{NOTHING}: there is nothing to profile or to judge.</Note>
      <Section title="Warnings and notes" id="messages">
        <Messages />
      </Section>
      <Section title="What was recorded" id="what-ran">
        <WhatRan />
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
