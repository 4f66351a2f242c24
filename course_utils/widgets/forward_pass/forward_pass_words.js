// What is said of the chosen head, position and layer, and the rows of the tables.
import { decimal, runsOf } from "../numbers.js";
import { MEASURES, baseRate, lensAt, measured, nextAt } from "./forward_pass_numbers.js";
import { shown } from "./forward_pass_picture.js";

export const quoted = (token) => `\u2068‘${shown(token)}’\u2069`;
export const chance = (p) => (p > 0 && p < 0.0005 ? "below 0.001" : decimal(p, 3));

/** A number of the atlas, beside what equal weights would give. */
export function valueWords(measure, ids, row) {
  const value = measured(measure, ids, row);
  if (measure === "entropy") return `entropy ${decimal(value)} of at most ${decimal(Math.log(row.length))} nats`;
  const base = baseRate(measure, ids, row.length - 1);
  if (!base) return `${MEASURES[measure]}: there is no such token`;
  return `${MEASURES[measure]} ${decimal(value)}, ${decimal(value / base, 1)} times the base rate ${decimal(base)}`;
}

export function lensSentence(prompt, { layer, position }) {
  const { words, entropy } = lensAt(prompt, layer + 1, position);
  const said = words.map((one) => `${quoted(one.word)} ${decimal(one.chance, 3)}`).join(", ");
  return `Lens at position ${position}, ${quoted(prompt.tokens[position])}, after ${layer < 0 ? "the embedding" : `layer ${layer}`}: ${said}; entropy ${decimal(entropy)} nats.`;
}

export const headSentence = (prompt, { measure, layer, head, position }, row) =>
  `Layer ${layer}, head ${head}, position ${position}, ${quoted(prompt.tokens[position])}: ${valueWords(measure, prompt.ids, row)}.`;

export const keySentence = (tokens, [query, key], row, without) =>
  `Query ${query}, ${quoted(tokens[query])}, puts ${decimal(row[key], 3)} on key ${key}, ${quoted(tokens[key])}` +
  `${without && !row.some((w) => w) ? ": without the first token nothing is left" : ""}.`;

/** How many heads are shown. */
export const countSentence = ({ kept, base }, { measure, times }) =>
  measure === "entropy" || !times
    ? ""
    : `${kept.filter(Boolean).length} of ${kept.length} heads are above ${times} times the base rate ${decimal(base, 3)}.`;

/** The layers in which most heads rest, and what the reader said. */
export function restingSentence(resting, heads, predicted) {
  const most = resting.flatMap((count, layer) => (2 * count > heads ? [layer] : []));
  const runs = runsOf(most).map(([from, to]) => (from === to ? `${from}` : `${from}–${to}`));
  const verdict = predicted === most[0] ? "as you said" : `you said ${predicted}`;
  return `It is layer ${most[0]} (${verdict}): over the six recorded prompts, most heads rest in layers ${runs.join(", ")}, and in no others.`;
}

/** The rows of the next-token bars: with a head taken out, also what becomes of these words. */
export const barRows = (prompt, position, after) => nextAt(prompt, position).map((one, i) => ({ ...one, after: after?.same[position][i] }));

/** What taking the head out does to the likeliest word. */
export function withoutSentence({ layer, head, position }, prompt, after) {
  const [word, p] = after.first[position];
  const [before] = nextAt(prompt, position);
  return (
    `Without head ${head} of layer ${layer} (set to its mean over the six prompts): first ${quoted(word)} with ${chance(p)}; ` +
    `${quoted(before.word)} goes from ${chance(before.chance)} to ${chance(after.same[position][0])}.`
  );
}
