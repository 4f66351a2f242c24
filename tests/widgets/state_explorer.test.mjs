// What the explorer's memories read is Python's; its pairs, its bytes and its words.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { decimal } from "../../course_utils/widgets/numbers.js";
import * as numbers from "../../course_utils/widgets/state_explorer_numbers.js";
import * as picture from "../../course_utils/widgets/state_explorer_picture.js";

const cases = JSON.parse(readFileSync(new URL("state_explorer_cases.json", import.meta.url)));
const six = cases[1].writes;

test("every key reads what Python reads, in every memory", () => {
  assert.deepEqual([...new Set(cases.map((one) => one.kind))], Object.keys(numbers.KINDS));
  for (const { kind, writes, width, fade, readings } of cases) {
    const ours = numbers.readings(kind, writes, width, fade);
    assert.equal(ours.length, readings.length);
    ours.forEach((one, i) => {
      for (const name of ["key", "wanted", "answered"]) assert.equal(one[name], readings[i][name], `${kind} ${name}`);
      assert.ok(Math.abs(one.cosine - readings[i].cosine) < 1e-8, `${kind}: ${one.cosine}`);
    });
  }
});

test("a directions' length is 1, and no two of a kind are the same", () => {
  for (const name of ["key", "value"])
    for (let i = 0; i < 10; i++) {
      const one = numbers.direction(name, i, 8);
      assert.ok(Math.abs(Math.hypot(...one) - 1) < 1e-12);
      for (let j = 0; j < i; j++) {
        const other = numbers.direction(name, j, 8);
        assert.ok(Math.abs(one.reduce((sum, x, k) => sum + x * other[k], 0)) < 0.95);
      }
    }
});

test("written again, the delta rule finds the new value and the sum a mixture", () => {
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
  const [sum, fade] = ["sum", "fade"].map((kind) => numbers.readings(kind, six, 8, 1));
  assert.deepEqual(sum, fade);
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
  const state = numbers.stateOf("delta", six, 8, 1);
  assert.equal(picture.drawState(state).match(/<rect/g).length, 64);
  assert.doesNotMatch(picture.drawState(numbers.stateOf("sum", [], 4, 1)), /NaN/);
  assert.equal(picture.counted(12288), "12,288");
  assert.equal(decimal(-0.001), "0.00");
  assert.equal(decimal(-0.5), "−0.50");
});
