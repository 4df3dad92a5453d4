// What `kvtrace fault` says of the runs on this page, first of all.

import type { ComponentChildren } from "preact";

import { href } from "@report/app/router";
import { plainText, plural } from "@report/data/format";
import { page } from "@report/data/page";
import { useBlock } from "@report/data/use_block";
import { Command, Note, Section } from "@report/parts/text";
import type { OverviewPart } from "@report/views/overview/further";
import type { Faults, PageFault } from "../model";
import "./faults.css";

const BLOCK = "faults";

function OfRuns() {
  const loaded = useBlock<Faults>(page, BLOCK);
  if (loaded.state === "loading" || loaded.state === "missing") return null;
  if (loaded.state === "failed") return <Note kind="warning">{loaded.reason}</Note>;
  const { faults, problems, more, command } = loaded.value;
  if (!faults.length && !problems.length) return null;
  return (
    <Section
      title="What went wrong on the GPU"
      id="faults"
      aside={<Command>{plainText(command)}</Command>}
    >
      {faults.map((fault, place) => (
        <One key={place} fault={fault} />
      ))}
      {problems.map((problem) => (
        <Note key={problem} kind="warning">
          {plainText(problem)}
        </Note>
      ))}
      {more ? <p class="muted">{plural(more, "more dump")}, which the command shows.</p> : null}
    </Section>
  );
}

function One({ fault }: { fault: PageFault }) {
  const { process, headline, excerpt, facts, commands, call } = fault;
  const labels = [...new Set(facts.map(([label]) => label))];
  return (
    <article class="fault">
      {process ? <p class="muted">{plainText(process)}</p> : null}
      <h3>{plainText(headline)}</h3>
      {excerpt.length ? (
        <pre tabIndex={0} aria-label="Source">
          {excerpt.map(plainText).join("\n")}
        </pre>
      ) : null}
      <dl>
        {labels.map((label) => (
          <Entry key={label} label={label}>
            {facts
              .filter(([other]) => other === label)
              .map(([, sentence], place) => (
                <div key={place}>{plainText(sentence)}</div>
              ))}
            {label === "launch" && call !== null ? (
              <a href={href(`call/${call}`)}>its arguments and accesses</a>
            ) : null}
          </Entry>
        ))}
        {commands.length ? (
          <Entry label="run">
            {commands.map((command) => (
              <div key={command}>
                <Command>{plainText(command)}</Command>
              </div>
            ))}
          </Entry>
        ) : null}
      </dl>
    </article>
  );
}

function Entry(props: { label: string; children: ComponentChildren }) {
  return (
    <div class="fault-fact" data-fact={props.label}>
      <dt>{props.label}</dt>
      <dd>{props.children}</dd>
    </div>
  );
}

const part: OverviewPart = {
  shown: () => page.has(BLOCK),
  Component: OfRuns,
};

export default part;
