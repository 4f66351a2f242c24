// A decoder's steps, in numbers: scores, weights, context, next state.
import { dot, softmax } from "../numbers.js";

export const STAGES = ["scores", "weights", "context", "state"];

const times = (row, matrix) => matrix[0].map((_, j) => dot(row, matrix.map((one) => one[j])));

/** One record for each word to be written: what asked, and all that came of it. */
export function decode({ words, states, first, turn, keep, factor }) {
  const walk = [];
  let query = first;
  for (let t = 0; t < words.length; t++) {
    const scores = states.map((h) => factor * dot(query, h));
    const weights = softmax(scores);
    const context = times(weights, states);
    const kept = times(query, keep);
    const state = times(context, turn).map((x, i) => Math.tanh(x + kept[i]));
    walk.push({ query, scores, weights, context, state, best: weights.indexOf(Math.max(...weights)) });
    query = state;
  }
  return walk;
}

/** What is visible after `step` stages: the record, its number from 1, and how many of its stages. */
export function look(given, step) {
  const walk = decode(given);
  const at = Math.max(0, Math.ceil(step / STAGES.length) - 1);
  const shown = step - STAGES.length * at;
  const done = Math.floor(step / STAGES.length);
  return { ...walk[at], number: at + 1, shown, written: walk.slice(0, done).map(({ best }) => given.words[best][1]) };
}
