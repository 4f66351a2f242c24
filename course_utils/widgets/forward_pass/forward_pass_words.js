// What is said of the chosen head, position and layer, and the rows of the tables.
import { decimal, runsOf } from "../numbers.js";
import { MEASURES, baseRate, largest, lensAt, measured, nextAt } from "./forward_pass_numbers.js";
import { layerOf, shown } from "./forward_pass_picture.js";

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

const lensWords = (prompt, state, position) => {
  const { words, entropy } = lensAt(prompt, state, position);
  return `${words.map((one) => `${quoted(one.word)} ${decimal(one.chance, 3)}`).join(", ")}; entropy ${decimal(entropy)} nats`;
};

export const lensSentence = (prompt, { layer, position }) =>
  `Lens at position ${position}, ${quoted(prompt.tokens[position])}, after layer ${layer}: ${lensWords(prompt, layer + 1, position)}.`;

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
  const none = resting.flatMap((count, layer) => (count || layer < most[0] ? [] : [layer]));
  const verdict = predicted === most[0] ? "as you said" : `you said ${predicted}`;
  return (
    `It is layer ${most[0]} (${verdict}). Measured over the six recorded prompts, most heads rest in layers ${runs.join(", ")}` +
    `${none.length ? `; of those behind the first, layers ${none.join(" and ")} have no such head` : ""}.`
  );
}

/** The rows of the next-token bars: with a head taken out, also what becomes of these words. */
export const barRows = (prompt, position, after) => nextAt(prompt, position).map((one, i) => ({ ...one, after: after?.same[position][i] }));

/** What taking the head out does to the likeliest word. */
export function withoutSentence({ layer, head, position }, prompt, after) {
  const [word, p] = after.first[position];
  const [before] = nextAt(prompt, position);
  return (
    `Without head ${head} of layer ${layer} (its output is its mean over the six prompts) the likeliest word is ${quoted(word)} with ${chance(p)}; ` +
    `${quoted(before.word)} goes from ${chance(before.chance)} to ${chance(after.same[position][0])}.`
  );
}

/** Rows of the three tables. */
export const weightRows = (tokens, row) => largest(row).map(([key, w]) => [key, quoted(tokens[key]), decimal(w, 3)]);
export const lensRows = (prompt, position) =>
  Array.from({ length: prompt.layers + 1 }, (_, i) => prompt.layers - i).map((state) => {
    const { words, entropy } = lensAt(prompt, state, position);
    return [state ? layerOf(state) : "embedding", words.map((one) => `${quoted(one.word)} ${decimal(one.chance, 3)}`).join(", "), decimal(entropy)];
  });
