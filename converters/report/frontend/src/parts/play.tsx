// A button that plays steps one after another, until it is pressed again or nothing follows.

import { useEffect, useRef, useState } from "preact/hooks";

/** Between two steps, in milliseconds. */
const PACE = 400;

interface PlayProps {
  /** What it steps through, as "programs". */
  readonly what: string;
  /** Take one step; false: that was the last. */
  step(): boolean;
}

export function Play(props: PlayProps) {
  const [playing, setPlaying] = useState(false);
  const latest = useRef(props);
  latest.current = props;
  useEffect(() => {
    if (!playing) return undefined;
    const timer = setInterval(() => {
      if (!latest.current.step()) setPlaying(false);
    }, PACE);
    return () => clearInterval(timer);
  }, [playing]);
  return (
    <button type="button" aria-pressed={playing} onClick={() => setPlaying(!playing)}>
      {playing ? "❚❚ Pause" : "▶ Play"}
      <span class="hidden"> through {props.what}</span>
    </button>
  );
}
