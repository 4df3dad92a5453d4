// The list of launches: filtered by what the address says, one chosen beside it.

import { useMemo } from "preact/hooks";
import { chosen, href, setQuery } from "../../app/router";
import type { View } from "../../app/view";
import { formatCount, plural, shortText } from "../../data/format";
import { launchNumber, launchRow } from "../../data/launch_numbers";
import { page, rowsRead } from "../../data/page";
import { Split } from "../../parts/beside";
import { LaunchPanel } from "../../parts/launch_panel";
import { WithRows } from "../../parts/rows";
import { AddressChoice, AddressSearch, matches } from "../../parts/search";
import { DroppedNotes, trackName } from "../../parts/text";
import { LaunchTable } from "./table";

function Launches() {
  const { launches } = page;
  const asked = ["kernel", "phase", "track", "call", "least", "q"].map(chosen);
  const rows = useMemo(() => filteredLaunches(), asked);
  const shown = launchRow(chosen("launch"));
  return (
    <>
      <h1>Launches</h1>
      <DroppedNotes />
      <Toolbar />
      <p class="muted" aria-live="polite" id="launch-count">
        {formatCount(rows.length)} of {plural(launches.seq.length, "launch", "launches")} on this
        page. {shown === null ? "Choose a launch to see its call." : ""}
      </p>
      <Split
        wide="left"
        left={
          <LaunchTable
            rows={rows}
            chosen={shown}
            onChoose={(row) => setQuery({ launch: launchNumber(row) })}
          />
        }
        right={
          <div id="selected-launch" aria-live="polite">
            {shown === null ? null : <LaunchPanel row={shown} />}
          </div>
        }
      />
    </>
  );
}

function Toolbar() {
  const { report } = page;
  const choice = (
    label: string,
    name: string,
    all: string,
    options: readonly (readonly [number, string])[],
  ) => (
    <AddressChoice
      label={label}
      name={name}
      options={[["", all], ...options.map(([value, text]) => [String(value), text] as const)]}
    />
  );
  const number = (label: string, name: string, step: string) => (
    <label class="control">
      <span>{label}</span>
      <input
        type="number"
        min="0"
        step={step}
        value={chosen(name) ?? ""}
        onChange={(event) => setQuery({ [name]: event.currentTarget.value })}
      />
    </label>
  );
  return (
    <div class="toolbar">
      <AddressSearch
        id="launch-filter"
        label="Filter"
        name="q"
        placeholder="kernel's name or launch's number"
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
    const number = words.trim();
    if (!/^\d+$/.test(number) || !rowsRead.value) return [];
    const { launches, report } = page;
    return report.runs.flatMap((run, place) => {
      const row = launchRow(`${number}@${String(place)}`);
      if (row === null) return [];
      const kernel = report.kernels[launches.kernel[row] ?? -1]?.name ?? "unknown kernel";
      const detail = report.runs.length > 1 ? `${kernel}, run ${run.run_id}` : kernel;
      return [{ title: `Launch ${number}`, detail, href: href(`launch/${launchNumber(row)}`) }];
    });
  },
  Component: () => <WithRows>{() => <Launches />}</WithRows>,
};

export default view;

/** Rows of the columns; one pass over typed arrays, so that a million takes milliseconds. */
function filteredLaunches(): Uint32Array {
  const { report, launches } = page;
  const number = (name: string): number | null => {
    const text = chosen(name);
    return text === null || text === "" || Number.isNaN(Number(text)) ? null : Number(text);
  };
  const equal = (["kernel", "phase", "track", "call"] as const).flatMap((name) => {
    const wanted = number(name);
    return wanted === null ? [] : [{ column: launches[name], wanted }];
  });
  const least = (number("least") ?? 0) * 1000;
  const words = (chosen("q") ?? "").trim();
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
