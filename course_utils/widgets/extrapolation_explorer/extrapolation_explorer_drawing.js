// What the explorer says and draws: the curves of the chosen schemes, and a table for one length.
import { label, path, rule, tick } from "../plot.js";
import { mark } from "../shared.js";

const DASHES = ["", "7 4", "2 3", "9 3 2 3", "14 4"];
const SHAPES = ["circle", "square", "triangle", "diamond", "plus"];

/** How a scheme is drawn: its group decides the colour, its place in the group line and mark. */
export function looks(groups) {
  const all = new Map();
  groups.forEach(([, names], group) =>
    names.forEach((name, i) => all.set(name, { group, dash: DASHES[i], shape: SHAPES[i] })),
  );
  return all;
}

/** A number to two digits after the point. */
export const two = (x) => x.toFixed(2);

/** The chosen schemes at one length, best first. */
export function ranking({ curves, lower }, chosen, index) {
  const rows = curves.filter(([name]) => chosen.includes(name));
  const found = rows.map(([name, points]) => {
    const [low, mean, high] = points[index];
    return { name, low, mean, high };
  });
  return found.sort((a, b) => (lower ? a.mean - b.mean : b.mean - a.mean));
}

/** Whether one of the chosen schemes is as good at the longest length as at the trained one, to two digits. */
export const keepsUp = ({ curves, lengths, lower, trained }, chosen) =>
  curves.some(([name, points]) => {
    const [last, first] = [points.at(-1), points[lengths.indexOf(trained)]].map((point) => +two(point?.[1] ?? NaN));
    return chosen.includes(name) && (lower ? last <= first : last >= first);
  });

/** How far a length is from the trained one, as words. */
export function times(length, trained) {
  if (length === trained) return "the trained length";
  return `${+(length / trained).toPrecision(2)} times the trained ${trained}`;
}

/** The picture in one sentence. */
export function sentence(task, chosen, index) {
  const length = task.lengths[index];
  const rows = ranking(task, chosen, index);
  const at = `${length} tokens read, ${times(length, task.trained)}`;
  if (!rows.length) return `${at}. No scheme is chosen.`;
  const [best, worst] = [rows[0], rows.at(-1)];
  const last = rows.length > 1 ? `, worst ${worst.name} with ${two(worst.mean)}` : "";
  return `${at}. Best: ${best.name} with ${task.what} ${two(best.mean)}${last}.`;
}

export const WIDE = 440;
const BOX = { left: 40, right: 312, top: 14, bottom: 244 };

/** Lengths (by doublings) and values as places in the picture. */
export function places({ lengths, curves, lower }) {
  const [first, last] = [Math.log2(lengths[0]), Math.log2(lengths.at(-1))];
  const highs = curves.flatMap(([, points]) => points.map((point) => point[2]));
  const lows = curves.flatMap(([, points]) => points.map((point) => point[0]));
  const bottom = lower ? Math.floor(2 * Math.min(...lows)) / 2 : 0;
  const top = lower ? Math.ceil(2 * Math.max(...highs)) / 2 : 1;
  return {
    bottom,
    top,
    across: (n) => BOX.left + ((Math.log2(n) - first) / (last - first)) * (BOX.right - BOX.left),
    up: (value) => BOX.bottom - ((value - bottom) / (top - bottom)) * (BOX.bottom - BOX.top),
  };
}

/** Heights moved apart, as little as can be, until all are at least `gap` from each other. */
export function spread(heights, gap, low, high) {
  const order = heights.map((_, i) => i).sort((a, b) => heights[a] - heights[b]);
  const placed = [...heights];
  const room = Math.min(gap, (high - low) / Math.max(1, heights.length - 1));
  order.forEach((at, i) => {
    const least = i ? placed[order[i - 1]] + room : low;
    placed[at] = Math.max(placed[at], least);
  });
  let most = high;
  for (const at of [...order].reverse()) {
    placed[at] = Math.min(placed[at], most);
    most = placed[at] - room;
  }
  return placed;
}

/** A mark at a measured point. */
export function point(x, y, { shape, group }) {
  const kind = `point group-${group}`;
  if (shape === "circle") return mark("circle", { cx: x, cy: y, r: 4, class: kind });
  const d = {
    square: "M-3.6 -3.6H3.6V3.6H-3.6Z",
    triangle: "M0 -4.8L4.6 3.6H-4.6Z",
    diamond: "M0 -5L5 0L0 5L-5 0Z",
    plus: "M-5 -1.5H-1.5V-5H1.5V-1.5H5V1.5H1.5V5H-1.5V1.5H-5Z",
  }[shape];
  return mark("path", { d, class: kind, transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})` });
}

/** The chosen curves with the range of their runs, their names at the right end, and where we are. */
export function panel(task, chosen, index, styles) {
  const { across, up, bottom, top } = places(task);
  const steps = (top - bottom) / (task.lower ? 0.5 : 0.25);
  const every = steps > 7 ? 2 : 1;
  const grid = [];
  for (let i = 0; i <= steps; i += every) {
    const value = bottom + (i * (top - bottom)) / steps;
    grid.push(
      rule(BOX.left, up(value), BOX.right, up(value), i ? "grid" : "axis") +
        tick(BOX.left - 6, up(value) + 4, value.toFixed(task.lower ? 1 : 2), "end"),
    );
  }
  const ticks = task.lengths.map((n) => tick(across(n), BOX.bottom + 17, n));
  const shown = task.curves.filter(([name]) => chosen.includes(name));
  const ends = spread(shown.map(([, points]) => up(points.at(-1)[1])), 15, BOX.top, BOX.bottom);
  const lines = shown.map(([name, points], i) => {
    const style = styles.get(name);
    const kind = `group-${style.group}`;
    const at = (which) => points.map((three, j) => [across(task.lengths[j]), up(three[which])]);
    const mean = at(1);
    return (
      mark("path", { class: `range ${kind}`, d: `${path([...at(2), ...at(0).reverse()])}Z` }) +
      mark("path", { class: `mean ${kind}`, "stroke-dasharray": style.dash || "none", d: path(mean) }) +
      mean.map(([x, y]) => point(x, y, style)).join("") +
      rule(BOX.right + 5, up(points.at(-1)[1]), BOX.right + 12, ends[i], `leader ${kind}`) +
      label(BOX.right + 15, ends[i] + 4, name, { class: `name ${kind}` })
    );
  });
  const here = across(task.lengths[index]);
  return (
    grid.join("") +
    ticks.join("") +
    rule(here, BOX.top - 6, here, BOX.bottom, "here") +
    lines.join("") +
    tick((BOX.left + BOX.right) / 2, BOX.bottom + 35, "tokens read")
  );
}

/** Which length lies nearest to a place of the picture, as the number of its column. */
export function nearest(task, x) {
  const { across } = places(task);
  const distances = task.lengths.map((n) => Math.abs(across(n) - x));
  return distances.indexOf(Math.min(...distances));
}
