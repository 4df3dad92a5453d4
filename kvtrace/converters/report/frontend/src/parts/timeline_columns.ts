// Busy time by kernel in columns of one pixel: what is drawn where slices are narrower than that.

/** Cells that are kept as one array; with more, as a map of those that are not empty. */
const MOST_CELLS = 2_000_000;

export class PixelColumns {
  private readonly cells: Float64Array | Map<number, number>;
  private readonly stride: number;

  /**
   * `perPixel` is the time that a column stands for; `kernels` counts them without the unknown
   * one, -1, which gets a place too.
   */
  constructor(
    readonly width: number,
    readonly perPixel: number,
    kernels: number,
  ) {
    this.stride = kernels + 1;
    const count = width * this.stride;
    this.cells = count <= MOST_CELLS ? new Float64Array(count) : new Map<number, number>();
  }

  add(pixel: number, kernel: number, busy: number): void {
    if (pixel < 0 || pixel >= this.width) return;
    const cell = pixel * this.stride + kernel + 1;
    if (this.cells instanceof Map) this.cells.set(cell, (this.cells.get(cell) ?? 0) + busy);
    else this.cells[cell] = (this.cells[cell] as number) + busy;
  }

  /** Share busy time out over the pixels from `from` to `to`, which need not be whole. */
  spread(from: number, to: number, kernel: number, busy: number): void {
    const last = Math.min(to, this.width);
    for (let pixel = Math.max(Math.floor(from), 0); pixel < last; pixel += 1) {
      const covered = Math.min(to, pixel + 1) - Math.max(from, pixel);
      this.add(pixel, kernel, (busy * covered) / (to - from));
    }
  }

  /**
   * Call `visit(pixel, kernel, from, to)` for each part of a column, from the bottom up; the parts
   * of a column lie between 0 and 1, and are shares of its time.
   */
  forEach(visit: (pixel: number, kernel: number, from: number, to: number) => void): void {
    const sums = new Float64Array(this.width);
    const known = this.entries();
    for (const [cell, busy] of known) {
      const pixel = Math.floor(cell / this.stride);
      sums[pixel] = (sums[pixel] as number) + busy;
    }
    const filled = new Float64Array(this.width);
    for (const [cell, busy] of known) {
      const pixel = Math.floor(cell / this.stride);
      const from = filled[pixel] as number;
      const to = from + busy / Math.max(this.perPixel, sums[pixel] as number);
      filled[pixel] = to;
      visit(pixel, (cell % this.stride) - 1, from, to);
    }
  }

  /** Cells that are not empty, by pixel and kernel. */
  private entries(): [cell: number, busy: number][] {
    if (this.cells instanceof Map) return [...this.cells].sort((a, b) => a[0] - b[0]);
    const found: [number, number][] = [];
    this.cells.forEach((busy, cell) => {
      if (busy > 0) found.push([cell, busy]);
    });
    return found;
  }
}
