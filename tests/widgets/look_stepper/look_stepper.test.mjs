// The stepper's numbers are Python's; its words and its drawing follow its numbers; buttons and sliders move it.
import assert from "node:assert/strict";
import { test } from "node:test";
import widget from "../../../course_utils/widgets/look_stepper/look_stepper.js";
import { formulas, named, pair, plane, sentence } from "../../../course_utils/widgets/look_stepper/look_stepper_picture.js";
import { decode, look } from "../../../course_utils/widgets/look_stepper/look_stepper_walk.js";
import { keepsHouse, near, read, show } from "../dom.mjs";

const cases = read("look_stepper/look_stepper_cases.json");
const [, own] = cases;
const START = { ...own, step: 0 };

keepsHouse("look_stepper", widget, START);

test("every number of every step is Python's", () => {
  for (const one of cases)
    decode(one).forEach((step, t, walk) => {
      assert.equal(walk.length, one.walk.length);
      for (const [name, wanted] of Object.entries(one.walk[t])) near(step[name], wanted);
    });
});

test("four stages make a word, and what a state asks next is what the last step made", () => {
  for (const [step, number, shown] of [[0, 1, 0], [4, 1, 4], [5, 2, 1]]) {
    const seen = look(own, step);
    assert.deepEqual([seen.number, seen.shown], [number, shown]);
  }
  assert.deepEqual(look(own, 5).query, look(own, 4).state);
  assert.deepEqual([11, 12].map((step) => look(own, step).written), [["the", "red"], ["the", "red", "car"]]);
});

test("each stage has its sentence, and formulas wait for theirs", () => {
  const said = [0, 1, 2, 3, 4].map((step) => sentence(own, look(own, step)));
  assert.match(said[0], /^s₀ is/);
  assert.match(said[1], /scores: s₀ asks .* times 2\.$/);
  assert.match(said[2], /“la” gets 0\.79\.$/);
  assert.match(said[3], /context: c₁ = \(0\.13, 0\.70\)/);
  assert.match(said[4], /next state: s₁ = .* Written: “the”\.$/);
  assert.deepEqual(formulas(own, look(own, 2)), ["c₁ = …", "s₁ = …"]);
  assert.match(formulas(own, look(own, 3))[0], /^c₁ = 0\.79 \(0\.10, 1\.00\) \+ 0\.13/);
  assert.match(formulas(own, look(own, 8))[1], /^s₂ = tanh\(c₂ W_c \+ s₁ W_s\) = \(/);
  assert.deepEqual([pair([1, -2]), named("s", 2)], ["(1.00, −2.00)", "s₂"]);
});

test("the plane shows a stage's own marks and no later ones", () => {
  const marks = (step) => ["pull", "context", "next"].map((name) => plane(own, look(own, step)).includes(`class="${name}`));
  assert.deepEqual([1, 2, 3, 4].map(marks), [
    [false, false, false], [false, false, false], [true, true, false], [true, true, true],
  ]);
  assert.ok(plane({ ...own, words: [["<b>", "x"], ["b", "y"], ["c", "z"]] }, look(own, 0)).includes("&lt;b&gt;"));
  assert.ok(!plane(cases.at(-1), look(cases.at(-1), 4)).includes("NaN"));
});

test("step, back and the slider move, and stop at the ends", async () => {
  const { button, click, put, said, text, traitsOf } = show(widget, START);
  assert.ok(button("Back").disabled);
  await click("Step");
  await click("Step");
  assert.match(said(), /^Word 1, weights/);
  await click("Back");
  assert.deepEqual(traitsOf("step"), [1]);
  await put("stage", 12);
  assert.ok(button("Step").disabled);
  assert.equal(text(".acw-written"), "Written so far: the red car");
  await put("stage", 0);
  assert.deepEqual(traitsOf("step"), [0]);
});

test("a blurred factor loses the way", async () => {
  const { put, text, traitsOf } = show(widget, { ...START, step: 12 });
  await put("factor of the scores", 1);
  assert.deepEqual(traitsOf("factor"), [0.5]);
  assert.equal(text(".acw-written"), "Written so far: the red red");
  assert.match(text(".acw-task"), /^✓/);
});

test("scores and weights wait for their stage, and the picture has the sentence; it follows Python", async () => {
  const { set, rows, one, said } = show(widget, START);
  for (const [step, cells] of [[0, ["…", "…"]], [1, ["1.44", "…"]], [2, ["1.44", "0.79"]]]) {
    await set({ step });
    assert.deepEqual(rows()[0].slice(2), cells);
  }
  assert.equal(one("svg").getAttribute("aria-label"), said());
});
