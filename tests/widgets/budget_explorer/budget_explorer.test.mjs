// The explorer's counts as Python makes them, its words and its curve; and its controls.
import assert from "node:assert/strict";
import { test } from "node:test";
import widget, { advice, answers, named, placed, sentence } from "../../../course_utils/widgets/budget_explorer/budget_explorer.js";
import {
  bytesOf, costs, count, duration, fitting, lossAt, operationsOf, optimum, parameters, percent, rowsOf, savedNumbers,
} from "../../../course_utils/widgets/budget_explorer/budget_explorer_counts.js";
import { drawCurve, places, ticks } from "../../../course_utils/widgets/budget_explorer/budget_explorer_picture.js";
import { keepsHouse, near, read, show } from "../dom.mjs";

const cases = read("budget_explorer/budget_explorer_cases.json");
const step = { batch: 8, mixed: false, optimizer: "adam", trained: 1, recompute: false, train_tokens: 3e11, petaflops: 100 };
const published = cases.parameters.filter(({ name }) => !name.startsWith("small"));
const presets = Object.fromEntries(published.map(({ name, sizes }) => [name, sizes]));
const gpt2 = { ...presets["GPT-2"], ...step };
const gpt3 = { ...presets["GPT-3"], ...step };
const law = [482.01, 2085.43, 0.3478, 0.3658, 1.8172];
const total = (parts) => Object.values(parts).reduce((a, b) => a + b, 0);

const from = (name) => [...new Set(Object.values(presets).map((shape) => shape[name]))].sort((a, b) => a - b);
const START = {
  ...gpt2, presets, laws: { first: [406.4, 410.7, 0.34, 0.28, 1.69], second: law }, law: "second", budget: 23.5,
  choices: {
    ...Object.fromEntries(Object.keys(presets["GPT-2"]).map((name) => [name, from(name)])),
    batch: [1, 8], trained: [0.0006, 1], train_tokens: [3e11, 1e12], petaflops: [1, 100],
  },
};

keepsHouse("budget_explorer", widget, START);

test("parameters are Python's, to the last one", () => {
  for (const { name, sizes, parameters: wanted } of cases.parameters) {
    const fitted = fitting({ ...sizes, ...step }, { num_heads: [sizes.num_heads], num_kv_heads: [sizes.num_kv_heads] });
    assert.equal(total(parameters(fitted)), wanted, name);
  }
});

test("operations are Python's", () => {
  for (const { sizes, batch, recompute, flops } of cases.flops)
    assert.equal(total(operationsOf({ ...step, ...sizes, batch, recompute })), flops);
});

test("bytes without activations are Python's", () => {
  for (const { bytes, ...settings } of cases.bytes) {
    const { "saved for backward": saved, ...rest } = bytesOf({ ...gpt2, ...settings });
    assert.ok(saved > 0);
    assert.equal(total(rest), bytes, JSON.stringify(settings));
  }
});

test("what a layer keeps is what torch saves, within one part in fifty", () => {
  const sizes = { ...step, vocab_size: 10, d_model: 64, num_heads: 4, num_kv_heads: 4, d_ff: 160, num_tokens: 48, batch: 2 };
  for (const { gated, numbers } of cases.saved) {
    const at = (num_layers) => savedNumbers({ ...sizes, num_layers, form: gated ? "llama" : "gpt" });
    near((at(2) - at(1)) / numbers, 1, 0.02);
  }
});

test("computing layers again keeps their inputs and one layer, and costs one forward of the layers", () => {
  const again = { ...gpt2, recompute: true };
  assert.equal(savedNumbers(gpt2) - savedNumbers(again), 8 * 1024 * (11 * 16 * 768 - 12 * 768));
  const { "layers once more": more, "output layer": out, ...rest } = operationsOf(again);
  assert.equal(more, total(rest) / 3);
  assert.equal(out, operationsOf(gpt2)["output layer"]);
});

test("shared heads and a gate change what they must", () => {
  const [shared, gated] = [{ num_kv_heads: 1 }, { form: "llama" }].map((changes) => operationsOf({ ...gpt2, ...changes }));
  assert.equal(operationsOf(gpt2).projections / shared.projections, 4 / (2 + 2 / 12));
  assert.equal(gated["feed-forward"] / operationsOf(gpt2)["feed-forward"], 1.5);
});

test("the optimum of a law is Python's", () => {
  for (const { law: constants, flops, best } of cases.optima) {
    const { N, D, loss } = optimum(constants, flops);
    near([N, D, loss].map((found, i) => found / best[i]), [1, 1, 1], 1e-9);
    for (const other of [0.9 * N, 1.1 * N]) assert.ok(lossAt(constants, other, flops / 6 / other) > loss);
  }
});

test("heads fit the width, and Llama learns no positions", () => {
  const heads = { num_heads: [1, 2, 6, 12], num_kv_heads: [1, 2, 6, 12] };
  const sizes = fitting({ ...gpt2, d_model: 64, num_heads: 12, num_kv_heads: 6 }, heads);
  assert.deepEqual([sizes.num_heads, sizes.num_kv_heads], [2, 2]);
  assert.equal(fitting({ ...gpt2, form: "llama" }, heads).num_positions, 0);
  assert.deepEqual(fitting(gpt2, heads), gpt2);
});

test("numbers are said with their units", () => {
  assert.deepEqual([174604259328, 999.9, 12].map(count), ["175 B", "1 k", "12"]);
  assert.deepEqual([12.345, 730.5, 0.5, 1e-9].map(duration), ["12.3 days", "2 years", "12 hours", "0.0000864 seconds"]);
  assert.deepEqual([[1, 3], [1, 300], [1, 3000], [0, 3]].map((share) => percent(...share)), ["33%", "0.33%", "< 0.1%", "–"]);
  assert.deepEqual([placed("trained", 0.0006), placed("train_tokens", 1.5e13), placed("d_ff", 49152)], ["0.06%", "15 T", "49,152"]);
});

test("rows name every part and their shares add up", () => {
  const rows = rowsOf(costs(gpt2).byParameters, count);
  assert.deepEqual(rows.map(([name]) => name), [
    "token embedding", "learned positions", "attention", "feed-forward", "norms", "output matrix",
  ]);
  assert.deepEqual(rows[5].slice(1, 3), ["none", "–"]);
  near(total(rows.map((row) => row[3])), 1);
});

test("the words hold the published numbers", () => {
  assert.equal(
    sentence(gpt3, presets),
    "GPT-3: 175 B parameters. A step of 8 × 2,048 tokens takes 17.6 Pflop and 3.67 TiB; 1.08 Tflop per token, " +
      "where 6N says 1.05 Tflop (+2.7%). 300 B tokens: 3.23e23 flop, 37.4 days.",
  );
  assert.match(sentence({ ...gpt3, d_ff: 4096 }, presets), /^This model: /);
  assert.equal(named(gpt2, presets), "GPT-2");
  const said = advice("Refit", law, 3.14e23, 174604259328);
  assert.match(said, /^Refit, 3\.14e23 flop: 52\.9 B parameters and 989 B tokens \(19 per parameter\), loss 1\.992\./);
  assert.match(said, /The model above could read 300 B tokens: loss 2\.0\d\d\.$/);
  assert.deepEqual(answers({ refit: law }, 5.76e23), [["refit", "72.2 B", "1.33 T", "18", "1.974"]]);
});

test("the curve has its minimum where the law says, at every budget", () => {
  for (const flops of [1e12, 3.14e23, 1e27]) {
    const { best, across, up, low, top } = places(law, flops);
    assert.ok(low < best.loss && best.loss < top);
    near(across(best.N), 300, 1e-6);
    assert.ok(up(best.loss) > up(top));
    assert.doesNotMatch(drawCurve(law, flops, best.N), /NaN|undefined|Infinity/);
  }
  assert.match(drawCurve(law, 3.14e23, 1.7e11), /the model above/);
  assert.doesNotMatch(drawCurve(law, 3.14e23, 1e3), /the model above/);
  assert.deepEqual(ticks(1.9, 2.35), [2, 2.2]);
});

test("a published model is chosen, and all follows", async () => {
  const { put, control, said, text, traitsOf } = show(widget, START);
  assert.match(said(), /^GPT-2: 124 M parameters/);
  await put("model", "Llama 2 70B");
  assert.match(said(), /^Llama 2 70B: 69 B parameters/);
  assert.deepEqual(traitsOf("num_kv_heads"), [8]);
  assert.ok(control("learned positions").disabled);
  assert.equal(text("caption"), "parameters: 68,976,648,192");
  await put("layers", 0);
  assert.match(said(), /^This model: /);
  assert.equal(control("model").value, "another");
});

test("a step's settings change its bytes and operations; it follows Python", async () => {
  const { put, set, texts, said, traitsOf } = show(widget, START);
  const before = texts("caption");
  await put("compute layers again", true);
  await put("mixed precision", true);
  await put("optimizer", "sgd");
  await put("share trained", 0);
  assert.deepEqual(traitsOf("recompute", "mixed", "optimizer", "trained"), [true, true, "sgd", 0.0006]);
  assert.deepEqual(texts("caption").slice(0, 3).map((words, i) => words === before[i]), [true, false, false]);
  await set({ batch: 1 });
  assert.match(said(), /A step of 1 × 1,024 tokens/);
});

test("a budget and a law are chosen, and the curve says what the words say", async () => {
  const { one, put, text, rows } = show(widget, START);
  assert.match(text(".acw-advised"), /^second, 3\.16e23 flop: 53\.1 B/);
  await put("law", "first");
  await put("budget (flop)", 2700);
  assert.match(text(".acw-advised"), /^first, 1\.00e27 flop/);
  assert.ok(one("svg").getAttribute("aria-label").includes(text(".acw-advised")));
  assert.deepEqual(rows().slice(-2).map(([name]) => name), ["first", "second"]);
});
