// The explorer's counts as Python makes them, its words and its curve.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { advice, answers, named, placed, sentence } from "../../course_utils/widgets/budget_explorer.js";
import {
  bytesOf, costs, count, duration, fitting, lossAt, operationsOf, optimum, parameters, percent, rowsOf, savedNumbers,
} from "../../course_utils/widgets/budget_explorer_counts.js";
import { inBytes, inFlop } from "../../course_utils/widgets/numbers.js";
import { drawCurve, places, ticks } from "../../course_utils/widgets/budget_explorer_picture.js";

const cases = JSON.parse(readFileSync(new URL("budget_explorer_cases.json", import.meta.url)));
const step = { batch: 8, mixed: false, optimizer: "adam", trained: 1, recompute: false, train_tokens: 3e11, petaflops: 100 };
const presets = Object.fromEntries(cases.parameters.map(({ name, sizes }) => [name, sizes]));
const gpt2 = { ...presets["GPT-2"], ...step };
const gpt3 = { ...presets["GPT-3"], ...step };
const law = [482.01, 2085.43, 0.3478, 0.3658, 1.8172];
const total = (parts) => Object.values(parts).reduce((a, b) => a + b, 0);
const heads = { num_heads: [1, 2, 6, 12], num_kv_heads: [1, 2, 6, 12] };

test("parameters are Python's, to the last one", () => {
  for (const { name, sizes, parameters: wanted } of cases.parameters) {
    const fitted = fitting({ ...sizes, ...step }, { num_heads: [sizes.num_heads], num_kv_heads: [sizes.num_kv_heads] });
    assert.equal(total(parameters(fitted)), wanted, name);
  }
});

test("operations are Python's", () => {
  for (const { sizes, batch, recompute, flops } of cases.flops) {
    assert.equal(total(operationsOf({ ...step, ...sizes, batch, recompute })), flops);
  }
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
    assert.ok(Math.abs((at(2) - at(1)) / numbers - 1) < 0.02, `${at(2) - at(1)} and ${numbers}`);
  }
});

test("computing layers again keeps their inputs and one layer, and costs one forward of the layers", () => {
  const again = { ...gpt2, recompute: true };
  const tokens = 8 * 1024;
  assert.equal(savedNumbers(gpt2) - savedNumbers(again), tokens * (11 * 16 * 768 - 12 * 768));
  const { "layers once more": more, "output layer": out, ...rest } = operationsOf(again);
  assert.equal(more, total(rest) / 3);
  assert.equal(out, operationsOf(gpt2)["output layer"]);
});

test("shared heads and a gate change what they must", () => {
  const shared = { ...gpt2, num_kv_heads: 1 };
  assert.equal(operationsOf(gpt2).projections / operationsOf(shared).projections, 4 / (2 + 2 / 12));
  const gated = { ...gpt2, form: "llama" };
  assert.equal(operationsOf(gated)["feed-forward"] / operationsOf(gpt2)["feed-forward"], 1.5);
});

test("the optimum of a law is Python's", () => {
  for (const { law: constants, flops, best } of cases.optima) {
    const { N, D, loss } = optimum(constants, flops);
    [N, D, loss].forEach((found, i) => assert.ok(Math.abs(found / best[i] - 1) < 1e-9));
    for (const other of [0.9 * N, 1.1 * N]) assert.ok(lossAt(constants, other, flops / 6 / other) > loss);
  }
});

test("heads fit the width, and Llama learns no positions", () => {
  const sizes = fitting({ ...gpt2, d_model: 64, num_heads: 12, num_kv_heads: 6 }, heads);
  assert.deepEqual([sizes.num_heads, sizes.num_kv_heads], [2, 2]);
  assert.equal(fitting({ ...gpt2, form: "llama" }, heads).num_positions, 0);
  assert.deepEqual(fitting(gpt2, heads), gpt2);
});

test("numbers are said with their units", () => {
  assert.equal(count(174604259328), "175 B");
  assert.equal(count(999.9), "1 k");
  assert.equal(count(12), "12");
  assert.equal(inFlop(3.14e23), "314 Zflop");
  assert.equal(inFlop(3.14e25), "3.14e4 Zflop");
  assert.equal(inBytes(2 ** 34), "16 GiB");
  assert.equal(duration(12.345), "12.3 days");
  assert.equal(duration(730.5), "2 years");
  assert.equal(duration(0.5), "12 hours");
  assert.equal(duration(1e-9), "0.0000864 seconds");
  assert.equal(percent(1, 3), "33%");
  assert.equal(percent(1, 300), "0.33%");
  assert.equal(percent(1, 3000), "< 0.1%");
  assert.equal(percent(0, 3), "–");
  assert.equal(placed("trained", 0.0006), "0.06%");
  assert.equal(placed("train_tokens", 1.5e13), "15 T");
  assert.equal(placed("d_ff", 49152), "49,152");
});

test("rows name every part and their shares add up", () => {
  const rows = rowsOf(costs(gpt2).byParameters, count);
  assert.deepEqual(rows.map(([name]) => name), [
    "token embedding", "learned positions", "attention", "feed-forward", "norms", "output matrix",
  ]);
  assert.deepEqual(rows[5].slice(1, 3), ["none", "–"]);
  assert.ok(Math.abs(rows.reduce((sum, row) => sum + row[3], 0) - 1) < 1e-12);
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
    assert.ok(Math.abs(across(best.N) - 300) < 1e-6);
    assert.ok(up(best.loss) > up(top));
    assert.doesNotMatch(drawCurve(law, flops, best.N), /NaN|undefined|Infinity/);
  }
  assert.match(drawCurve(law, 3.14e23, 1.7e11), /the model above/);
  assert.doesNotMatch(drawCurve(law, 3.14e23, 1e3), /the model above/);
  assert.deepEqual(ticks(1.9, 2.35), [2, 2.2]);
});
