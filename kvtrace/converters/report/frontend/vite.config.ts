import { defineConfig } from "vite";

import { ALIASES, packagesOfAddons } from "./addons";
import { singlePage } from "./single_page";

export default defineConfig({
  plugins: [packagesOfAddons(), singlePage("app.html")],
  resolve: { alias: ALIASES },
  esbuild: { legalComments: "none" },
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
