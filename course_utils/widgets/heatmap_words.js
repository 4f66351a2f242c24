// What a heatmap says: tokens as they can be seen, and sentences about cells and heads.
import { extent, extremes, largestInRow } from "./heatmap_values.js";
import { format } from "./shared.js";

const MAX_LABEL = 14;

/** A token as it can be seen: blanks and line ends have a sign of their own. */
export function visible(token) {
  return token === "" ? "∅" : token.replace(/\n/g, "⏎").replace(/\t/g, "⇥").replace(/ /g, "␣");
}

const isWide = (c) =>
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60]|[\u{1f000}-\u{3ffff}]/u.test(
    c,
  );

/** About how wide a label is at 12 px. */
export function textWidth(text) {
  return [...text].reduce((sum, c) => sum + (isWide(c) ? 12.5 : 7), 0);
}

/** Axis labels: tokens cut to a readable length, or positions. */
export function labels(tokens, count) {
  if (!tokens) return Array.from({ length: count }, (_, i) => String(i));
  return tokens.map((token) => {
    const signs = [...visible(token)];
    return signs.length > MAX_LABEL ? signs.slice(0, MAX_LABEL - 1).join("") + "…" : signs.join("");
  });
}

/** A position by its token, set apart from the text around it whatever way its script runs. */
export function naming(tokens, index) {
  return tokens
    ? `\u2068'${[...visible(tokens[index])].slice(0, 60).join("")}'\u2069 (${index})`
    : String(index);
}

/** A share in whole per cent. */
export const percent = (share) =>
  !Number.isFinite(share) ? "∞ %" : share > 0 && share < 0.005 ? "under 1 %" : `${Math.round(100 * share)} %`;

/** What is said of one cell. */
export function sentence(view, row, column) {
  const { values, columns, queries, keys, weights } = view;
  const value = values[row * columns + column];
  const best = largestInRow(values, row, columns);
  const query = `query ${naming(queries, row)}`;
  const key = `key ${naming(keys, column)}`;
  const said =
    weights && Number.isFinite(value)
      ? `${query} attends ${format(value)} to ${key}`
      : `${query}, ${key}: ${format(value)}`;
  if (best === null) return `${said}; this row holds no finite number.`;
  if (best === column) return `${said}, this row's largest.`;
  return `${said}; this row's largest: ${format(values[row * columns + best])} to key ${naming(keys, best)}.`;
}

/** One sentence on the whole head. */
export function summary(view, headCount, name) {
  const { values, rows, columns, queries, keys } = view;
  const { strange } = extent(values);
  const best = extremes(values).largest;
  const many = (n, one, several) => `${n} ${n === 1 ? one : several}`;
  const size = `${headCount > 1 ? `${headCount} heads of ` : ""}${many(rows, "query", "queries")} by ${many(columns, "key", "keys")}. `;
  const top =
    best < 0
      ? "no finite number"
      : `largest ${format(values[best])}, query ${naming(queries, Math.floor(best / columns))}, key ${naming(keys, best % columns)}`;
  return `${size}${name || "Values"}: ${top}.${strange ? ` ${many(strange, "cell is", "cells are")} not finite (hatched).` : ""}`;
}
