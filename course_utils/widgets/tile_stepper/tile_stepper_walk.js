// The stepper's arithmetic: which tile comes when, what it does to m, l and acc, and what it moves.

/** [first, behind the last] of each block of `size`; the last one may be shorter. */
export function blocks(length, size) {
  const starts = Array.from({ length: Math.ceil(length / size) }, (_, i) => i * size);
  return starts.map((start) => [start, Math.min(start + size, length)]);
}

/** q·k / √d of every pair. */
export function scoreTable(query, key) {
  const scale = 1 / Math.sqrt(query[0].length);
  return query.map((q) => key.map((k) => scale * q.reduce((sum, x, i) => sum + x * k[i], 0)));
}

/** A tile lies wholly in the future where its first key comes after its last query. */
export const inFuture = (q, k) => k[0] > q[1] - 1;

const size = ([from, to]) => to - from;

/**
 * Every step of a walk, in order: what it reads from HBM and writes to it, as [name, count] pairs.
 * Queries outside: a block's state stays on the chip. Keys outside: every tile fetches it and puts it back.
 */
export function plan({ query, key, value, block_q, block_k, is_causal, order }) {
  const [d, dv] = [query[0].length, value[0].length];
  const [rows, columns] = [blocks(query.length, block_q), blocks(key.length, block_k)];
  const keysOutside = order === "keys outside";
  const steps = [];
  for (const outer of keysOutside ? columns : rows) {
    let fresh = true;
    for (const inner of keysOutside ? rows : columns) {
      const [q, k] = keysOutside ? [inner, outer] : [outer, inner];
      if (is_causal && inFuture(q, k)) continue;
      const own = ["Q", size(q) * d];
      const pair = [["K", size(k) * d], ["V", size(k) * dv]];
      const state = [["m and l", 2 * size(q)], ["acc", size(q) * dv]];
      steps.push({
        kind: "tile", q, k,
        reads: keysOutside ? [...(fresh ? pair : []), own, ...state] : [...(fresh ? [own] : []), ...pair],
        writes: keysOutside ? state : [],
        chip: [own, ...pair, ["scores", size(q) * size(k)], ...state],
      });
      fresh = false;
    }
    if (!keysOutside) {
      const writes = [["out", size(outer) * dv], ["lse", size(outer)]];
      steps.push({ kind: "store", q: outer, reads: [], writes, chip: [["out", writes[0][1]], ["lse", writes[1][1]]] });
    }
  }
  return steps;
}

/** Numbers moved by the algorithm that keeps the whole table in HBM: scores and weights, each written and read. */
export function naive({ query, key, value }) {
  const [d, dv, table] = [query[0].length, value[0].length, query.length * key.length];
  return {
    read: (query.length + key.length) * d + 2 * table + key.length * dv,
    written: 2 * table + query.length * dv,
  };
}

/** One query meets the visible keys of a tile: its state after, and by how much the old one shrank. */
export function meet(state, scores, values) {
  if (scores.length === 0) return { ...state, shrunk: 1 };
  const m = Math.max(state.m, ...scores);
  const shrunk = Math.exp(state.m - m);
  const powers = scores.map((s) => Math.exp(s - m));
  return {
    m,
    l: state.l * shrunk + powers.reduce((sum, p) => sum + p, 0),
    acc: state.acc.map((a, c) => powers.reduce((sum, p, j) => sum + p * values[j][c], a * shrunk)),
    shrunk,
  };
}

const total = (pairs) => pairs.reduce((sum, [, count]) => sum + count, 0);

/** Where everything stands after `count` steps. */
export function look(state, count) {
  const { query, key, value, is_causal } = state;
  const steps = plan(state);
  const scores = scoreTable(query, key);
  const blank = { m: -Infinity, l: 0, acc: value[0].map(() => 0), shrunk: 1, met: 0, where: "waiting" };
  const rows = query.map(() => blank);
  const seen = steps.slice(0, count);
  for (const { kind, q, k, writes } of seen) {
    for (let i = q[0]; i < q[1]; i++) {
      if (kind === "store") rows[i] = { ...rows[i], where: "written" };
      else {
        const behind = is_causal ? Math.min(k[1], i + 1) : k[1];
        const after = meet(rows[i], scores[i].slice(k[0], behind), value.slice(k[0], behind));
        const met = rows[i].met + Math.max(0, behind - k[0]);
        rows[i] = { ...after, met, before: rows[i].m, where: writes.length ? "HBM" : "chip" };
      }
    }
  }
  const sum = (list, what) => list.reduce((moved, step) => moved + total(step[what]), 0);
  const moved = (list) => ({ read: sum(list, "reads"), written: sum(list, "writes") });
  const now = seen.at(-1);
  return {
    steps, scores, rows, now,
    sofar: moved(seen), whole: moved(steps), naive: naive(state), chip: now ? total(now.chip) : 0,
  };
}
