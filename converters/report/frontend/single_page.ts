// Makes one file of what Vite built: style and script are inside the page, and its policy names
// their hashes. What Python puts in (the title, the data) keeps its placeholders.

import { createHash } from "node:crypto";

import type { Plugin } from "vite";

/** The policy's name for an inline script or style: the hash of its content. */
function hashSource(content: string): string {
  return `'sha256-${createHash("sha256").update(content, "utf8").digest("base64")}'`;
}

/** Throw where a text would end its element early, or would be mistaken for a placeholder. */
function checked(content: string, element: string): string {
  if (content.toLowerCase().includes(`</${element}`)) throw new Error(`the ${element} ends itself`);
  if (content.includes("<!--kvtrace:")) throw new Error(`the ${element} holds a placeholder`);
  return content;
}

/** A plugin that leaves one page, called `name`, in place of all files of the build. */
export function singlePage(name: string): Plugin {
  return {
    name: "kvtrace-single-page",
    enforce: "post",
    generateBundle(_options, bundle): void {
      let [script, style, page] = ["", "", ""];
      for (const [file, output] of Object.entries(bundle)) {
        if (output.type === "chunk") script += output.code;
        else if (file.endsWith(".css")) style += String(output.source);
        else if (file.endsWith(".html")) page = String(output.source);
        else throw new Error(`the page cannot carry ${file}`);
        Reflect.deleteProperty(bundle, file);
      }
      script = checked(script, "script");
      style = checked(style.trim(), "style");
      const policy =
        `default-src 'none'; script-src ${hashSource(script)}; style-src ${hashSource(style)}; ` +
        "img-src data: blob:; base-uri 'none'; form-action 'none'";
      const source = page
        .replace(/\s*<script type="module"[^>]*><\/script>/, "")
        .replace(/\s*<link rel="stylesheet"[^>]*>/, "")
        .replace("<!--policy-->", () => policy)
        .replace("<!--style-->", () => `<style>${style}</style>`)
        .replace("<!--script-->", () => `<script type="module">${script}</script>`);
      this.emitFile({ type: "asset", fileName: name, source });
    },
  };
}
