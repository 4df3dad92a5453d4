// The list of launches: filtered by what the address says, one chosen beside it.

import { useMemo } from "preact/hooks";
import { href, setQuery } from "../../app/router";
import type { View, ViewProps } from "../../app/view";
import { formatCount, plural, shortText } from "../../data/format";
import { page } from "../../data/page";
import { Split } from "../../parts/beside";
import { LaunchPanel } from "../../parts/launch_panel";
import { Choice, matches, Search } from "../../parts/search";
import { DroppedNotes, Note, trackName } from "../../parts/text";
import { LaunchTable } from "./table";

function Launches({ query }: ViewProps) {
  const { launches } = page;
  const asked = ["kernel", "phase", "track", "call", "least", "q"].map((name) => query.get(name));
  const rows = useMemo(() => filteredLaunches(query), asked);
  const chosen = chosenLaunch(query.get("launch"));
  return (
    <>
      <h1>Launches</h1>
      <DroppedNotes />
      <Toolbar query={query} />
      <p class="muted" aria-live="polite" id="launch-count">
        {formatCount(rows.length)} of {plural(launches.seq.length, "launch", "launches")} on this
        page
      </p>
      <Split
        wide="left"
        left={
          <LaunchTable rows={rows} chosen={chosen} onChoose={(row) => setQuery({ launch: row })} />
        }
        right={
          <div id="selected-launch" aria-live="polite">
            {chosen === null ? (
              <Note>Choose a launch to see its call.</Note>
            ) : (
              <LaunchPanel row={chosen} />
            )}
          </div>
        }
      />
    </>
  );
}

function chosenLaunch(text: string | null): number | null {
  const row = text !== null && /^\d+$/.test(text) ? Number(text) : -1;
  return row >= 0 && row < page.launches.seq.length ? row : null;
}

function Toolbar(props: { query: URLSearchParams }) {
  const { query } = props;
  const { report } = page;
  const choice = (
    label: string,
    name: string,
    all: string,
    options: readonly (readonly [number, string])[],
  ) => (
    <Choice
      label={label}
      value={query.get(name) ?? ""}
      options={[["", all], ...options.map(([value, text]) => [String(value), text] as const)]}
      onChoose={(value) => setQuery({ [name]: value })}
    />
  );
  const number = (label: string, name: string, step: string) => (
    <label class="control">
      <span>{label}</span>
      <input
        type="number"
        min="0"
        step={step}
        value={query.get(name) ?? ""}
        onChange={(event) => setQuery({ [name]: event.currentTarget.value })}
      />
    </label>
  );
  return (
    <div class="toolbar">
      <Search
        id="launch-filter"
        label="Filter"
        placeholder="kernel's name or launch's number"
        value={query.get("q") ?? ""}
        onInput={(text) => setQuery({ q: text })}
      />
      {choice("Kernel", "kernel", "all kernels", namedKernels())}
      {choice(
        "Phase",
        "phase",
        "all phases",
        report.phases.map((name, index) => [index, name]),
      )}
      {choice("Thread", "track", "all threads", hostTracks())}
      {number("Call", "call", "1")}
      {number("At least µs", "least", "any")}
    </div>
  );
}

function namedKernels(): (readonly [number, string])[] {
  return page.report.kernels
    .map((kernel, index) => [index, shortText(kernel.name, 80)] as const)
    .sort((a, b) => (a[1] < b[1] ? -1 : 1));
}

function hostTracks(): (readonly [number, string])[] {
  return page.report.tracks.flatMap((track, index) =>
    track.kind === "host" ? [[index, trackName(index)] as const] : [],
  );
}

const view: View = {
  name: "launches",
  title: "Launches",
  section: "launches",
  order: 30,
  routes: ["launches"],
  badge: () => ({ text: formatCount(page.report.totals.launches), kind: "plain" }),
  find: (words) => {
    const { launches, report } = page;
    if (!/^\d+$/.test(words.trim())) return [];
    const row = Array.prototype.indexOf.call(launches.seq, Number(words)) as number;
    if (row < 0) return [];
    const kernel = report.kernels[launches.kernel[row] ?? -1]?.name ?? "unknown kernel";
    return [{ title: `Launch ${words}`, detail: kernel, href: href(`launch/${row}`) }];
  },
  Component: Launches,
};

export default view;

/** Rows of the columns; one pass over typed arrays, so that a million takes milliseconds. */
function filteredLaunches(query: URLSearchParams): Uint32Array {
  const { report, launches } = page;
  const number = (name: string): number | null => {
    const text = query.get(name);
    return text === null || text === "" || Number.isNaN(Number(text)) ? null : Number(text);
  };
  const equal = (["kernel", "phase", "track", "call"] as const).flatMap((name) => {
    const wanted = number(name);
    return wanted === null ? [] : [{ column: launches[name], wanted }];
  });
  const least = (number("least") ?? 0) * 1000;
  const words = (query.get("q") ?? "").trim();
  // for each kernel, from -1 on, whether its name has the words; a launch's number fits as well
  const named = words
    ? [false, ...report.kernels.map((kernel) => matches(words, kernel.name))]
    : null;
  const seq = /^\d+$/.test(words) ? Number(words) : null;
  const found = new Uint32Array(launches.seq.length);
  let length = 0;
  for (let row = 0; row < found.length; row += 1) {
    if (equal.some(({ column, wanted }) => column[row] !== wanted)) continue;
    if ((launches.duration[row] as number) < least) continue;
    if (named && !named[(launches.kernel[row] as number) + 1] && launches.seq[row] !== seq)
      continue;
    found[length] = row;
    length += 1;
  }
  return found.subarray(0, length);
}
