// A view that fails shows its error; the rest of the page still works.

import { Component, type ComponentChildren } from "preact";
import { Note } from "../parts/text";
import { href } from "./router";

interface Props {
  /** Another address is another chance. */
  readonly address: string;
  readonly children: ComponentChildren;
}

export class Boundary extends Component<Props, { problem: unknown; at: string }> {
  override state = { problem: null, at: "" };

  override componentDidCatch(problem: unknown): void {
    this.setState({ problem, at: this.props.address });
    reportError(problem);
  }

  override render() {
    const { problem, at } = this.state;
    if (problem === null || at !== this.props.address) return this.props.children;
    return <Failed problem={problem} />;
  }
}

export function Failed(props: { problem: unknown }) {
  return (
    <>
      <h1>This cannot be shown</h1>
      <Note>
        {String(props.problem)}. A browser from 2023 or later is needed; if this is one, write the
        report again with <code>kvtrace report</code>.
      </Note>
    </>
  );
}

export function NotHere(props: { what: string }) {
  return (
    <>
      <h1>Not here</h1>
      <Note>
        This report has no such {props.what}. <a href={href("")}>Overview</a>
      </Note>
    </>
  );
}
