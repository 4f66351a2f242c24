// The explorer's arithmetic: one draw of normals, and what softmax makes of it at every d_k.
import { entropy, mulberry32, softmax, sum } from "../numbers.js";

export const WIDTHS = Array.from({ length: 11 }, (_, power) => 2 ** power);
const PAIRS = 2000;
export const QUERIES = 256;
const SEQUENCES = 16;
export const MAX_KEYS = 32;

/** Uniform numbers from 0 up to 1: the same for the same seed. */
export function uniform(seed) {
  let drawn = 0;
  return () => mulberry32(seed, drawn++);
}

/** Fill an array of even length with standard normals (Box and Muller). */
export function fillNormal(array, next) {
  for (let i = 0; i < array.length; i += 2) {
    const radius = Math.sqrt(-2 * Math.log(1 - next()));
    const angle = 2 * Math.PI * next();
    array[i] = radius * Math.cos(angle);
    array[i + 1] = radius * Math.sin(angle);
  }
  return array;
}

/** q·k over the first 1, 2, 4, ..., 1024 coordinates, into place `at` of one array for each d_k. */
export function dotProducts(query, key, into, at) {
  let sum = 0;
  let from = 0;
  for (let w = 0; w < WIDTHS.length; w++) {
    for (; from < WIDTHS[w]; from++) sum += query[from] * key[from];
    into[w][at] = sum;
  }
}

/**
 * All that chance decides, from one seed.
 * @returns {{pairs: Float64Array[], rows: Float64Array[]}} for each d_k: q·k of independent pairs, and of
 *   256 queries with 32 keys, row after row; 16 queries share their keys, as in a batch of 16 sequences
 */
export function draw(seed) {
  const widest = WIDTHS.at(-1);
  const [query, key] = [new Float64Array(widest), new Float64Array(widest)];
  const next = uniform(seed);
  const pairs = WIDTHS.map(() => new Float64Array(PAIRS));
  for (let i = 0; i < PAIRS; i++) {
    dotProducts(fillNormal(query, next), fillNormal(key, next), pairs, i);
  }
  const rows = WIDTHS.map(() => new Float64Array(QUERIES * MAX_KEYS));
  let keys;
  for (let i = 0; i < QUERIES * MAX_KEYS; i++) {
    if (i % ((QUERIES / SEQUENCES) * MAX_KEYS) === 0) {
      keys = Array.from({ length: MAX_KEYS }, () => fillNormal(new Float64Array(widest), next));
    }
    if (i % MAX_KEYS === 0) fillNormal(query, next);
    dotProducts(query, keys[i % MAX_KEYS], rows, i);
  }
  return { pairs, rows };
}

/** Frobenius norm of diag(w) - w wᵀ, the derivative of the weights by the scores that enter the softmax. */
export function jacobianNorm(weights) {
  let squares = 0;
  let before = 0;
  for (const w of weights) {
    squares += (w * (1 - w)) ** 2 + 2 * w * w * before;
    before += w * w;
  }
  return Math.sqrt(squares);
}

/** Mean of squared distances to the mean. */
export function variance(values) {
  const mean = sum(values) / values.length;
  return values.reduce((sum, x) => sum + (x - mean) ** 2, 0) / values.length;
}

/** What q·k is multiplied by before the softmax. */
export const factor = (width, scaled, temperature) => (scaled ? 1 / Math.sqrt(width) : 1) / temperature;

/** What one row of weights shows. */
export const measure = (weights) =>
  ({ top: Math.max(...weights), entropy: entropy(weights), gradient: jacobianNorm(weights) });

/** The weights of one query. */
function weightsOf(drawn, index, query, numKeys, by) {
  const from = query * MAX_KEYS;
  return softmax(drawn.rows[index].slice(from, from + numKeys).map((score) => score * by));
}

/** Means over all queries at each d_k. @returns {{top: number, entropy: number, gradient: number}[]} */
export function curve(drawn, scaled, temperature, numKeys) {
  return WIDTHS.map((width, index) => {
    const by = factor(width, scaled, temperature);
    const all = Array.from({ length: QUERIES }, (_, q) => measure(weightsOf(drawn, index, q, numKeys, by)));
    const mean = (name) => all.reduce((sum, one) => sum + one[name], 0) / QUERIES;
    return { top: mean("top"), entropy: mean("entropy"), gradient: mean("gradient") };
  });
}

/** How many values fall into each of `count` equal bins from -reach to reach, and how many beyond. */
export function histogram(values, reach, count) {
  const bins = new Array(count).fill(0);
  let beyond = 0;
  for (const x of values) {
    const bin = Math.floor(((x + reach) / (2 * reach)) * count);
    if (bin >= 0 && bin < count) bins[bin]++;
    else beyond++;
  }
  return { bins, beyond };
}

/** Everything that the picture and its words show at one setting. */
export function look(drawn, { index, scaled, temperature, numKeys }, curves) {
  const width = WIDTHS[index];
  const by = factor(width, scaled, temperature);
  const scores = drawn.pairs[index].map((score) => score * by);
  const weights = weightsOf(drawn, index, 0, numKeys, by);
  return {
    width,
    index,
    scaled,
    temperature,
    numKeys,
    scores,
    weights,
    curves,
    variance: variance(scores),
    expected: width * by * by,
    one: measure(weights),
    mean: curves[scaled ? 1 : 0][index],
    equal: measure(new Array(numKeys).fill(1 / numKeys)),
  };
}
