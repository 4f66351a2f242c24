// The toy's words and pictures: planes of vectors, and the sentence that says the same.
import { decimal } from "../numbers.js";
import { LIMIT, planeOf } from "../plane.js";
import { escape, mark } from "../shared.js";
import { REACH, project } from "./projection_toy_numbers.js";

export const SIDE = 260;
const ROOM = 36; // for a name
export const { at, from } = planeOf(SIDE, REACH);

const line = (a, b, more) => {
  const [[x1, y1], [x2, y2]] = [at(a), at(b)];
  return mark("line", { x1, y1, x2, y2, ...more });
};

/** A text beside a point, on the side away from the centre, and inside the plane. */
function name(point, text, more = {}) {
  const [x, y] = at(point);
  const length = Math.hypot(...point);
  const [right, up] = length < 0.2 ? [0, 1] : [point[0] / length, point[1] / length];
  const anchor = right > 0.4 ? "start" : right < -0.4 ? "end" : "middle";
  const down = Math.min(SIDE - 5, Math.max(15, y - 11 * up + 4));
  const [least, most] = [ROOM, SIDE - ROOM];
  if (anchor === "start" && x + 9 > most) return mark("text", { x: SIDE - 2, y: down - 12, "text-anchor": "end", ...more }, escape(text));
  if (anchor === "end" && x - 9 < least) return mark("text", { x: 2, y: down - 12, "text-anchor": "start", ...more }, escape(text));
  return mark("text", { x: x + 9 * right, y: down, "text-anchor": anchor, ...more }, escape(text));
}

/** What becomes of the square grid: straight, turned, skewed or flat. */
function grid(matrix) {
  const ends = Array.from({ length: 2 * LIMIT + 1 }, (_, i) => i - LIMIT);
  const piece = (a, b) => line(project(a, matrix), project(b, matrix), { class: "grid" });
  return ends.map((e) => piece([e, -LIMIT], [e, LIMIT]) + piece([-LIMIT, e], [LIMIT, e])).join("");
}

const arrows = (matrix, kind) => matrix.map((row) => line([0, 0], row, { class: `arrow ${kind}` })).join("");

/** Tokens in a plane; one beyond its edge is a ring at the edge. */
function dots(points, tokens, chosen, size = () => 3.5) {
  const edge = 0.92 * REACH;
  const seats = points.map((point) => point.map((x) => Math.min(edge, Math.max(-edge, x))));
  const circles = seats.map((seat, i) => {
    const [cx, cy] = at(seat);
    const kind = `dot${i === chosen ? " chosen" : ""}${seat.some((x, axis) => x !== points[i][axis]) ? " beyond" : ""}`;
    return mark("circle", { cx, cy, r: size(i), class: kind });
  });
  const names = seats.map((point, i) => name(point, tokens[i], i === chosen ? { class: "strong" } : {}));
  return [...circles, ...names].join("");
}

/** Tokens, with a line from the chosen one to each, as thick as the weight; a ring is its own. */
export function tokenPanel({ points: small, tokens, weights, chosen }) {
  const points = small.map((point) => point.map((x) => 1.8 * x)); // they lie in the inner half of the plane
  const lines = weights[chosen].map((w, j) => {
    if (j !== chosen) return line(points[chosen], points[j], { class: "gaze", "stroke-width": 12 * w });
    const [cx, cy] = at(points[j]);
    return mark("circle", { cx, cy, r: 8, class: "gaze self", "stroke-width": 12 * w });
  });
  return lines.join("") + dots(points, tokens, chosen);
}

/** Queries, with the two rows of W_Q. */
export const queryPanel = ({ matrices, queries, tokens, chosen }) =>
  grid(matrices.query) + arrows(matrices.query, "query") + dots(queries, tokens, chosen);

/** Keys, as large as the chosen query's weight for them, and that query's direction. */
export function keyPanel({ matrices, queries, keys, tokens, weights, chosen }) {
  const query = queries[chosen];
  const far = Math.hypot(...query);
  const ray = far < 1e-9 ? "" : line([0, 0], query.map((x) => (REACH / far) * x * 0.97), { class: "ray" });
  const sized = (j) => 2.5 + 9 * weights[chosen][j];
  return grid(matrices.key) + ray + arrows(matrices.key, "key") + dots(keys, tokens, -1, sized);
}

/** Values, and the output of the chosen token: a cross. */
export function valuePanel({ matrices, values, outputs, tokens, weights, chosen }) {
  const [x, y] = at(outputs[chosen]);
  const cross = `M${x - 6} ${y - 6}L${x + 6} ${y + 6}M${x - 6} ${y + 6}L${x + 6} ${y - 6}`;
  const sized = (j) => 2.5 + 9 * weights[chosen][j];
  return (
    grid(matrices.value) +
    arrows(matrices.value, "value") +
    dots(values, tokens, -1, sized) +
    mark("path", { class: "cross under", d: cross }) +
    mark("path", { class: "cross", d: cross })
  );
}

/** The picture in a sentence. */
export function sentence({ tokens, weights, chosen }) {
  const best = weights[chosen].indexOf(Math.max(...weights[chosen]));
  const target = best === chosen ? "itself" : tokens[best];
  return `${tokens[chosen]} looks most at ${target}, weight ${weights[chosen][best].toFixed(2)}.`;
}

/** Whether both directions of a pair have one score, in a sentence. */
export function symmetry({ tokens, weights, scores, chosen, bilinear }) {
  const order = weights[chosen].map((w, j) => [w, j]).sort((a, b) => b[0] - a[0]);
  const who = tokens[chosen];
  const other = order.find(([, j]) => j !== chosen)[1];
  const [there, back] = [scores[chosen][other], scores[other][chosen]];
  const even = Math.max(...bilinear.antisymmetric.flat()) < 1e-9;
  const kind = even ? "symmetric" : "not symmetric";
  const equal = even ? "as much as" : "but";
  return (
    `W_Q W_Kᵀ has rank ${bilinear.rank} and is ${kind}: ${who} scores ${tokens[other]} ${decimal(there)}, ` +
    `${equal} ${tokens[other]} scores ${who}${even ? "" : ` ${decimal(back)}`}.`
  );
}
