// What the patch explorer draws and says.
import { inkOn, mark, cividis } from "../shared.js";

export const SIDE = 300;
const GAP = 6;
const CELL = 44;

/** A number with two digits after the point. */
export const short = (x) => x.toFixed(2);

const ink = (x) => `rgb(${Array(3).fill(Math.round(255 * (1 - x / 16)))})`;

/** The pixels of one patch in a square; 16 is black. */
function tile(pixels, patch, x, y, size) {
  const dot = size / patch;
  const frame = mark("rect", { x, y, width: size, height: size, class: "frame" });
  return pixels.map((value, k) => mark("rect", {
    x: x + (k % patch) * dot, y: y + Math.floor(k / patch) * dot, width: dot + 0.3, height: dot + 0.3, fill: ink(value),
  })).join("") + frame;
}

/** Where the patch at a place stands in a square picture of `across` patches to a side. */
function corner(place, across) {
  const size = (SIDE - GAP * (across - 1)) / across;
  return { x: (place % across) * (size + GAP), y: Math.floor(place / across) * (size + GAP), size };
}

/** The image cut apart, each patch with the number of its token. */
export function drawCut(patches, patch) {
  const across = 8 / patch;
  return patches.map((pixels, place) => {
    const { x, y, size } = corner(place, across);
    const label = mark("rect", { x: x + 2, y: y + 2, width: 20, height: 17, rx: 3, class: "plate" })
      + mark("text", { x: x + 12, y: y + 15, "text-anchor": "middle" }, place + 1);
    return tile(pixels, patch, x, y, size) + label;
  }).join("");
}

/** What the class token reads: a colour and a number for each patch, the image showing through. */
export function drawRead(patches, patch, row) {
  const across = 8 / patch;
  const most = Math.max(...row);
  return patches.map((pixels, place) => {
    const { x, y, size } = corner(place, across);
    const weight = row[place + 1];
    const colour = cividis(weight / most);
    const middle = { x: x + size / 2, y: y + size / 2 + 6, "text-anchor": "middle" };
    return mark("rect", { x, y, width: size, height: size, fill: `rgb(${colour})` })
      + mark("g", { opacity: 0.22 }, tile(pixels, patch, x, y, size))
      + mark("rect", { x: x + size / 2 - 19, y: y + size / 2 - 11, width: 38, height: 23, rx: 4, fill: `rgb(${colour})` })
      + mark("text", { ...middle, style: `fill: ${inkOn(colour)}; font-size: 15px; font-weight: 600` }, short(weight));
  }).join("");
}

/** The sequence: the class token, then the patches; a bar below each is its weight. */
export function drawTokens(patches, patch, row) {
  const most = Math.max(...row);
  return row.map((weight, i) => {
    const x = i * CELL + 4;
    const inside = i
      ? tile(patches[i - 1], patch, x, 18, CELL - 8)
      : mark("rect", { x, y: 18, width: CELL - 8, height: CELL - 8, class: "class" })
        + mark("text", { x: x + CELL / 2 - 4, y: 41, "text-anchor": "middle" }, "class");
    return mark("text", { x: x + CELL / 2 - 4, y: 12, "text-anchor": "middle" }, i) + inside
      + mark("rect", { x, y: 62, width: CELL - 8, height: 40 * (weight / most), class: "bar" })
      + mark("text", { x: x + CELL / 2 - 4, y: 75 + 40 * (weight / most), "text-anchor": "middle" }, short(weight));
  }).join("");
}

export const tokensBox = (count) => `0 0 ${count * CELL} 120`;

/** The finding in words. */
export function sentence({ label, patch, layer, head, positions, shuffle, found }) {
  const { row, probabilities, entropy } = found;
  const said = probabilities.indexOf(Math.max(...probabilities));
  const best = row.indexOf(Math.max(...row.slice(1)), 1);
  const across = 8 / patch;
  const where = `row ${Math.floor((best - 1) / across) + 1}, column ${((best - 1) % across) + 1}`;
  const how = `${shuffle ? `Shuffle ${shuffle}` : "In order"}, ${positions ? "with" : "without"} positions`;
  return `${how}: the model reads ${said === label ? "" : "a wrong "}${said} with probability ${probabilities[said].toFixed(2)}; it is a ${label}. `
    + `In layer ${layer}, head ${head} the class token looks most at patch ${best} (${where}), weight ${row[best].toFixed(2)}; `
    + `${row[0].toFixed(2)} stays with itself. Entropy ${entropy.toFixed(2)} of at most ${Math.log(row.length).toFixed(2)}.`;
}
