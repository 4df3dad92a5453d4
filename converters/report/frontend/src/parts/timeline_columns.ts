// Busy time by kernel in columns of one pixel: what is drawn where slices are narrower than that.

/** Busy time by column and slot: kept between drawings, since it is large, and zero between them. */
let cells = new Float32Array(0);

export class PixelColumns {
  /** A bit for each cell that is not zero: most are. */
  private readonly used: Uint32Array;
  private readonly words: number;

  /** There is one at a time. `perPixel` is the time of a column, and what is summed has a slot. */
  constructor(
    private readonly width: number,
    private readonly height: number,
    private readonly perPixel: number,
    slots: number,
  ) {
    this.words = Math.ceil(slots / 32);
    this.used = new Uint32Array(width * this.words);
    if (cells.length < 32 * this.used.length) cells = new Float32Array(32 * this.used.length);
  }

  /** Share busy time out over the pixels from `from` to `to`, which need not be whole. */
  spread(from: number, to: number, slot: number, busy: number): void {
    const last = Math.min(to, this.width);
    const density = busy / (to - from || 1);
    for (let pixel = Math.max(Math.floor(from), 0); pixel < last; pixel += 1) {
      const covered = Math.min(to, pixel + 1) - Math.max(from, pixel);
      const word = pixel * this.words + (slot >> 5);
      this.used[word] = (this.used[word] as number) | (1 << (slot & 31));
      const cell = 32 * word + (slot & 31);
      cells[cell] = (cells[cell] as number) + density * covered;
    }
  }

  /**
   * Call `visit` for each part of a column, from the bottom up: pixels of its height from `from` to
   * `to`. A column is as high as the share of its time that was busy, and a pixel at least. All
   * busy time is gone afterwards.
   */
  take(visit: (pixel: number, slot: number, from: number, to: number) => void): void {
    const { height, perPixel, words } = this;
    for (let pixel = 0; pixel < this.width; pixel += 1) {
      let sum = 0;
      this.eachCell(pixel, (cell) => (sum += cells[cell] as number));
      const tall = Math.max(Math.round((height * sum) / Math.max(perPixel, sum)), 1);
      let [filled, from] = [0, 0];
      this.eachCell(pixel, (cell) => {
        filled += cells[cell] as number;
        cells[cell] = 0;
        const to = Math.min(Math.round((tall * filled) / (sum || 1)), tall);
        if (to > from) visit(pixel, cell - 32 * words * pixel, from, to);
        from = to;
      });
    }
  }

  /** Visit the cells of a column that are used, in order of their slots. */
  private eachCell(pixel: number, visit: (cell: number) => void): void {
    const last = (pixel + 1) * this.words;
    for (let word = pixel * this.words; word < last; word += 1)
      for (let bits = this.used[word] as number; bits !== 0; bits &= bits - 1)
        visit(32 * word + 31 - Math.clz32(bits & -bits));
  }
}
