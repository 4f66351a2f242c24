// Generation in steps: which positions each step feeds, which stay in which slot, and what that costs.

/** What is kept of earlier positions. */
export const KINDS = {
  none: "nothing",
  mha: "every head (MHA)",
  gqa: "shared heads (GQA)",
  mqa: "one head (MQA)",
  window: "a window, every head",
};

/** How many heads of keys and values the model has. */
export const keptHeads = (kind, { num_heads, num_kv_heads }) =>
  kind === "mqa" ? 1 : kind === "gqa" ? Math.min(num_kv_heads, num_heads) : num_heads;

/** The positions from `first` up to `last`, not included, that each step feeds; step 0 has fed nothing. */
export function steps(kind, { total, prompt, chunk }) {
  const made = [];
  const piece = kind === "none" ? prompt : chunk;
  for (let first = 0; first < prompt; first += piece) made.push({ first, last: Math.min(first + piece, prompt) });
  // The last token is written and never fed: nothing follows it.
  for (let p = prompt; p < total - 1; p++) made.push({ first: p, last: p + 1 });
  return kind === "none" ? made.map(({ last }) => ({ first: 0, last })) : made;
}

/** The step after which at least `seen` positions have been fed. */
export function stepAt(kind, sizes, seen) {
  if (seen === 0) return 0;
  const all = steps(kind, sizes);
  const found = all.findIndex(({ last }) => last >= seen);
  return found < 0 ? all.length : found + 1;
}

/** The slot where a position is written: a window writes over its oldest, sinks stay. */
const slotOf = (kind, { window, num_sinks }, p) =>
  kind === "window" && p >= num_sinks ? num_sinks + ((p - num_sinks) % window) : p;

/** What each slot holds after `seen` positions: a position, or null. */
export function slots(kind, sizes, seen) {
  const count = kind === "none" ? 0 : kind === "window" ? sizes.num_sinks + sizes.window : sizes.total;
  const held = Array(count).fill(null);
  if (count) for (let p = 0; p < seen; p++) held[slotOf(kind, sizes, p)] = p;
  return held;
}

/** How many keys the query at position p sees. */
export const sees = (kind, { window, num_sinks }, p) =>
  kind === "window" ? Math.min(window, p + 1) + Math.max(0, Math.min(num_sinks, p + 1 - window)) : p + 1;

/** How many pairs of a query and a key meet in one head of one layer. */
export function pairs(kind, sizes, { first, last }) {
  let met = 0;
  for (let p = first; p < last; p++) met += sees(kind, sizes, p);
  return met;
}

/** Operations of a step in all layers: projections, a feed-forward layer four times as wide, attention. */
export function operations(kind, sizes, step) {
  const { num_layers, num_heads, d_k } = sizes;
  const width = num_heads * d_k;
  const token = 2 * width * (2 * width + 2 * keptHeads(kind, sizes) * d_k) + 16 * width * width;
  return num_layers * ((step.last - step.first) * token + 4 * width * pairs(kind, sizes, step));
}

/** Bytes of the keys and values of a number of positions. */
export const cacheBytes = (kind, sizes, positions) =>
  2 * sizes.num_layers * keptHeads(kind, sizes) * sizes.d_k * positions * sizes.bytes_per_element;

/** All that is shown after a number of steps; `again` is the same model with nothing kept. */
export function stateAt(kind, sizes, count) {
  const all = steps(kind, sizes);
  const done = all.slice(0, count);
  const now = done.at(-1) ?? { first: 0, last: 0 };
  const held = slots(kind, sizes, now.last);
  const kept = held.filter((p) => p !== null);
  const before = slots(kind, sizes, now.first).filter((p) => p !== null);
  const whole = (last) => ({ first: 0, last });
  const answers = done.filter(({ last }) => last > sizes.prompt).map(({ last }) => whole(last));
  const passes = done.length ? [whole(Math.min(now.last, sizes.prompt)), ...answers] : [];
  const sum = (some) => ({
    tokens: some.reduce((n, { first, last }) => n + last - first, 0),
    flops: some.reduce((n, step) => n + operations(kind, sizes, step), 0),
  });
  return {
    ...now, count: done.length, of: all.length, held, kept,
    dropped: before.filter((p) => !kept.includes(p)),
    step: sum(done.slice(-1)), all: sum(done), again: sum(passes), once: sum(passes.slice(-1)),
    added: cacheBytes(kind, sizes, kept.length - before.length),
    bytes: cacheBytes(kind, sizes, kept.length),
    reserved: cacheBytes(kind, sizes, held.length),
  };
}
