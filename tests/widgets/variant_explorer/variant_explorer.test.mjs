// The explorer's costs as Python counts them, its words and drawings, and the explorer in a document.
import assert from "node:assert/strict";
import { test } from "node:test";
import widget, { measuredWith, recorded, sentence } from "../../../course_utils/widgets/variant_explorer/variant_explorer.js";
import { VARIANTS, costs, isCausal, pairs, plain, share } from "../../../course_utils/widgets/variant_explorer/variant_explorer_costs.js";
import { drawCurves, drawPattern, pattern, places } from "../../../course_utils/widgets/variant_explorer/variant_explorer_picture.js";
import { keepsHouse, near, read, show } from "../dom.mjs";

const cases = read("variant_explorer/variant_explorer_cases.json");
const sizes = { length: 4096, d_k: 64, num_heads: 8, num_kv_heads: 2, window: 128 };
const curves = {
  "SDPA, causal": [[512, 3], [4096, 120], [16384, 1800]],
  "sliding window": [[512, 2], [4096, 20], [16384, 70]],
  "softmax, written out": [[512, 7], [4096, 1000]],
};
const START = { ...sizes, variant: "window", curves };

keepsHouse("variant_explorer", widget, START);

test("pairs are those of Python's masks", () => {
  for (const one of cases.patterns) assert.equal(pairs(one.variant, one.length, one.window), one.pairs, JSON.stringify(one));
});

test("operations are those that torch counts in the references", () => {
  for (const { variant, flops, ...rest } of cases.flops) near(costs(variant, { ...sizes, ...rest }).flops / flops, 1, 0.005);
});

test("the cache is Python's", () => {
  for (const { bytes: wanted, ...rest } of cases.caches) {
    assert.equal(4 * costs("grouped", { ...sizes, num_heads: 32, ...rest }).cache, wanted);
    assert.equal(4 * costs("full", { ...sizes, ...rest, num_heads: rest.num_kv_heads }).cache, wanted);
  }
});

test("at the far end operations grow as theory says", () => {
  const grows = (variant) => {
    const at = (length) => costs(variant, { ...sizes, length }).flops;
    return Math.log2(at(131072) / at(65536));
  };
  for (const variant of ["full", "grouped", "latent"]) near(grows(variant), 2, 0.02);
  for (const variant of ["window", "linear", "performer", "linformer", "xca"]) near(grows(variant), 1, 0.02);
});

test("what no longer grows: the window's cache, the kernel's state", () => {
  const far = { ...sizes, length: 131072 };
  assert.equal(costs("window", far).cache, costs("window", sizes).cache);
  assert.equal(costs("linear", far).table, costs("linear", sizes).table);
  assert.equal(costs("linear", far).cache, costs("linear", far).table);
});

test("a window as long as the text is plain attention", () => {
  const whole = { ...sizes, length: 128, window: 4096 };
  assert.deepEqual(costs("window", whole), costs("full", whole));
});

test("what is not causal keeps nothing and is compared with all pairs", () => {
  for (const variant of Object.keys(VARIANTS)) {
    assert.equal(costs(variant, sizes).cache === null, !isCausal(variant), variant);
    for (const number of [costs(variant, sizes).flops, costs(variant, sizes).table]) assert.ok(number > 0);
  }
  assert.equal(plain("xca", sizes).table, 8 * 4096 ** 2);
  assert.ok(plain("window", sizes).table < 8 * 4096 ** 2);
});

test("shares are said as per cents or as times", () => {
  assert.deepEqual([[1, 2], [1, 300], [5, 2]].map((parts) => share(...parts)), ["50%", "0.3%", "2.5 times"]);
});

test("the words name costs and recorded times", () => {
  assert.equal(
    sentence("window", sizes, curves),
    "Sliding window, 4096 tokens: 6% of plain attention's operations, 6% of its weights, 3% of its cache. " +
      "Recorded: 20 ms, 6 times faster than SDPA, causal.",
  );
  assert.match(sentence("full", sizes, curves), /the measure for all others\. Recorded: 120 ms, 8\.3 times faster/);
  assert.match(sentence("xca", sizes, curves), /it cannot generate\. No time was recorded for 4096 tokens\.$/);
  assert.equal(recorded("window", { "sliding window": [[512, 2]] }, 512), "Recorded: 2 ms.");
  assert.match(recorded("window", { ...curves, "sliding window": [[512, 6]] }, 512), /2 times slower/);
});

test("every variant has a recorded curve, and the sizes it was taken with are said", () => {
  const names = new Set(read("../../course_utils/records/chapter_08_cheaper.json").runs.map(({ what }) => what));
  for (const { curve, against } of Object.values(VARIANTS)) assert.ok(names.has(curve) && names.has(against), curve);
  assert.match(measuredWith("strided"), /4 heads of 64, stride √n, whatever is set above$/);
  assert.match(measuredWith("xca"), /4 heads of 64, whatever is set above$/);
});

test("every variant has its picture, and a pattern shows what its mask holds", () => {
  for (const variant of Object.keys(VARIANTS)) {
    const drawn = drawPattern(variant, sizes) + drawCurves(variant, curves, 4096);
    assert.doesNotMatch(drawn, /NaN|undefined|Infinity/);
    assert.match(drawn, /class="cell (met|through)"/);
  }
  const wide = { ...sizes, length: 24, window: 6 };
  for (const variant of ["full", "window", "strided"]) {
    const { met } = pattern(variant, wide);
    const seen = Array.from({ length: 24 * 24 }, (_, n) => met(Math.floor(n / 24), n % 24)).filter(Boolean);
    assert.equal(seen.length, pairs(variant, 24, 6), variant);
  }
});

test("curves share their axes, and a length that was not measured has no line", () => {
  const { across, up } = places(curves);
  near(across(2048), (across(1024) + across(4096)) / 2, 1e-9);
  assert.ok(up(1000) < up(10));
  assert.match(drawCurves("window", curves, 4096), /class="here"/);
  assert.doesNotMatch(drawCurves("window", curves, 131072), /class="here"/);
  assert.match(drawCurves("window", {}, 4096), /No times were given/);
});

test("variant and sizes are chosen by controls, and all follows", async () => {
  const { one, put, said, rows, traitsOf } = show(widget, START);
  await put("tokens n", 9);
  assert.deepEqual(traitsOf("length"), [512]);
  assert.match(said(), /^Sliding window, 512 tokens.*Recorded: 2 ms, 1\.5 times faster/);
  await put("variant", "xca");
  const table = rows();
  assert.deepEqual(table.map(([name]) => name), ["operations", "weights or state", "kept while generating"]);
  assert.equal(table[2][1], "not causal");
  assert.match(one("svg").getAttribute("aria-label"), /features attend to features/);
});

test("a control that says nothing about a variant is switched off, and named for what it is", async () => {
  const { put, control } = show(widget, START);
  for (const [variant, name, off] of [["window", "key/value heads", true], ["grouped", "key/value heads", false], ["grouped", "window", true], ["strided", "stride", false]]) {
    await put("variant", variant);
    assert.equal(control(name).disabled, off, `${name} of ${variant}`);
  }
});

test("key and value heads are never more than heads; it follows Python", async () => {
  const { put, set, control, rows, said } = show(widget, { ...START, variant: "grouped", num_kv_heads: 8 });
  await put("heads", 1);
  assert.equal(rows()[2].at(-1), "100%");
  assert.equal(control("key/value heads").max, "1");
  await set({ length: 512 });
  assert.match(said(), /512 tokens/);
});

test("a cache below a hundredth ticks the task; none at all does not", async () => {
  const { put, text } = show(widget, START);
  await put("variant", "xca");
  assert.match(text(".acw-task"), /^○/);
  await put("variant", "linear");
  assert.match(text(".acw-task"), /^✓/);
});
