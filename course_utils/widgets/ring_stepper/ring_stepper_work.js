// The ring's arithmetic: who holds which tokens, which pairs a rank multiplies at a step, what it sends.
import { sum } from "../numbers.js";

/** What a layout is called on the page, by its name in Python. */
export const LAYOUTS = { contiguous: "contiguous", striped: "striped", zigzag: "zig-zag" };

/** The places in the text of each rank's tokens, ascending. */
export function split(layout, n, ranks) {
  const share = n / ranks;
  const tokens = Array.from({ length: n }, (_, i) => i);
  const run = (i) => tokens.slice((i * share) / 2, ((i + 1) * share) / 2);
  return Array.from({ length: ranks }, (_, r) => {
    if (layout === "striped") return tokens.filter((i) => i % ranks === r);
    if (layout === "zigzag") return [...run(r), ...run(2 * ranks - 1 - r)];
    return tokens.slice(r * share, (r + 1) * share);
  });
}

/** The rank whose block this rank holds after a number of rotations. */
export const holds = (ranks, rank, step) => (rank - step + ranks) % ranks;

/** The queries and keys that meet in a block: those with a partner that they may see. */
export function meeting(query, key, causal) {
  if (!causal) return { query, key };
  const [first, last] = [Math.min(...key), Math.max(...query)];
  return { query: query.filter((i) => i >= first), key: key.filter((j) => j <= last) };
}

/** For each rank and step: whose block, which queries and keys meet, and how many pairs that is. */
export function work(positions, causal) {
  return positions.map((query, rank) =>
    positions.map((_, step) => {
      const block = holds(positions.length, rank, step);
      const met = meeting(query, positions[block], causal);
      return { block, ...met, pairs: met.query.length * met.key.length };
    }),
  );
}

/** Pairs by rank and by step, the slowest rank of each step added up, and what an even share would be. */
export function balance(table) {
  const steps = table.map((_, t) => table.map((row) => row[t].pairs));
  const ranks = table.map((row) => sum(row.map(({ pairs }) => pairs)));
  return { ranks, steps, slowest: sum(steps.map((one) => Math.max(...one))), even: sum(ranks) / table.length };
}

/** Bytes that one rank sends for one layer: the ring's, and the all-to-all's of Ulysses. */
export function sent(ranks, n, heads, width, bytes) {
  const own = (n / ranks) * heads * width * bytes; // one tensor of this rank's tokens
  const ulysses = (4 * own * (ranks - 1)) / ranks;
  const alone = ranks === 1;
  return {
    rotation: 2 * own,
    forward: 2 * own * (ranks - 1),
    backward: alone ? 0 : 2 * own * (2 * ranks - 1),
    ulysses: { forward: ulysses, backward: ulysses },
  };
}
