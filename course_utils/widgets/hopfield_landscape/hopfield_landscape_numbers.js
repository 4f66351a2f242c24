// The landscape's arithmetic: states in the plane, the energy of a modern Hopfield network, its updates.
import { dot, softmax } from "../numbers.js";

export const REACH = 2.2; // half the side of the picture
export const UPDATES = 6;
export const LEVELS = 12;
const CLOSE = 0.05; // states nearer than this count as one

const distance = (a, b) => Math.hypot(a[0] - b[0], a[1] - b[1]);

/** The scores β x·ξ of every pattern. */
const scoresOf = (state, patterns, beta) => patterns.map((x) => beta * dot(x, state));

/** One update: the softmax over the patterns, and the average that it makes of them. */
export function update(state, patterns, beta) {
  const weights = softmax(scoresOf(state, patterns, beta));
  const next = [0, 1].map((axis) => weights.reduce((sum, w, i) => sum + w * patterns[i][axis], 0));
  return { weights, state: next };
}

/** -(1/β) ln Σ exp(β x·ξ) + ½ ξ·ξ + (1/β) ln N + ½ M², M the largest norm of a pattern. */
export function energy(state, patterns, beta) {
  const scores = scoresOf(state, patterns, beta);
  const top = Math.max(...scores);
  const logSum = top + Math.log(scores.reduce((sum, score) => sum + Math.exp(score - top), 0));
  const largest = Math.max(...patterns.map((x) => dot(x, x)));
  return (Math.log(patterns.length) - logSum) / beta + (dot(state, state) + largest) / 2;
}

/** The states from a start on, each with its energy and the weights that make the next one of it. */
export function walk(start, patterns, beta, updates = UPDATES) {
  const steps = [];
  for (let state = start, i = 0; i <= updates; i++) {
    const after = update(state, patterns, beta);
    steps.push({ state, weights: after.weights, energy: energy(state, patterns, beta) });
    state = after.state;
  }
  return steps;
}

/** Where states end that start beside a pattern: one place for each valley. A ridge is left, so beside and not at. */
export function valleys(patterns, beta) {
  const found = [];
  for (const pattern of patterns) {
    let state = [pattern[0] + 0.001, pattern[1] + 0.002];
    for (let i = 0, step = 1; i < 5000 && step > 1e-9; i++) {
      const next = update(state, patterns, beta).state;
      step = distance(state, next);
      state = next;
    }
    if (!found.some((one) => distance(one, state) < CLOSE)) found.push(state);
  }
  return found;
}

/** The energy on a square grid of `side` by `side` places, from the lower left corner row by row. */
export function landscape(patterns, beta, side) {
  const along = Array.from({ length: side }, (_, i) => REACH * ((2 * i) / (side - 1) - 1));
  return along.map((y) => along.map((x) => energy([x, y], patterns, beta)));
}

/** Heights at which the landscape is cut: close together at the bottom, where the valleys are. */
export function heights(grid) {
  const all = grid.flat();
  const [low, high] = [Math.min(...all), Math.max(...all)];
  return Array.from({ length: LEVELS }, (_, i) => low + (high - low) * ((i + 1) / (LEVELS + 1)) ** 2);
}
