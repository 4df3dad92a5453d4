// Busy time by kernel in columns of one pixel: what is drawn where slices are narrower than that.

/** Kept between drawings, since it is large. */
let cells = new Float32Array(0);

export class PixelColumns {
  /** There is one at a time. `perPixel` is the time of a column, and what is summed has a slot. */
  constructor(
    private readonly width: number,
    private readonly height: number,
    private readonly perPixel: number,
    private readonly slots: number,
  ) {
    const size = width * slots;
    if (cells.length < size) cells = new Float32Array(size);
    else cells.fill(0, 0, size);
  }

  /** Share busy time out over the pixels from `from` to `to`, which need not be whole. */
  spread(from: number, to: number, slot: number, busy: number): void {
    const last = Math.min(to, this.width);
    const density = busy / (to - from || 1);
    for (let pixel = Math.max(Math.floor(from), 0); pixel < last; pixel += 1) {
      const covered = Math.min(to, pixel + 1) - Math.max(from, pixel);
      const cell = pixel * this.slots + slot;
      cells[cell] = (cells[cell] as number) + density * covered;
    }
  }

  /**
   * Call `visit` for each part of a column, from the bottom up: pixels of its height from `from` to
   * `to`. A column is as high as the share of its time that was busy, and a pixel at least.
   */
  forEach(visit: (pixel: number, slot: number, from: number, to: number) => void): void {
    const { height, perPixel, slots } = this;
    for (let pixel = 0; pixel < this.width; pixel += 1) {
      const first = pixel * slots;
      let sum = 0;
      for (let slot = 0; slot < slots; slot += 1) sum += cells[first + slot] as number;
      if (sum <= 0) continue;
      const tall = Math.max(Math.round((height * sum) / Math.max(perPixel, sum)), 1);
      let [filled, from] = [0, 0];
      for (let slot = 0; slot < slots && from < tall; slot += 1) {
        filled += cells[first + slot] as number;
        const to = Math.min(Math.round((tall * filled) / sum), tall);
        if (to > from) visit(pixel, slot, from, to);
        from = to;
      }
    }
  }
}
