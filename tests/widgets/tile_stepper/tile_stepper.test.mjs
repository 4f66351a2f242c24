// The stepper's state and counters are Python's, its words and drawing follow its numbers; buttons take steps.
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import widget from "../../../course_utils/widgets/tile_stepper/tile_stepper.js";
import { bars, detail, extent, onChip, sentence, span, tiles } from "../../../course_utils/widgets/tile_stepper/tile_stepper_picture.js";
import { blocks, inFuture, look, meet, plan, scoreTable } from "../../../course_utils/widgets/tile_stepper/tile_stepper_walk.js";
import { keepsHouse, near, read, show } from "../dom.mjs";

const cases = read("tile_stepper/tile_stepper_cases.json");
const ORDERS = ["queries outside", "keys outside"];
const START = {
  query: [[2], [1], [3]], key: [[1], [2], [0]], value: [[1], [0], [4]],
  block_q: 2, block_k: 2, is_causal: false, order: ORDERS[0], step: 0,
};
const after = (count, changes = {}) => look({ ...START, ...changes }, count);

keepsHouse("tile_stepper", widget, START);

test("m, l and acc after every tile are Python's", () => {
  for (const one of cases) {
    const state = { ...one, order: ORDERS[0] };
    const kept = one.states.values();
    plan(state).forEach((step, n) => {
      if (step.kind !== "tile") return;
      const rows = look(state, n + 1).rows.slice(...step.q);
      const wanted = kept.next().value;
      for (const name of ["m", "l", "acc"]) near(rows.map((row) => row[name]), wanted[name]);
    });
    assert.ok(kept.next().done);
  }
});

test("both orders end in the same state and differ in what they move; a row meets each visible key once", () => {
  for (const one of cases) {
    const ends = ORDERS.map((order) => look({ ...one, order }, Infinity));
    for (const name of ["l", "acc"]) near(...ends.map(({ rows }) => rows.map((row) => row[name])));
    for (const { rows, sofar, whole } of ends) {
      const visible = rows.map((_, i) => (one.is_causal ? Math.min(i + 1, one.key.length) : one.key.length));
      assert.deepEqual(rows.map(({ met }) => met), visible);
      assert.deepEqual(sofar, whole);
    }
    assert.deepEqual(ends.map(({ whole }) => whole.read + whole.written), one.moved);
  }
});

test("blocks are ragged at the end, and tiles in the future are no steps", () => {
  assert.deepEqual(blocks(7, 3), [[0, 3], [3, 6], [6, 7]]);
  assert.deepEqual(blocks(2, 8), [[0, 2]]);
  assert.deepEqual([inFuture([0, 3], [3, 6]), inFuture([0, 3], [2, 4])], [true, false]);
  const tilesOf = (is_causal) => plan({ ...START, is_causal }).filter(({ kind }) => kind === "tile").length;
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
});

test("the table shows scores in one tile only, masked ones as −∞, skipped tiles as such", () => {
  const drawn = (count, changes = {}) => tiles({ ...START, ...changes }, after(count, changes), count);
  const causal = drawn(1, { is_causal: true });
  const counted = (kind) => (causal.match(new RegExp(`class="tile ${kind}"`, "g")) ?? []).length;
  assert.deepEqual(["done", "now", "later", "skipped"].map(counted), [0, 1, 2, 1]);
  assert.equal(causal.match(/−∞/g).length, 1);
  assert.equal(drawn(1).match(/class="score"/g).length, 4);
  assert.doesNotMatch(drawn(6), /class="score"/);
  assert.equal(extent(START), "0 0 134 110");
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

test("step, back and the slider move through the walk, and stop at its ends", async () => {
  const { button, click, put, said, traitsOf } = show(widget, START);
  assert.ok(button("Back").disabled);
  await click("Step");
  await click("Step");
  assert.match(said(), /^Step 2 of 6: queries 0 to 1 and key 2\./);
  await click("Back");
  assert.deepEqual(traitsOf("step"), [1]);
  await put("step", 6);
  assert.ok(button("Step").disabled);
  await put("step", 0);
  assert.match(said(), /^Start/);
});

test("blocks that move more than the naive way tick the task", async () => {
  const more = { ...START, query: Array(7).fill([1, 2, 3, 4]), key: Array(8).fill([1, 1, 1, 1]), value: Array(8).fill([1, 2]) };
  const { put, text } = show(widget, more);
  assert.match(text(".acw-task"), /^○/);
  await put("queries per block", 1);
  assert.match(text(".acw-task"), /^✓/);
});

test("a choice starts the walk anew", async () => {
  const { put, set, said, traitsOf } = show(widget, { ...START, step: 3 });
  await put("queries per block", 1);
  assert.deepEqual(traitsOf("block_q", "step"), [1, 0]);
  await set({ step: 2 });
  await put("causal", true);
  assert.deepEqual(traitsOf("is_causal", "step"), [true, 0]);
  await put("loop", "keys outside");
  assert.match(said(), /^Start: 4 steps/);
});

test("playing steps by itself, says so, pauses, and ends by itself", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const { one, button, click, traitsOf } = show(widget, START);
    const wait = (beats) => {
      for (let i = 0; i < beats; i++) mock.timers.tick(1100);
    };
    await click("Play");
    assert.equal(one(".acw-said").getAttribute("aria-live"), "off");
    wait(2);
    assert.deepEqual(traitsOf("step"), [2]);
    await click("Pause");
    wait(5);
    assert.deepEqual(traitsOf("step"), [2]);
    await click("Play");
    wait(50);
    assert.deepEqual(traitsOf("step"), [6]);
    await click("Play");
    assert.deepEqual(traitsOf("step"), [0]);
    assert.ok(button("Pause"));
  } finally {
    mock.timers.reset();
  }
});

test("the tables hold every query and all counters", () => {
  const { all } = show(widget, { ...START, step: 2 });
  const [states, counts] = all("table");
  assert.equal(states.querySelectorAll("tbody tr").length, 3);
  assert.equal(states.querySelectorAll(".active").length, 2);
  const cells = [...counts.querySelectorAll("td")].map((one) => Number(one.textContent));
  assert.equal(cells[0] + cells[1], cells[2]);
  assert.deepEqual(cells.slice(6), [27, 21, 48]);
});

test("it follows Python, and a step beyond the end counts as the end", async () => {
  const { set, said } = show(widget, START);
  await set({ step: 99 });
  assert.match(said(), /^Step 6 of 6/);
});
