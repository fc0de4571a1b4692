/** The state of something that is on or off at an instant, and the next instant at which that changes (Infinity: never). */
export interface State {
  readonly on: boolean;
  readonly edge: number;
}

/** Anything that is on in half-open spans [start, end) of instants (epoch ms). */
export interface Probe {
  at(t: number): State;
}

/** Spans longer than this count as endless: 800 days. */
export const ENDLESS_MS = 800 * 86_400_000;

/** Most steps of one search that has to walk from edge to edge; keeps the work bounded for any input. */
const MAX_STEPS = 10_000;

/** On while any of `parts` is. */
export function union(parts: readonly Probe[]): Probe {
  const [only] = parts;
  if (parts.length === 1 && only !== undefined) return only;
  const states = (t: number): State => {
    let on = false;
    let onEdge = t;
    let offEdge = Infinity;
    for (const part of parts) {
      const state = part.at(t);
      if (state.on) {
        on = true;
        onEdge = Math.max(onEdge, state.edge);
      } else offEdge = Math.min(offEdge, state.edge);
    }
    return { on, edge: on ? onEdge : offEdge };
  };
  return {
    at(t) {
      const state = states(t);
      let { edge } = state;
      while (state.on && edge !== Infinity) {
        if (edge - t > ENDLESS_MS) return { on: true, edge: Infinity };
        const next = states(edge);
        if (!next.on) break;
        edge = next.edge;
      }
      return { on: state.on, edge };
    },
  };
}

/** On while `up` is and `down` is not. */
export function minus(up: Probe, down: Probe): Probe {
  return {
    at(t) {
      let u = up.at(t);
      let d = down.at(t);
      if (u.on && !d.on) return { on: true, edge: Math.min(u.edge, d.edge) };
      let edge = t;
      for (let steps = 0; steps < MAX_STEPS; steps++) {
        // Off until each reason for being off has passed.
        edge = Math.max(u.on ? edge : u.edge, d.on ? d.edge : edge);
        if (edge === Infinity) break;
        u = up.at(edge);
        d = down.at(edge);
        if (u.on && !d.on) return { on: false, edge };
      }
      return { on: false, edge: Infinity };
    },
  };
}

/** On while `part` is off. */
export function inverse(part: Probe): Probe {
  return {
    at(t) {
      const { on, edge } = part.at(t);
      return { on: !on, edge };
    },
  };
}

/**
 * Each span of `part` starts later by `share` (0 ≤ share < 1) of `maxMs`, or of its own length if that is shorter, so a
 * span never vanishes and never ends later.
 */
export function delayed(part: Probe, maxMs: number, share: number): Probe {
  const delay = (start: number, end: number): number => start + Math.floor(Math.min(maxMs, end - start) * share);
  return {
    at(t) {
      const state = part.at(t);
      if (!state.on)
        return { on: false, edge: state.edge === Infinity ? Infinity : delay(state.edge, part.at(state.edge).edge) };
      // On: only a span that began within the last maxMs can still be held back.
      let at = t - maxMs;
      let began: number | undefined;
      for (let s = part.at(at); s.edge <= t; s = part.at(at)) {
        at = s.edge;
        began = s.on ? undefined : at;
      }
      const start = began === undefined ? t : delay(began, state.edge);
      return start > t ? { on: false, edge: start } : state;
    },
  };
}
