// Two maps compared: their difference, its colours, and what is said of it.
import { extent, extremes, ranking } from "./heatmap_values.js";
import { naming, percent } from "./heatmap_words.js";
import { format } from "./shared.js";

// matplotlib's PuOr: orange below nothing, purple above it, told apart without red and green.
const PUOR = "7f3b08b35806e08214fdb863fee0b6f7f7f7d8daebb2abd28073ac5427882d004b"
  .match(/../g)
  .map((pair) => parseInt(pair, 16));

/** @param {number} t from 0 to 1, clipped @returns {[number, number, number]} red, green, blue to 255 */
export function puor(t) {
  const at = Math.min(1, Math.max(0, t)) * 10;
  const i = Math.min(Math.floor(at), 9);
  return [0, 1, 2].map((k) => Math.round(PUOR[3 * i + k] * (1 - at + i) + PUOR[3 * i + 3 + k] * (at - i)));
}

/** What the colours of differences span: as far below nothing as above it. */
export function signedRange({ low, high }) {
  const far = Math.max(-low, high) || 1;
  return { low: -far, high: far, signed: true, scale: puor };
}

/** The second map less the first. */
export const difference = (first, second) => first.map((x, i) => second[i] - x);

/**
 * How much of a query's weight lies on other keys in the second map, on average over the queries: half the
 * sum of the differences' sizes. Null where the rows are no weights: they do not all sum to 1 or to 0.
 */
export function shareMoved(first, second, columns) {
  let moved = 0;
  for (let start = 0; start < first.length; start += columns) {
    const sums = [0, 0];
    for (let i = start; i < start + columns; i++) {
      sums[0] += first[i];
      sums[1] += second[i];
      moved += Math.abs(second[i] - first[i]) / 2;
    }
    if (!sums.every((sum) => sum === 0 || Math.abs(sum - 1) < 0.02)) return null;
  }
  return moved / (first.length / columns);
}

const signed = (x) => (x > 0 ? "+" : "") + format(x);

/** What is said of one cell in two maps. */
export function pairSentence(first, second, row, column) {
  const at = row * first.columns + column;
  const [a, b] = [first.values[at], second.values[at]];
  const where = `query ${naming(first.queries, row)} to key ${naming(first.keys, column)}`;
  return `${where}: ${first.name} ${format(a)}, ${second.name} ${format(b)}, difference ${signed(b - a)}.`;
}

/** One sentence or two on how the second map differs from the first. */
export function pairSummary(first, second, apart, moved) {
  const { columns, queries, keys } = first;
  const { strange } = extent(apart);
  const { least, largest } = extremes(apart);
  if (least < 0) return "No cell is finite in both maps.";
  const at = (i) =>
    `${signed(apart[i])}, query ${naming(queries, Math.floor(i / columns))}, key ${naming(keys, i % columns)}`;
  const far = [
    apart[largest] > 0 && `largest rise ${at(largest)}`,
    apart[least] < 0 && `largest fall ${at(least)}`,
  ].filter(Boolean);
  const moves = moved === null || !far.length ? null : percent(moved);
  const share = moves ? ` On average ${moves} of a query's weight lies on other keys.` : "";
  return (
    `From ${first.name} to ${second.name}: ${far.join("; ") || "no difference"}.${share}` +
    (strange ? ` ${strange} ${strange === 1 ? "cell is" : "cells are"} not finite (hatched).` : "")
  );
}

/** The row's keys by how much the two maps differ there, as rows of a table. */
export function pairRows(first, second, apart, row, count) {
  const { columns, keys, values } = first;
  const sizes = apart.subarray(row * columns, (row + 1) * columns).map(Math.abs);
  return ranking(sizes, 0, columns, count).map((c) => {
    const at = row * columns + c;
    return [naming(keys, c), format(values[at]), format(second.values[at]), signed(apart[at])];
  });
}
