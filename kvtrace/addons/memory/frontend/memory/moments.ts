// The life of a storage as rows in the order of time, and what each row says.

import { formatBytes, formatCount, plural } from "@report/data/format";
import type { RunStorages, StorageLife, StorageUse } from "../model";

export interface Moment {
  readonly at: number;
  /** What happened, in a few words. */
  readonly what: string;
  /** Who did it; null for what is not a use. */
  readonly use: StorageUse | null;
  /** Why the words are not certain, or what they mean. */
  readonly detail: string;
}

/** Characters of a name beside other words. */
const LONGEST = 36;

/** The name of a run's block. */
export const blockOf = (run: number): string => `memory/${run}`;

/** Allocated, used, and freed or last used. */
export function momentsOf(life: StorageLife): Moment[] {
  const { uses, begin, made } = life;
  const first: Moment = life.is_seen
    ? { at: begin, what: "allocated", use: null, detail: made }
    : { at: begin, what: "first seen", use: null, detail: made };
  const used = uses.map((use) => ({
    at: use.first,
    what: useText(use),
    use,
    detail: use.reason,
  }));
  return [first, ...used, lastOf(life)];
}

function lastOf(life: StorageLife): Moment {
  const { end, last_use: last, replaced } = life;
  const by = life.uses.findLast((use) => use.last === last);
  if (end !== null) {
    const detail = by ? `last used by ${shortBy(by.by)}` : "";
    return { at: end, what: "freed", use: null, detail };
  }
  const after = replaced ? ", and its memory was another storage's later" : "";
  const detail = `${by ? `by ${shortBy(by.by)}; ` : ""}its free was not recorded${after}`;
  return { at: last, what: "last used", use: null, detail };
}

/** "written: 3 KiB of 4 KiB"; what is read comes first. */
export function useText({ reads, writes, moves, size }: StorageUse): string {
  const parts = [
    partText(moves ? "copied" : "read", reads, size),
    partText("written", writes, size),
  ];
  return parts.filter(Boolean).join(", then ");
}

function partText(verb: string, amount: number | null, size: number): string {
  if (amount === null) return `perhaps ${verb}`;
  if (amount === 0) return "";
  return amount === size ? verb : `${verb}: ${sizeText(amount, size)}`;
}

/** Bytes of a whole: exact where nearly all. */
function sizeText(amount: number, whole: number): string {
  return amount > 0.99 * whole
    ? `${formatCount(amount)} of ${formatCount(whole)} B`
    : `${formatBytes(amount)} of ${formatBytes(whole)}`;
}

/** "128 B of it nobody wrote"; "" where that is not so. */
export function unwrittenText({ unwritten }: StorageUse): string {
  return unwritten ? `${formatBytes(unwritten)} of it nobody wrote` : "";
}

/** Names of who did something to a storage, each once. */
export function namesOf(life: StorageLife, did: "reads" | "writes"): string[] {
  return [...new Set(life.uses.filter((use) => use[did] !== 0).map(({ by }) => shortBy(by)))];
}

/** An operator's name without its place; generated kernels have long names, whose begin is enough. */
function shortBy(by: string): string {
  const name = by.replace(/ \(.*| at .*/, "");
  return name.length > LONGEST ? `${name.slice(0, LONGEST)}…` : name;
}

/** Whether the bytes in use are all that was held, in a sentence. */
export function boundText({ frees_recorded: freed }: RunStorages): string {
  return freed
    ? "A storage counts from its allocation until it was freed, or its last use where no free was recorded."
    : "Frees were not recorded: a storage counts from its allocation until its last use, so the program held at least this much.";
}

/** What the list of storages leaves out; "" if nothing. */
export function leftOutText(run: RunStorages): string {
  const kinds = new Set(
    run.storages.map(({ made, bytes, device }) => `${bytes} ${device} ${made}`),
  );
  const more = run.kinds - kinds.size;
  if (more <= 0) return "";
  return `${plural(more, "further kind")} of storages, each of at most ${formatBytes(run.largest_left_out)}, not shown.`;
}
