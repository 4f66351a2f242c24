// The playground's rules, weights, words and code, held to what Python computes.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { lengthsOf, pairsOf } from "../../course_utils/widgets/mask_playground_packing.js";
import * as rules from "../../course_utils/widgets/mask_playground_rules.js";

const CASES = JSON.parse(readFileSync(new URL("mask_playground_cases.json", import.meta.url)));
const BASE = CASES[0].view;
const view = (changes) => ({ ...BASE, ...changes });

test("masks and weights are Python's", () => {
  for (const { view, mask, weights } of CASES) {
    const own = rules.maskOf(view);
    assert.deepEqual(
      own.map((row) => row.map(Number)),
      mask,
      JSON.stringify(view),
    );
    rules.weightsUnder(own, view.tokens.length).forEach((row, i) =>
      row.forEach((weight, j) => assert.ok(Math.abs(weight - weights[i][j]) < 1e-12)),
    );
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
  assert.deepEqual(rules.forbids(three, 6, 4), ["documents"]);
  assert.deepEqual(rules.forbids(three, 6, 5), []);
  assert.deepEqual(rules.maskOf(three), rules.maskOf({ ...three, second: 5, third: 3 }));
  assert.match(rules.code(three), /^ids = torch.tensor\(\[0, 0, 0, 1, 1, 2, 2\]\)/);
});

test("an empty row weighs nothing, every other row sums to 1", () => {
  const rowsOf = ({ mask, weights }) => mask.map((row, i) => [row.some(Boolean), weights[i]]);
  const empty = CASES.flatMap(rowsOf).filter(([sees]) => !sees);
  assert.ok(empty.length > 3);
  for (const { view } of CASES) {
    const mask = rules.maskOf(view);
    rules.weightsUnder(mask, view.tokens.length).forEach((row, i) => {
      const sum = row.reduce((a, b) => a + b, 0);
      assert.ok(Math.abs(sum - (mask[i].some(Boolean) ? 1 : 0)) < 1e-12);
    });
  }
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
    rules.EXAMPLES.forEach((_, i) => {
      const made = { ...BASE, window: 2, pads: 1, prefix: 1, second: 1, third: size, ...rules.example(i, size), tokens };
      assert.equal(rules.maskOf(made).length, made.num_queries);
      assert.ok(rules.code(made).includes("mask ="));
    });
  }
  const tokens = [..."abcdefgh"];
  const masks = rules.EXAMPLES.map((_, i) => {
    const made = view({ tokens, ...rules.example(i, 8) });
    return JSON.stringify([rules.keyNames(made), rules.maskOf(made)]);
  });
  assert.equal(new Set(masks).size, rules.EXAMPLES.length);
});
