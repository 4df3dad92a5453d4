// Buttons that copy a text, also where the browser lends no clipboard to a local file, or save it.

import { useState } from "preact/hooks";
import { download } from "../accesses/values";

export function CopyAndSave({ what, name, text }: { what: string; name: string; text: string }) {
  return (
    <>
      <Copy what={what} text={text} />
      <button
        type="button"
        class="quiet small"
        aria-label={`Download ${what}`}
        onClick={() => download(name, new TextEncoder().encode(text))}
      >
        Download
      </button>
    </>
  );
}

export function Copy({ what, text }: { what: string; text: string }) {
  const [done, setDone] = useState<"" | "copied" | "not copied">("");
  return (
    <button
      type="button"
      class="copy quiet small"
      aria-label={`Copy ${what}`}
      onClick={() => {
        void copied(text).then((fine) => setDone(fine ? "copied" : "not copied"));
      }}
      onBlur={() => setDone("")}
    >
      <span aria-live="polite">{done || "Copy"}</span>
    </button>
  );
}

async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copiedFromField(text); // a page without a secure origin has no clipboard
  }
}

function copiedFromField(text: string): boolean {
  const listen = (event: ClipboardEvent): void => {
    event.clipboardData?.setData("text/plain", text);
    event.preventDefault();
  };
  document.addEventListener("copy", listen);
  const fine = document.execCommand("copy");
  document.removeEventListener("copy", listen);
  return fine;
}
