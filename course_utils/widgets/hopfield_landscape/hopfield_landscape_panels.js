// The landscape's words and pictures: the plane with its contours and the walk, the energy of each step.
import { decimal } from "../numbers.js";
import { planeOf } from "../plane.js";
import { path, tick } from "../plot.js";
import { mark } from "../shared.js";
import { REACH, heights, landscape } from "./hopfield_landscape_numbers.js";

export const SIDE = 320;
const FINE = 45;

export const { at, from } = planeOf(SIDE, REACH);

/** All of a cell, a corner cut off, or a corner left: where a straight interpolation is below a height. */
function below(corners, height) {
  const kept = [];
  corners.forEach(([x, y, z], i) => {
    const [nx, ny, nz] = corners[(i + 1) % 4];
    if (z < height) kept.push([x, y]);
    if (z < height !== nz < height) {
      const t = (height - z) / (nz - z);
      kept.push([x + t * (nx - x), y + t * (ny - y)]);
    }
  });
  return kept;
}

const outline = (points) => `M${points.map(([x, y]) => `${+x.toFixed(1)} ${+y.toFixed(1)}`).join("L")}Z`;

/** The part of a grid that lies below a height, as one path; whole cells of a row are joined. */
export function lowland(grid, height) {
  const cell = SIDE / (grid.length - 1);
  const paths = [];
  for (let row = 0; row + 1 < grid.length; row++) {
    const [bottom, top] = [SIDE - row * cell, SIDE - (row + 1) * cell];
    let begun = null;
    const close = (x) => {
      if (begun !== null) paths.push(outline([[begun, bottom], [x, bottom], [x, top], [begun, top]]));
      begun = null;
    };
    for (let i = 0; i + 1 < grid.length; i++) {
      const [left, right] = [i * cell, (i + 1) * cell];
      const corners = [
        [left, bottom, grid[row][i]],
        [right, bottom, grid[row][i + 1]],
        [right, top, grid[row + 1][i + 1]],
        [left, top, grid[row + 1][i]],
      ];
      const low = corners.filter(([, , z]) => z < height).length;
      if (low === 4) begun ??= left;
      else {
        close(left);
        if (low) paths.push(outline(below(corners, height)));
      }
    }
    close(SIDE);
  }
  return paths.join("");
}

/** The landscape: each height adds a shade to what lies below it, so that valleys are darkest. */
export function contours(patterns, beta) {
  const grid = landscape(patterns, beta, FINE);
  return heights(grid)
    .reverse()
    .map((height) => mark("path", { class: "land", d: lowland(grid, height) }))
    .join("");
}

/** The updates as a line with a dot at every state. */
export function trail(steps) {
  const places = steps.map(({ state }) => at(state));
  const d = path(places);
  const dots = places.slice(1).map(([cx, cy]) => mark("circle", { cx, cy, r: 4, class: "state" }));
  return mark("path", { class: "walk under", d }) + mark("path", { class: "walk", d }) + dots.join("");
}

const BOX = { left: 44, right: 306, top: 12, bottom: 118 };

/** The energy against the number of updates; it never rises. */
export function energyPanel(steps) {
  const energies = steps.map((step) => step.energy);
  const high = Math.max(...energies) * 1.1 || 1;
  const across = (i) => BOX.left + (i / (steps.length - 1)) * (BOX.right - BOX.left);
  const up = (value) => BOX.bottom - (value / high) * (BOX.bottom - BOX.top);
  const axis = mark("path", { class: "axis", d: `M${BOX.left} ${BOX.top}V${BOX.bottom}H${BOX.right}` });
  const d = path(energies.map((value, i) => [across(i), up(value)]));
  const dots = energies.map((value, i) => mark("circle", { cx: across(i), cy: up(value), r: 3.5, class: "state" }));
  const ticks = steps.map((_, i) => tick(across(i), BOX.bottom + 15, i));
  const scale = [0, energies[0]].map((value) => tick(BOX.left - 5, up(value) + 4, decimal(value), "end"));
  return axis + mark("path", { class: "fall", d }) + dots.join("") + ticks.join("") + scale.join("");
}

/** How the same things are called in a Hopfield network and in attention. */
export function names(asAttention) {
  return asAttention
    ? {
        step: "out = softmax(scale · K q) V, with K = V",
        beta: "scale",
        count: "keys",
        state: "query",
        pattern: "key and value",
        weights: "attention weights",
        updates: "rounds of attention, each output the next query,",
      }
    : {
        step: "ξ ← Xᵀ softmax(β X ξ), the patterns being the rows of X",
        beta: "β",
        count: "patterns",
        state: "state ξ",
        pattern: "pattern",
        weights: "softmax over the patterns",
        updates: "updates",
      };
}

/** The picture in three sentences. */
export function sentence({ patterns, beta, steps, found, asAttention }) {
  const words = names(asAttention);
  const [first, last] = [steps[0], steps.at(-1)];
  const top = Math.max(...last.weights);
  const best = last.weights.indexOf(top);
  const apart = Math.hypot(last.state[0] - patterns[best][0], last.state[1] - patterns[best][1]);
  const where = apart < 0.1 ? `at ${words.pattern} ${best + 1}` : `an average, mostly of ${words.pattern} ${best + 1}`;
  return (
    `${patterns.length} ${words.count}, ${words.beta} = ${+beta.toPrecision(3)}: ` +
    `${found === 1 ? "one valley" : `${found} valleys`}. ` +
    `After ${steps.length - 1} ${words.updates} the ${words.state} is (${last.state.map((x) => decimal(x)).join(", ")}), ` +
    `${where} (weight ${decimal(top)}). The energy fell from ${decimal(first.energy, 3)} to ${decimal(last.energy, 3)}.`
  );
}
