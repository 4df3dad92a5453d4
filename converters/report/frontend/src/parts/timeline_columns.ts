// Busy time by kernel in columns of one pixel: what is drawn where slices are narrower than that.

/** Most kernels that are distinguished; all others are drawn as unknown. */
const MOST_KERNELS = 1000;

export class PixelColumns {
  private readonly cells: Float64Array;
  private readonly stride: number;

  /** `perPixel` is the time of a column; the kernel -1 is the unknown one. */
  constructor(
    readonly width: number,
    readonly perPixel: number,
    kernels: number,
  ) {
    this.stride = Math.min(kernels, MOST_KERNELS) + 1;
    this.cells = new Float64Array(width * this.stride);
  }

  /** Share busy time out over the pixels from `from` to `to`, which need not be whole. */
  spread(from: number, to: number, kernel: number, busy: number): void {
    const own = kernel + 1 < this.stride ? kernel + 1 : 0;
    const last = Math.min(to, this.width);
    for (let pixel = Math.max(Math.floor(from), 0); pixel < last; pixel += 1) {
      const covered = Math.min(to, pixel + 1) - Math.max(from, pixel);
      const cell = pixel * this.stride + own;
      this.cells[cell] = (this.cells[cell] as number) + (busy * covered) / (to - from || 1);
    }
  }

  /**
   * Call `visit(pixel, kernel, from, to)` for each part of a column, from the bottom up; the parts
   * of a column lie between 0 and 1, and are shares of its time.
   */
  forEach(visit: (pixel: number, kernel: number, from: number, to: number) => void): void {
    const sums = new Float64Array(this.width);
    this.cells.forEach((busy, cell) => {
      const pixel = Math.floor(cell / this.stride);
      sums[pixel] = (sums[pixel] as number) + busy;
    });
    const filled = new Float64Array(this.width);
    this.cells.forEach((busy, cell) => {
      if (busy === 0) return;
      const pixel = Math.floor(cell / this.stride);
      const from = filled[pixel] as number;
      const to = from + busy / Math.max(this.perPixel, sums[pixel] as number);
      filled[pixel] = to;
      visit(pixel, (cell % this.stride) - 1, from, to);
    });
  }
}
