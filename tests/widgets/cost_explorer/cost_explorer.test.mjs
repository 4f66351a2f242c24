// The explorer's counts as Python makes them, its words, and its controls.
import assert from "node:assert/strict";
import { test } from "node:test";
import widget, { named, placed, sentence } from "../../../course_utils/widgets/cost_explorer/cost_explorer.js";
import {
  bytesOf, costs, duration, fitting, operationsOf, parameters, percent, rowsOf, savedNumbers,
} from "../../../course_utils/widgets/cost_explorer/cost_explorer_counts.js";
import { count } from "../../../course_utils/widgets/units.js";
import { keepsHouse, near, read, show } from "../dom.mjs";

const cases = read("cost_explorer/cost_explorer_cases.json");
const step = { batch: 8, mixed: false, optimizer: "adam", trained: 1, recompute: false, train_tokens: 3e11, petaflops: 100 };
const published = cases.parameters.filter(({ name }) => !name.startsWith("small"));
const presets = Object.fromEntries(published.map(({ name, sizes }) => [name, sizes]));
const gpt2 = { ...presets["GPT-2"], ...step };
const gpt3 = { ...presets["GPT-3"], ...step };
const total = (parts) => Object.values(parts).reduce((a, b) => a + b, 0);

const from = (name) => [...new Set(Object.values(presets).map((shape) => shape[name]))].sort((a, b) => a - b);
const START = {
  ...gpt2, presets, view: "bytes",
  choices: {
    ...Object.fromEntries(Object.keys(presets["GPT-2"]).map((name) => [name, from(name)])),
    batch: [1, 8], trained: [0.0006, 1], train_tokens: [3e11, 1e12], petaflops: [1, 100],
  },
};

keepsHouse("cost_explorer", widget, START);

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

test("heads fit the width, and Llama learns no positions", () => {
  const heads = { num_heads: [1, 2, 6, 12], num_kv_heads: [1, 2, 6, 12] };
  const sizes = fitting({ ...gpt2, d_model: 64, num_heads: 12, num_kv_heads: 6 }, heads);
  assert.deepEqual([sizes.num_heads, sizes.num_kv_heads], [2, 2]);
  assert.equal(fitting({ ...gpt2, form: "llama" }, heads).num_positions, 0);
  assert.deepEqual(fitting(gpt2, heads), gpt2);
});

test("numbers are said with their units", () => {
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
});

test("a published model is chosen, and all follows", async () => {
  const { button, click, put, control, said, traitsOf } = show(widget, START);
  const pressed = (name) => button(name).getAttribute("aria-pressed");
  assert.match(said(), /^GPT-2: 124 M parameters/);
  await click("Llama 2 70B");
  assert.match(said(), /^Llama 2 70B: 69 B parameters/);
  assert.deepEqual(traitsOf("num_kv_heads"), [8]);
  assert.ok(control("learned positions").disabled);
  assert.equal(pressed("Llama 2 70B"), "true");
  await put("layers", 0);
  assert.match(said(), /^This model: /);
  assert.equal(pressed("Llama 2 70B"), "false");
});

test("a step's settings change its bytes and operations; it follows Python", async () => {
  const { put, set, texts, said, traitsOf } = show(widget, START);
  const totals = () => texts(".acw-presets:not(:first-child) button");
  const before = totals();
  assert.deepEqual(before, ["124 M parameters", "7 Tflop per step", "7.93 GiB in a step"]);
  await put("compute layers again", true);
  await put("mixed precision", true);
  await put("optimizer", "sgd");
  await put("share trained", 0);
  assert.deepEqual(traitsOf("recompute", "mixed", "optimizer", "trained"), [true, true, "sgd", 0.0006]);
  assert.deepEqual(totals().map((words, i) => words === before[i]), [true, false, false]);
  await set({ batch: 1 });
  assert.match(said(), /A step of 1 × 1,024 tokens/);
});

test("parameters, operations and bytes are shown by part, one at a time", async () => {
  const { click, rows, traitsOf } = show(widget, START);
  assert.equal(rows()[4][0], "saved for backward");
  await click("7 Tflop");
  assert.deepEqual(traitsOf("view"), ["operations"]);
  assert.equal(rows()[2][0], "QKᵀ and PV");
});

test("a step of Llama 7B fits into 80 GiB with fewer states and less saved, which ticks the task", async () => {
  const { click, put, text } = show(widget, START);
  await click("Llama 7B");
  await put("mixed precision", true);
  await put("compute layers again", true);
  await put("texts per step", 0);
  assert.match(text(".acw-task"), /^○/);
  await put("optimizer", "sgd");
  assert.match(text(".acw-task"), /^✓.*Done\.$/);
});
