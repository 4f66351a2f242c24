// The stepper's numbers are Python's; its words and its drawing follow its numbers.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { decimal, softmax } from "../../course_utils/widgets/numbers.js";
import { decode, look } from "../../course_utils/widgets/look_stepper_walk.js";
import { formulas, named, pair, plane, sentence } from "../../course_utils/widgets/look_stepper_picture.js";

const cases = JSON.parse(readFileSync(new URL("look_stepper_cases.json", import.meta.url)));
const [, own] = cases;

test("every number of every step is Python's", () => {
  for (const one of cases) {
    const walk = decode(one);
    assert.equal(walk.length, one.walk.length);
    walk.forEach((step, t) => {
      for (const name of ["query", "scores", "weights", "context", "state"])
        step[name].forEach((x, i) => assert.ok(Math.abs(x - one.walk[t][name][i]) < 1e-12, `${name} of step ${t}`));
      assert.equal(step.best, one.walk[t].best);
    });
  }
});

test("large scores do not overflow", () => {
  assert.deepEqual(softmax([1000, 0]), [1, 0]);
});

test("four stages make a word, and what a state asks next is what the last step made", () => {
  assert.deepEqual([look(own, 0).number, look(own, 0).shown], [1, 0]);
  assert.deepEqual([look(own, 4).number, look(own, 4).shown], [1, 4]);
  assert.deepEqual([look(own, 5).number, look(own, 5).shown], [2, 1]);
  assert.deepEqual(look(own, 5).query, look(own, 4).state);
  assert.deepEqual(look(own, 12).written, ["the", "red", "car"]);
  assert.deepEqual(look(own, 11).written, ["the", "red"]);
});

test("blurred weights lose the way", () => {
  assert.deepEqual(look({ ...own, factor: 0.5 }, 12).written, ["the", "red", "red"]);
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
});

test("the plane shows a stage's own marks and no later ones", () => {
  const marks = (step) => ["pull", "context", "next"].map((name) => plane(own, look(own, step)).includes(`class="${name}`));
  assert.deepEqual([1, 2, 3, 4].map(marks), [
    [false, false, false], [false, false, false], [true, true, false], [true, true, true],
  ]);
  assert.ok(plane({ ...own, words: [["<b>", "x"], ["b", "y"], ["c", "z"]] }, look(own, 0)).includes("&lt;b&gt;"));
  assert.ok(!plane(cases.at(-1), look(cases.at(-1), 4)).includes("NaN"));
});

test("numbers have a real minus and no negative zero", () => {
  assert.deepEqual([decimal(-0.004), decimal(-0.5), pair([1, -2]), named("s", 2)], ["0.00", "−0.50", "(1.00, −2.00)", "s₂"]);
});
