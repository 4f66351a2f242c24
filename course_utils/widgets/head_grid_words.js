// What the head grid says: a cell in all heads, the heads that are off, and what their output was.
import { mean } from "./head_grid_values.js";
import { naming, percent } from "./heatmap_values.js";
import { format } from "./shared.js";

const MOST = 6;

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
