// The chosen slice of the timeline.

import type { JSX } from "preact";

import { href } from "../app/router";
import { launchOf } from "../data/executions";
import { formatCount, formatMoment, formatNanoseconds, shortText } from "../data/format";
import type { Page } from "../data/page";
import { Value } from "./figure";
import { LaunchPanel } from "./launch_panel";
import { CallLink, Facts, VariantLink } from "./text";
import { type Slice, sliceName } from "./timeline_rows";

export function SliceDetails(props: { page: Page; slice: Slice }): JSX.Element {
  const { page, slice } = props;
  const { row, index } = slice;
  const behind = row.indices?.[index] ?? -1;
  if (row.kind === "launch") return <LaunchPanel page={page} row={behind} />;
  const [begin, end] = [row.begin[index] as number, row.end[index] as number];
  const name = shortText(sliceName(page.report, slice));
  const mark = row.marks[index];
  const variant = row.variants[index];
  return (
    <div class="panel">
      <h3>
        {row.kind === "mark"
          ? `Mark ${name}`
          : row.kind === "device"
            ? `${name} on ${row.label}`
            : name}
      </h3>
      <Facts
        entries={[
          ["Begin", formatMoment(begin)],
          ["Duration", <Value source="measured">{formatNanoseconds(end - begin)}</Value>],
          ["Variant", variant === undefined ? null : <VariantLink page={page} variant={variant} />],
          [
            "Launch",
            row.kind === "device" ? <CausingLaunch page={page} execution={behind} /> : null,
          ],
          [
            "Call",
            row.columns ? <CallLink page={page} call={row.columns.call[behind] ?? -1} /> : null,
          ],
          ...Object.entries(mark?.attributes ?? {}).map(
            ([key, value]) => [shortText(key, 80), shortText(value)] as const,
          ),
        ]}
      />
    </div>
  );
}

function CausingLaunch(props: { page: Page; execution: number }): JSX.Element {
  const launch = launchOf(props.page, props.execution);
  const seq = props.page.device.launch[props.execution] ?? -1;
  if (launch !== null) return <a href={href(`launch/${launch}`)}>{formatCount(seq)}</a>;
  return (
    <span class="muted">
      {seq < 0 ? "by others than Python's Triton" : `${formatCount(seq)}, not on this page`}
    </span>
  );
}
