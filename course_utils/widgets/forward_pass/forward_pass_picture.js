// The atlas of all heads, the map of one and the lens, drawn; and where on them a cell is.
import { stepFor } from "../cells.js";
import { label, tick } from "../plot.js";
import { inkOn, mark, viridis } from "../shared.js";
import { lensAt } from "./forward_pass_numbers.js";

export const SHOWN = [0, 4, 8, 12, 16, 18, 20, 22, 23, 24, 25, 26, 27, 28, 29]; // layers of the lens, unless unfolded
export const COLUMNS = 15; // positions that it shows at once

/** A token as it is named: blanks visible. */
export const shown = (token) => token.replace(/\n/g, "⏎").replace(/\t/g, "⇥").replace(/[ \u00a0]/g, "␣");

/** A token cut to so many signs. */
export function cut(token, signs) {
  const all = [...shown(token)];
  return all.length > signs ? `${all.slice(0, signs - 1).join("")}…` : all.join("");
}

const box = (x, y, width, height, t) => mark("rect", { x, y, width: width - 1, height: height - 1, fill: `rgb(${viridis(t)})` });
const frame = (x, y, width, height, name) => mark("rect", { x: x - 0.5, y: y - 0.5, width, height, class: name });

/** The atlas's cells: a row for each layer, the last on top; on a narrow page a column for each. */
export function atlasGrid(width, narrow, layers, heads) {
  if (narrow) return { left: 18, top: 2, rows: heads, columns: layers, cellWidth: (width - 20) / layers, cellHeight: 20, narrow, wide: width, high: heads * 20 + 20 };
  return { left: 24, top: 18, rows: layers, columns: heads, cellWidth: 16, cellHeight: 14, narrow, wide: 26 + 16 * heads, high: 20 + 14 * layers };
}

/** Where a head is in the atlas, and which head is there. */
export const placeOf = ({ narrow, rows }, layer, head) => (narrow ? [head, layer] : [rows - 1 - layer, head]);
export const headAt = ({ narrow, rows }, [row, column]) => (narrow ? { layer: column, head: row } : { layer: rows - 1 - row, head: column });

export function drawAtlas(grid, { values, top, kept }, { layer, head }) {
  const { left, cellWidth: w, cellHeight: h, narrow, rows, columns } = grid;
  const heads = narrow ? rows : columns;
  const at = ([row, column]) => [left + column * w, grid.top + row * h];
  const cells = values.map((value, i) => {
    const [x, y] = at(placeOf(grid, Math.floor(i / heads), i % heads));
    return kept[i] ? box(x, y, w, h, value / top) : mark("rect", { x, y, width: w - 1, height: h - 1, class: "empty" });
  });
  const layers = Array.from({ length: values.length / heads }, (_, i) => i).filter((i) => i % 5 === 0 || i === values.length / heads - 1);
  const names = narrow
    ? [
        ...layers.filter((i) => i % 5 === 0).map((i) => tick(left + (i + 0.5) * w, grid.top + heads * h + 13, i)),
        ...Array.from({ length: heads }, (_, i) => tick(left - 5, grid.top + i * h + 14, i, "end")),
      ]
    : [
        ...layers.map((i) => tick(left - 5, at(placeOf(grid, i, 0))[1] + 11, i, "end")),
        ...Array.from({ length: heads }, (_, i) => tick(left + (i + 0.5) * w, 12, i)),
      ];
  const [x, y] = at(placeOf(grid, layer, head));
  return cells.join("") + names.join("") + frame(x, y, w, h, "under") + frame(x, y, w, h, "over");
}

/** The map's cells; column names only where the page is wide. */
export function mapGrid(width, narrow, tokens) {
  const left = narrow ? 70 : 76;
  const cell = Math.min(22, (Math.min(width, 410) - left - 2) / tokens.length);
  const top = narrow ? 4 : 74;
  return { left, top, rows: tokens.length, columns: tokens.length, cellWidth: cell, cellHeight: cell, narrow, wide: left + cell * tokens.length + 2, high: top + cell * tokens.length + 2 };
}

/** @param {number[][]} rows the weights of each query on the keys up to its own */
export function drawMap(grid, rows, tokens, [query, key]) {
  const { left, top, cellWidth: cell, narrow } = grid;
  const step = stepFor(13, cell, true);
  const cells = rows.flatMap((row, q) => row.map((w, k) => box(left + k * cell, top + q * cell, cell, cell, w)));
  const names = tokens.flatMap((token, i) => {
    const words = cut(token, 8);
    const name = (chosen) => (chosen ? { class: "chosen" } : { class: "muted" });
    const [x, y] = [left + (i + 0.5) * cell + 4, top + (i + 0.5) * cell + 4];
    if (i % step && i !== query) return [];
    if (step > 1 && i !== query && Math.abs(i - query) * cell < 13) return [];
    return [
      label(left - 6, y, words, { ...name(i === query), "text-anchor": "end" }),
      narrow || (step > 1 && i % step) ? "" : label(x, top - 6, words, { ...name(i === key), transform: `rotate(-90 ${x.toFixed(1)} ${top - 6})` }),
    ];
  });
  const [y, x] = [top + query * cell, left + key * cell];
  const row = frame(left, y, cell * (query + 1), cell, "under") + frame(left, y, cell * (query + 1), cell, "over");
  return cells.join("") + names.join("") + row + frame(x, y, cell, cell, "under") + frame(x, y, cell, cell, "key");
}

/** The layer after which the stream is in this state. */
export const layerOf = (state) => (state ? `${state - 1}` : "–");

/** States of the stream, the last first; all of them, or those behind the layers that are shown. */
export const lensStates = (layers, all) => Array.from({ length: layers + 1 }, (_, i) => layers - i).filter((i) => all || SHOWN.includes(i - 1));

/** The lens's cells: states from the last one down, positions from the left; of a long text, those around the chosen. */
export function lensGrid(width, { tokens, layers }, position, all) {
  const states = lensStates(layers, all);
  const columns = Math.min(COLUMNS, tokens.length);
  const from = Math.min(tokens.length - columns, Math.max(0, position - Math.floor(columns / 2)));
  const left = 26;
  const cellWidth = Math.min(84, (width - left - 2) / columns);
  return { left, top: 20, rows: states.length, columns, cellWidth, cellHeight: 19, states, from, wide: left + cellWidth * columns + 2, high: 22 + 19 * states.length };
}

export function drawLens(grid, prompt, { layer, position }) {
  const { left, top, cellWidth: w, cellHeight: h, states, from, columns } = grid;
  const signs = Math.min(8, Math.floor((w - 6) / 6.6));
  const places = Array.from({ length: columns }, (_, i) => from + i);
  const x = (place) => left + (place - from) * w;
  const cells = states.flatMap((state, row) =>
    places.map((place) => {
      const [{ word, chance }] = lensAt(prompt, state, place).words;
      const ink = { style: `fill: ${inkOn(viridis(chance))}`, "text-anchor": "middle", class: "word" };
      return box(x(place), top + row * h, w, h, chance) + label(x(place) + w / 2, top + row * h + 13, cut(word, signs), ink);
    }),
  );
  const names = [
    ...states.map((state, row) => label(left - 5, top + row * h + 13, layerOf(state), { class: state === layer + 1 ? "chosen" : "muted", "text-anchor": "end" })),
    ...places.map((place) => label(x(place) + w / 2, 13, cut(prompt.tokens[place], signs), { class: place === position ? "chosen" : "muted", "text-anchor": "middle" })),
  ];
  const column = [x(position), top, w, states.length * h];
  const row = states.indexOf(layer + 1);
  const here = row < 0 ? "" : frame(x(position), top + row * h, w, h, "under") + frame(x(position), top + row * h, w, h, "key");
  return cells.join("") + names.join("") + frame(...column, "under") + frame(...column, "over") + here;
}
