// Files that the page makes itself. A blob's address is only ever a link's: nothing is asked for.

export function download(name: string, content: Uint8Array<ArrayBuffer>): void {
  const url = URL.createObjectURL(new Blob([content], { type: "application/octet-stream" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name.replace(/[^\w.-]+/g, "_").slice(0, 120);
  link.click();
  // the browser has taken the blob by then
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
