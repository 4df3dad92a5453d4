import { defineConfig } from "vitest/config";

import { ALIASES, packagesOfAddons } from "./addons";

const ADDONS = "../../../tests/addons/*/frontend/*.test.ts";

export default defineConfig({
  plugins: [packagesOfAddons()],
  resolve: { alias: ALIASES },
  test: { include: ["tests/**/*.test.ts", ADDONS] },
});
