// Lets sources of add-ons, which lie outside of this folder, import what the page's own import:
// packages from node_modules here, and the page's modules as "@report/…".

import { fileURLToPath } from "node:url";

import type { Plugin } from "vite";

const HERE = fileURLToPath(new URL(".", import.meta.url));

/** Where "@report" is. */
export const ALIASES = { "@report": `${HERE}src` };

/** A plugin that looks for the packages that add-ons import where the page's are. */
export function packagesOfAddons(): Plugin {
  return {
    name: "kvtrace-packages-of-addons",
    enforce: "pre",
    resolveId(source, importer, options) {
      const bare = /^[a-z]/.test(source);
      if (!bare || importer === undefined || importer.startsWith(HERE)) return null;
      return this.resolve(source, `${HERE}src/main.tsx`, { ...options, skipSelf: true });
    },
  };
}
