// The explorer's optima as Python finds them, its words and its curve; and its controls.
import assert from "node:assert/strict";
import { test } from "node:test";
import widget, { advice, answers } from "../../../course_utils/widgets/budget_explorer/budget_explorer.js";
import { lossAt, optimum } from "../../../course_utils/widgets/budget_explorer/budget_explorer_law.js";
import { drawCurve, places, ticks } from "../../../course_utils/widgets/budget_explorer/budget_explorer_picture.js";
import { keepsHouse, near, read, show } from "../dom.mjs";

const cases = read("budget_explorer/budget_explorer_cases.json");
const law = [482.01, 2085.43, 0.3478, 0.3658, 1.8172];
const START = {
  runs: { "GPT-3": [1.75e11, 3e11], Chinchilla: [7e10, 1.4e12] }, run: "GPT-3",
  laws: { first: [406.4, 410.7, 0.34, 0.28, 1.69], second: law }, law: "second", budget: 23.5,
};

keepsHouse("budget_explorer", widget, START);

test("the optimum of a law is Python's", () => {
  for (const { law: constants, flops, best } of cases) {
    const { N, D, loss } = optimum(constants, flops);
    near([N, D, loss].map((found, i) => found / best[i]), [1, 1, 1], 1e-9);
    for (const other of [0.9 * N, 1.1 * N]) assert.ok(lossAt(constants, other, flops / 6 / other) > loss);
  }
});

test("the curve has its minimum where the law says, at every budget", () => {
  for (const flops of [1e12, 3.14e23, 1e27]) {
    const { best, across, up, low, top } = places(law, flops);
    assert.ok(low < best.loss && best.loss < top);
    near(across(best.N), 300, 1e-6);
    assert.ok(up(best.loss) > up(top));
    assert.doesNotMatch(drawCurve(law, flops, "GPT-3", best.N), /NaN|undefined|Infinity/);
  }
  assert.match(drawCurve(law, 3.14e23, "GPT-3", 1.7e11), /GPT-3's size/);
  assert.doesNotMatch(drawCurve(law, 3.14e23, "GPT-3", 1e3), /GPT-3's size/);
  assert.deepEqual(ticks(1.9, 2.35), [2, 2.2]);
});

test("a budget and a law are chosen, and the curve says what the words say", async () => {
  const { one, put, said, rows } = show(widget, START);
  assert.match(said(), /^second, 3\.16e23 flop: 53\.1 B/);
  await put("law", "first");
  await put("budget (flop)", 2700);
  assert.match(said(), /^first, 1\.00e27 flop/);
  assert.ok(one("svg").getAttribute("aria-label").includes(said()));
  assert.deepEqual(rows().slice(-2).map(([name]) => name), ["first", "second"]);
});

test("the words hold the published numbers", () => {
  const said = advice("Refit", law, 3.14e23, "GPT-3", 174604259328);
  assert.match(said, /^Refit, 3\.14e23 flop: 52\.9 B parameters and 989 B tokens \(19 per parameter\), loss 1\.992\./);
  assert.match(said, /At GPT-3's 175 B parameters they buy 300 B tokens: loss 2\.0\d\d\.$/);
  assert.deepEqual(answers({ refit: law }, 5.76e23), [["refit", "72.2 B", "1.33 T", "18", "1.974"]]);
});

test("a published run brings its own budget; the one whose size the law calls best ticks the task", async () => {
  const { click, said, text, traitsOf } = show(widget, START);
  assert.match(text(".acw-task"), /^○/);
  await click("Chinchilla");
  assert.deepEqual(traitsOf("run", "budget"), ["Chinchilla", 23.77]);
  assert.match(said(), /At Chinchilla's 70 B parameters/);
  assert.match(text(".acw-task"), /^✓/);
});
