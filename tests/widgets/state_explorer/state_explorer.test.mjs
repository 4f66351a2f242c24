// What the explorer's memories read is Python's; its pairs, its bytes and its words; buttons write, bars ask.
import assert from "node:assert/strict";
import { test } from "node:test";
import widget from "../../../course_utils/widgets/state_explorer/state_explorer.js";
import * as numbers from "../../../course_utils/widgets/state_explorer/state_explorer_numbers.js";
import * as picture from "../../../course_utils/widgets/state_explorer/state_explorer_picture.js";
import { keepsHouse, near, read, show } from "../dom.mjs";

const cases = read("state_explorer/state_explorer_cases.json");
const six = cases[1].writes;
const START = { kind: "sum", writes: six, width: 8, fade: 0.9, asked: 0 };

keepsHouse("state_explorer", widget, START);

test("every key reads what Python reads, in every memory", () => {
  assert.deepEqual([...new Set(cases.map((one) => one.kind))], Object.keys(numbers.KINDS));
  for (const { kind, writes, width, fade, readings } of cases) {
    const ours = numbers.readings(kind, writes, width, fade);
    for (const name of ["key", "wanted", "answered"])
      assert.deepEqual(ours.map((one) => one[name]), readings.map((one) => one[name]), `${kind} ${name}`);
    near(ours.map((one) => one.cosine), readings.map((one) => one.cosine), 1e-8);
  }
});

test("a direction's length is 1, and no two of a kind are the same", () => {
  for (const name of ["key", "value"])
    for (let i = 0; i < 10; i++) {
      const one = numbers.direction(name, i, 8);
      near(Math.hypot(...one), 1);
      for (let j = 0; j < i; j++) {
        const other = numbers.direction(name, j, 8);
        assert.ok(Math.abs(one.reduce((sum, x, k) => sum + x * other[k], 0)) < 0.95);
      }
    }
});

test("written again, the delta rule finds the new value and the sum an average", () => {
  const writes = [...six, numbers.overwritten(six, 0)];
  assert.deepEqual(writes.at(-1), [0, 6]);
  const asked = (kind) => numbers.readings(kind, writes, 16, 1)[0];
  assert.ok(asked("delta").cosine > 0.999);
  assert.ok(asked("sum").cosine < 0.9);
  assert.deepEqual(numbers.overwritten(writes, 0), [0, 9]);
});

test("a new key is the next one, and a fade of 1 is the sum", () => {
  assert.deepEqual(numbers.fresh([]), [0, 3]);
  assert.deepEqual(numbers.fresh([...six, [2, 5]]), [6, 5]);
  assert.deepEqual(numbers.readings("sum", six, 8, 1), numbers.readings("fade", six, 8, 1));
  assert.deepEqual(numbers.readings("sum", [], 8, 1), []);
});

test("the cache grows with the pairs, the state with the width squared", () => {
  assert.deepEqual(numbers.bytes(3, 8), { cache: 192, state: 256 });
  assert.deepEqual(numbers.bytes(48, 32), { cache: 12288, state: 4096 });
});

test("the sentence says what is held, how many read right, and the answer", () => {
  const said = (kind, writes, asked) => {
    const read = numbers.readings(kind, writes, 8, 0.9);
    return picture.sentence({ kind, writes, width: 8, fade: 0.9, asked, read });
  };
  assert.equal(
    said("softmax", six, 2),
    "6 pairs, softmax over a cache. The cache holds 384 bytes and grows. 6 of 6 keys read back right. " +
      "Asked for c: 7, right (cosine 1.00).",
  );
  assert.match(said("fade", six, 0), /^6 pairs, fading sum \(retention\), keeping 0\.90 of the past at each pair\. The state holds 256 bytes/);
  assert.match(said("sum", six.slice(0, 1), 0), /^1 pair, .* 1 of 1 keys/);
});

test("the pictures have a rectangle for each number", () => {
  assert.equal(picture.drawCache(six, 8).match(/<rect/g).length, 6 * 2 * 8);
  assert.equal(picture.drawState(numbers.stateOf("delta", six, 8, 1)).match(/<rect/g).length, 64);
  assert.doesNotMatch(picture.drawState(numbers.stateOf("sum", [], 4, 1)), /NaN/);
});

/** Show the explorer, with its bars. */
function explorer(changes = {}) {
  const page = show(widget, { ...START, ...changes });
  return { ...page, bars: () => page.all(".acw-bars button").filter((bar) => !bar.hidden) };
}

test("a bar for each key so far, with text that says what its colour says", () => {
  const { bars } = explorer();
  assert.equal(bars().length, 6);
  assert.match(bars()[0].textContent, /^a 0\.\d\d, reads (3 ✓|\d ✗ not 3)$/);
  assert.equal(bars()[0].getAttribute("aria-pressed"), "true");
  assert.match(bars()[1].querySelector(".bar").style.background, /^rgb\(/);
});

test("pairs are added, written again and taken back", async () => {
  const { button, click, bars, said, traitsOf } = explorer();
  await click("Add a pair");
  assert.deepEqual(traitsOf("writes", "asked"), [[...six, [6, 5]], 6]);
  await click(bars()[2]);
  assert.match(said(), /Asked for c:/);
  assert.equal(button("Write").textContent, "Write c again, with 0");
  await click("Write");
  assert.deepEqual(traitsOf("writes")[0].at(-1), [2, 0]);
  assert.equal(bars().length, 7);
  await click("Take");
  await click("Take");
  assert.deepEqual(traitsOf("writes", "asked"), [six, 2]);
});

test("the asked key goes with the last pair that holds it", async () => {
  const { button, click, traitsOf } = explorer({ writes: six.slice(0, 2), asked: 1 });
  await click("Take");
  assert.deepEqual(traitsOf("asked"), [0]);
  assert.ok(button("Take").disabled);
});

test("the memory, its width and its fade change what is read, and what is not kept says so", async () => {
  const { control, put, said, texts, traitsOf } = explorer();
  assert.ok(control("kept of the past").disabled);
  assert.deepEqual(texts("figcaption"), ["A cache, not kept: 384 bytes", "State: 256 bytes"]);
  await put("memory", "fade");
  assert.ok(!control("kept of the past").disabled);
  await put("kept of the past", 50);
  assert.match(said(), /keeping 0\.50 of the past/);
  await put("memory", "softmax");
  assert.deepEqual(texts("figcaption"), ["Cache: 384 bytes", "A sum, not kept: 256 bytes"]);
  await put("width d", 5);
  assert.deepEqual(traitsOf("width"), [32]);
  assert.equal(control("width d").getAttribute("aria-valuetext"), "32");
  assert.deepEqual(texts("figcaption"), ["Cache: 1,536 bytes", "A sum, not kept: 4,096 bytes"]);
});

test("it follows Python, and there is room for a number of pairs, and no more", async () => {
  const { set, button } = explorer();
  await set({ writes: Array.from({ length: 48 }, (_, i) => [i % 20, i % 10]) });
  assert.ok(button("Add").disabled && button("Write").disabled);
});

test("ten keys that all read right tick the task, from a state and not from a cache", async () => {
  const writes = Array.from({ length: 10 }, (_, i) => [i, (7 * i + 3) % 10]);
  const { put, text } = explorer({ kind: "softmax", writes, width: 32 });
  assert.equal(text(".acw-bars").match(/✗/), null);
  assert.match(text(".acw-task"), /^○/);
  await put("memory", "delta");
  assert.equal(text(".acw-bars").match(/✗/), null);
  assert.match(text(".acw-task"), /^✓/);
});
