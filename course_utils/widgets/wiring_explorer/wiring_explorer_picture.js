// What the explorer draws: the places of all layers with the lit paths, and a layer's norms and residuals.
import { escape, mark } from "../shared.js";
import { chosenPlace, isSplit, masks, paths, product, reads } from "./wiring_explorer_reach.js";

const [STEP, RISE, EDGE] = [60, 66, 16];

/** The column of each place; an empty one stands between two stacks. */
export const columnOf = (view, j) => j + Number(isSplit(view) && j >= view.num_source);

/** How many columns the picture has. */
export const columns = (view) => columnOf(view, view.num_source + view.num_target - 1) + 1;

/** For each layer boundary, from inputs to outputs: which places lie on a path to the chosen output. */
export function litPlaces(view) {
  const { num_layers: N, num_source: S } = view;
  const levels = paths(view, chosenPlace(view)).map((counts) => counts.map(Boolean));
  if (!isSplit(view)) return levels;
  return Array.from({ length: N + 1 }, (_, l) => [...levels[l].slice(0, S), ...levels[N + 2 * l].slice(S)]);
}

/** The picture of all layers, inputs at the bottom, as SVG. */
export function drawLayers(view) {
  const { num_layers: N, num_source: S, num_target: T } = view;
  const lit = litPlaces(view);
  const all = masks(view);
  const lift = isSplit(view) ? RISE / 2 : 0; // the decoder stands higher: what it reads of the encoder comes from below
  const at = (l, j) => [STEP * (columnOf(view, j) + 0.5), EDGE + RISE * (N - l) + (j < S ? lift : 0)];
  const tables = all.map((one) => reads(view, one));
  const within = isSplit(view) && view.wiring === "t5" ? tables.slice(0, 2) : tables;
  const layer = within.reduce((below, above) => product(above, below));
  const lines = [];
  const line = ([x1, y1], [x2, y2], kind) => lines.push(mark("line", { x1, y1, x2, y2, class: kind }));
  for (let l = 0; l < N; l++)
    layer.forEach((row, i) =>
      row.forEach((may, j) => may && lit[l + 1][i] && lit[l][j] && line(at(l, j), at(l + 1, i), i === j ? "residual" : "look")),
    );
  if (view.wiring === "t5")
    for (let l = 1; l <= N; l++)
      for (let i = S; i < S + T; i++)
        tables[2][i].forEach((may, j) => j < S && may && lit[l][i] && lit[N][j] && line(at(N, j), at(l, i), "cross"));
  const dots = lit.flatMap((row, l) =>
    row.map((on, j) => {
      const [cx, cy] = at(l, j);
      return mark("circle", { cx, cy, r: on ? 9 : 6, class: on ? "on" : "off" });
    }),
  );
  return { box: `0 0 ${STEP * columns(view)} ${2 * EDGE + RISE * N + lift}`, inside: lines.join("") + dots.join("") };
}

/** One part of a layer with its norm and its residual, as SVG 230 wide and 84 high. */
export function drawPart(name, number, pre) {
  const text = (x, y, words) => mark("text", { x, y, "text-anchor": "middle" }, escape(words));
  const box = (x, y, wide, words, kind) =>
    mark("rect", { x, y, width: wide, height: 26, rx: 4, class: kind }) + text(x + wide / 2, y + 17, words);
  const way = (d) => mark("path", { d, class: "way" });
  const arrow = (x, y) => mark("path", { d: `M${x - 6} ${y - 4} L${x} ${y} L${x - 6} ${y + 4}`, class: "way" });
  const [stream, top, norm] = [70, 29, `norm${"₁₂₃"[number]}`];
  const plus = (x) => mark("circle", { cx: x, cy: stream, r: 9, class: "plus" }) + text(x, stream + 4, "+");
  const memory = name === "cross-attention" ? text(pre ? 145 : 85, 11, "memory ↓") : "";
  const line = way(`M0 ${stream} H228`) + arrow(229, stream);
  if (pre)
    return line + way(`M10 ${stream} V${top} H206 V${stream - 9}`) + box(20, top - 13, 54, norm, "norm") +
      box(84, top - 13, 112, name, "part") + plus(206) + memory;
  return line + way(`M10 ${stream} V${top} H152 V${stream - 9}`) + box(28, top - 13, 112, name, "part") +
    plus(152) + box(169, stream - 13, 50, norm, "norm") + memory;
}
