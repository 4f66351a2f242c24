// What a stack of attention layers says about one prediction, in four ways, and how two rankings agree.
import { sum } from "../numbers.js";

const ROUNDING = 1e-12;

/** Numbers that Python sent as bytes, as [layer][head][query][key]. */
export function unpack(data, [layers, heads, length]) {
  const view = new DataView(data.buffer ?? data, data.byteOffset ?? 0, data.byteLength);
  let at = -4;
  const many = (count, one) => Array.from({ length: count }, one);
  return many(layers, () => many(heads, () => many(length, () => many(length, () => view.getFloat32((at += 4), true)))));
}

const combine = (matrices, f) => matrices[0].map((row, i) => row.map((_, j) => f(matrices.map((one) => one[i][j]))));

/** The mean of several matrices. */
export const mean = (matrices) => combine(matrices, (values) => sum(values) / values.length);

/** One matrix times another. */
export const times = (a, b) => a.map((row) => b[0].map((_, j) => sum(row.map((x, k) => x * b[k][j]))));

const identity = (length) => Array.from({ length }, (_, i) => Array.from({ length }, (_, j) => +(i === j)));

/** What fits through the edges of a layer: the residual's share on the diagonal, the rest by weight. */
export const pipes = (weights, residual) => weights.map((row, i) => row.map((w, j) => (1 - residual) * w + residual * (i === j)));

/** The same with rows that sum to 1; a row of zeros stays. */
export const shares = (weights, residual) =>
  pipes(weights, residual).map((row) => {
    const total = sum(row);
    return row.map((x) => (total ? x / total : x));
  });

/** A layer's step in gradient attention: I + the heads' mean of max(0, gradient · weight). */
function speaking(heads, gradients) {
  const cut = heads.map((head, h) => head.map((row, i) => row.map((w, j) => Math.max(0, w * gradients[h][i][j]))));
  return mean(cut).map((row, i) => row.map((x, j) => x + (i === j)));
}

/** The layers' matrices multiplied, the last on the left. */
const stacked = (matrices, length) => matrices.reduce((below, one) => times(one, below), identity(length));

/** How much each edge carries on all ways from an input token to a position above the last of these layers. */
export function carried(matrices, source, target) {
  const length = matrices[0].length;
  return matrices.map((one, l) => {
    const below = stacked(matrices.slice(0, l), length);
    const above = stacked(matrices.slice(l + 1), length);
    return one.map((row, i) => row.map((x, j) => above[target][i] * x * below[j][source]));
  });
}

/** The largest flow from an input token to a position above the last layer, its edges, and its smallest cut. */
export function maximumFlow(capacities, source, target) {
  const length = capacities[0].length;
  const end = capacities.length * length + target;
  const room = Array.from({ length: (capacities.length + 1) * length }, () => new Map());
  capacities.forEach((rows, l) =>
    rows.forEach((row, i) =>
      row.forEach((x, j) => {
        if (x > 0) room[l * length + j].set((l + 1) * length + i, x);
      }),
    ),
  );
  const reach = () => {
    const from = new Map([[source, source]]);
    for (const node of from.keys()) {
      for (const [next, left] of room[node]) if (left > ROUNDING && !from.has(next)) from.set(next, node);
    }
    return from;
  };
  let value = 0;
  let from = reach();
  while (from.has(end)) {
    const path = [end];
    while (path[0] !== source) path.unshift(from.get(path[0]));
    const pushed = Math.min(...path.slice(1).map((node, i) => room[path[i]].get(node)));
    path.slice(1).forEach((node, i) => {
      room[path[i]].set(node, room[path[i]].get(node) - pushed);
      room[node].set(path[i], (room[node].get(path[i]) ?? 0) + pushed);
    });
    value += pushed;
    from = reach();
  }
  const cut = [];
  const flow = capacities.map((rows, l) =>
    rows.map((row, i) =>
      row.map((x, j) => {
        const [low, high] = [l * length + j, (l + 1) * length + i];
        if (x > 0 && from.has(low) && !from.has(high)) cut.push({ layer: l, from: j, to: i, room: x });
        return x > 0 ? x - room[low].get(high) : 0;
      }),
    ),
  );
  return { value, flow, cut };
}

/** Ranks from 1 for the smallest; equal values share the mean of theirs. */
export const ranks = (values) =>
  values.map((x) => sum(values.map((y) => (y < x ? 1 : y === x ? 0.5 : 0))) + 0.5);

/** Spearman's rank correlation; 0 where all values of one are equal. */
export function rankCorrelation(a, b) {
  const centred = [a, b].map((values) => ranks(values).map((rank) => rank - (values.length + 1) / 2));
  const [ab, aa, bb] = [[0, 1], [0, 0], [1, 1]].map(([i, j]) => sum(centred[i].map((x, k) => x * centred[j][k])));
  return aa * bb > 0 ? ab / Math.sqrt(aa * bb) : 0;
}

export const METHODS = {
  raw: "raw weights",
  rollout: "rollout",
  flow: "maximum flow",
  gradient: "gradient attention",
};

/** What a method says of every input token at a node above, and what the edges of each layer are to it. */
export function explained(model, { method, layer, head, residual, target: [level, position], source }) {
  const { weights, gradients } = model;
  const below = weights.slice(0, level);
  if (method === "raw") {
    const chosen = head < 0 ? mean(weights[layer]) : weights[layer][head];
    const edges = weights.map((_, l) => (l === layer ? chosen : chosen.map((row) => row.map(() => 0))));
    const lit = edges.map((rows) => rows.map((row, i) => row.map((x, j) => (i === position && j === source ? x : 0))));
    return { values: chosen[position], edges, lit, cut: [] };
  }
  if (method === "flow") {
    const edges = below.map((heads) => pipes(mean(heads), residual));
    const values = edges[0].map((_, token) => maximumFlow(edges, token, position).value);
    const { flow, cut } = maximumFlow(edges, source, position);
    return { values, edges, lit: flow, cut };
  }
  const edges = below.map((heads, l) => (method === "rollout" ? shares(mean(heads), residual) : speaking(heads, gradients[l])));
  return { values: stacked(edges, edges[0].length)[position], edges, lit: carried(edges, source, position), cut: [] };
}

/** How a ranking agrees with leave-one-out: by value and by size, the position that reads left out. */
export function agreement(values, importance, reader) {
  const [a, b] = [values, importance].map((list) => list.filter((_, i) => i !== reader));
  return { signed: rankCorrelation(a, b), size: rankCorrelation(a, b.map(Math.abs)) };
}

/** Places from 1 for the largest, the position that reads left out: it has none. */
export const places = (values, reader) =>
  values.map((x, i) => (i === reader ? null : 1 + values.filter((y, j) => j !== reader && y > x).length));
