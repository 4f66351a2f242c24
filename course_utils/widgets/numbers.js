// Numbers that several widgets compute, and how they are said.

export const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);

export const sum = (numbers) => numbers.reduce((total, x) => total + x, 0);

/** In nats: 0 where one weight has all, ln S where all are equal. */
export const entropy = (weights) => sum(weights.map((w) => (w > 0 ? -w * Math.log(w) : 0)));

/** Softmax that survives any score; a row of -infinity gives zeros. */
export function softmax(scores) {
  const top = Math.max(...scores);
  if (top === -Infinity) return Array.from(scores, () => 0);
  const powers = Array.from(scores, (score) => Math.exp(score - top));
  const total = sum(powers);
  return powers.map((power) => power / total);
}

/** Number n of the stream of mulberry32 that a seed begins, from 0 up to 1: the same on every machine. */
export function mulberry32(seed, n) {
  const state = (seed + Math.imul(n + 1, 0x6d2b79f5)) >>> 0;
  let t = Math.imul(state ^ (state >>> 15), state | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
}

/** Ascending places as runs of neighbours, each as [first, last]. */
export function runsOf(places) {
  const runs = [];
  for (const place of places) {
    if (runs.at(-1)?.[1] === place - 1) runs.at(-1)[1] = place;
    else runs.push([place, place]);
  }
  return runs;
}

/** A whole number with its thousands apart. */
export const whole = (x) => Math.round(x).toLocaleString("en-US");

/** A number with the given digits after the point, a real minus and no negative zero. */
export function decimal(x, digits = 2) {
  if (!Number.isFinite(x)) return x > 0 ? "∞" : "−∞";
  const text = Math.abs(x).toFixed(digits);
  return (x < 0 && Number(text) !== 0 ? "−" : "") + text;
}
