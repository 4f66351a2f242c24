// The playground's rules, weights, words and code, held to what Python computes; and its controls and rows.
import assert from "node:assert/strict";
import { test } from "node:test";
import widget from "../../../course_utils/widgets/mask_playground/mask_playground.js";
import { lengthsOf, pairsOf } from "../../../course_utils/widgets/mask_playground/mask_playground_packing.js";
import * as rules from "../../../course_utils/widgets/mask_playground/mask_playground_rules.js";
import { keepsHouse, near, read, show } from "../dom.mjs";

const CASES = read("mask_playground/mask_playground_cases.json");
const BASE = CASES[0].view;
const view = (changes) => ({ ...BASE, ...changes });
const START = {
  tokens: ["the", "cat", "sat", "my", "dog", "ran"], on: ["causal"], num_queries: 6, offset: 0,
  window: 3, pads: 2, left: false, prefix: 2, second: 3, third: 6, row: 2,
};

keepsHouse("mask_playground", widget, START);

test("masks and weights are Python's; an empty row weighs nothing", () => {
  assert.ok(CASES.flatMap(({ mask }) => mask).filter((row) => !row.some(Boolean)).length > 3);
  for (const { view, mask, weights } of CASES) {
    const own = rules.maskOf(view);
    assert.deepEqual(own.map((row) => row.map(Number)), mask, JSON.stringify(view));
    near(rules.weightsUnder(own, view.tokens.length), weights);
  }
});

test("pairs of packed documents are those that Python's operations count", () => {
  for (const { view, packing } of CASES) {
    const lengths = lengthsOf(view);
    assert.deepEqual({ lengths, ...pairsOf(lengths) }, packing, JSON.stringify(view));
  }
  assert.deepEqual(pairsOf([4, 4]), { own: 32, padded: 32, row: 64 }, "equal lengths: padding is free");
  assert.deepEqual(pairsOf([9, 1, 1]), { own: 83, padded: 243, row: 121 }, "padding may cost more than T × T");
});

test("a third document is separate, wherever it begins", () => {
  const three = view({ on: ["documents"], second: 3, third: 5 });
  assert.deepEqual([4, 5].map((key) => rules.forbids(three, 6, key)), [["documents"], []]);
  assert.deepEqual(rules.maskOf(three), rules.maskOf({ ...three, second: 5, third: 3 }));
  assert.match(rules.code(three), /^ids = torch.tensor\(\[0, 0, 0, 1, 1, 2, 2\]\)/);
});

test("a row says what it reads, and which rule hides the rest", () => {
  assert.match(rules.rowSentence(BASE, 2), /^query 'c' reads: a 0\.\d\d, b 0\.\d\d, c 0\.\d\d\. Hidden: d, e, f, g by causal\.$/);
  assert.match(
    rules.rowSentence(view({ on: ["causal", "padding"], left: true }), 1),
    /^query 'pad' \(1\) reads nothing: .* Hidden: pad \(0\), pad \(1\) by padding; a, b, c, d, e by causal\.$/,
  );
  assert.match(rules.rowSentence(view({ on: [] }), 0), /Nothing is hidden\.$/);
  assert.match(
    rules.rowSentence(view({ on: ["causal", "documents"], num_queries: 2, offset: 5 }), 0),
    /^query 'f' .* Hidden: a, b, c, d by documents; g by causal\.$/,
  );
});

test("a prefix opens what causal and window hide, not what padding and documents hide", () => {
  const on = ["causal", "window", "prefix"];
  assert.deepEqual(rules.forbids(view({ on }), 0, 1), []);
  assert.deepEqual(rules.forbids(view({ on: [...on, "padding"], pads: 7 }), 0, 1), ["padding"]);
  assert.deepEqual(rules.forbids(view({ on: [...on, "documents"] }), 6, 1), ["documents"]);
});

test("the summary counts pairs, empty rows and pairs that look ahead", () => {
  assert.equal(
    rules.summary(BASE),
    "28 of 49 pairs may look (57.1%). Every query sees something. No query looks at a later token.",
  );
  assert.match(rules.summary(view({ offset: -1 })), /1 query sees nothing\./);
  assert.match(rules.summary(view({ offset: 1 })), /6 pairs look at a later token\.$/);
  assert.match(rules.summary(view({ num_queries: 1, offset: 6 })), /^7 of 7 pairs/);
});

test("pads take the place of the last tokens, before or after the others", () => {
  const padded = { on: ["padding"], pads: 2 };
  assert.deepEqual(rules.keyNames(view(padded)).slice(4), ["e", "pad", "pad"]);
  assert.deepEqual(rules.keyNames(view({ ...padded, left: true })).slice(0, 3), ["pad", "pad", "a"]);
  assert.deepEqual(rules.keyNames(view({ pads: 2 })), BASE.tokens, "no pads where the rule is off");
});

test("each example is another mask, and each fits any number of tokens", () => {
  for (const size of [2, 8, 12]) {
    const tokens = Array.from({ length: size }, (_, i) => `t${i}`);
    const masks = rules.EXAMPLES.map((_, i) => {
      const made = { ...BASE, window: 2, pads: 1, prefix: 1, second: 1, third: size, ...rules.example(i, size), tokens };
      assert.equal(rules.maskOf(made).length, made.num_queries);
      assert.ok(rules.code(made).includes("mask ="));
      return JSON.stringify([rules.keyNames(made), rules.maskOf(made)]);
    });
    if (size === 8) assert.equal(new Set(masks).size, rules.EXAMPLES.length);
  }
});

/** Show the playground, with the rows of its tables as texts. */
function playground(changes = {}) {
  const page = show(widget, { ...START, ...changes });
  const cells = (row) => [...row.querySelectorAll("td")].map((td) => td.textContent);
  const mask = () => page.all(".acw-mask tbody tr").map((row) => cells(row).join(""));
  const keys = () => page.all(".acw-mask tbody button");
  const example = () => page.control("Example").selectedOptions[0].textContent;
  return { ...page, mask, keys, example, readout: () => page.text(".acw-readout") };
}

test("it opens causal, with the row of the chosen query read out", () => {
  const { mask, rows, readout, control, example } = playground();
  assert.deepEqual(mask(), ["100000", "110000", "111000", "111100", "111110", "111111"]);
  assert.deepEqual(rows(".acw-weights")[0].slice(1), ["1.00", "0", "0", "0", "0", "0"]);
  assert.match(readout(), /^query 'sat' reads: the .*, cat .*, sat .* Hidden: my, dog, ran by causal\.$/);
  assert.ok(control("causal").checked);
  assert.ok(control("keys").disabled, "the number of a rule that is off does nothing");
  assert.equal(example(), "a decoder");
});

test("each rule is switched on and moved", async () => {
  const { put, mask, traitsOf, control } = playground();
  await put("window", true);
  await put("keys", 1);
  assert.deepEqual(mask(), ["100000", "010000", "001000", "000100", "000010", "000001"]);
  await put("offset", 1);
  assert.equal(mask()[0], "010000");
  await put("causal", false);
  assert.ok(!control("offset").disabled, "a window ends at i + offset too");
  await put("padding", true);
  await put("pads", 3);
  await put("pads on the left", true);
  assert.deepEqual(traitsOf("on", "pads", "left"), [["window", "padding"], 3, true]);
  assert.equal(mask()[2], "000100");
});

test("the list shows examples and says so when the setting is none of them", async () => {
  const { put, mask, control, traitsOf } = playground();
  const pick = (at) => put("Example", control("Example").options[at].value);
  await pick(10);
  assert.deepEqual(mask(), ["100000", "110000"], "aligned at the top: the cache is not seen");
  await pick(11);
  assert.deepEqual(mask(), ["111110", "111111"]);
  assert.deepEqual(traitsOf("offset"), [4]);
  await put("offset", 3);
  assert.equal(control("Example").selectedIndex, 0);
});

test("pointing shows a row, leaving goes back, keys move one stop", async () => {
  const { all, keys, readout, fire, press, click, traitsOf } = playground();
  const [before, line] = [readout(), all(".acw-weights tbody tr")[4]];
  await fire(line, "pointerenter", { pointerType: "mouse" });
  assert.match(readout(), /^query 'dog'/);
  assert.ok(all(".acw-mask tbody tr")[4].classList.contains("here"), "in both tables");
  await fire(line, "pointerleave");
  assert.equal(readout(), before);
  await click(line);
  assert.deepEqual(traitsOf("row"), [4]);
  for (const [key, row] of [["ArrowDown", 5], ["ArrowDown", 5], ["Home", 0], ["ArrowUp", 0], ["End", 5]]) {
    const stops = keys().filter(({ tabIndex }) => tabIndex === 0);
    assert.equal(stops.length, 1);
    await press(stops[0], key);
    assert.deepEqual(traitsOf("row"), [row], key);
  }
});

test("fewer queries are the last ones, and a row beyond them is read as the last", async () => {
  const { put, keys, readout } = playground({ row: 5 });
  await put("queries: the last", 2);
  assert.deepEqual(keys().map((key) => key.textContent), ["dog", "ran"]);
  assert.match(readout(), /^query 'ran' reads: the .*, cat .*\. Hidden:/);
});

test("it follows Python, and shows the mask as code", async () => {
  const { set, mask, text } = playground();
  await set({ on: ["causal", "documents"] });
  assert.deepEqual(mask().slice(2, 5), ["111000", "000100", "000110"]);
  assert.equal(
    text("pre"),
    "ids = torch.tensor([0, 0, 0, 1, 1, 1])\nmask = (\n    causal_mask(6, 6, offset=0)\n    & (ids[-6:, None] == ids)\n)",
  );
});

test("packed documents are counted in three layouts while their rule is on", async () => {
  const { one, all, put, control, text, rows, traitsOf, mask, example } = playground();
  assert.ok(one(".acw-packing").hidden && control("third document at").disabled);
  await put("documents", true);
  assert.ok(!one(".acw-packing").hidden);
  assert.equal(text(".acw-packing caption"), "Pairs multiplied for documents of 3 and 3 tokens");
  await put("third document at", 5);
  assert.deepEqual(traitsOf("third"), [5]);
  assert.equal(text(".acw-packing caption"), "Pairs multiplied for documents of 3, 2 and 1 tokens");
  const lines = rows(".acw-packing").map((row) => row.join(""));
  assert.deepEqual(lines, ["each for itself3² + 2² + 1²= 14", "padded to the longest3 · 3²= 27", "one row, T × T6²= 36"]);
  assert.deepEqual(all(".acw-packing .acw-bar").map((bar) => Math.round(parseFloat(bar.style.width))), [39, 75, 100]);
  assert.deepEqual(mask().slice(3), ["000100", "000110", "000001"]);
  assert.equal(example(), "three documents, the last one short");
});

test("long names and many tokens stand upright", () => {
  const { one } = playground({ tokens: ["a", "b", "c", "d", "e", "attention"] });
  assert.ok(one(".acw-mask").classList.contains("acw-tall"));
});

test("a query that sees nothing ticks the task", async () => {
  const { all, put, text } = show(widget, START);
  assert.match(text(".acw-task"), /^○/);
  const offset = all("input").find((input) => input.getAttribute("aria-label") === "causal: offset");
  await put(offset, -1);
  assert.match(text(".acw-task"), /^✓/);
});
