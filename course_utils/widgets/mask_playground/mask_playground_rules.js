// The playground's rules: who may look where, what softmax makes of it, and the words and code for both.
import { softmax } from "../numbers.js";
import { format } from "../shared.js";
import { documentOf } from "./mask_playground_packing.js";

/** The settings that the list offers, each with the traits it sets; S stands for the number of tokens. */
export const EXAMPLES = [
  ["a decoder", { on: ["causal"] }],
  ["a decoder with a leak: offset 1", { on: ["causal"], offset: 1 }],
  ["an encoder: padding alone", { on: ["padding"], pads: 3 }],
  ["a decoder, padded on the right", { on: ["causal", "padding"], pads: 3 }],
  ["a decoder, padded on the left", { on: ["causal", "padding"], pads: 3, left: true }],
  ["a sliding window of 3", { on: ["causal", "window"], window: 3 }],
  ["a prefix language model", { on: ["causal", "prefix"], prefix: 3 }],
  ["two documents in one row", { on: ["causal", "documents"], third: "S" }],
  ["three documents, the last one short", { on: ["causal", "documents"], second: "S/2", third: "S-1" }],
  ["two new tokens and a cache, offset forgotten", { on: ["causal"], num_queries: 2 }],
  ["two new tokens and a cache, offset S − L", { on: ["causal"], num_queries: 2, offset: "S-L" }],
];

/** An example as traits: what it does not name is off or at its usual place. */
export function example(index, numTokens) {
  const wanted = EXAMPLES[index][1];
  const num_queries = Math.min(wanted.num_queries ?? numTokens, numTokens);
  const said = { "S-L": numTokens - num_queries, S: numTokens, "S-1": numTokens - 1, "S/2": Math.floor(numTokens / 2) };
  const numbers = Object.entries(wanted).map(([name, value]) => [name, said[value] ?? value]);
  return { left: false, offset: 0, ...Object.fromEntries(numbers), num_queries };
}

/** The tokens as the keys show them: pads stand before or after the sentence. */
export function keyNames({ tokens, on, pads, left }) {
  const count = on.includes("padding") ? pads : 0;
  const kept = tokens.slice(0, tokens.length - count);
  const padding = new Array(count).fill("pad");
  return left ? [...padding, ...kept] : [...kept, ...padding];
}

/** Which of the rules that are on forbid that query i looks at key j; an empty list means: it may. */
export function forbids(view, i, j) {
  const { tokens, on, offset, window, pads, left, prefix, num_queries } = view;
  const keys = tokens.length;
  const place = i + keys - num_queries; // the queries are the last tokens
  const has = (rule) => on.includes(rule);
  const by = [];
  if (!(has("prefix") && j < prefix)) {
    if ((has("causal") || has("window")) && j > i + offset) by.push(has("causal") ? "causal" : "window");
    if (has("window") && j <= i + offset - window) by.push("window");
  }
  if (has("padding") && (left ? j < pads : j >= keys - pads)) by.push("padding");
  if (has("documents") && documentOf(view, j) !== documentOf(view, place)) by.push("documents");
  return by;
}

/** The mask: for each query its keys, true where it may look. */
export function maskOf(view) {
  return Array.from({ length: view.num_queries }, (_, i) =>
    view.tokens.map((_, j) => forbids(view, i, j).length === 0),
  );
}

/** The fixed score of the token at a place for a key: from -2 to 2, and of no pattern. */
const scoreOf = (place, key) => ((5 * place * place + 3 * key * key + 7 * place * key + 2 * key) % 13) / 3 - 2;

/** The weights of each query: softmax over the keys it may see, zeros where it may see none. */
export function weightsUnder(mask, numTokens) {
  const score = (i, j) => scoreOf(i + numTokens - mask.length, j);
  return mask.map((row, i) => softmax(row.map((seen, j) => (seen ? score(i, j) : -Infinity))));
}

/** Names in a list; a token that stands there twice, and every pad, gets its place. */
const named = (names, j) => (names.indexOf(names[j]) === names.lastIndexOf(names[j]) ? names[j] : `${names[j]} (${j})`);

/** What one query reads and what is hidden from it, by which rule. */
export function rowSentence(view, row) {
  const names = keyNames(view);
  const mask = maskOf(view);
  const weights = weightsUnder(mask, names.length)[row];
  const reads = names.flatMap((_, j) => (mask[row][j] ? [`${named(names, j)} ${weights[j].toFixed(2)}`] : []));
  const hidden = new Map();
  names.forEach((_, j) => {
    const by = forbids(view, row, j).join(" and ");
    if (by) hidden.set(by, [...(hidden.get(by) ?? []), named(names, j)]);
  });
  const own = row + names.length - view.num_queries;
  const who = `query '${names[own]}'${named(names, own).slice(names[own].length)}`;
  const read = reads.length
    ? `${who} reads: ${reads.join(", ")}.`
    : `${who} reads nothing: its weights are zeros. Softmax over a row of −∞ alone gives NaN.`;
  const by = [...hidden].map(([rule, keys]) => `${keys.join(", ")} by ${rule}`);
  return by.length ? `${read} Hidden: ${by.join("; ")}.` : `${read} Nothing is hidden.`;
}

/** What the whole mask lets through. */
export function summary(view) {
  const mask = maskOf(view);
  const keys = view.tokens.length;
  const all = keys * mask.length;
  const pairs = mask.flat().filter(Boolean).length;
  const empty = mask.filter((row) => !row.some(Boolean)).length;
  const ahead = mask.flatMap((row, i) => row.filter((seen, j) => seen && j > i + keys - mask.length)).length;
  return [
    `${pairs} of ${all} pairs may look (${format((100 * pairs) / all)}%).`,
    empty ? `${empty} ${empty === 1 ? "query sees" : "queries see"} nothing.` : "Every query sees something.",
    ahead
      ? `${ahead} ${ahead === 1 ? "pair looks" : "pairs look"} at a later token.`
      : "No query looks at a later token.",
  ].join(" ");
}

/** The same mask in Python. */
export function code(view) {
  const { tokens, on, offset, window, pads, left, prefix, num_queries } = view;
  const keys = tokens.length;
  const size = `${num_queries}, ${keys}`;
  const base = [];
  if (on.includes("causal")) base.push(`causal_mask(${size}, offset=${offset})`);
  if (on.includes("window")) base.push(`window_mask(${size}, ${window}, offset=${offset})`);
  const parts = [];
  if (on.includes("prefix") && base.length)
    parts.push(`(${base.join(" & ")} | (torch.arange(${keys}) < ${prefix}))`);
  else parts.push(...base);
  if (on.includes("padding"))
    parts.push(
      left
        ? `(torch.arange(${keys}) >= ${pads})`
        : `padding_mask(torch.tensor([${keys - pads}]), ${keys})[0, 0]`,
    );
  const lines = [];
  if (on.includes("documents")) {
    lines.push(`ids = torch.tensor([${tokens.map((_, j) => documentOf(view, j)).join(", ")}])`);
    parts.push(`(ids[-${num_queries}:, None] == ids)`);
  }
  if (!parts.length) parts.push(`torch.ones(${size}, dtype=torch.bool)`);
  if (parts.length === 1) lines.push(`mask = ${parts[0]}`);
  else lines.push("mask = (", ...parts.map((part, i) => `    ${i ? "& " : ""}${part}`), ")");
  return lines.join("\n");
}
