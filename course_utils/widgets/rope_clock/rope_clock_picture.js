// What the clock shows: its words, a dial for each pair, and the score at every distance.
import { degrees, scoreAt } from "./rope_clock_numbers.js";
import { decimal } from "../numbers.js";
import { path, rule, tick } from "../plot.js";
import { format, mark } from "../shared.js";

/** A distance as words. */
export function apart(distance) {
  if (distance === 0) return "both at the same place";
  return `the key ${Math.abs(distance)} ${distance > 0 ? "after" : "before"} the query`;
}

/** A share of the score. */
export const fixed = (x) => decimal(x, 3);

/** The picture in one sentence. */
export function sentence(seen, { query_position, key_position }) {
  return (
    `Query at ${query_position}, key at ${key_position}, ${apart(seen.distance)}: ` +
    `q·k = ${fixed(seen.score)}; without rotation ${fixed(seen.plain)}.`
  );
}

/** What one pair does, as words. */
export function pairWords({ i, names, frequency, angles, part }) {
  const [q, k] = angles.map((angle) => `${degrees(angle)}°`);
  return (
    `Pair ${i} is features ${names.join(" and ")}. It turns by ${format(frequency)} radians per position, ` +
    `once around in ${format((2 * Math.PI) / frequency)} positions. The query's has turned by ${q}, ` +
    `the key's by ${k}; the difference is ${degrees(angles[1] - angles[0])}°. Its share of q·k: ${fixed(part)}.`
  );
}

const RADIUS = 44;

/** A hand from the middle; the tip is a full or an open dot, so that the two differ without colour. */
function hand([u, v], kind) {
  const [x, y] = [RADIUS * u, -RADIUS * v];
  return (
    rule(0, 0, x, y, `hand ${kind}`) +
    mark("circle", { cx: x, cy: y, r: 4.5, class: `tip ${kind}` })
  );
}

/** One dial in a box from -60 to 60: both hands of a pair, and the way from the query's to the key's. */
export function dial({ q, k }, reach) {
  const scaled = [q, k].map((hands) => hands.map((x) => x / reach));
  const angle = ([u, v]) => Math.atan2(v, u);
  const from = angle(q);
  const between = (((angle(k) - from) % (2 * Math.PI)) + 3 * Math.PI) % (2 * Math.PI) - Math.PI;
  const place = (a) => `${(15 * Math.cos(a)).toFixed(1)} ${(-15 * Math.sin(a)).toFixed(1)}`;
  const sweep = between > 0 ? 0 : 1;
  return (
    mark("circle", { cx: 0, cy: 0, r: RADIUS, class: "rim" }) +
    rule(-RADIUS, 0, RADIUS, 0, "grid") +
    rule(0, -RADIUS, 0, RADIUS, "grid") +
    mark("path", { d: `M${place(from)}A15 15 0 0 ${sweep} ${place(from + between)}`, class: "between" }) +
    hand(scaled[1], "key") +
    hand(scaled[0], "query")
  );
}

const BOX = { left: 44, right: 548, top: 14, bottom: 128 };

/** q·k at every distance that the sliders reach, and where we are. */
export function curve(state, seen, farthest) {
  const { query, key, base, pairing } = state;
  const scores = Array.from({ length: 2 * farthest + 1 }, (_, j) => scoreAt(query, key, j - farthest, base, pairing));
  const top = Math.max(...scores.map(Math.abs)) * 1.1;
  const across = (d) => BOX.left + ((d + farthest) / (2 * farthest)) * (BOX.right - BOX.left);
  const up = (s) => (BOX.top + BOX.bottom) / 2 - (s / top) * ((BOX.bottom - BOX.top) / 2);
  const points = scores.map((s, j) => [across(j - farthest), up(s)]);
  const level = (s) =>
    rule(BOX.left, up(s), BOX.right, up(s), s ? "grid" : "axis") + tick(BOX.left - 6, up(s) + 4, format(s), "end");
  const high = Number((top / 1.1).toPrecision(1));
  const round = 10 * Math.floor(farthest / 10);
  const ticks = [-1, -0.5, 0, 0.5, 1].map((t) =>
    tick(across(t * round), BOX.bottom + 16, String(t * round).replace("-", "−")),
  );
  const [x, y] = [across(seen.distance), up(seen.score)];
  return (
    level(high) +
    level(0) +
    level(-high) +
    ticks.join("") +
    mark("path", { d: path(points), class: "score" }) +
    rule(x, BOX.top, x, BOX.bottom, "here") +
    mark("circle", { cx: x, cy: y, r: 5.5, class: "dot" }) +
    tick((BOX.left + BOX.right) / 2, BOX.bottom + 33, "distance: key's position minus query's")
  );
}
