// What the memories are called; the blocks "onchip/…" are in the model. Time is the order of executed
// ops: kernels of NKI ran on NumPy, and there is no clock.

export const SPACES: Readonly<Record<string, string>> = {
  hbm: "device memory",
  sbuf: "SBUF",
  psum: "PSUM",
};
