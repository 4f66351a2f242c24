// What the ring stepper draws and says.
import { runsOf, whole } from "../numbers.js";
import { escape, mark } from "../shared.js";
import { LAYOUTS, balance } from "./ring_stepper_work.js";

export const SIDE = 320; // of the square of pairs
const EDGE = 26; // to its left and above it, for the ranks' numbers

/** "0 to 3, 12 to 15": places as runs of neighbours; "every 4th from 1" where they are striped. */
export function runs(places) {
  const gap = places[1] - places[0];
  if (gap > 1 && places.every((place, i) => place === places[0] + i * gap))
    return `every ${gap}${["th", "st", "nd", "rd"][gap > 3 ? 0 : gap]} from ${places[0]}`;
  return runsOf(places).map(([a, b]) => (a === b ? `${a}` : `${a} to ${b}`)).join(", ");
}

const text = (x, y, words, more = {}) => mark("text", { x, y, "text-anchor": "middle", ...more }, escape(words));

/** One path for all cells of a list of [row, first column, behind the last]. */
const cells = (list, size) =>
  list.map(([i, from, to]) => `M${at(from, size)} ${at(i, size)}h${short((to - from) * size)}v${short(size)}h${short((from - to) * size)}z`).join("");
const short = (x) => +x.toFixed(3);
const at = (i, size) => short(EDGE + i * size);

/** [row, from, to] for the pairs of a meeting: neighbours in one piece, the hidden ones apart. */
function pieces({ query, key }, causal) {
  const seen = [];
  const hidden = [];
  for (const i of query) {
    let last;
    for (const j of key) {
      const list = causal && j > i ? hidden : seen;
      if (last && last.list === list && last.piece[2] === j) last.piece[2]++;
      else {
        last = { list, piece: [i, j, j + 1] };
        list.push(last.piece);
      }
    }
  }
  return { seen, hidden };
}

/** Fills for ranks 4 to 7, which have the colours of 0 to 3 and dots, and for pairs that are masked. */
export function patterns(id) {
  const dots = [0, 1, 2, 3].map((k) =>
    mark(
      "pattern",
      { id: `${id}-rank-${k + 4}`, width: 4, height: 4, patternUnits: "userSpaceOnUse" },
      mark("rect", { width: 4, height: 4, class: `rank-${k}` }) + mark("circle", { cx: 2, cy: 2, r: 1, class: "dot" }),
    ),
  );
  const lines = mark("path", { d: "M-1 1l2 -2M0 6l6 -6M5 7l2 -2", class: "line" });
  return mark("defs", {}, dots.join("") + mark("pattern", { id: `${id}-masked`, width: 6, height: 6, patternUnits: "userSpaceOnUse" }, mark("rect", { width: 6, height: 6, class: "ground" }) + lines));
}

/** How a shape of a rank is filled. */
export const filled = (id, rank) => (rank < 4 ? { class: `rank-${rank}` } : { fill: `url(#${id}-rank-${rank})` });

/** The n × n square: what each rank multiplies at this step, and faintly what was multiplied before. */
export function square(id, { table, positions, causal, step }) {
  const n = positions.length * positions[0].length;
  const size = SIDE / n;
  const drawn = [mark("rect", { x: EDGE, y: EDGE, width: SIDE, height: SIDE, class: "paper" })];
  const past = table.flatMap((row) => row.slice(0, step).flatMap((met) => pieces(met, causal).seen));
  drawn.push(mark("path", { d: cells(past, size), class: "past" }));
  table.forEach((row, rank) => {
    const { seen, hidden } = pieces(row[step], causal);
    drawn.push(mark("path", { d: cells(seen, size), ...filled(id, rank) }));
    drawn.push(mark("path", { d: cells(hidden, size), fill: `url(#${id}-masked)` }));
  });
  if (causal) {
    const stairs = Array.from({ length: n }, (_, i) => `V${at(i + 1, size)}${i < n - 1 ? `H${at(i + 2, size)}` : ""}`).join("");
    drawn.push(mark("path", { d: `M${EDGE} ${EDGE}H${at(1, size)}${stairs}`, class: "stairs" }));
  }
  drawn.push(mark("rect", { x: EDGE, y: EDGE, width: SIDE, height: SIDE, class: "frame" }));
  positions.forEach((places, rank) =>
    places.forEach((place, i) => {
      const middle = EDGE + (place + 0.5) * size;
      const first = i === 0 || places[i - 1] !== place - 1;
      for (const box of [{ x: 12, y: at(place, size), width: 10, height: size }, { x: at(place, size), y: 12, width: size, height: 10 }])
        drawn.push(mark("rect", { ...box, ...filled(id, rank) }));
      if (first && (size >= 9 || places[i + 1] === place + 1))
        drawn.push(text(6, middle + 8, rank), text(middle + 4, 9, rank));
    }),
  );
  return patterns(id) + drawn.join("");
}

/** The ranks on their ring; inside each the number of the block that it holds. */
export function ring(id, { table, step }) {
  const ranks = table.length;
  const [radius, near] = [ranks > 1 ? 78 : 0, ranks > 6 ? 20 : 24];
  const place = (r, far, wide = 0) => {
    const angle = (2 * Math.PI * r) / ranks - Math.PI / 2;
    return [160 + (far + wide * Math.abs(Math.cos(angle))) * Math.cos(angle), 140 + far * Math.sin(angle)];
  };
  const drawn = [];
  if (radius) drawn.push(mark("circle", { cx: 160, cy: 140, r: radius, class: "round" }));
  table.forEach((_, r) => {
    if (!radius) return;
    const [x, y] = place(r + 0.5, radius);
    const turned = short((360 * (r + 0.5)) / ranks);
    drawn.push(mark("path", { d: "M-5 -5L5 0L-5 5z", class: "arrow", transform: `translate(${short(x)} ${short(y)}) rotate(${turned})` }));
  });
  table.forEach((row, r) => {
    const { block, pairs } = row[step];
    const [x, y] = place(r, radius);
    const [a, b] = place(r, radius + near + 16, 14);
    drawn.push(mark("circle", { cx: x, cy: y, r: near, class: "paper" }));
    drawn.push(mark("circle", { cx: x, cy: y, r: near, ...(pairs ? filled(id, block) : { class: "idle" }) }));
    drawn.push(mark("circle", { cx: x, cy: y, r: 10.5, class: "paper" }), text(x, y + 4.5, block, { class: "block" }));
    const up = pairs || b > 130 ? 0 : 13; // two lines above a circle, and not one inside it
    drawn.push(text(a, b + 4 - up, `rank ${r}`), ...(pairs ? [] : [text(a, b + 17 - up, "idle", { class: "muted" })]));
  });
  return patterns(id) + drawn.join("");
}

/** Tokens in rows, heads in columns: the rank of each cell before the all-to-all, or after it. */
export function owners(id, ranks, heads, after) {
  const [w, h] = [280 / heads, 208 / ranks];
  const drawn = [];
  for (let r = 0; r < ranks; r++)
    for (let c = 0; c < heads; c++) {
      const there = Math.floor((c * ranks) / heads);
      const rank = after ? there : r;
      const [x, y] = [34 + c * w, 24 + r * h];
      drawn.push(mark("rect", { x, y, width: w, height: h, ...filled(id, rank), stroke: "var(--paper)" }));
      drawn.push(mark("rect", { x: x + w / 2 - 9, y: y + h / 2 - 9, width: 18, height: 18, rx: 9, class: "paper" }));
      drawn.push(text(x + w / 2, y + h / 2 + 4.5, rank, { class: there === r ? "block stays" : "block" }));
      if (r === 0) drawn.push(text(x + w / 2, 16, c, { class: "muted" }));
    }
  for (let r = 0; r < ranks; r++) drawn.push(text(16, 24 + (r + 0.5) * h + 4, `${r}`, { class: "muted" }));
  return patterns(id) + drawn.join("");
}

/** One step in a sentence or two. */
export function sentence({ table, step, causal, layout }) {
  const ranks = table.length;
  const now = table.map((row) => row[step].pairs);
  const most = Math.max(...now);
  const idle = now.map((x, r) => (x ? "" : r)).filter((r) => r !== "");
  const { slowest, even } = balance(table);
  const place = step === 0 ? "own blocks" : `after rotation ${step}`;
  const resting = idle.length ? `; ${idle.length === 1 ? "rank" : "ranks"} ${idle.join(", ")} idle` : "";
  return (
    `Step ${step} of ${ranks - 1} (${place}), ${LAYOUTS[layout]}${causal ? ", causal" : ""}: the slowest rank multiplies ` +
    `${whole(most)} pairs${resting}. Slowest ranks of all steps: ${whole(slowest)} pairs, ` +
    `${(slowest / even).toFixed(2)} times an even share.`
  );
}

/** What Ulysses does with these sizes, or why it cannot. */
export function ulysses(ranks, heads) {
  if (heads % ranks) return `Ulysses is not possible here: ${ranks} ranks do not divide ${heads} heads.`;
  if (ranks === 1) return "With one rank nothing moves.";
  const each = heads / ranks;
  return (
    `Before, a rank has all ${heads} heads of its own tokens; after the all-to-all it has ` +
    `${each === 1 ? "one head" : `${each} heads`} of all tokens, and attention needs no other rank. ` +
    `Each rank sends ${ranks - 1} of ${ranks} parts of what it has.`
  );
}
