// What the explorer shows: its words, the weights as a large panel, and three small ones, as SVG marks.
import { WIDTHS, histogram } from "./scale_explorer_numbers.js";
import { label, path, rule, tick } from "../plot.js";
import { format, mark } from "../shared.js";

const REACH = 32;

/** The variance that theory expects of the scores, as words. */
export function expectation({ scaled, temperature, expected }) {
  if (temperature === 1) return scaled ? "expected 1 at every d_k" : `expected d_k = ${expected}`;
  return `expected ${scaled ? "1" : "d_k"}/τ² = ${format(expected)}`;
}

/** The picture in one sentence. */
export function sentence(seen) {
  const { width, scaled, temperature, mean, equal } = seen;
  const warmth = temperature === 1 ? "" : `, temperature ${temperature.toPrecision(2)}`;
  return (
    `d_k = ${width}, ${scaled ? "divided by √d_k" : "not divided"}${warmth}: the scores have variance ${format(seen.variance)}; ` +
    `on average the largest weight is ${format(mean.top)}, the entropy ${Math.round((100 * mean.entropy) / equal.entropy)}% ` +
    `of its maximum, the gradient norm ${format(mean.gradient)}.`
  );
}

/** A plot's frame: places from shares of its axes, and what stands at them. */
function frame(wide, high) {
  const box = { wide, high, left: 34, right: wide - 12, top: 20, bottom: high - 36 };
  const across = (t) => box.left + t * (box.right - box.left);
  const up = (t) => box.bottom - t * (box.bottom - box.top);
  const level = (y, kind) => rule(box.left, y, box.right, y, kind);
  const yTicks = (values, largest) =>
    values
      .map((value) => level(up(value / largest), "grid") + tick(box.left - 5, up(value / largest) + 4, value, "end"))
      .join("");
  const base = () => level(box.bottom, "axis");
  const xTick = (t, words) => tick(across(t), box.bottom + 15, words);
  const xName = (words) => tick(across(0.5), box.bottom + 31, words);
  return { ...box, across, up, yTicks, base, xTick, xName };
}

export const LARGE = frame(730, 250);
export const NARROW = frame(340, 210); // the same on a phone
export const SMALL = frame(240, 150);
const line = (points, kind) => mark("path", { d: path(points), class: kind });

/** The scores on an axis that never moves, so that their spread can be seen to grow. */
export function scorePanel({ scores, expected }, { left, right, top, bottom, across, up, base, xTick, xName }) {
  const count = 96;
  const { bins, beyond } = histogram(scores, REACH, count);
  const spread = Math.sqrt(expected);
  const cell = (2 * REACH) / count;
  const density = (x) =>
    (Math.exp((-x * x) / (2 * expected)) / (spread * Math.sqrt(2 * Math.PI))) * cell * scores.length;
  const peak = Math.max(density(0), ...bins) * 1.05;
  const step = (right - left) / count;
  const steps = bins.flatMap((n, i) => [
    [left + i * step, up(n / peak)],
    [left + (i + 1) * step, up(n / peak)],
  ]);
  const bars = line([[left, bottom], ...steps, [right, bottom]], "bars");
  const points = Array.from({ length: 513 }, (_, i) => (i / 512) * 2 * REACH - REACH);
  const ticks = [-32, 0, 32].map((x) => xTick((x + REACH) / (2 * REACH), String(x).replace("-", "−")));
  const share = `${Math.round((100 * beyond) / scores.length) || "< 1"}% further out`;
  const lost = beyond ? label(right, top + 2, share, { "text-anchor": "end", class: "warm" }) : "";
  return (
    bars +
    line(points.map((x) => [across((x + REACH) / (2 * REACH)), up(density(x) / peak)]), "curve") +
    base() +
    ticks.join("") +
    xName("score before the softmax") +
    lost
  );
}

/** The weights of the first query, one bar per key. */
export function weightPanel({ weights }, { left, right, bottom, wide, up, yTicks, base, xName }) {
  const step = (right - left) / weights.length;
  const largest = weights.indexOf(Math.max(...weights));
  const bars = weights.map((w, i) =>
    mark("rect", {
      class: i === largest ? "bar top" : "bar",
      x: left + (i + 0.1) * step,
      y: up(w),
      width: step * 0.8,
      height: bottom - up(w),
    }),
  );
  const every = Math.ceil(weights.length / (wide > 400 ? 32 : 16));
  const ticks = weights.map((_, i) => (i % every ? "" : tick(left + (i + 0.5) * step, bottom + 15, i)));
  const x = Math.min(right - 18, Math.max(left + 18, left + (largest + 0.5) * step));
  return (
    yTicks([0, 0.5, 1], 1) +
    bars.join("") +
    base() +
    ticks.join("") +
    label(x, up(weights[largest]) - 5, format(weights[largest]), { "text-anchor": "middle", class: "strong" }) +
    xName("key")
  );
}

/** One quantity at every d_k, with and without the scale, and where we are. */
export function trendPanel({ curves, index, scaled }, name, largest, ticks, { right, bottom, across, up, yTicks, base, xTick, xName }) {
  const place = (one, i) => [across(i / (WIDTHS.length - 1)), up(one[name] / largest)];
  const [plain, divided] = curves.map((all) => all.map(place));
  const [x, y] = (scaled ? divided : plain)[index];
  const xTicks = WIDTHS.map((width, i) => (i % 5 ? "" : xTick(i / 10, width)));
  // Names stand at the right end: "divided" over its curve, the other over its own there, or below where they would meet.
  const [high, low] = [Math.min, Math.max].map((end) => end(...plain.slice(6).map(([, y]) => y)));
  const over = Math.max(Math.min(...divided.slice(6).map(([, y]) => y)) - 7, 12);
  const under = Math.abs(high - 5 - over) < 14 ? Math.max(low, over) + 16 : high - 5;
  const named = (y, words, kind) => label(right, y, words, { "text-anchor": "end", class: kind });
  return (
    yTicks(ticks, largest) +
    base() +
    xTicks.join("") +
    xName("d_k") +
    line(divided, "divided") +
    line(plain, "plain") +
    named(over, "divided", "accent") +
    named(under, "not divided", "warm") +
    rule(x, y, x, bottom, "drop") +
    mark("circle", { cx: x, cy: y, r: 5, class: scaled ? "dot divided" : "dot plain" })
  );
}
