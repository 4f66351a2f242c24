// The places of all layers with the lit paths.
import { mark } from "../shared.js";
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

/** What the decoder reads of the memory: one rail from the encoder's lit outputs, and to each layer's lit places. */
function memory({ num_layers: N, num_source: S, pads }, lit, at) {
  const rail = (d) => mark("path", { d, class: "cross" });
  const [from, gap] = [lit[N].slice(0, S - pads).flatMap((on, j) => (on ? [at(N, j)] : [])), at(0, S)[0] - STEP];
  if (!from.length) return [];
  const over = from[0][1] - RISE / 4;
  const made = from.map(([x, y]) => rail(`M${x} ${y}V${over}`));
  let foot = over;
  for (let l = 1; l <= N; l++) {
    const to = lit[l].flatMap((on, j) => (on && j >= S ? [at(l, j)] : []));
    if (!to.length) continue;
    const under = to[0][1] + RISE / 4;
    [foot] = [Math.max(foot, under)];
    made.push(rail(`M${gap} ${under}H${to.at(-1)[0] - 13}`), ...to.map(([x, y]) => rail(`M${x - 13} ${under}L${x - 5} ${y + 6}`)));
  }
  const top = at(N, S)[1] + RISE / 4;
  if (made.length === from.length) return [];
  return [...made, rail(`M${from[0][0]} ${over}H${gap}`), rail(`M${gap} ${Math.min(top, over)}V${foot}`)];
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
  if (view.wiring === "t5") lines.push(...memory(view, lit, at));
  const dots = lit.flatMap((row, l) =>
    row.map((on, j) => {
      const [cx, cy] = at(l, j);
      return mark("circle", { cx, cy, r: on ? 9 : 6, class: on ? "on" : "off" });
    }),
  );
  return { box: `0 0 ${STEP * columns(view)} ${2 * EDGE + RISE * N + lift}`, inside: lines.join("") + dots.join("") };
}
