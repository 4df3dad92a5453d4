// The list of kernels.

import { useMemo } from "preact/hooks";
import { chosen, href } from "../../app/router";
import type { View } from "../../app/view";
import { formatCount, formatPlace, plural } from "../../data/format";
import { page } from "../../data/page";
import { AddressSearch, matches } from "../../parts/search";
import { DroppedNotes, Section, WindowNote } from "../../parts/text";
import { DeviceWork } from "../overview/all_that_ran";
import { KernelTable } from "./table";

function Kernels() {
  const { kernels, answer, device_time: time } = page.report;
  const words = chosen("q") ?? "";
  const others = useMemo(
    () =>
      (answer?.ran ?? []).filter(
        ({ kernel, name, kind, place }) => kernel === null && matches(words, name, kind, place),
      ),
    [answer, words],
  );
  const shown = useMemo(
    () =>
      kernels
        .map((_, index) => index)
        .filter((index) => {
          const kernel = kernels[index];
          return kernel && matches(words, kernel.name, kernel.module, kernel.file);
        }),
    [kernels, words],
  );
  return (
    <>
      <h1>Kernels</h1>
      <DroppedNotes />
      <div class="toolbar">
        <AddressSearch
          id="kernel-filter"
          label="Filter"
          name="q"
          placeholder="name, module or file"
        />
        <span class="muted" aria-live="polite">
          {formatCount(shown.length)} of {plural(kernels.length, "kernel")}
        </span>
        {page.names("called/").length ? (
          <a href={href("called")}>Where they are called from</a>
        ) : null}
      </div>
      <WindowNote />
      <KernelTable kernels={shown} caption="Kernels" {...(others.length && { height: 16 })} />
      {time && others.length ? (
        <Section title="Library kernels, copies and fills" id="library-kernels">
          <DeviceWork rows={others} time={time} empty="" />
        </Section>
      ) : null}
    </>
  );
}

const view: View = {
  name: "kernels",
  title: "Kernels",
  section: "kernels",
  order: 20,
  routes: ["kernels"],
  badge: () =>
    page.report.kernels.length
      ? { text: formatCount(page.report.kernels.length), kind: "plain" }
      : null,
  find: (words) =>
    page.report.kernels.flatMap((kernel, index) =>
      matches(words, kernel.name, kernel.module, kernel.file)
        ? [
            {
              title: kernel.name,
              detail: `kernel, ${formatPlace(kernel.file, kernel.line)}`,
              href: href(`kernel/${index}`),
            },
          ]
        : [],
    ),
  Component: Kernels,
};

export default view;
