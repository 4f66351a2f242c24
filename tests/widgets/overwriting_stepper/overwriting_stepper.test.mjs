// The stepper's words and drawing follow its record; the walk, the sources and the task.
import assert from "node:assert/strict";
import { test } from "node:test";
import widget from "../../../course_utils/widgets/overwriting_stepper/overwriting_stepper.js";
import * as picture from "../../../course_utils/widgets/overwriting_stepper/overwriting_stepper_picture.js";
import { keepsHouse, show } from "../dom.mjs";

const START = {
  sources: [[3, 1, 4], [0, 5, 5]], tested: 2000, symbols: 10, example: 0, step: 2,
  states: [[[10, -20], [60, -25], [65, 25]], [[0, 0], [90, -90], [90, -80]]],
  named: [[[3], [3, 1], [3, 3, 4]], [[0], [0, 5], [0, 0, 5]]],
  shares: [[1], [1, 0.7], [0.9, 0.4, 0.8]],
};

keepsHouse("overwriting_stepper", widget, START);

test("numbers that moved by more than a tenth are counted, and the first step that loses a symbol found", () => {
  assert.deepEqual(picture.moved([0, 10, -50], [10, 21, 50]), [1, 2]);
  assert.deepEqual([0, 1].map((place) => picture.firstLost(START.shares, place)), [0, 3]);
});

test("the words say what was read, what moved, and what can be read out", () => {
  const { put, said } = show(widget, START);
  assert.equal(
    said(),
    "Symbol 2, 1, has moved 1 of the 2 numbers by more than 0.1. From them a linear readout names 2 of 2 symbols right; " +
      "in 2,000 new sources 1.7 on average, where guessing gives 0.2.",
  );
  assert.equal(picture.sentence({ ...START, step: 0 }, 0), "Nothing is read yet: 2 zeros.");
  assert.ok(put);
});

test("a bar and a reading for each symbol read so far, at either width", () => {
  for (const size of [picture.WIDE, picture.NARROW])
    for (const step of [0, 1, 2, 3]) {
      const drawn = picture.drawSource({ ...START, step }, size);
      assert.doesNotMatch(drawn, /NaN|undefined|Infinity/);
      assert.equal((drawn.match(/class="bar"/g) ?? []).length, step);
      assert.equal((drawn.match(/class="symbol later"/g) ?? []).length, 3 - step);
    }
});

test("the same cells are overwritten at every step", async () => {
  const { all, click, one, traitsOf } = show(widget, START);
  const [before] = [all(".acw-vector span")];
  const moved = () => all(".acw-vector .moved").length;
  assert.equal(moved(), 1);
  await click("Step");
  assert.deepEqual([traitsOf("step"), moved()], [[3], 1]);
  assert.equal(all(".acw-vector span")[0], before[0]);
  assert.match(one(".acw-vector").getAttribute("aria-label"), /^2 numbers, 1 of them moved/);
  await click("Back");
  await click("Back");
  assert.deepEqual(traitsOf("step"), [1]);
});

test("another source is chosen, and the step that loses the second symbol ticks the task", async () => {
  const { click, said, text, traitsOf } = show(widget, START);
  await click("055…");
  assert.deepEqual(traitsOf("example"), [1]);
  assert.match(said(), /^Symbol 2, 5/);
  assert.match(text(".acw-task"), /^○/);
  await click("Step");
  assert.match(text(".acw-task"), /^✓/);
});
