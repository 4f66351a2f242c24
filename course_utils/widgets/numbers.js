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

/** A number with a power of ten: 3.14e23. */
export const power = (x) => x.toExponential(2).replace("e+", "e");

/** A number in the largest of these units that leaves at least 1 of it. */
export function scaled(value, base, units) {
  let i = 0;
  while (value >= 0.9995 * base && i < units.length - 1) [value, i] = [value / base, i + 1];
  return `${value >= 0.9995 * base ? power(value) : +value.toPrecision(3)} ${units[i]}`.trim();
}

/** Operations as a reader says them. */
export const inFlop = (n) => scaled(n, 1000, ["flop", "kflop", "Mflop", "Gflop", "Tflop", "Pflop", "Eflop", "Zflop"]);

/** Bytes as a reader says them. */
export const inBytes = (n) => scaled(n, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);
