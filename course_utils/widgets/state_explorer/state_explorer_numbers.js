// What a state and a cache hold after each pair, and what comes out when a key is asked for again.
import { dot, softmax } from "../numbers.js";

export const KINDS = {
  softmax: "softmax over a cache",
  sum: "sum (linear attention)",
  fade: "fading sum (retention)",
  delta: "delta rule",
  "gated delta": "gated delta rule",
};
export const FADING = ["fade", "gated delta"];
const VALUES = 10;
export const MOST = { writes: 48, keys: 24 };
const SHARPNESS = 16; // what the cache's products are multiplied by
const BYTES = 4;

/** A number from -1 to 1 that looks drawn by chance: the same in Python and here. */
function scattered(n) {
  const x = Math.sin(n * 12.9898) * 43758.5453;
  return 2 * (x - Math.floor(x)) - 1;
}

/** The direction that stands for a key or a value, of length 1. */
export function direction(name, index, width) {
  const first = name === "key" ? 1 : 5001;
  const row = Array.from({ length: width }, (_, j) => scattered(first + 67 * index + j));
  const length = Math.hypot(...row);
  return row.map((x) => x / length);
}

const zeros = (width) => Array.from({ length: width }, () => new Array(width).fill(0));

/** What a key finds in a state: the sum of its rows, each times the key's entry. */
export const found = (state, key) => state[0].map((_, j) => state.reduce((sum, row, i) => sum + key[i] * row[j], 0));

/** The state after all pairs: faded, then written to, pair by pair. */
export function stateOf(kind, writes, width, fade) {
  let state = zeros(width);
  const keep = FADING.includes(kind) ? fade : 1;
  for (const [k, v] of writes) {
    const [key, value] = [direction("key", k, width), direction("value", v, width)];
    const faded = state.map((row) => row.map((x) => keep * x));
    const old = kind.endsWith("delta") ? found(faded, key) : new Array(width).fill(0);
    state = faded.map((row, i) => row.map((x, j) => x + key[i] * (value[j] - old[j])));
  }
  return state;
}

/** What a query gets from all pairs of a cache. */
function attended(writes, query) {
  const width = query.length;
  const weights = softmax(writes.map(([k]) => SHARPNESS * dot(direction("key", k, width), query)));
  return query.map((_, j) => writes.reduce((sum, [, v], i) => sum + weights[i] * direction("value", v, width)[j], 0));
}

/** For each key so far: what it should find (its newest value), what it finds, and how well. */
export function readings(kind, writes, width, fade) {
  if (!writes.length) return [];
  const state = stateOf(kind, writes, width, fade);
  const newest = new Map(writes.map(([k, v]) => [k, v]));
  return [...newest].map(([key, wanted]) => {
    const query = direction("key", key, width);
    const out = kind === "softmax" ? attended(writes, query) : found(state, query);
    const length = Math.hypot(...out) || 1;
    const near = Array.from({ length: VALUES }, (_, v) => dot(out, direction("value", v, width)) / length);
    return { key, wanted, answered: near.indexOf(Math.max(...near)), cosine: near[wanted] };
  });
}

/** Bytes of both after a number of pairs. */
export const bytes = (pairs, width) => ({ cache: 2 * width * BYTES * pairs, state: width * width * BYTES });

/** A pair whose key is new; its value is some digit. */
export function fresh(writes) {
  const key = new Set(writes.map(([k]) => k)).size;
  return [key, (7 * key + 3) % VALUES];
}

/** The asked key once more, with another value. */
export function overwritten(writes, key) {
  const value = writes.findLast(([k]) => k === key)[1];
  return [key, (value + 3) % VALUES];
}
