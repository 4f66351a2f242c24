// Where a value stands on a question's scale, how it is written, and how far a guess was off, in words.
import { format, several } from "../shared.js";

/** From 0 at the low end to 1 at the high end; a value beyond an end counts as that end. */
export function placeOf({ low, high, log }, value) {
  const inside = Math.min(Math.max(value, low), high);
  return log ? Math.log(inside / low) / Math.log(high / low) : (inside - low) / (high - low);
}

/** The value at a place, to three digits. */
export function valueAt({ low, high, log }, place) {
  const value = log ? low * (high / low) ** place : low + place * (high - low);
  return Number(value.toPrecision(3));
}

/** A number as it is read, large ones with their thousands apart. */
export const shown = (value) =>
  Math.abs(value) >= 1000 && Math.abs(value) < 1e9 ? Math.round(value).toLocaleString("en-US") : format(value);

const withUnit = ({ unit }, value) => (unit === "%" ? `${shown(value)}%` : unit ? `${shown(value)} ${unit}` : shown(value));

/** Pairs of an order that stand the wrong way round. */
export function inverted(given, truth) {
  let count = 0;
  truth.forEach((a, i) => truth.slice(i + 1).forEach((b) => (count += given.indexOf(a) > given.indexOf(b))));
  return count;
}

/** The mean distance of a drawn curve from the measured one, as a share of the scale. */
export const apart = (question, given, truth) =>
  given.reduce((sum, y, i) => sum + Math.abs(placeOf(question, y) - placeOf(question, truth[i])), 0) / given.length;

/** How far a guess was off, in the unit of the matter. */
export function sentence(question, given, truth) {
  if (question.kind === "choice") {
    return given === truth ? `You guessed it: ${truth}.` : `You guessed “${given}”. It is “${truth}”.`;
  }
  if (question.kind === "order") {
    const pairs = (truth.length * (truth.length - 1)) / 2;
    const wrong = inverted(given, truth);
    return wrong ? `${wrong} of ${several(pairs, "pair")} the wrong way round.` : "You guessed the order.";
  }
  if (question.kind === "curve") {
    const share = Math.round(100 * apart(question, given, truth));
    return share ? `On average ${share}% of the axis away from what was measured.` : "You drew what was measured.";
  }
  const both = `You guessed ${withUnit(question, given)}. It is ${withUnit(question, truth)}`;
  if (given === truth || shown(given) === shown(truth)) return `${both}.`;
  const high = given > truth ? "high" : "low";
  if (question.log && given > 0 && truth > 0) {
    return `${both}: too ${high} by a factor of ${format(Math.max(given / truth, truth / given))}.`;
  }
  return `${both}: ${withUnit(question, Math.abs(Number((given - truth).toPrecision(12))))} too ${high}.`;
}
