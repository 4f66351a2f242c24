// What the date writer says: where a sign was read, and how sure the model is of all that it wrote.
import { decimal, sum } from "../numbers.js";
import { isDay, signOf } from "./date_writer_model.js";

const PARTS = [["year", 0, 4], ["month", 5, 7], ["day", 8, 10]];

/** A sign or a word as it is named in a sentence: spaces visible, directions kept apart. */
export const named = (text) => (/^\s+$/u.test(text) ? "a space" : `\u2068‘${text}’\u2069`);

/** A text cut into words, numbers and single other signs, each with its first place and the one behind it. */
export function wordsOf(signs) {
  const kind = (sign) => (/^[\p{L}\p{M}]$/u.test(sign) ? "word" : /^\p{N}$/u.test(sign) ? "number" : "other");
  const found = [];
  signs.forEach((sign, i) => {
    const last = found.at(-1);
    if (last && last.kind === kind(sign) && last.kind !== "other") [last.text, last.end] = [last.text + sign, i + 1];
    else found.push({ kind: kind(sign), text: sign, start: i, end: i + 1 });
  });
  return found;
}

/** The words of a text with their share of a row of weights, the largest first. */
export const shares = (signs, weights) =>
  wordsOf(signs)
    .map(({ text, start, end }) => ({ text, share: sum(weights.slice(start, end)) }))
    .sort((a, b) => b.share - a.share);

/** How a written sign is called: the 3 of month 03, or a hyphen. */
export function called(written, place) {
  const [part, start, end] = PARTS.find(([, from, to]) => place >= from && place < to) ?? [];
  if (written[place] === "-") return "a hyphen";
  return part ? `the ${written[place]} of ${part} ${written.slice(start, end)}` : `a ${written[place]}`;
}

const ALL = 0.995;
const weight = (share) => (share > ALL ? "all of its weight" : `${decimal(share)} of its weight`);

/** Where the model read while it wrote one sign, in one sentence; and what else it might have written there. */
export function sentence(signs, found, place) {
  const { token, chances, weights } = found.steps[place];
  const [first, second] = shares(signs, weights);
  const rest = second && first.share < 0.7 ? `, and ${named(second.text)} with ${decimal(second.share)}` : "";
  const said = `Writing ${called(found.text, place)}, it reads ${named(first.text)} with ${weight(first.share)}${rest}.`;
  if (chances[token] > 0.95) return said;
  const other = chances.indexOf(Math.max(...chances.filter((_, i) => i !== token)));
  const next = other < 4 ? "to stop" : `a ${signOf(other)}`;
  return `${said} It gives this ${signOf(token)} probability ${decimal(chances[token])}, ${next} ${decimal(chances[other])}.`;
}

/** How sure the model is of all that it wrote, and what it cannot know. */
export function certainty(found, sure, unknown) {
  const p = found.chance > ALL ? "more than 0.99" : found.chance < 0.005 ? "less than 0.01" : decimal(found.chance);
  const day = isDay(found.text) ? "" : ` ${found.text || "Nothing"} is not a day of the calendar.`;
  const head = found.chance >= sure ? `Sure: probability ${p}.` : `Unsure: probability ${p}. This may not be a date, or not one that it can read.`;
  const strange = unknown.length ? ` It does not know ${unknown.map(named).join(", ")}.` : "";
  return head + day + strange;
}
