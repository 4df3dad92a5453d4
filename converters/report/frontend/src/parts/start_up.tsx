// Chips on launches that compiled, loaded or tuned their kernel, each with what it took.

import { Fragment } from "preact";
import { formatNanoseconds, plural } from "../data/format";
import { type StartUp, startUpNs } from "../data/start_up";
import type { Column } from "./table";
import { Pill } from "./text";

const MEANING = "What was done before the launch itself: its host time has it, sums leave it out";

export function StartUpChips({ of }: { of: StartUp | undefined }) {
  return (
    <>
      {startUpTexts(of).map((text) => (
        <Fragment key={text}>
          <Pill kind="note">{text}</Pill>{" "}
        </Fragment>
      ))}
    </>
  );
}

export function startUpTexts(of: StartUp | undefined): string[] {
  if (!of) return [];
  const { cached, compileNs, loadNs, trials } = of;
  const compiled = `${cached ? "from cache" : "compiled"} ${formatNanoseconds(compileNs)}`;
  return [
    compileNs ? compiled : "",
    loadNs ? `loaded ${formatNanoseconds(loadNs)}` : "",
    trials ? `tuned by ${plural(trials, "launch", "launches")}` : "",
  ].filter(Boolean);
}

/** A column of them; `read` is given a row of the table. */
export function startUpColumn<Row>(read: (row: Row) => StartUp | undefined): Column<Row> {
  return {
    label: "start-up",
    title: MEANING,
    source: "measured",
    cell: (row) => <StartUpChips of={read(row)} />,
    key: (row) => startUpNs(read(row)),
    text: (row) => startUpTexts(read(row)).join(", "),
  };
}
