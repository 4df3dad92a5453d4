// What a variant takes on the device, and what it was specialized for.

import { formatCount, plural, shortText } from "../../data/format";
import type { Parameter, Variant } from "../../data/types";
import { code } from "../../parts/columns";
import { derived, Figures, fromCompiler } from "../../parts/figure";
import { type Column, Table } from "../../parts/table";
import { Facts, Note, Pill } from "../../parts/text";
import { occupied } from "./variants";

export function Resources({ variant }: { variant: Variant }) {
  const { num_warps: warps, warp_size: size } = variant;
  const threads = warps !== null && size !== null ? warps * size : null;
  const known = [
    variant.registers,
    variant.spills,
    variant.shared_bytes,
    warps,
    variant.num_stages,
  ];
  return (
    <>
      {known.every((each) => each === null) ? (
        <Note>
          Its registers, shared memory and spills are not known: the compiler did not report them.
        </Note>
      ) : (
        <ResourceFigures variant={variant} threads={threads} />
      )}
      <Facts
        entries={[
          ["Target", variant.target],
          ["Cache key", variant.cache_key ? <code>{shortText(variant.cache_key, 80)}</code> : null],
        ]}
      />
      {Object.keys(variant.options).length ? (
        <details>
          <summary>{plural(Object.keys(variant.options).length, "compile option")}</summary>
          <p class="wrap">{optionsText(variant)}</p>
        </details>
      ) : null}
    </>
  );
}

function ResourceFigures({ variant, threads }: { variant: Variant; threads: number | null }) {
  const { occupancy, num_ctas: blocks } = variant;
  const inBlocks = `${formatCount(blocks)} blocks in a cluster`;
  const program = threads === null ? null : `${formatCount(threads)} threads a program`;
  const held = occupancy
    ? `${occupancy.warps} of ${occupancy.of} warps; ${limitText(occupancy.limited_by)}`
    : "target or resources not known";
  const words = "32-bit words of local memory of one thread";
  const from = "Derived from registers, shared memory and warps, for the compile target";
  return (
    <Figures
      id="resources"
      of={[
        fromCompiler(
          "registers",
          variant.registers,
          "count",
          "Registers of one thread",
          "a thread",
        ),
        fromCompiler("spills", variant.spills, "count", words, "words a thread"),
        fromCompiler("shared memory", variant.shared_bytes, "bytes", "Of a program", "a program"),
        fromCompiler("warps", variant.num_warps, "count", "", program),
        fromCompiler(
          "pipeline stages",
          variant.num_stages,
          "count",
          "Requested depth of software pipelining",
          (blocks ?? 1) > 1 ? inBlocks : "requested",
        ),
        derived("occupancy", occupied(variant), "share", from, held),
      ]}
    />
  );
}

function limitText(limit: string): string {
  return limit === "warps" ? "as many as there can be" : `limited by ${limit}`;
}

function optionsText({ options }: Variant): string {
  return Object.entries(options)
    .map(([name, value]) => `${shortText(name, 40)}=${shortText(value, 60)}`)
    .join(", ");
}

/** The parameters and what the variant assumes of them; what differs from the nearest is marked. */
export function Specialization({ variant }: { variant: Variant }) {
  const changed = new Set(variant.recompiled?.changes.map(({ what }) => what.split(" ").at(-1)));
  const columns: Column<Parameter>[] = [
    {
      label: "Parameter",
      cell: ({ name }) => (
        <>
          <code>{shortText(name, 80)}</code>{" "}
          {changed.has(name ?? "") ? <Pill kind="warning">changed</Pill> : null}
        </>
      ),
      text: ({ name }) => name ?? "",
    },
    code("Type", ({ type }) => type ?? "", { limit: 80 }),
    {
      label: "Constant",
      title: "The value of a compile-time constant",
      cell: ({ constexpr }) => (constexpr === null ? "" : <code>{shortText(constexpr, 120)}</code>),
      text: ({ constexpr }) => constexpr ?? "",
    },
    {
      label: "divisible by",
      title: "Divisor of the value, or of the address, that the compiler assumed",
      number: true,
      cell: ({ divisibility }) => (divisibility === null ? "" : formatCount(divisibility)),
      key: ({ divisibility }) => divisibility,
    },
  ];
  return (
    <Table
      id="specialization"
      caption="Parameters and what the variant was specialized for"
      columns={columns}
      rows={variant.signature}
      height={14}
      empty="No signature was recorded."
    />
  );
}
