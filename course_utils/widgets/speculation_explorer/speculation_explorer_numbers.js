// Speculative decoding with two distributions that never change: its rounds, their counts, and what they must come to.
import { mulberry32, sum } from "../numbers.js";

export const TOKENS = "abcdefgh";
export const MOST = { gamma: 6, rounds: 20000 };
export const WHOLE = MOST.gamma + 1; // a stage at which every round is over
const PERCENT = 100;

/** One bar gets a height in percent; the others keep their shares of what is left, in whole percents. */
export function moved(weights, index, height) {
  const value = Math.max(0, Math.min(PERCENT, Math.round(height)));
  const others = weights.reduce((sum, x, i) => sum + (i === index ? 0 : x), 0);
  const wanted = weights.map((x, i) => {
    if (i === index) return value;
    return others ? ((PERCENT - value) * x) / others : (PERCENT - value) / (weights.length - 1);
  });
  const made = wanted.map(Math.floor);
  const rest = PERCENT - sum(made);
  const order = wanted.map((x, i) => [x - made[i], i]).sort(([a, i], [b, j]) => b - a || i - j);
  for (const [, i] of order.slice(0, rest)) made[i] += 1;
  return made;
}

/** The first token whose cumulative sum is above u times the total. */
export function pick(weights, u) {
  const total = sum(weights);
  let height = 0;
  return weights.findIndex((x) => (height += x) > u * total);
}

/** What the target gives more than the draft. */
export const residual = (p, q) => p.map((x, i) => Math.max(0, x - q[i]));

/** A round's drafted tokens, and what becomes of them one after the other: decisions, then one more token. */
export function round({ target, draft, gamma, seed, from_target }, number) {
  const at = number * (2 * gamma + 1);
  const u = (i) => mulberry32(seed, at + i);
  const drafted = Array.from({ length: gamma }, (_, i) => pick(draft, u(i)));
  const events = [];
  for (const [i, token] of drafted.entries()) {
    const stays = u(gamma + i) * draft[token] < target[token];
    events.push({ kind: "draft", token, ratio: target[token] / draft[token], u: u(gamma + i), stays });
    if (!stays) break;
  }
  const accepted = events.filter(({ stays }) => stays).length;
  const whole = from_target || accepted === gamma;
  const weights = whole ? target : residual(target, draft);
  events.push({ kind: "last", weights, whole, u: u(2 * gamma), token: pick(weights, u(2 * gamma)) });
  return { drafted, events, accepted };
}

/** Which round is on show, how many of its events, and how many rounds are over. */
export function progress(state) {
  const { rounds, stage } = state;
  const now = round(state, rounds);
  const shown = Math.min(stage, now.events.length);
  return { ...now, shown, over: rounds + (shown === now.events.length) };
}

/** What a number of rounds wrote, and how many drafted tokens were judged and accepted. */
export function tally(state, rounds) {
  const wrote = new Array(TOKENS.length).fill(0);
  let [judged, accepted] = [0, 0];
  for (let number = 0; number < rounds; number++) {
    const one = round(state, number);
    judged += one.events.length - 1;
    accepted += one.accepted;
    for (const event of one.events) if (event.kind === "last" || event.stays) wrote[event.token] += 1;
  }
  return { wrote, judged, accepted, tokens: sum(wrote) };
}

/** The long run: how many drafted tokens stay, tokens per call, and the share of each token. */
export function longRun({ target, draft, gamma, from_target }) {
  const both = target.map((p, i) => Math.min(p, draft[i]) / PERCENT);
  const alpha = sum(both);
  const tries = sum(Array.from({ length: gamma }, (_, i) => alpha ** i));
  const perCall = 1 + alpha * tries;
  const shares = target.map((whole, i) => {
    const p = whole / PERCENT;
    const refused = from_target ? (1 - alpha) * p : p - both[i]; // times the tries: how often it is drawn
    return (tries * (both[i] + refused) + alpha ** gamma * p) / perCall;
  });
  return { alpha, perCall, shares };
}

/** Half of the sum of differences between shares and percents. */
export const distance = (shares, weights) => shares.reduce((sum, x, i) => sum + Math.abs(x - weights[i] / PERCENT), 0) / 2;
