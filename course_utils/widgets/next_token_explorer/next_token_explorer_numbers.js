// What is recorded of a next token, at any setting of the sliders; and tokens drawn from it.
import { mulberry32, sum } from "../numbers.js";

export const MOST = 20000; // tokens drawn
export const TASK = { top_p: 0.9, temperature: 1, few: 1, many: 50 };

const numbers = (text) => text.split(" ").map(Number);

/** A place as it was sent, its numbers read. */
export const unpack = (place) => ({
  ...place,
  log_probs: numbers(place.log_probs),
  log_norms: numbers(place.log_norms),
  sizes: place.sizes.map(numbers),
});

/** How many tokens the nucleus of a place holds: recorded, not computed. */
export const sizeAt = ({ sizes }, { temperatures, shares, temperature, top_p }) =>
  sizes[temperatures.indexOf(temperature)][shares.indexOf(top_p)];

/**
 * A place at one setting: probabilities of its recorded tokens, what is beyond them, the nucleus and the true token.
 * `kept` is the nucleus's share: exact where all of it is recorded, otherwise top-p, less than one token off.
 */
export function look(place, setting) {
  const { temperatures, shares, temperature, top_p } = setting;
  const at = temperatures.indexOf(temperature);
  const chance = (logProb) => Math.exp(logProb / temperature - place.log_norms[at]);
  const chances = place.log_probs.map(chance);
  const size = sizeAt(place, setting);
  const exact = size <= chances.length;
  const known = sum(chances);
  const kept = exact ? sum(chances.slice(0, size)) : top_p;
  return {
    chances,
    size,
    exact,
    kept: Math.min(kept, 1),
    left: Math.max(0, 1 - kept),
    beyond: Math.max(0, 1 - known),
    beyondKept: exact ? 0 : Math.max(0, top_p - known),
    rank: place.rank,
    true: chance(place.log_prob),
    top_p,
    shares,
    sizes: place.sizes[at],
  };
}

/** The token that a number from 0 up to 1 meets: its index if it is recorded, otherwise the ranks it is among. */
export function pick(seen, u, nucleusOnly) {
  const { chances, size, exact, kept, top_p, shares, sizes } = seen;
  const height = nucleusOnly ? u * kept : u;
  let under = 0;
  const index = chances.findIndex((chance) => (under += chance) > height);
  if (index >= 0) return { index, inside: index < size };
  const share = shares.findIndex((one) => one > height);
  const low = Math.max(chances.length + 1, share ? sizes[share - 1] : 0);
  return { low, high: Math.max(low, sizes[share]), inside: !exact && height < top_p };
}

/** The nth token of a seed's stream. */
export const drawn = (seen, seed, n, nucleusOnly) => pick(seen, mulberry32(seed, n), nucleusOnly);

/** How often each recorded token came, one beyond them, and one outside the nucleus; and the last of these. */
export function tally(seen, seed, draws, nucleusOnly) {
  const counts = new Array(seen.chances.length).fill(0);
  let [beyond, outside, stray] = [0, 0, null];
  for (let n = 0; n < draws; n++) {
    const met = drawn(seen, seed, n, nucleusOnly);
    if (met.index === undefined) beyond += 1;
    else counts[met.index] += 1;
    if (!met.inside) [outside, stray] = [outside + 1, met];
  }
  return { counts, beyond, outside, stray };
}

/** What the draws come to in the long run: probabilities, and the shares inside the nucleus and outside. */
export function expected(seen, nucleusOnly) {
  const { chances, size, exact, kept, left, beyond, beyondKept, rank } = seen;
  const part = (chance, inside) => (nucleusOnly ? (inside ? chance / kept : 0) : chance);
  const known = chances.map((chance, i) => part(chance, i < size));
  const inside = part(beyondKept, !exact);
  return {
    chances: known,
    true: part(seen.true, rank <= size),
    outside: part(left, false),
    beyond: { inside, outside: part(beyond - beyondKept, false) },
  };
}

/** The parts of the task that a place fulfils at a setting: one token is the whole nucleus; more than 50 are. */
export function fulfilled(place, setting) {
  const here = setting.top_p === TASK.top_p && setting.temperature === TASK.temperature;
  const size = sizeAt(place, setting);
  return [here && size === TASK.few, here && size > TASK.many];
}
