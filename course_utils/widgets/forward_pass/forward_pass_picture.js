// The atlas of all heads, the map of one and the lens, drawn; and where on them a cell is.
import { stepFor } from "../cells.js";
import { label, tick } from "../plot.js";
import { inkOn, mark, cividis } from "../shared.js";
import { lensAt, upTo } from "./forward_pass_numbers.js";

export const SHOWN = [0, 4, 8, 12, 16, 18, 20, 22, 23, 24, 25, 26, 27, 28, 29]; // layers of the lens, unless unfolded
export const COLUMNS = 15; // positions that it shows at once

/** A token as it is named: blanks visible. */
export const shown = (token) => token.replace(/\n/g, "⏎").replace(/\t/g, "⇥").replace(/[ \u00a0]/g, "␣");

/** A token cut to so many signs. */
export function cut(token, signs) {
  const all = [...shown(token)];
  return all.length > signs ? `${all.slice(0, signs - 1).join("")}…` : all.join("");
}

const box = (x, y, width, height, t) => mark("rect", { x, y, width: width - 1, height: height - 1, fill: `rgb(${cividis(t)})` });
const frame = (x, y, width, height, name) =>
  ["under", name].map((one) => mark("rect", { x: x - 0.5, y: y - 0.5, width, height, class: one })).join("");
const name = (x, y, words, chosen, anchor = "middle", more = {}) => label(x, y, words, { class: chosen ? "chosen" : "muted", "text-anchor": anchor, ...more });

const grid = (left, top, rows, columns, cellWidth, cellHeight, more) => ({
  left, top, rows, columns, cellWidth, cellHeight, wide: left + cellWidth * columns + 2, high: top + cellHeight * rows + 2, ...more,
});

/** The atlas's cells: a row for each layer, the last on top; on a narrow page a column for each. */
export const atlasGrid = (width, narrow, layers, heads) =>
  narrow
    ? grid(18, 2, heads, layers, (width - 20) / layers, 20, { narrow, high: 20 * heads + 20 })
    : grid(24, 18, layers, heads, 16, 14, { narrow });

/** Where a head is in the atlas, and which head is there. */
export const placeOf = ({ narrow, rows }, layer, head) => (narrow ? [head, layer] : [rows - 1 - layer, head]);
export const headAt = ({ narrow, rows }, [row, column]) => (narrow ? { layer: column, head: row } : { layer: rows - 1 - row, head: column });

export function drawAtlas(cells, { values, top, kept }, { layer, head }) {
  const { left, cellWidth: w, cellHeight: h, narrow, rows, columns } = cells;
  const heads = narrow ? rows : columns;
  const at = ([row, column]) => [left + column * w, cells.top + row * h];
  const drawn = values.map((value, i) => {
    const [x, y] = at(placeOf(cells, Math.floor(i / heads), i % heads));
    return kept[i] ? box(x, y, w, h, value / top) : mark("rect", { x, y, width: w - 1, height: h - 1, class: "empty" });
  });
  const below = narrow ? cells.top + heads * h + 13 : 12;
  const names = [
    ...upTo(columns).filter((i) => !narrow || i % 5 === 0).map((i) => tick(left + (i + 0.5) * w, below, i)),
    ...upTo(rows).map((row) => [row, narrow ? row : rows - 1 - row]).filter(([, i]) => narrow || i % 5 === 0 || i === rows - 1)
      .map(([row, i]) => tick(left - 5, cells.top + (row + 0.75) * h, i, "end")),
  ];
  const [x, y] = at(placeOf(cells, layer, head));
  return drawn.join("") + names.join("") + frame(x, y, w, h, "over");
}

/** The map's cells; column names only where the page is wide. */
export function mapGrid(width, narrow, tokens) {
  const left = narrow ? 70 : 76;
  const cell = Math.min(22, (Math.min(width, 410) - left - 2) / tokens.length);
  return grid(left, narrow ? 4 : 74, tokens.length, tokens.length, cell, cell, { narrow });
}

/** @param {number[][]} rows the weights of each query on the keys up to its own */
export function drawMap({ left, top, cellWidth: cell, narrow }, rows, tokens, [query, key]) {
  const step = stepFor(13, cell, true);
  const cells = rows.flatMap((row, q) => row.map((w, k) => box(left + k * cell, top + q * cell, cell, cell, w)));
  const names = tokens.flatMap((token, i) => {
    const words = cut(token, 8);
    const [x, y] = [left + (i + 0.5) * cell + 4, top + (i + 0.5) * cell + 4];
    if (i !== query && (i % step || Math.abs(i - query) * cell < 11)) return [];
    return [
      name(left - 6, y, words, i === query, "end"),
      narrow || i % step ? "" : name(x, top - 6, words, i === key, "start", { transform: `rotate(-90 ${x.toFixed(1)} ${top - 6})` }),
    ];
  });
  const [y, x] = [top + query * cell, left + key * cell];
  return cells.join("") + names.join("") + frame(left, y, cell * (query + 1), cell, "over") + frame(x, y, cell, cell, "key");
}

/** The layer after which the stream is in this state. */
export const layerOf = (state) => (state ? `${state - 1}` : "–");

/** States of the stream, the last first; all of them, or those behind the layers that are shown. */
export const lensStates = (layers, all) => upTo(layers + 1).reverse().filter((i) => all || SHOWN.includes(i - 1));

/** The lens's cells: states from the last one down, positions from the left; of a long text, those around the chosen. */
export function lensGrid(width, { tokens, layers }, position, all) {
  const states = lensStates(layers, all);
  const columns = Math.min(COLUMNS, tokens.length);
  const from = Math.min(tokens.length - columns, Math.max(0, position - Math.floor(columns / 2)));
  return grid(26, 20, states.length, columns, Math.min(84, (width - 28) / columns), 19, { states, from });
}

export function drawLens({ left, top, cellWidth: w, cellHeight: h, states, from, columns }, prompt, { layer, position }) {
  const signs = Math.min(8, Math.floor((w - 6) / 6.6));
  const places = upTo(columns).map((i) => from + i);
  const x = (place) => left + (place - from) * w;
  const cells = states.flatMap((state, row) =>
    places.map((place) => {
      const [{ word, chance }] = lensAt(prompt, state, place).words;
      const ink = { style: `fill: ${inkOn(cividis(chance))}`, "text-anchor": "middle", class: "word" };
      return box(x(place), top + row * h, w, h, chance) + label(x(place) + w / 2, top + row * h + 13, cut(word, signs), ink);
    }),
  );
  const names = [
    ...states.map((state, row) => name(left - 5, top + row * h + 13, layerOf(state), state === layer + 1, "end")),
    ...places.map((place) => name(x(place) + w / 2, 13, cut(prompt.tokens[place], signs), place === position)),
  ];
  const row = states.indexOf(layer + 1);
  const here = row < 0 ? "" : frame(x(position), top + row * h, w, h, "key");
  return cells.join("") + names.join("") + frame(x(position), top, w, states.length * h, "over") + here;
}
