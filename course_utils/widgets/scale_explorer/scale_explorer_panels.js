// What the explorer shows: its words, and four panels as SVG marks in boxes of 340 by 196.
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

const BOX = { left: 38, right: 328, top: 20, bottom: 160 };
const across = (t) => BOX.left + t * (BOX.right - BOX.left);
const up = (t) => BOX.bottom - t * (BOX.bottom - BOX.top);
const line = (points, kind) => mark("path", { d: path(points), class: kind });
const level = (y, kind) => rule(BOX.left, y, BOX.right, y, kind);
const base = () => level(BOX.bottom, "axis");
const xName = (words) => tick(across(0.5), BOX.bottom + 32, words);

function yTicks(values, largest) {
  return values
    .map((value) => level(up(value / largest), "grid") + tick(BOX.left - 5, up(value / largest) + 4, value, "end"))
    .join("");
}

/** The scores on an axis that never moves, so that their spread can be seen to grow. */
export function scorePanel({ scores, expected }) {
  const count = 128;
  const { bins, beyond } = histogram(scores, REACH, count);
  const spread = Math.sqrt(expected);
  const cell = (2 * REACH) / count;
  const density = (x) =>
    (Math.exp((-x * x) / (2 * expected)) / (spread * Math.sqrt(2 * Math.PI))) * cell * scores.length;
  const peak = Math.max(density(0), ...bins) * 1.05;
  const step = (BOX.right - BOX.left) / count;
  const steps = bins.flatMap((n, i) => [
    [BOX.left + i * step, up(n / peak)],
    [BOX.left + (i + 1) * step, up(n / peak)],
  ]);
  const bars = line([[BOX.left, BOX.bottom], ...steps, [BOX.right, BOX.bottom]], "bars");
  const points = Array.from({ length: 513 }, (_, i) => (i / 512) * 2 * REACH - REACH);
  const ticks = [-32, -16, 0, 16, 32].map((x) =>
    tick(across((x + REACH) / (2 * REACH)), BOX.bottom + 16, String(x).replace("-", "−")),
  );
  const share = `${Math.round((100 * beyond) / scores.length) || "< 1"}% lie further out`;
  const lost = beyond ? label(BOX.right, BOX.top + 2, share, { "text-anchor": "end", class: "warm" }) : "";
  return (
    bars +
    line(points.map((x) => [across((x + REACH) / (2 * REACH)), up(density(x) / peak)]), "curve") +
    base() +
    ticks.join("") +
    xName("score that enters the softmax") +
    lost
  );
}

/** The weights of the first query, one bar per key. */
export function weightPanel({ weights }) {
  const step = (BOX.right - BOX.left) / weights.length;
  const largest = weights.indexOf(Math.max(...weights));
  const bars = weights.map((w, i) =>
    mark("rect", {
      class: i === largest ? "bar top" : "bar",
      x: BOX.left + (i + 0.1) * step,
      y: up(w),
      width: step * 0.8,
      height: BOX.bottom - up(w),
    }),
  );
  const every = Math.ceil(weights.length / 16);
  const ticks = weights.map((_, i) => (i % every ? "" : tick(BOX.left + (i + 0.5) * step, BOX.bottom + 16, i)));
  const x = Math.min(BOX.right - 18, Math.max(BOX.left + 18, BOX.left + (largest + 0.5) * step));
  return (
    yTicks([0, 0.5, 1], 1) +
    bars.join("") +
    base() +
    ticks.join("") +
    label(x, up(weights[largest]) - 5, format(weights[largest]), { "text-anchor": "middle", class: "strong" }) +
    xName("key")
  );
}

/** The names of the two curves, each on the side of its curve where the other is not. */
function curveNames(plain, divided) {
  const [end, middle] = [divided[10][1], plain[5][1]];
  const below = end < 34 || end > plain[10][1];
  const first = label(BOX.right, end + (below ? 16 : -8), "divided by √d_k", { "text-anchor": "end", class: "accent" });
  if (middle > 136) return first + label(plain[5][0] + 6, middle - 8, "not divided", { class: "warm" });
  const side = middle < divided[5][1] ? -8 : 16;
  return first + label(plain[5][0] - 2, middle + side, "not divided", { class: "warm", "text-anchor": "end" });
}

/** One quantity at every d_k, with and without the scale, and where we are. */
export function trendPanel({ curves, index, scaled }, name, largest, ticks) {
  const place = (one, i) => [across(i / (WIDTHS.length - 1)), up(one[name] / largest)];
  const [plain, divided] = curves.map((all) => all.map(place));
  const [x, y] = (scaled ? divided : plain)[index];
  const xTicks = WIDTHS.map((width, i) => (i % 2 ? "" : tick(across(i / 10), BOX.bottom + 16, width)));
  return (
    yTicks(ticks, largest) +
    base() +
    xTicks.join("") +
    xName("d_k") +
    line(divided, "divided") +
    line(plain, "plain") +
    curveNames(plain, divided) +
    rule(x, y, x, BOX.bottom, "drop") +
    mark("circle", { cx: x, cy: y, r: 5.5, class: scaled ? "dot divided" : "dot plain" })
  );
}
