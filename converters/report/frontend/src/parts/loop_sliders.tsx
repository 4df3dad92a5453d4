// Loops as they nest, each with a slider of its trips. The address holds what is chosen.

import { useMemo } from "preact/hooks";
import { type Nested, type Trips, tripsOf, tripsText, withTrip } from "../accesses/trips";
import { chosen, setQuery } from "../app/router";
import { formatCount } from "../data/format";
import { Play } from "./play";
import { Slider } from "./slider";
import { stackPlace } from "./text";

export interface SlidLoop extends Nested {
  readonly stack: number | null;
  /** Of the execution with the most. */
  readonly trips: number;
}

export function useTrips(): Trips {
  const text = chosen("trips");
  return useMemo(() => tripsOf(text), [text]);
}

export function setTrip(loops: readonly Nested[], index: number, trip: number | null): void {
  const trips = tripsOf(chosen("trips"));
  setQuery({ trips: tripsText(withTrip(trips, loops, index, trip)) });
}

export function LoopSliders({ loops }: { loops: readonly SlidLoop[] }) {
  const trips = useTrips();
  const known = new Set(loops.map(({ index }) => index));
  const outermost = loops.filter(({ loop }) => loop === null || !known.has(loop));
  return (
    <div class="loop-sliders" role="group" aria-label="Iterations of loops">
      <LoopList of={outermost} all={loops} trips={trips} />
      <button
        type="button"
        class="small"
        aria-pressed={trips.size === 0}
        onClick={() => setQuery({ trips: null })}
      >
        All iterations
      </button>
    </div>
  );
}

interface LoopListProps {
  readonly of: readonly SlidLoop[];
  readonly all: readonly SlidLoop[];
  readonly trips: Trips;
}

function LoopList({ of, all, trips }: LoopListProps) {
  return (
    <ul>
      {of.map((loop) => {
        const place = stackPlace(loop.stack);
        const inner = all.filter((each) => each.loop === loop.index);
        return (
          <li key={loop.index} data-loop={loop.index} data-trips={loop.trips}>
            <Slider
              name="loop"
              label={`Trip of loop, ${place}`}
              size={loop.trips}
              value={trips.get(loop.index) ?? null}
              onChange={(trip) => setTrip(all, loop.index, trip)}
            >
              <button
                type="button"
                class="small"
                aria-label={`all ${formatCount(loop.trips)} trips of loop, ${place}`}
                aria-pressed={!trips.has(loop.index)}
                onClick={() => setTrip(all, loop.index, null)}
              >
                all {formatCount(loop.trips)}
              </button>
              <Play
                what={`trips of loop, ${place}`}
                step={() => {
                  const trip = Math.min((trips.get(loop.index) ?? -1) + 1, loop.trips - 1);
                  setTrip(all, loop.index, trip);
                  return trip < loop.trips - 1;
                }}
              />
              <span class="muted small">{place}</span>
            </Slider>
            {inner.length ? <LoopList of={inner} all={all} trips={trips} /> : null}
          </li>
        );
      })}
    </ul>
  );
}
