// What the head grid computes and says: how far the output moves without some heads, and what a cell holds in all.
import { naming, percent } from "../heatmap/heatmap_values.js";
import { format } from "../shared.js";

const MOST = 6; // heads that are named

/** The length of the sum of some heads' contributions to one query. */
function length(parts, shape, layer, heads, query) {
  const width = shape[3];
  let squares = 0;
  for (let i = 0; i < width; i++) {
    let sum = 0;
    for (const head of heads) sum += parts[((layer * shape[1] + head) * shape[2] + query) * width + i];
    squares += sum * sum;
  }
  return Math.sqrt(squares);
}

/**
 * How far each query's output moves when heads are left out: the length of what is missing, divided by
 * the length of all heads' sum. @param {number[]} shape layers, heads, queries, width of the output
 */
export function shares(parts, shape, layer, missing) {
  const all = Array.from({ length: shape[1] }, (_, head) => head);
  return Array.from({ length: shape[2] }, (_, query) => {
    const gone = length(parts, shape, layer, missing, query);
    return gone === 0 ? 0 : gone / length(parts, shape, layer, all, query);
  });
}

const mean = (numbers) => numbers.reduce((sum, x) => sum + x, 0) / numbers.length;

/** Sizes of one small map among many, in CSS pixels; all maps of a grid are alike. */
export function gridLayout(width, heads, rows, columns, labelWidth) {
  const [gap, least, most] = [14, 148, 300];
  const fit = Math.max(1, Math.min(heads, Math.floor((width + gap) / (least + gap))));
  const across = Math.ceil(heads / Math.ceil(heads / fit));
  const card = Math.min(most, Math.floor((width - gap * (across - 1)) / across));
  const left = Math.min(labelWidth, 0.3 * card);
  const room = card - left - 2;
  const square = Math.min(room / columns, 34);
  const cellWidth = Math.max(square, Math.min(room / columns, 60 / columns));
  const cellHeight = Math.max(square, Math.min(34, 60 / rows));
  const [w, h] = [cellWidth * columns, cellHeight * rows];
  return { across, card, left, cellWidth, cellHeight, w, h, rows, columns };
}

/** A weight to three decimals; other numbers as everywhere. */
export const brief = (x) => (x >= 0 && x <= 1 ? x.toFixed(3) : format(x));

/** One query and one key in every head, the largest weight first. */
export function cellSentence(weights, names, queries, keys, [row, column]) {
  const order = weights.map((_, head) => head).sort((a, b) => weights[b] - weights[a] || a - b);
  const said = order.slice(0, MOST).map((head) => `${names[head]} ${brief(weights[head])}`);
  const rest = order.length > MOST ? `, ${order.length - MOST} more below` : "";
  return `query ${naming(queries, row)} to key ${naming(keys, column)}: ${said.join(", ")}${rest}.`;
}

/** Which heads are off, and how far the output moves. */
export function offSentence(missing, names, far, queries) {
  if (!missing.length) return "All heads are on. Switch some off and see which positions need them.";
  const most = far.indexOf(Math.max(...far));
  const who = missing.length === names.length ? "All heads are" : missing.map((h) => names[h]).join(", ");
  const off = missing.length === names.length ? `${who} off` : `Off: ${who}`;
  return (
    `${off}. The output moves by ${percent(mean(far))} of its length on average; ` +
    `most at query ${naming(queries, most)}, ${percent(far[most])}.`
  );
}
