// What the stepper shows: the table of tiles, the bars of numbers moved, and both as words.
import { decimal } from "../numbers.js";
import { label } from "../plot.js";
import { blocks, inFuture } from "./tile_stepper_walk.js";
import { mark } from "../shared.js";

/** A score as short as it can be. */
const short = (x) => decimal(x).replace(/\.?0+$/, "");

/** "queries 3 to 5", "key 7". */
export const span = (one, many, [from, to]) => (to - from === 1 ? `${one} ${from}` : `${many} ${from} to ${to - 1}`);

const list = (pairs) => pairs.map(([name, count]) => `${name} ${count}`).join(", ");

/** One step in a sentence. */
export function sentence({ now, steps }, count) {
  if (!now) return `Start: ${steps.length} steps, nothing read yet.`;
  const place = `Step ${count} of ${steps.length}`;
  if (now.kind === "store")
    return `${place}: ${span("query", "queries", now.q)} met all keys: out = acc / l and lse = m + ln l are written.`;
  return `${place}: ${span("query", "queries", now.q)} and ${span("key", "keys", now.k)}.`;
}

/** What the step moved, whose maximum rose, and what came out. */
export function detail({ now, rows, steps }, count) {
  if (!now) return "m starts at −∞, l and acc at 0.";
  const moved = `Read: ${list(now.reads) || "nothing"}. Written: ${list(now.writes) || "nothing"}.`;
  const mine = rows.map((row, i) => ({ ...row, i })).slice(...now.q);
  const results = (some) => `Out: ${some.map(({ i, l, acc }) => `query ${i} (${acc.map((a) => decimal(a / l)).join(", ")})`).join("; ")}.`;
  if (now.kind === "store") return `${moved} ${results(mine)}`;
  const risen = mine
    .filter(({ shrunk, before }) => shrunk < 1 && before > -Infinity)
    .map(({ i, m, before, shrunk }) => `query ${i}, from ${short(before)} to ${short(m)}, × ${decimal(shrunk)}`);
  const rescaled = risen.length
    ? `Maxima rise, and the old l and acc shrink before the tile is added: ${risen.join("; ")}.`
    : mine.every(({ before }) => before === -Infinity)
      ? "First tile of these queries: nothing to rescale."
      : "No maximum rises: nothing to rescale.";
  return `${moved} ${rescaled}${count === steps.length ? ` ${results(rows.map((row, i) => ({ ...row, i })))}` : ""}`;
}

/** What the chip holds during a step. */
export function onChip({ now, chip, scores }) {
  if (!now) return "On the chip: nothing yet.";
  const parts = now.chip.map(([name, count]) =>
    name === "scores" ? `${count} of the table's ${scores.length * scores[0].length} scores` : `${name} ${count}`,
  );
  return `On the chip: ${parts.join(", ")}; together ${chip} numbers.`;
}

const CELL = { w: 34, h: 28, left: 30, top: 24 };
const write = (x, y, text, more = {}) => label(x, y, text, { "text-anchor": "middle", ...more });

/** The L × S table in tiles: when each came, the scores of the present one, the masked and the skipped. */
export function tiles(state, seen, count) {
  const { w, h, left, top } = CELL;
  const { query, key, block_q, block_k, is_causal } = state;
  const order = new Map();
  seen.steps.forEach((step, n) => step.k && order.set(`${step.q[0]} ${step.k[0]}`, n + 1));
  const drawn = [];
  for (const q of blocks(query.length, block_q))
    for (const k of blocks(key.length, block_k)) {
      const box = { x: left + k[0] * w, y: top + q[0] * h, width: (k[1] - k[0]) * w, height: (q[1] - q[0]) * h };
      const n = order.get(`${q[0]} ${k[0]}`);
      const kind = is_causal && inFuture(q, k) ? "skipped" : n === count ? "now" : n < count ? "done" : "later";
      drawn.push([kind, mark("rect", { ...box, class: `tile ${kind}` })]);
      if (kind === "now") drawn.push([kind, scoresOf(state, seen, q, k)]);
      else {
        const [x, y] = [box.x + box.width / 2, box.y + box.height / 2 + 4];
        drawn.push([kind, write(x, y, kind === "skipped" ? "–" : n, { class: kind })]);
      }
    }
  const labels = [
    ...query.map((_, i) => write(left - 13, top + i * h + 18, i, { class: "muted" })),
    ...key.map((_, j) => write(left + (j + 0.5) * w, top - 8, j, { class: "muted" })),
  ];
  const last = (a, b) => (a[0] === "now") - (b[0] === "now");
  return labels.join("") + drawn.sort(last).map(([, text]) => text).join("");
}

function scoresOf({ is_causal }, { scores }, q, k) {
  const { w, h, left, top } = CELL;
  const texts = [];
  for (let i = q[0]; i < q[1]; i++)
    for (let j = k[0]; j < k[1]; j++) {
      const hidden = is_causal && j > i;
      const shown = hidden ? "−∞" : short(scores[i][j]);
      texts.push(write(left + (j + 0.5) * w, top + i * h + 18, shown, { class: hidden ? "muted" : "score" }));
    }
  return texts.join("");
}

/** How large the table's picture is. */
export const extent = ({ query, key }) =>
  `0 0 ${CELL.left + key.length * CELL.w + 2} ${CELL.top + query.length * CELL.h + 2}`;

/** Numbers moved, so far and in all, beside those of the naive algorithm. */
export function bars({ sofar, whole, naive }) {
  const most = Math.max(whole.read + whole.written, naive.read + naive.written);
  const wide = (x) => (x / most) * 330;
  const row = (y, name, { read, written }, all) =>
    write(0, y + 13, name, { "text-anchor": "start" }) +
    (all ? mark("rect", { x: 70, y, width: wide(all.read + all.written), height: 18, class: "frame" }) : "") +
    mark("rect", { x: 70, y, width: wide(read), height: 18, class: "read" }) +
    mark("rect", { x: 70 + wide(read), y, width: wide(written), height: 18, class: "written" });
  return row(2, "this walk", sofar, whole) + row(28, "naive", naive);
}
