// Groups of a row's slices, and groups of groups, so that a view of a million slices visits a few
// thousand groups: a group has up to FIRST slices that follow each other, one above it FAN groups. A
// group knows when it ends, and by key how many slices it has and how long they ran.
// What lies inside a view and is no longer than a pixel is visited as a whole, all else in parts, so
// that sums are those of the single slices.

/** Smaller ones need more memory; with larger ones more groups are longer than a pixel. */
const [FIRST, FAN] = [32, 8];

/** Keys of a group that come first, by time, and are told apart in drawings. */
const TOP = 16;

/** Slices of a group with one key: `index` is -1; or one slice, with its place in the row. */
export type Visit = (
  begin: number,
  end: number,
  key: number,
  count: number,
  busy: number,
  index: number,
) => void;

/** Slices in order of their begin, of which `keyOf` says the key: from -1 to below `keys`. */
interface Slices {
  readonly count: number;
  readonly begin: Float64Array;
  readonly end: Float64Array;
}

interface Range {
  readonly begin: number;
  readonly end: number;
}

/** Groups of one size: entries of a group lie from `first` of it to `first` of the next. */
interface Level {
  readonly size: number;
  readonly ends: Float64Array;
  readonly first: Uint32Array;
  readonly keys: Int32Array;
  readonly counts: Uint32Array;
  readonly busy: Float64Array;
}

export class SliceTree {
  private readonly levels: Level[] = [];

  constructor(
    private readonly slices: Slices,
    private readonly keyOf: (index: number) => number,
    keys: number,
  ) {
    if (slices.count === 0) return;
    let level = upper(singles(slices, keyOf), FIRST, keys);
    this.levels.push(level);
    while (level.ends.length > FAN) {
      level = upper(level, FAN, keys);
      this.levels.push(level);
    }
  }

  /**
   * Visit the slices that reach into a range; of groups no longer than `detail` the sums by key, or
   * with `brief` those of the keys with most time, and of all others together, as key -1.
   */
  each(range: Range, detail: number, brief: boolean, visit: Visit): void {
    const top = this.levels.length - 1;
    const groups = this.levels[top]?.ends.length ?? 0;
    for (let group = 0; group < groups; group += 1)
      this.descend(top, group, range, detail, brief, visit);
  }

  private descend(
    depth: number,
    group: number,
    range: Range,
    detail: number,
    brief: boolean,
    visit: Visit,
  ): void {
    const level = this.levels[depth] as Level;
    const { slices } = this;
    const at = group * level.size;
    const [begin, end] = [slices.begin[at] as number, level.ends[group] as number];
    if (end < range.begin || begin >= range.end) return;
    if (begin >= range.begin && end < range.end && end - begin <= detail) {
      const last = level.first[group + 1] as number;
      let entry = level.first[group] as number;
      const single = brief && last - entry > TOP + 1 ? entry + TOP : last;
      for (; entry < single; entry += 1) {
        const [key, count] = [level.keys[entry] as number, level.counts[entry] as number];
        visit(begin, end, key, count, level.busy[entry] as number, -1);
      }
      if (entry === last) return;
      let [count, busy] = [0, 0];
      for (; entry < last; entry += 1) {
        count += level.counts[entry] as number;
        busy += level.busy[entry] as number;
      }
      visit(begin, end, -1, count, busy, -1);
      return;
    }
    if (depth > 0) {
      const children = (this.levels[depth - 1] as Level).ends.length;
      const next = Math.min((group + 1) * FAN, children);
      for (let child = group * FAN; child < next; child += 1)
        this.descend(depth - 1, child, range, detail, brief, visit);
      return;
    }
    const last = Math.min(at + FIRST, slices.count);
    for (let index = at; index < last; index += 1) {
      const [from, to] = [slices.begin[index] as number, slices.end[index] as number];
      if (from >= range.end) break;
      if (to >= range.begin) visit(from, to, this.keyOf(index), 1, to - from, index);
    }
  }
}

function singles({ count, begin, end }: Slices, keyOf: (index: number) => number): Level {
  const first = new Uint32Array(count + 1);
  const keys = new Int32Array(count);
  const busy = new Float64Array(count);
  for (let index = 0; index < count; index += 1) {
    first[index + 1] = index + 1;
    keys[index] = keyOf(index);
    busy[index] = (end[index] as number) - (begin[index] as number);
  }
  return { size: 1, ends: end, first, keys, counts: new Uint32Array(count).fill(1), busy };
}

/** Groups of so many of a level's groups. */
function upper(level: Level, fan: number, keyCount: number): Level {
  const groups = Math.ceil(level.ends.length / fan);
  const ends = new Float64Array(groups).fill(-Infinity);
  const first = new Uint32Array(groups + 1);
  const most = level.keys.length;
  const [keys, counts] = [new Int32Array(most), new Uint32Array(most)];
  const busy = new Float64Array(most);
  // the entry of each key in the group that is summed now; keys begin at -1
  const entryOf = new Int32Array(keyCount + 1).fill(-1);
  let entries = 0;
  for (let group = 0; group < groups; group += 1) {
    const last = Math.min((group + 1) * fan, level.ends.length);
    for (let child = group * fan; child < last; child += 1)
      ends[group] = Math.max(ends[group] as number, level.ends[child] as number);
    const until = level.first[last] as number;
    for (let entry = level.first[group * fan] as number; entry < until; entry += 1) {
      const key = level.keys[entry] as number;
      let own = entryOf[key + 1] as number;
      if (own < (first[group] as number)) {
        own = entries;
        entries += 1;
        entryOf[key + 1] = own;
        keys[own] = key;
      }
      counts[own] = (counts[own] as number) + (level.counts[entry] as number);
      busy[own] = (busy[own] as number) + (level.busy[entry] as number);
    }
    bringTopForward(keys, counts, busy, first[group] as number, entries);
    first[group + 1] = entries;
  }
  return {
    size: level.size * fan,
    ends,
    first,
    keys: keys.slice(0, entries),
    counts: counts.slice(0, entries),
    busy: busy.slice(0, entries),
  };
}

/** Move the entries with most time to the front of a group. */
function bringTopForward(
  keys: Int32Array,
  counts: Uint32Array,
  busy: Float64Array,
  first: number,
  last: number,
): void {
  if (last - first <= TOP + 1) return;
  for (let place = first; place < first + TOP; place += 1) {
    let most = place;
    for (let entry = place + 1; entry < last; entry += 1)
      if ((busy[entry] as number) > (busy[most] as number)) most = entry;
    for (const column of [keys, counts, busy])
      [column[place], column[most]] = [column[most] as number, column[place] as number];
  }
}
