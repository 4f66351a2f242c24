// The explanation graph as a drawing, a table and a sentence.
import { escape, format, mark } from "../shared.js";
import { METHODS, agreement, places } from "./explanation_graph_numbers.js";

const ROW = 25;
const TOP = 34;
const FAINT = 0.02;

/** Where everything stands in a drawing of this width. */
export function layout(wide, length, layers) {
  const label = Math.min(150, 0.25 * wide);
  const graph = Math.min(260, 0.27 * wide);
  const rest = wide - label - graph - 24;
  const level = (l) => label + 14 + ((graph - 14) * l) / layers;
  const bars = [0, 1].map((k) => ({ left: label + graph + 24 + (rest / 2) * k, wide: rest / 2 - 28 }));
  return { wide, high: TOP + ROW * length + 8, label, level, bars, row: (i) => TOP + ROW * (i + 0.5) };
}

/** A name cut to fit the given pixels. */
export function short(text, wide) {
  const most = Math.max(3, Math.floor(wide / 6.8));
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** The whole drawing as SVG. */
export function draw(model, chosen, found, wide) {
  const { tokens, importance, reader } = model;
  const at = layout(wide, tokens.length, model.weights.length);
  const { method, source, target } = chosen;
  const text = (x, y, words, more = {}) => mark("text", { x, y, "dominant-baseline": "middle", ...more }, escape(words));
  const parts = [];
  model.weights.forEach((_, l) => parts.push(text(at.level(l + 1), TOP - 12, `${l + 1}`, { "text-anchor": "middle", class: "muted" })));
  parts.push(text(at.level(0) - 12, TOP - 12, "layer", { "text-anchor": "end", class: "muted" }));
  parts.push(rect(0, at.row(source) - ROW / 2, at.wide, ROW, "row"));
  const edges = (rows, l, most, width, name) =>
    rows.forEach((row, i) =>
      row.forEach((x, j) => {
        if (x / most > FAINT) parts.push(edge(at, l, j, i, width(x / most), name));
      }),
    );
  found.edges.forEach((rows, l) => edges(rows, l, Math.max(...rows.flat(), 1e-9), (share) => 3 * share, "edge"));
  const fullest = Math.max(...found.lit.flat(2), 1e-9);
  found.lit.forEach((rows, l) => edges(rows, l, fullest, (share) => 0.8 + 3.2 * share, "edge lit"));
  for (const { layer, from, to } of found.cut) parts.push(edge(at, layer, from, to, 2, "edge cut"));
  tokens.forEach((token, i) => {
    parts.push(text(at.label, at.row(i), short(token, at.label), { "text-anchor": "end", class: i === source ? "name chosen" : "name" }));
    for (let l = 0; l <= model.weights.length; l++) {
      const here = l ? l === target[0] && i === target[1] : i === source;
      parts.push(mark("circle", { cx: at.level(l), cy: at.row(i), r: here ? 6.5 : 3.2, class: here ? "node chosen" : "node" }));
    }
    parts.push(rect(0, at.row(i) - ROW / 2, at.level(0) + 8, ROW, "hit", `0 ${i}`));
    for (let l = 1; l <= model.weights.length; l++) parts.push(rect(at.level(l) - 14, at.row(i) - ROW / 2, 28, ROW, "hit", `${l} ${i}`));
  });
  [[METHODS[method], found.values], ["leave-one-out", importance]].forEach(([name, values], k) => {
    const { left, wide: room } = at.bars[k];
    const low = Math.min(0, ...values.filter((_, i) => i !== reader));
    const most = Math.max(1e-9, ...values.filter((_, i) => i !== reader)) - low;
    const zero = left - (room * low) / most;
    parts.push(text(left, TOP - 12, short(name, room + 14), { class: "muted" }));
    places(values, reader).forEach((place, i) => {
      if (place === null) return parts.push(text(left, at.row(i), "reads", { class: "muted" }));
      const length = (room * Math.abs(values[i])) / most;
      parts.push(rect(values[i] < 0 ? zero - length : zero, at.row(i) - 7, Math.max(length, 1), 14, `bar ${k ? "left-out" : "said"}${i === source ? " chosen" : ""}`));
      parts.push(text(left + room + 6, at.row(i), `${place}.`, { class: i === source ? "chosen" : "muted" }));
    });
    parts.push(mark("line", { x1: zero, x2: zero, y1: TOP, y2: at.high - 8, class: "axis" }));
  });
  return { at, inside: parts.join("") };
}

const rect = (x, y, width, height, name, node) =>
  mark("rect", { x, y, width, height, class: name, ...(node ? { "data-node": node } : {}) });

function edge(at, layer, from, to, width, name) {
  const [x1, x2] = [at.level(layer), at.level(layer + 1)];
  const bend = (x2 - x1) / 2;
  const [y1, y2] = [at.row(from).toFixed(1), at.row(to).toFixed(1)];
  const d = `M${x1.toFixed(1)} ${y1}C${(x1 + bend).toFixed(1)} ${y1} ${(x2 - bend).toFixed(1)} ${y2} ${x2.toFixed(1)} ${y2}`;
  return mark("path", { d, "stroke-width": width, class: name });
}

const two = (x) => (x < 0 ? "−" : "") + Math.abs(x).toFixed(2);

/** A node above in words. */
export const nodeName = (tokens, [level, position]) => `${tokens[position]} above layer ${level}`;

/** What is shown, in words. */
export function sentence(model, chosen, found) {
  const { tokens, importance, reader } = model;
  const { method, layer, head, source, target } = chosen;
  const which = method === "raw" ? `, layer ${layer + 1}, ${head < 0 ? "mean of the heads" : `head ${head + 1}`}` : "";
  const to = method === "raw" ? nodeName(tokens, [layer + 1, target[1]]) : nodeName(tokens, target);
  const [said, left] = [found.values, importance].map((values) => places(values, reader)[source]);
  const count = tokens.length - 1;
  const rank = (place) => (place === null ? "not ranked: it reads" : `place ${place} of ${count}`);
  const words = METHODS[method];
  const cut = method === "flow" ? ` Smallest cut: ${found.cut.length} edges with a capacity of ${format(found.cut.reduce((a, one) => a + one.room, 0))} in all.` : "";
  return (
    `${words[0].toUpperCase()}${words.slice(1)}${which}, from ${tokens[source]} to ${to}: ${format(found.values[source])}, ${rank(said)}.` +
    ` Leave-one-out: ${format(importance[source])}, ${rank(left)}.${cut}`
  );
}

/** The rank correlations, in words. */
export function verdict(model, chosen, found) {
  const { signed, size } = agreement(found.values, model.importance, model.reader);
  return `Rank correlation of ${METHODS[chosen.method]} with leave-one-out: ${two(signed)}; with its size: ${two(size)}.`;
}

/** The rows of the table. */
export function rows(model, found) {
  const { tokens, importance, reader } = model;
  const [said, left] = [found.values, importance].map((values) => places(values, reader));
  return tokens.map((token, i) => [token, format(found.values[i]), said[i] ?? "–", format(importance[i]), left[i] ?? "–"]);
}
