// The stepper's state and counters are Python's, its words and drawing follow its numbers.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { decimal } from "../../course_utils/widgets/numbers.js";
import { blocks, inFuture, look, meet, plan, scoreTable } from "../../course_utils/widgets/tile_stepper_walk.js";
import { bars, detail, extent, onChip, sentence, span, tiles } from "../../course_utils/widgets/tile_stepper_picture.js";

const cases = JSON.parse(readFileSync(new URL("tile_stepper_cases.json", import.meta.url)));
const ORDERS = ["queries outside", "keys outside"];
const near = (a, b) => assert.ok(a === Number(b) || Math.abs(a - b) < 1e-12, `${a} is not ${b}`);
const small = {
  query: [[2], [1], [3]], key: [[1], [2], [0]], value: [[1], [0], [4]],
  block_q: 2, block_k: 2, is_causal: false, order: ORDERS[0],
};
const after = (count, changes = {}) => look({ ...small, ...changes }, count);

test("m, l and acc after every tile are Python's", () => {
  for (const one of cases) {
    const state = { ...one, order: ORDERS[0] };
    const kept = one.states.values();
    plan(state).forEach((step, n) => {
      if (step.kind !== "tile") return;
      const { m, l, acc } = kept.next().value;
      look(state, n + 1).rows.slice(...step.q).forEach((row, i) => {
        near(row.m, m[i]);
        near(row.l, l[i]);
        row.acc.forEach((x, c) => near(x, acc[i][c]));
      });
    });
    assert.ok(kept.next().done);
  }
});

test("both orders end in the same state and differ in what they move", () => {
  for (const one of cases) {
    const ends = ORDERS.map((order) => look({ ...one, order }, Infinity));
    ends[0].rows.forEach((row, i) => {
      near(row.l, ends[1].rows[i].l);
      row.acc.forEach((x, c) => near(x, ends[1].rows[i].acc[c]));
      assert.equal(row.met, ends[1].rows[i].met);
    });
    assert.deepEqual(ends.map(({ whole }) => whole.read + whole.written), one.moved);
    for (const { sofar, whole } of ends) assert.deepEqual(sofar, whole);
  }
});

test("a row meets each visible key once", () => {
  for (const one of cases)
    look({ ...one, order: ORDERS[1] }, Infinity).rows.forEach((row, i) =>
      assert.equal(row.met, one.is_causal ? Math.min(i + 1, one.key.length) : one.key.length),
    );
});

test("blocks are ragged at the end, and tiles in the future are no steps", () => {
  assert.deepEqual(blocks(7, 3), [[0, 3], [3, 6], [6, 7]]);
  assert.deepEqual(blocks(2, 8), [[0, 2]]);
  assert.ok(inFuture([0, 3], [3, 6]));
  assert.ok(!inFuture([0, 3], [2, 4]));
  const tilesOf = (is_causal) => plan({ ...small, is_causal }).filter(({ kind }) => kind === "tile").length;
  assert.deepEqual([tilesOf(false), tilesOf(true)], [4, 3]);
});

test("scores carry the scale, and a tile without a visible key leaves a state as it was", () => {
  assert.deepEqual(scoreTable([[1, 2, 0, 1]], [[2, 0, 1, 2]]), [[2]]);
  const state = { m: 1, l: 2, acc: [3], shrunk: 0.5 };
  assert.deepEqual(meet(state, [], []), { ...state, shrunk: 1 });
});

test("words name the step, the risen maxima and the result", () => {
  assert.match(sentence(after(0), 0), /^Start: 6 steps/);
  assert.equal(sentence(after(1), 1), "Step 1 of 6: queries 0 to 1 and keys 0 to 1.");
  assert.match(detail(after(1), 1), /^Read: Q 2, K 2, V 2\. Written: nothing\. First tile/);
  assert.match(detail(after(2), 2), /No maximum rises/);
  assert.match(detail(after(3), 3), /Written: out 2, lse 2\. Out: query 0 \(.*\); query 1/);
  const rising = { key: [[1], [0], [2]], block_k: 1, block_q: 3 };
  assert.match(detail(after(3, rising), 3), /query 0, from 2 to 4, × 0\.14; query 1, from 1 to 2, × 0\.37/);
  assert.match(detail(after(4, { order: ORDERS[1] }), 4), /Out: query 0 .*query 2/);
  assert.match(onChip(after(1)), /4 of the table's 9 scores, m and l 4, acc 2; together 16 numbers/);
  assert.equal(onChip(after(0)), "On the chip: nothing yet.");
  assert.deepEqual([span("key", "keys", [7, 8]), span("key", "keys", [3, 6])], ["key 7", "keys 3 to 5"]);
  assert.deepEqual([-0.001, -1.5, -Infinity, Infinity].map((x) => decimal(x)), ["0.00", "−1.50", "−∞", "∞"]);
});

test("the table shows scores in one tile only, masked ones as −∞, skipped tiles as such", () => {
  const drawn = (count, changes = {}) => tiles({ ...small, ...changes }, after(count, changes), count);
  const counted = (text, kind) => (text.match(new RegExp(`class="tile ${kind}"`, "g")) ?? []).length;
  const causal = { is_causal: true };
  assert.deepEqual(["done", "now", "later", "skipped"].map((kind) => counted(drawn(1, causal), kind)), [0, 1, 2, 1]);
  assert.equal(drawn(1, causal).match(/−∞/g).length, 1);
  assert.equal(drawn(1).match(/class="score"/g).length, 4);
  assert.doesNotMatch(drawn(6), /class="score"/);
  assert.equal(extent(small), "0 0 134 110");
});

test("bars stay in their frame, whichever is longer", () => {
  for (const order of ORDERS)
    for (const block of [1, 8]) {
      const text = bars(after(3, { order, block_q: block, block_k: block }));
      const ends = [...text.matchAll(/x="([\d.]+)" y="[\d.]+" width="([\d.]+)"/g)].map(([, x, w]) => +x + +w);
      assert.ok(ends.length >= 5 && Math.max(...ends) <= 400.01);
      assert.doesNotMatch(text, /NaN|Infinity|undefined/);
    }
});
