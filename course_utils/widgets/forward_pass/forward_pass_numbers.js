// A prompt's numbers as Python packs them, and what is read from them.
import { entropy, sum } from "../numbers.js";

export const MEASURES = {
  first: "weight on the first token",
  previous: "weight on the token before",
  followed: "weight on what followed the same token",
  entropy: "entropy",
};

/** The numbers from 0, so many. */
export const upTo = (count) => Array.from({ length: count }, (_, i) => i);

/** Unpack a prompt. @param {object} sizes layers, heads, and what the widget's trait `packing` says */
export async function unpack({ tokens, ids, data }, sizes) {
  const packed = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return { tokens, ids, ...sizes, ...sorted(new Uint8Array(await new Response(stream).arrayBuffer()), tokens.length, sizes) };
}

/** Bytes as words, numbers and weights. */
function sorted(bytes, length, { layers, best, next, lens, entropy, chance }) {
  let at = 4 + new DataView(bytes.buffer).getUint32(0, true);
  const words = new TextDecoder().decode(bytes.subarray(4, at)).split("\0");
  const numbers = (count, factor) => {
    const part = bytes.subarray(at, (at += 2 * count));
    return upTo(count).map((i) => (256 * part[i] + part[count + i]) / factor);
  };
  const cells = (layers + 1) * length;
  const lensWords = numbers(cells * best, 1).map((word) => words[word]);
  const [lensChances, entropies] = [numbers(cells * best, lens), numbers(cells, entropy)];
  const nextWords = numbers(length * next, 1).map((word) => words[word]);
  return { lensWords, lensChances, entropies, nextWords, nextChances: numbers(length * next, chance), weights: bytes.subarray(at) };
}

/** What a head's query puts on each key up to its own. */
export function rowOf({ weights, layers, heads, weight }, layer, head, query) {
  const pair = (query * (query + 1)) / 2;
  return upTo(query + 1).map((key) => weights[(pair + key) * layers * heads + layer * heads + head] / weight);
}

/** The weights that the same scores give where no query sees the first key; zeros where nothing is left. */
export function withoutFirst(row) {
  const left = sum(row.slice(1));
  return row.map((w, key) => (key && left ? w / left : 0));
}

/** The keys that play a role for a query. */
export function keysOf(measure, ids, query) {
  if (measure === "first") return [0];
  if (measure === "previous") return query ? [query - 1] : [];
  return ids.slice(0, query).flatMap((id, key) => (id === ids[query] ? [key + 1] : []));
}

/** What equal weights would put on these keys. */
export const baseRate = (measure, ids, query) => keysOf(measure, ids, query).length / (query + 1);

/** One number of a row of weights. */
export const measured = (measure, ids, row) =>
  measure === "entropy" ? entropy(row) : sum(keysOf(measure, ids, row.length - 1).map((key) => row[key]));

/** The number of every head, layer by layer, and which of them are above so many times the base rate. */
export function atlas(prompt, { measure, position, times }) {
  const base = measure === "entropy" ? 0 : baseRate(measure, prompt.ids, position);
  const values = upTo(prompt.layers * prompt.heads).map((i) =>
    measured(measure, prompt.ids, rowOf(prompt, Math.floor(i / prompt.heads), i % prompt.heads, position)),
  );
  const top = measure === "entropy" ? Math.log(position + 1) || 1 : 1;
  const kept = values.map((value) => measure === "entropy" || !times || (base > 0 && value > times * base));
  return { values, base, top, kept };
}

/** Words and their probabilities, likeliest first. */
const pairs = (words, chances, from, count) => upTo(count).map((i) => ({ word: words[from + i], chance: chances[from + i] }));

/** What the last layer would say of the stream after so many layers. */
export function lensAt({ lensWords, lensChances, entropies, tokens, best }, state, position) {
  const cell = state * tokens.length + position;
  return { words: pairs(lensWords, lensChances, cell * best, best), entropy: entropies[cell] };
}

/** What the model says comes next. */
export const nextAt = ({ nextWords, nextChances, next }, position) => pairs(nextWords, nextChances, position * next, next);

/** The five largest weights of a row, as [key, weight]. */
export const largest = (row) => row.map((w, key) => [key, w]).sort((a, b) => b[1] - a[1]).slice(0, 5);
