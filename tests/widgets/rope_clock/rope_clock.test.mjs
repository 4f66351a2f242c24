// The clock's numbers agree with Python's, its words with its numbers, its drawing with both; and its controls.
import assert from "node:assert/strict";
import { test } from "node:test";
import widget from "../../../course_utils/widgets/rope_clock/rope_clock.js";
import { degrees, features, frequencies, look, scoreAt, turn } from "../../../course_utils/widgets/rope_clock/rope_clock_numbers.js";
import { apart, curve, dial, fixed, pairWords, sentence } from "../../../course_utils/widgets/rope_clock/rope_clock_picture.js";
import { keepsHouse, near, read, show } from "../dom.mjs";

const cases = read("rope_clock/rope_clock_cases.json");
const START = {
  query: [1, 0.3, 0.8, -0.5], key: [0.9, 0.4, 0.3, 0.9], query_position: 6, key_position: 2,
  base: 1000, pairing: "interleaved", pair: 0, last: 63,
};

keepsHouse("rope_clock", widget, START);

test("turned vectors, frequencies and scores are Python's, in both pairings", () => {
  for (const one of cases) {
    const { query, key, base, pairing } = one;
    near(frequencies(query.length, base), one.frequencies);
    near([turn(query, one.query_position, base, pairing), turn(key, one.key_position, base, pairing)], one.turned);
    near(look(one).score, one.score);
  }
});

test("the score depends on the distance only, and is the sum of the pairs' shares", () => {
  for (const one of cases) {
    const { score, pairs, distance } = look(one);
    const later = { ...one, query_position: one.query_position + 9, key_position: one.key_position + 9 };
    near([look(later).score, scoreAt(one.query, one.key, distance, one.base, one.pairing)], [score, score], 1e-9);
    near(pairs.reduce((sum, pair) => sum + pair.part, 0), score);
  }
});

test("pairs are named by their features", () => {
  assert.deepEqual([features(8, "interleaved", 3), features(8, "split halves", 3)], [[6, 7], [3, 7]]);
});

test("words: angles are within one turn, signs are minus signs, distances have a side", () => {
  assert.deepEqual([degrees(Math.PI), degrees(-Math.PI / 2), degrees(4 * Math.PI)], [180, 270, 0]);
  assert.deepEqual([fixed(-0.25), fixed(-0.0001), fixed(2)], ["−0.250", "0.000", "2.000"]);
  assert.match(apart(-4), /key 4 before/);
  assert.match(apart(4), /key 4 after/);
  assert.match(apart(0), /same place/);
  const state = { query: [1, 0], key: [1, 0], query_position: 1, key_position: 3, base: 10, pairing: "interleaved" };
  const seen = look(state);
  assert.equal(sentence(seen, state), "Query at 1, key at 3, the key 2 after the query: q·k = −0.416; without rotation 1.000.");
  assert.match(pairWords(seen.pairs[0]), /features 0 and 1.*1\.00 radians.*by 57°.*by 172°; the difference is 115°/);
});

test("a hand points where its pair does, and the arc goes the short way", () => {
  const drawn = dial({ q: [1, 0], k: [0, 1] }, 1);
  assert.match(drawn, /x2="44" y2="0" class="hand query"/);
  assert.match(drawn, /x2="0" y2="-44" class="hand key"/);
  assert.match(drawn, /M15\.0 -?0\.0A15 15 0 0 0 0\.0 -15\.0/);
  assert.match(dial({ q: [0, 1], k: [1, 0] }, 1), /A15 15 0 0 1 15\.0 -?0\.0/);
});

test("the curve has a point a distance and marks ours", () => {
  const drawn = curve(cases[0], look(cases[0]), 63);
  assert.equal(drawn.match(/d="([^"]*)" class="score"/)[1].split("L").length, 127);
  assert.equal(drawn.match(/class="dot"/g).length, 1);
  assert.doesNotMatch(drawn, /NaN|Infinity|undefined/);
});

test("both one later: positions and hands move, score and shares stay; one alone changes the score", async () => {
  const { one, click, put, traitsOf, texts, said } = show(widget, START);
  const numbers = () => [said().match(/q·k = ([^;]*);/)[1], ...texts(".acw-part")];
  const [before, face] = [numbers(), one(".acw-dials svg").innerHTML];
  await click("Both one later");
  assert.deepEqual(traitsOf("query_position", "key_position"), [7, 3]);
  assert.deepEqual(numbers(), before);
  assert.notEqual(one(".acw-dials svg").innerHTML, face);
  await put("key is at", 5);
  assert.match(said(), /^Query at 7, key at 5, the key 2 before the query/);
  assert.notDeepEqual(numbers(), before);
});

test("no step leads out of the range", () => {
  const { all } = show(widget, { ...START, query_position: 63, key_position: 0 });
  assert.ok(all("button").every(({ disabled }) => disabled));
});

test("a pair is chosen and described, and the pairing changes its features", async () => {
  const { put, traitsOf, text, rows } = show(widget, START);
  await put("pair 1", true);
  assert.deepEqual(traitsOf("pair"), [1]);
  assert.match(text(".acw-note"), /^Pair 1 is features 2 and 3/);
  await put("pairing", "split halves");
  assert.match(text(".acw-note"), /^Pair 1 is features 1 and 3/);
  assert.deepEqual(rows().map((row) => row[1]), ["0, 2", "1, 3"]);
});

test("it follows Python", async () => {
  const { set, said } = show(widget, START);
  await set({ query_position: 2 });
  assert.match(said(), /both at the same place/);
});

test("both moved alike tick the task; one of them, or none, does not", async () => {
  const { click, set, text, traitsOf } = show(widget, START);
  const [query, key] = traitsOf("query_position", "key_position");
  await set({ key_position: key + 1 });
  assert.match(text(".acw-task"), /^○/);
  await set({ key_position: key });
  assert.match(text(".acw-task"), /^○/);
  await click("Both one later");
  assert.deepEqual(traitsOf("query_position", "key_position"), [query + 1, key + 1]);
  assert.match(text(".acw-task"), /^✓/);
});
