// The ring's tokens, pairs and bytes are Python's; its words and drawing follow them; buttons turn it, tabs switch.
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import widget from "../../../course_utils/widgets/ring_stepper/ring_stepper.js";
import { filled, owners, ring, runs, sentence, square, ulysses } from "../../../course_utils/widgets/ring_stepper/ring_stepper_picture.js";
import { LAYOUTS, balance, holds, meeting, sent, split, work } from "../../../course_utils/widgets/ring_stepper/ring_stepper_work.js";
import { keepsHouse, read, show } from "../dom.mjs";

const cases = read("ring_stepper/ring_stepper_cases.json");
const START = {
  world_size: 4, tokens_per_rank: 4, token_layout: "contiguous", is_causal: true, step: 0, view: "ring",
  num_heads: 8, d_k: 64, bytes_per_element: 2,
};
const look = (layout, ranks, share, causal, step) => {
  const positions = split(layout, ranks * share, ranks);
  return { positions, table: work(positions, causal), causal, layout, step };
};

keepsHouse("ring_stepper", widget, START);

test("tokens, blocks, pairs and bytes are Python's", () => {
  for (const one of cases) {
    const positions = split(one.layout, one.num_tokens, one.world_size);
    assert.deepEqual(positions, one.positions);
    const table = work(positions, one.is_causal);
    assert.deepEqual(table.map((row) => row.map(({ block }) => block)), one.holds);
    assert.deepEqual(table.map((row) => row.map(({ pairs }) => pairs)), one.work);
    const bytes = sent(one.world_size, one.num_tokens, ...one.sizes);
    assert.deepEqual([bytes.forward, bytes.backward], one.ring);
    if (one.ulysses) assert.deepEqual([bytes.ulysses.forward, bytes.ulysses.backward], one.ulysses);
  }
  assert.deepEqual(new Set(cases.map(({ layout }) => layout)), new Set(Object.keys(LAYOUTS)));
});

test("a ring turns by one, and every visible pair is multiplied exactly once", () => {
  assert.deepEqual([0, 1, 2, 3].map((t) => holds(4, 1, t)), [1, 0, 3, 2]);
  for (const layout of Object.keys(LAYOUTS)) {
    const { table } = look(layout, 4, 4, true, 0);
    const met = table.flat().flatMap(({ query, key }) => query.flatMap((i) => key.filter((j) => j <= i).map((j) => `${i} ${j}`)));
    assert.equal(met.length, (16 * 17) / 2);
    assert.equal(new Set(met).size, met.length);
  }
});

test("zig-zag is even; the slowest ranks of a contiguous ring do as much as without a mask", () => {
  const of = (layout, causal = true) => balance(look(layout, 4, 4, causal, 0).table);
  assert.deepEqual([of("contiguous").slowest, of("contiguous", false).slowest], [64, 64]);
  assert.deepEqual([of("zigzag").slowest, of("zigzag").even], [40, 40]);
});

test("a block of the future meets nobody, and one of both meets in part", () => {
  assert.deepEqual(meeting([0, 1], [2, 3], true), { query: [], key: [] });
  assert.deepEqual(meeting([0, 7], [1, 6], true), { query: [7], key: [1, 6] });
  assert.deepEqual(meeting([0, 1], [2, 3], false), { query: [0, 1], key: [2, 3] });
});

test("words name places, idle ranks and counts", () => {
  for (const [places, words] of [
    [[0, 1, 2, 12, 13, 14], "0 to 2, 12 to 14"], [[1, 5, 9], "every 4th from 1"], [[1, 3], "every 2nd from 1"],
    [[0, 3], "every 3rd from 0"], [[2, 3], "2 to 3"],
  ])
    assert.equal(runs(places), words);
  const said = sentence(look("contiguous", 4, 4, true, 2));
  assert.match(said, /^Step 2 of 3 \(after rotation 2\), contiguous, causal: .* 16 pairs; ranks 0, 1 idle\./);
  assert.match(said, /64 pairs, 1\.60 times an even share\.$/);
  assert.match(sentence(look("contiguous", 4, 4, true, 1)), /; rank 0 idle\./);
  assert.doesNotMatch(sentence(look("zigzag", 4, 4, true, 2)), /idle/);
  assert.match(sentence(look("zigzag", 2, 4, false, 0)), /^Step 0 of 1 \(own blocks\), zig-zag: /);
  assert.match(ulysses(3, 8), /not possible here: 3 ranks do not divide 8 heads/);
  assert.match(ulysses(4, 8), /2 heads of all tokens.*3 of 4 parts/);
  assert.match(ulysses(8, 8), /one head of all tokens/);
  assert.equal(ulysses(1, 8), "With one rank nothing moves.");
});

test("the square draws every pair of the step once, hidden ones apart, and nothing that is not a number", () => {
  const area = (d) => [...d.matchAll(/h([\d.]+)v([\d.]+)/g)].reduce((sum, [, w, h]) => sum + w * h, 0);
  for (const layout of Object.keys(LAYOUTS))
    for (const causal of [false, true]) {
      const state = look(layout, 8, 4, causal, 1);
      const drawn = square("x", state);
      assert.doesNotMatch(drawn, /NaN|undefined/);
      const now = [...drawn.matchAll(/<path d="([^"]*)" (?:class="rank-\d"|fill="[^"]+")/g)];
      assert.equal(now.length, 16);
      const pairs = state.table.reduce((sum, row) => sum + row[1].pairs, 0);
      const found = now.reduce((sum, [, d]) => sum + area(d), 0) / (320 / 32) ** 2;
      assert.ok(Math.abs(found - pairs) < 0.01 * pairs, `${found} is not ${pairs}`);
    }
});

test("ranks are told apart by colour and dots; the ring and the all-to-all name their owners", () => {
  const fills = [0, 1, 2, 3, 4, 5, 6, 7].map((rank) => JSON.stringify(filled("x", rank)));
  assert.equal(new Set(fills).size, 8);
  const drawn = ring("x", look("contiguous", 4, 4, true, 3));
  assert.equal(drawn.match(/class="idle"/g).length, 3);
  assert.deepEqual([...drawn.matchAll(/class="block">(\d)/g)].map(([, b]) => b), ["1", "2", "3", "0"]);
  assert.doesNotMatch(ring("x", look("zigzag", 1, 4, true, 0)), /arrow|NaN/);
  const table = (after) => [...owners("x", 4, 8, after).matchAll(/class="block[^"]*">(\d)/g)].map(([, r]) => Number(r));
  assert.deepEqual(table(false), [0, 1, 2, 3].flatMap((r) => Array(8).fill(r)));
  assert.deepEqual(table(true), [0, 1, 2, 3].flatMap(() => [0, 0, 1, 1, 2, 2, 3, 3]));
  assert.equal(owners("x", 4, 8, true).match(/stays/g).length, 8);
});

test("step and back turn the ring, and stop at its ends", async () => {
  const { button, click, said, traitsOf } = show(widget, START);
  assert.ok(button("Back").disabled);
  for (let i = 0; i < 3; i++) await click("Step");
  assert.match(said(), /^Step 3 of 3/);
  assert.ok(button("Step").disabled);
  await click("Back");
  assert.deepEqual(traitsOf("step"), [2]);
});

test("another number of ranks starts anew, the other controls keep the step", async () => {
  const { put, said, traitsOf } = show(widget, { ...START, step: 2 });
  await put("tokens per rank", 8);
  await put("layout", "zigzag");
  await put("causal", false);
  assert.match(said(), /^Step 2 of 3 \(after rotation 2\), zig-zag: the slowest rank multiplies 64 pairs/);
  await put("ranks", 8);
  assert.deepEqual(traitsOf("world_size", "step"), [8, 0]);
});

test("tables hold every rank and the bytes", () => {
  const { rows } = show(widget, { ...START, step: 1 });
  const table = rows();
  assert.deepEqual(table[0], ["0", "0 to 3", "3", "idle", "16", "16"]);
  assert.deepEqual(table[3], ["3", "12 to 15", "2", "16", "32", "64"]);
  assert.deepEqual(table[4].slice(1), ["8,192", "24,576", "57,344"]);
});

test("tabs switch by click and by arrow, and say what does not fit", async () => {
  const { button, click, press, put, one, said, traitsOf } = show(widget, START);
  await click("Ulysses");
  assert.deepEqual(traitsOf("view"), ["ulysses"]);
  assert.equal(button("Ulysses").getAttribute("aria-selected"), "true");
  assert.match(said(), /2 heads of all tokens/);
  await put("ranks", 3);
  assert.match(said(), /not possible/);
  assert.ok(one(".acw-columns.even").hidden);
  await press(button("Ulysses"), "ArrowLeft");
  assert.deepEqual(traitsOf("view"), ["ring"]);
  assert.equal(document.activeElement, button("Ring"));
});

test("it follows Python, and a step beyond the end counts as the end", async () => {
  const { set, said } = show(widget, START);
  await set({ step: 7 });
  assert.match(said(), /^Step 3 of 3/);
});

test("play turns the ring by itself and stops at the end", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const { button, click, traitsOf } = show(widget, START);
    await click("Play");
    for (let i = 0; i < 9; i++) mock.timers.tick(1100);
    assert.deepEqual(traitsOf("step"), [3]);
    assert.ok(button("Play"));
  } finally {
    mock.timers.reset();
  }
});

test("an even layout ticks the task, and only under the causal mask", async () => {
  const { put, text } = show(widget, { ...START, is_causal: false });
  await put("layout", "striped");
  await put("causal", true);
  assert.match(text(".acw-task"), /^○/);
  await put("layout", "zigzag");
  assert.match(text(".acw-task"), /^✓/);
});
