// The explorer's costs as Python counts them, its words and drawings, and the explorer in a document.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import widget, { measuredWith, recorded, rows, sentence } from "../../course_utils/widgets/variant_explorer.js";
import { VARIANTS, costs, isCausal, pairs, plain, share } from "../../course_utils/widgets/variant_explorer_costs.js";
import { inBytes, inFlop } from "../../course_utils/widgets/numbers.js";
import { drawCurves, drawPattern, pattern, places } from "../../course_utils/widgets/variant_explorer_picture.js";
import { fakeModel, stage, tick } from "./dom.mjs";

const cases = JSON.parse(readFileSync(new URL("variant_explorer_cases.json", import.meta.url)));
const sizes = { length: 4096, d_k: 64, num_heads: 8, num_kv_heads: 2, window: 128 };
const curves = {
  "SDPA, causal": [[512, 3], [4096, 120], [16384, 1800]],
  "sliding window": [[512, 2], [4096, 20], [16384, 70]],
  "softmax, written out": [[512, 7], [4096, 1000]],
};

test("pairs are those of Python's masks", () => {
  for (const one of cases.patterns) assert.equal(pairs(one.variant, one.length, one.window), one.pairs, JSON.stringify(one));
});

test("operations are those that torch counts in the references", () => {
  for (const { variant, flops, ...rest } of cases.flops) {
    const found = costs(variant, { ...sizes, ...rest }).flops;
    assert.ok(Math.abs(found / flops - 1) < 0.005, `${variant}: ${found} and ${flops}`);
  }
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
  for (const variant of ["full", "grouped", "latent"]) assert.ok(Math.abs(grows(variant) - 2) < 0.02, variant);
  for (const variant of ["window", "linear", "performer", "linformer", "xca"]) {
    assert.ok(Math.abs(grows(variant) - 1) < 0.02, variant);
  }
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

test("numbers are said with their units", () => {
  assert.equal(inFlop(1_063_000_000), "1.06 Gflop");
  assert.equal(inFlop(999_900), "1 Mflop");
  assert.equal(inBytes(2 ** 24), "16 MiB");
  assert.equal(share(1, 2), "50%");
  assert.equal(share(1, 300), "0.3%");
  assert.equal(share(5, 2), "2.5 times");
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
  const record = JSON.parse(readFileSync(new URL("../../course_utils/records/chapter_08_cheaper.json", import.meta.url)));
  const names = new Set(record.runs.map(({ what }) => what));
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
  const met = (variant) => {
    const { met: sees } = pattern(variant, wide);
    return Array.from({ length: 24 }, (_, i) => Array.from({ length: 24 }, (_, j) => sees(i, j)).filter(Boolean).length)
      .reduce((a, b) => a + b);
  };
  for (const variant of ["full", "window", "strided"]) assert.equal(met(variant), pairs(variant, 24, 6), variant);
});

test("curves share their axes, and a length that was not measured has no line", () => {
  const { across, up } = places(curves);
  assert.ok(Math.abs(across(2048) - (across(1024) + across(4096)) / 2) < 1e-9);
  assert.ok(up(1000) < up(10));
  assert.match(drawCurves("window", curves, 4096), /class="here"/);
  assert.doesNotMatch(drawCurves("window", curves, 131072), /class="here"/);
  assert.match(drawCurves("window", {}, 4096), /No times were given/);
});

function show(changes = {}) {
  const { window, el } = stage();
  const model = fakeModel({ ...sizes, variant: "window", curves, ...changes });
  const stop = widget.render({ model, el });
  const fire = async (element, event) => {
    element.dispatchEvent(event);
    await tick();
  };
  const slider = (label) => {
    const found = [...el.querySelectorAll("label")].find((one) => one.textContent === label);
    return el.querySelector(`#${found.getAttribute("for")}`);
  };
  const said = () => el.querySelector(".acw-said").textContent;
  return { window, el, model, stop, fire, slider, said };
}

test("variant and sizes are chosen by controls, and all follows", async () => {
  const { window, el, model, fire, slider, said } = show();
  assert.match(said(), /^Sliding window, 4096 tokens/);
  const tokens = slider("tokens n");
  tokens.value = "9";
  await fire(tokens, new window.Event("input"));
  assert.equal(model.get("length"), 512);
  assert.match(said(), /512 tokens.*Recorded: 2 ms, 1\.5 times faster/);
  const select = el.querySelector("select");
  select.value = "xca";
  await fire(select, new window.Event("change"));
  assert.equal(el.querySelectorAll("tbody tr")[2].querySelector("td").textContent, "not causal");
  assert.match(el.querySelector("svg").getAttribute("aria-label"), /features attend to features/);
});

test("a control that says nothing about a variant is switched off, and named for what it is", async () => {
  const { window, el, fire, slider } = show();
  assert.equal(slider("key/value heads").disabled, true);
  const select = el.querySelector("select");
  select.value = "grouped";
  await fire(select, new window.Event("change"));
  assert.equal(slider("key/value heads").disabled, false);
  assert.equal(slider("window").disabled, true);
  select.value = "strided";
  await fire(select, new window.Event("change"));
  assert.equal(slider("stride").disabled, false);
});

test("key and value heads are never more than heads", async () => {
  const { window, el, fire, slider } = show({ variant: "grouped", num_kv_heads: 8 });
  const heads = slider("heads");
  heads.value = "1";
  await fire(heads, new window.Event("input"));
  const cells = [...el.querySelectorAll("tbody tr")].map((row) => row.lastChild.textContent);
  assert.equal(cells[2], "100%");
  assert.equal(slider("key/value heads").max, "1");
});

test("the rows name what is counted", () => {
  assert.deepEqual(rows("window", sizes).map(([name]) => name), ["operations", "weights or state", "kept while generating"]);
});

test("the clean-up leaves nothing", async () => {
  const { el, model, stop } = show();
  model.set("length", 512);
  stop();
  await tick();
  assert.equal(model.listeners(), 0);
  assert.equal(el.children.length, 0);
});
