// The stepper's positions, slots, operations and bytes as Python has them, and its words.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import {
  KINDS, cacheBytes, keptHeads, operations, pairs, slots, stateAt, stepAt, steps,
} from "../../course_utils/widgets/decode_stepper_steps.js";
import { inBytes, inFlop } from "../../course_utils/widgets/numbers.js";
import { barWords, contents, drawBars, rows, sentence } from "../../course_utils/widgets/decode_stepper_picture.js";

const cases = JSON.parse(readFileSync(new URL("decode_stepper_cases.json", import.meta.url)));
const sizes = {
  total: 23, prompt: 8, chunk: 3, window: 4, num_sinks: 2,
  num_layers: 12, num_heads: 8, num_kv_heads: 2, d_k: 64, bytes_per_element: 2,
};
const kinds = Object.keys(KINDS);

test("a window holds the positions that Python's cache holds, in the same slots", () => {
  for (const { seen, held, slots: wanted, ...rest } of cases.rolling) {
    const found = slots("window", { ...sizes, ...rest }, seen);
    assert.deepEqual(found, wanted);
    assert.deepEqual(found.filter((p) => p !== null).sort((a, b) => a - b), held);
  }
});

test("pairs are those of Python's masks", () => {
  for (const { pairs: wanted, ...rest } of cases.pairs) {
    assert.equal(pairs("window", { ...sizes, ...rest }, rest), wanted, JSON.stringify(rest));
    if (rest.window === 64) assert.equal(pairs("mha", sizes, rest), wanted);
  }
});

test("operations of a token are those that torch counts in the course's GPT", () => {
  for (const { seen, flops, ...rest } of cases.flops) {
    const kind = rest.num_kv_heads === 1 ? "mqa" : rest.num_kv_heads < rest.num_heads ? "gqa" : "mha";
    assert.equal(operations(kind, { ...sizes, ...rest }, { first: seen - 1, last: seen }), flops);
  }
});

test("bytes are Python's", () => {
  for (const { bytes, num_tokens, ...rest } of cases.caches) {
    assert.equal(cacheBytes("gqa", { ...sizes, num_heads: 32, ...rest }, num_tokens), bytes);
  }
});

test("every position is fed once, but for the last; with nothing kept, again and again", () => {
  for (const kind of kinds.filter((one) => one !== "none")) {
    const fed = steps(kind, sizes).flatMap(({ first, last }) => Array.from({ length: last - first }, (_, i) => first + i));
    assert.deepEqual(fed, Array.from({ length: 22 }, (_, p) => p), kind);
  }
  assert.deepEqual(steps("none", sizes).slice(0, 3), [{ first: 0, last: 8 }, { first: 0, last: 9 }, { first: 0, last: 10 }]);
  assert.equal(steps("none", sizes).at(-1).last, 22);
});

test("a change of what is kept stays at the position that was reached", () => {
  assert.equal(stepAt("mha", sizes, 0), 0);
  assert.equal(stepAt("mha", sizes, 8), 3);
  assert.equal(stepAt("none", sizes, 8), 1);
  assert.equal(stepAt("none", sizes, 10), 3);
  assert.equal(stepAt("mha", sizes, 99), steps("mha", sizes).length);
});

test("the prompt in pieces costs what it costs at once", () => {
  for (const kind of ["mha", "gqa", "mqa", "window"]) {
    const whole = stateAt(kind, { ...sizes, chunk: 8 }, 1);
    for (const chunk of [1, 3, 7]) {
      const pieces = stateAt(kind, { ...sizes, chunk }, Math.ceil(8 / chunk));
      assert.equal(pieces.all.flops, whole.all.flops, `${kind} ${chunk}`);
      assert.deepEqual(pieces.held, whole.held);
    }
  }
});

test("without a cache is what nothing kept costs, and never less than with one", () => {
  for (let n = 0; n < 10; n++) {
    const [kept, none] = [stateAt("mha", { ...sizes, chunk: 8 }, n), stateAt("none", sizes, n)];
    assert.deepEqual(kept.again, none.all);
    assert.deepEqual(none.again, none.all);
    assert.ok(kept.all.flops <= kept.again.flops);
    assert.equal(none.bytes, 0);
  }
});

test("heads shared eight to one keep an eighth, a full window stops growing", () => {
  assert.deepEqual(kinds.map((kind) => keptHeads(kind, sizes)), [8, 8, 2, 1, 8]);
  const at = (kind, n) => stateAt(kind, sizes, n);
  assert.equal(at("mha", 9).bytes, 8 * at("mqa", 9).bytes);
  assert.equal(at("window", 9).bytes, at("window", 12).bytes);
  assert.equal(at("window", 9).added, 0);
  assert.deepEqual(at("window", 9).dropped, [9]);
  assert.equal(at("window", 9).bytes, at("window", 9).reserved);
});

test("the words say what is fed, predicted, kept and dropped", () => {
  assert.equal(sentence("mha", sizes, 0), "Before the first step: 8 tokens of the prompt are known, nothing is kept.");
  assert.match(sentence("mha", sizes, 1), /^Step 1 of 17\. Positions 0 to 2 are fed: .*flop\. Then more of the prompt follows\.$/);
  assert.match(sentence("gqa", sizes, 4), /Position 8 is fed: .*; with nothing kept, .*\. Then position 9 is predicted\.$/);
  assert.match(sentence("window", sizes, 9), /1 older position makes room\.$/);
  assert.doesNotMatch(sentence("none", sizes, 5), /nothing kept/);
  assert.equal(
    contents("window", sizes, 9),
    "Cache of each layer: 6 of 6 slots, holding 0 to 1 and 10 to 13. 144 KiB of 144 KiB in all layers.",
  );
  assert.match(contents("none", sizes, 3), /none/);
  assert.match(contents("mha", sizes, 0), /0 of 23 slots, holding nothing yet\. 0 B of 552 KiB/);
  assert.equal(inBytes(1536), "1.5 KiB");
  assert.equal(inFlop(999_900), "1 Mflop");
});

test("the table has this step, all steps, and all of them without a cache", () => {
  assert.deepEqual(rows("mha", sizes, 4).map(([name]) => name), ["tokens fed", "operations", "kept"]);
  assert.deepEqual(rows("mha", sizes, 4)[0].slice(1), [1, 9, 17]);
  assert.deepEqual(rows("mha", sizes, 4)[2].slice(1), ["+24 KiB", "216 KiB", "0 B"]);
});

test("a bar for each step so far, a dashed one behind each token after the prompt", () => {
  for (const kind of kinds) {
    for (const n of [0, 1, 6]) {
      const drawn = drawBars(kind, sizes, n);
      assert.doesNotMatch(drawn, /NaN|undefined|Infinity/);
      assert.equal((drawn.match(/class="spent/g) ?? []).length, n);
      assert.equal((drawn.match(/class="again"/g) ?? []).length, kind === "none" ? 0 : Math.max(0, n - 3));
    }
    assert.match(barWords(kind, sizes), /up to 1\.\d+ Gflop/);
  }
});
