// The toy's arithmetic: row vectors in the plane, three matrices, the weights between them.
import { dot, softmax } from "../numbers.js";

export const REACH = 3.6; // half the side of a panel; a token lies at most 1.5 from the centre

/** The row vector x times a 2×2 matrix: entry 0 times its first row plus entry 1 times its second. */
export const project = ([a, b], [first, second]) => [a * first[0] + b * second[0], a * first[1] + b * second[1]];

/**
 * Queries, keys, values, scaled scores, weights and outputs of one head with d_k = d_v = 2.
 * @param {number[][]} points one row a token
 * @param {{query: number[][], key: number[][], value: number[][]}} matrices
 */
export function attend(points, matrices) {
  const [queries, keys, values] = ["query", "key", "value"].map((role) =>
    points.map((x) => project(x, matrices[role])),
  );
  const scores = queries.map((q) => keys.map((k) => dot(q, k) / Math.SQRT2));
  const weights = scores.map(softmax);
  const outputs = weights.map((row) => [0, 1].map((axis) => row.reduce((sum, w, j) => sum + w * values[j][axis], 0)));
  return { queries, keys, values, scores, weights, outputs };
}

/** W_Q W_Kᵀ, its symmetric and its antisymmetric part, and its rank. */
export function form(query, key) {
  const whole = query.map((row) => key.map((column) => dot(row, column)));
  const part = (sign) => whole.map((row, i) => row.map((entry, j) => (entry + sign * whole[j][i]) / 2));
  const size = Math.max(...whole.flat().map(Math.abs));
  const area = Math.abs(whole[0][0] * whole[1][1] - whole[0][1] * whole[1][0]);
  const rank = size < 1e-9 ? 0 : area < 1e-9 * size * size ? 1 : 2;
  return { whole, symmetric: part(1), antisymmetric: part(-1), rank };
}

/** Starts worth seeing, for tokens on a circle, clockwise. */
export function starts(count) {
  const turn = (angle, size) => {
    const [c, s] = [size * Math.cos(angle), size * Math.sin(angle)];
    return [[c, s], [-s, c]];
  };
  const same = turn(0, 1);
  const skew = [[1.6, 0.5], [-0.3, 0.9]];
  const flat = [[1.6, 0.8], [-0.8, -0.4]];
  return {
    "No projections": { query: same, key: same },
    "W_Q = W_K": { query: skew, key: skew },
    "Keys turned": { query: turn(0, 1.9), key: turn((2 * Math.PI) / count, 1.9) },
    "Keys opposite": { query: turn(0, 1.4), key: turn(Math.PI, 1.4) },
    "Rank 1": { query: turn(0, 1.4), key: flat },
  };
}
