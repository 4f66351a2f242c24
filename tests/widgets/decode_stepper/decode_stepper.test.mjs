// The stepper's positions, slots, operations and bytes as Python has them, and its words; buttons, play and controls.
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import widget from "../../../course_utils/widgets/decode_stepper/decode_stepper.js";
import { barWords, contents, drawBars, rows, sentence } from "../../../course_utils/widgets/decode_stepper/decode_stepper_picture.js";
import {
  KINDS, cacheBytes, keptHeads, operations, pairs, slots, stateAt, stepAt, steps,
} from "../../../course_utils/widgets/decode_stepper/decode_stepper_steps.js";
import { keepsHouse, read, show } from "../dom.mjs";

const cases = read("decode_stepper/decode_stepper_cases.json");
const model = { num_layers: 12, num_heads: 8, num_kv_heads: 2, d_k: 64, bytes_per_element: 2 };
const sizes = { total: 23, prompt: 8, chunk: 3, window: 4, num_sinks: 2, ...model };
const kinds = Object.keys(KINDS);
const tokens = "a b c d e f <g> h".split(" ");
const START = { tokens, prompt: 4, chunk: 4, window: 3, num_sinks: 1, ...model, kind: "mha", step: 0 };

keepsHouse("decode_stepper", widget, START);

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
  for (const { bytes, num_tokens, ...rest } of cases.caches)
    assert.equal(cacheBytes("gqa", { ...sizes, num_heads: 32, ...rest }, num_tokens), bytes);
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
  for (const [kind, position, step] of [["mha", 0, 0], ["mha", 8, 3], ["none", 8, 1], ["none", 10, 3]])
    assert.equal(stepAt(kind, sizes, position), step);
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
  const { bytes, added, dropped, reserved } = at("window", 9);
  assert.deepEqual([bytes, added, dropped], [at("window", 12).bytes, 0, [9]]);
  assert.equal(bytes, reserved);
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
});

test("the table has this step, all steps, and all of them without a cache", () => {
  const table = rows("mha", sizes, 4);
  assert.deepEqual(table.map(([name]) => name), ["tokens fed", "operations", "kept"]);
  assert.deepEqual(table[0].slice(1), [1, 9, 17]);
  assert.deepEqual(table[2].slice(1), ["+24 KiB", "216 KiB", "0 B"]);
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

/** Show the stepper, and count what it shows. */
function stepper(changes = {}) {
  const page = show(widget, { ...START, ...changes });
  return { ...page, counts: (...selectors) => selectors.map((selector) => page.all(selector).length) };
}

test("step, back and the slider walk through the text, which stays text", async () => {
  const { button, click, put, set, said, text, counts, traitsOf } = stepper();
  assert.ok(button("Back").disabled);
  await click("Step");
  assert.match(said(), /^Step 1 of 4\. Positions 0 to 3 are fed/);
  assert.deepEqual(counts(".token.fed", ".slot.new", ".slot.empty"), [4, 4, 4]);
  await click("Step");
  assert.deepEqual(counts(".token.fed", ".slot.held", ".slot.new", ".slot .head"), [1, 4, 1, 8 * 8]);
  assert.equal(text(".token.next"), "5f");
  await click("Back");
  assert.deepEqual(traitsOf("step"), [1]);
  await put("step", 0);
  assert.match(said(), /^Before the first step/);
  await set({ step: 4 });
  assert.equal(text(".token.fed"), "6<g>");
});

test("play goes on by itself, stops at the end, and can be stopped", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const { one, button, click, stop, traitsOf } = stepper();
    const after = (beats) => {
      for (let i = 0; i < beats; i++) mock.timers.tick(900);
      return traitsOf("step")[0];
    };
    await click("Play");
    assert.ok(button("Pause"));
    assert.equal(one(".acw-said").getAttribute("aria-live"), "off");
    assert.equal(after(2), 2);
    await click("Pause");
    assert.equal(after(6), 2);
    await click("Play");
    assert.equal(after(6), 4);
    await click("Play");
    assert.equal(after(0), 0);
    stop();
    assert.equal(after(6), 0);
  } finally {
    mock.timers.reset();
  }
});

test("a change of what is kept or fed stays at the position", async () => {
  const { put, said, traitsOf } = stepper({ step: 3 });
  await put("fed at once", 1);
  assert.deepEqual(traitsOf("step"), [6]);
  assert.match(said(), /Position 5 is fed/);
  await put("kept", "none");
  assert.match(said(), /Positions 0 to 5 are fed/);
});

test("one head keeps one row, a window its slots, nothing none; what says nothing about it is switched off", async () => {
  const { put, control, counts } = stepper({ step: 3 });
  const names = ["fed at once", "window", "sinks", "key/value heads"];
  for (const [kind, off, heads, slots, sinks] of [
    ["gqa", [false, true, true, false], 2 * 8, 8, 0],
    ["mqa", [false, true, true, true], 8, 8, 0],
    ["window", [false, false, false, true], 4 * 8, 4, 1],
    ["none", [true, true, true, true], 0, 0, 0],
  ]) {
    await put("kept", kind);
    assert.deepEqual(names.map((name) => control(name).disabled), off, kind);
    assert.deepEqual(counts(".slot .head", ".slot", ".slot.sink"), [heads, slots, sinks], kind);
  }
});

test("sizes change bytes and operations", async () => {
  const page = stepper({ step: 2 });
  for (const [name, value, kept] of [["layers", 12, "120 KiB"], ["bytes per number", 0, "60 KiB"], ["layers", 24, "120 KiB"]]) {
    await page.put(name, value);
    assert.equal(page.rows()[2][2], kept);
  }
});

test("the task is ticked once an older token makes room, and stays ticked", async () => {
  const { put, click, text } = stepper({ step: 1 });
  await click("Step");
  assert.match(text(".acw-task"), /^○Try: /);
  await put("kept", "window");
  await click("Step");
  assert.match(text(".acw-task"), /^✓.*Done\.$/);
  await put("kept", "mha");
  assert.match(text(".acw-task"), /Done\.$/);
});
