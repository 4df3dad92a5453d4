import { defineConfig } from "vite";

import { ALIASES, packagesOfAddons } from "./addons";
import { singlePage } from "./single_page";

export default defineConfig({
  plugins: [packagesOfAddons(), singlePage("app.html")],
  resolve: { alias: ALIASES },
  // As tsconfig.json says, which esbuild does not find from the folders of add-ons.
  esbuild: { legalComments: "none", jsx: "automatic", jsxImportSource: "preact" },
  build: {
    target: "es2022",
    outDir: "dist",
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    sourcemap: false,
    reportCompressedSize: false,
    chunkSizeWarningLimit: 1024,
    rollupOptions: { output: { inlineDynamicImports: true } },
  },
});
