import { defineConfig } from "vite";

import { singlePage } from "./single_page";

export default defineConfig({
  plugins: [singlePage("app.html")],
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
