// Texts of both sides: every stage that differs, aligned, and any text beside any other.

import { useState } from "preact/hooks";

import { setQuery } from "../../app/router";
import { formatCount, plural, shortText } from "../../data/format";
import type { Page } from "../../data/page";
import { useBlock } from "../../data/use_block";
import { Code, stageLanguage } from "../../parts/code";
import { Choice } from "../../parts/search";
import { Tabs } from "../../parts/tabs";
import { Note } from "../../parts/text";
import type { CodeDifference, KernelDifference, VariantDifference } from "./blocks";
import { Copy } from "../../parts/copy";
import { SideBySide } from "./side_by_side";

interface TextsProps {
  readonly page: Page;
  readonly kernel: KernelDifference;
  readonly variant: VariantDifference | null;
  readonly query: URLSearchParams;
}

const ANY = "any";

/** Source, every stage that differs, and any two texts, as tabs. */
export function Texts({ page, kernel, variant, query }: TextsProps) {
  const code = variant?.code ?? null;
  const later = variant?.aligned ?? [];
  const texts = variant?.texts ?? [];
  const tabs = [
    ...(kernel.source ? [{ name: "source", title: `Source ${sizeOf(kernel.source)}` }] : []),
    ...[...(code ? [code] : []), ...later].map((each) => ({
      name: each.stage,
      title: `${each.stage.toUpperCase()} ${sizeOf(each)}`,
    })),
    ...(texts.length ? [{ name: ANY, title: "Any two texts" }] : []),
  ];
  const tab = tabs.find(({ name }) => name === query.get("tab"))?.name ?? tabs[0]?.name;
  if (tab === undefined) {
    return (
      <p class="muted">
        {kernel.status === "changed"
          ? "Its source and its code are the same, or are not on this page."
          : "It is missing on the other side."}
      </p>
    );
  }
  const change = query.get("change");
  const stage = later.find((each) => each.stage === tab);
  return (
    <Tabs
      label="Texts"
      tabs={tabs}
      chosen={tab}
      onChoose={(name) => setQuery({ tab: name === tabs[0]?.name ? null : name, change: null })}
    >
      {tab === "source" && kernel.source ? (
        <SideBySide
          key="source"
          rows={kernel.source.rows}
          language="python"
          name="Source"
          change={change}
        />
      ) : null}
      {code && tab === code.stage ? <Stage code={code} first change={change} /> : null}
      {stage ? (
        <LaterStage key={stage.stage} page={page} block={stage.block} change={change} />
      ) : null}
      {tab === ANY && variant ? <AnyTwo page={page} variant={variant} query={query} /> : null}
    </Tabs>
  );
}

function sizeOf({ removed, added }: { removed: number; added: number }): string {
  return `−${formatCount(removed)} +${formatCount(added)}`;
}

function LaterStage(props: { page: Page; block: string; change: string | null }) {
  const loaded = useBlock<CodeDifference>(props.page, props.block);
  if (loaded.state === "failed") return <Note>{loaded.reason}</Note>;
  if (loaded.state !== "ready") return <p class="muted">…</p>;
  return <Stage code={loaded.value} first={false} change={props.change} />;
}

function Stage(props: { code: CodeDifference; first: boolean; change: string | null }) {
  const { code, first, change } = props;
  return (
    <>
      <StageNote code={code} first={first} />
      <SideBySide
        key={code.stage}
        rows={code.rows}
        substitutions={code.substitutions}
        language={stageLanguage(code.stage)}
        name={code.stage.toUpperCase()}
        change={change}
      />
    </>
  );
}

function StageNote({ code, first }: { code: CodeDifference; first: boolean }) {
  const pairs = code.substitutions.map(
    ([from, to]) => `${shortText(from, 40)} → ${shortText(to, 40)}`,
  );
  return (
    <p class="small muted">
      {first
        ? "The first stage that differs, which explains later ones."
        : "An earlier difference explains it."}{" "}
      Locations and names of values are ignored, so lines are counted from where this text begins.
      {pairs.length ? (
        <span id="substitutions">
          {" "}
          {plural(code.substituted_lines, "line")}{" "}
          {code.substituted_lines === 1 ? "differs" : "differ"} only in {pairs.join(", ")}, and{" "}
          {code.substituted_lines === 1 ? "is" : "are"} lit faintly.
        </span>
      ) : null}
    </p>
  );
}

interface Chosen {
  readonly name: string;
  readonly stage: string;
  readonly block: string;
}

/** Any text of either side beside any other, as they were recorded. */
function AnyTwo(props: { page: Page; variant: VariantDifference; query: URLSearchParams }) {
  const { page, variant, query } = props;
  const options = variant.texts.flatMap(({ stage, before, after }): Chosen[] => [
    ...(before ? [{ name: `before ${stage}`, stage, block: before }] : []),
    ...(after ? [{ name: `after ${stage}`, stage, block: after }] : []),
  ]);
  const pick = (key: string, otherwise: number): Chosen | undefined =>
    options.find(({ name }) => name === query.get(key)) ?? options[otherwise] ?? options[0];
  const sides = [
    ["left", pick("left", 0)],
    ["right", pick("right", 1)],
  ] as const;
  return (
    <div class="split">
      {sides.map(([key, chosen]) =>
        chosen ? (
          <div class="split-pane" key={key}>
            <Choice
              label={key === "left" ? "Left" : "Right"}
              value={chosen.name}
              options={options.map(({ name }) => [name, name] as const)}
              onChoose={(name) => setQuery({ [key]: name })}
            />
            <OneText key={chosen.block} page={page} chosen={chosen} id={`compare-${key}`} />
          </div>
        ) : null,
      )}
    </div>
  );
}

function OneText(props: { page: Page; chosen: Chosen; id: string }) {
  const { page, chosen, id } = props;
  const loaded = useBlock<{ readonly text: string }>(page, chosen.block);
  const [point, setPoint] = useState<number | null>(null);
  if (loaded.state === "failed") return <Note>{loaded.reason}</Note>;
  if (loaded.state !== "ready") return <p class="muted">…</p>;
  return (
    <>
      <Copy what={chosen.name} text={loaded.value.text} />
      <Code
        id={id}
        text={loaded.value.text}
        language={stageLanguage(chosen.stage)}
        label={chosen.name}
        reveal={point}
        height="32rem"
        onChoose={setPoint}
      />
    </>
  );
}
