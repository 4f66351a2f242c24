// The explorer's two drawings: who sees whom, and the recorded times.
import { label, path, rule, tick } from "../plot.js";
import { escape, mark } from "../shared.js";
import { SUMMARY, VARIANTS } from "./variant_explorer_costs.js";

const TOKENS = 24;
const SIZE = 240;
const BUCKETS = [0, 2, 1, 3, 0, 1, 2, 0, 3, 1, 0, 2, 2, 3, 1, 0, 3, 2, 0, 1, 3, 0, 1, 2];

/** What is drawn: how many rows and columns, which of them meet, whether through a state, and words. */
export function pattern(variant, { length, window }) {
  const least = variant === "window" ? 2 : 5;
  const w = Math.max(least, Math.min(TOKENS, Math.round((TOKENS * window) / length)));
  const past = (i, j) => j <= i;
  const drawn = { rows: TOKENS, columns: TOKENS, met: past, through: false, across: "keys", down: "queries" };
  const as = `${window} of ${length}, drawn as ${w} of ${TOKENS}`;
  switch (variant) {
    case "grouped":
      return { ...drawn, says: "every query sees its past; several query heads read one head of keys and values" };
    case "latent":
      return { ...drawn, says: "every query sees its past; keys and values are computed from one short vector per token" };
    case "window":
      return { ...drawn, met: (i, j) => past(i, j) && i - j < w, says: `every query sees the last keys: ${as}` };
    case "strided":
      return {
        ...drawn,
        met: (i, j) => past(i, j) && (i - j < w || (i - j) % w === 0),
        says: `the last keys, and earlier ones at a fixed stride: ${as}`,
      };
    case "fixed":
      return {
        ...drawn,
        met: (i, j) => past(i, j) && (Math.floor(i / w) === Math.floor(j / w) || j % w === w - 1),
        says: `the query's own block, and the last keys (${SUMMARY}, drawn as 1) of earlier ones: ${as}`,
      };
    case "linear":
    case "performer":
      return { ...drawn, through: true, says: "the past is read through one state of fixed size; no weights are made" };
    case "linformer":
      return { ...drawn, columns: 6, met: () => true, across: "averages", says: "every query sees all averages of the keys" };
    case "lsh":
      return {
        ...drawn,
        met: (i, j) => (j < i && BUCKETS[i] === BUCKETS[j]) || i === j,
        says: "a query sees the keys of its bucket, found by hashing",
      };
    case "xca":
      return {
        ...drawn, rows: 12, columns: 12, met: () => true, across: "features of keys", down: "features of queries",
        says: "features attend to features; the table does not grow with the tokens",
      };
    default:
      return { ...drawn, says: "every query sees its past" };
  }
}

/** The pattern as squares. */
export function drawPattern(variant, sizes) {
  const { rows, columns, met, through, across, down } = pattern(variant, sizes);
  const step = SIZE / TOKENS;
  const cells = [];
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) {
      const kind = met(i, j) ? (through ? "cell through" : "cell met") : "cell";
      cells.push(mark("rect", { x: 20 + j * step, y: 20 + i * step, width: step - 1.5, height: step - 1.5, class: kind }));
    }
  }
  const top = mark("text", { x: 20, y: 13, class: "muted" }, escape(`${across} →`));
  const side = mark("text", { x: 0, y: 0, class: "muted", transform: "translate(6 20) rotate(90)" }, escape(`${down} →`));
  return cells.join("") + top + side;
}

export const CURVE = { wide: 440, left: 46, right: 296, top: 14, bottom: 234 };
const TICKS = [512, 1024, 2048, 4096, 8192, 16384];

/** Lengths and milliseconds as places; both axes logarithmic, the same for all curves. */
export function places(curves) {
  const all = Object.values(curves).flat().map(([, ms]) => ms);
  const low = Math.floor(Math.log10(Math.min(...all)));
  const high = Math.ceil(Math.log10(Math.max(...all)));
  const { left, right, top, bottom } = CURVE;
  return {
    low,
    high,
    across: (n) => left + (Math.log2(n / 512) / 5) * (right - left),
    up: (ms) => bottom - ((Math.log10(ms) - low) / (high - low)) * (bottom - top),
  };
}

/** The chosen variant's recorded times, those of what it is compared with, and where we are. */
export function drawCurves(variant, curves, length) {
  const { left, right, top, bottom } = CURVE;
  if (!Object.keys(curves).length) return tick(left, 120, "No times were given.", "start");
  const { across, up, low, high } = places(curves);
  const parts = [];
  for (let power = low; power <= high; power++) {
    const y = up(10 ** power);
    parts.push(rule(left, y, right, y, "grid"), tick(left - 6, y + 4, 10 ** power, "end"));
  }
  for (const n of TICKS) parts.push(tick(across(n), bottom + 18, n < 1024 ? n : `${n / 1024}k`));
  parts.push(tick((left + right) / 2, bottom + 36, "tokens"));
  if (length >= TICKS[0] && length <= TICKS.at(-1)) {
    parts.push(rule(across(length), top - 6, across(length), bottom, "here"));
  }
  const { curve, against } = VARIANTS[variant];
  const shown = [[against, "plain"], [curve, "own"]].filter(([name]) => curves[name]);
  const ends = shown.map(([name]) => up(curves[name].at(-1)[1]));
  if (ends.length === 2 && Math.abs(ends[0] - ends[1]) < 16) {
    const middle = (ends[0] + ends[1]) / 2;
    const first = ends[0] < ends[1] ? -8 : 8;
    ends.splice(0, 2, middle + first, middle - first);
  }
  shown.forEach(([name, kind], i) => {
    const points = curves[name].map(([n, ms]) => [across(n), up(ms)]);
    parts.push(mark("path", { d: path(points), class: `curve ${kind}` }));
    parts.push(...points.map(([cx, cy]) => mark("circle", { cx, cy, r: 3.5, class: `point ${kind}` })));
    const words = kind === "own" ? VARIANTS[variant].name : name;
    parts.push(label(points.at(-1)[0] + 8, ends[i] + 4, words, { class: `name ${kind}` }));
  });
  return parts.join("");
}
