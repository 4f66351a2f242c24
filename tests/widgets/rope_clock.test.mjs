// The clock's numbers agree with Python's, its words with its numbers, its drawing with both.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { degrees, features, frequencies, look, scoreAt, turn } from "../../course_utils/widgets/rope_clock_numbers.js";
import { apart, curve, dial, fixed, pairWords, sentence } from "../../course_utils/widgets/rope_clock_picture.js";

const cases = JSON.parse(readFileSync(new URL("rope_clock_cases.json", import.meta.url)));
const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-12, `${a} is not ${b}`);

test("turned vectors, frequencies and scores are Python's, in both pairings", () => {
  for (const one of cases) {
    frequencies(one.query.length, one.base).forEach((f, i) => near(f, one.frequencies[i]));
    const { base, pairing } = one;
    turn(one.query, one.query_position, base, pairing).forEach((x, i) => near(x, one.turned[0][i]));
    turn(one.key, one.key_position, base, pairing).forEach((x, i) => near(x, one.turned[1][i]));
    near(look(one).score, one.score);
  }
});

test("the score depends on the distance only, and is the sum of the pairs' shares", () => {
  for (const one of cases) {
    const { score, pairs, distance } = look(one);
    const later = { ...one, query_position: one.query_position + 9, key_position: one.key_position + 9 };
    assert.ok(Math.abs(look(later).score - score) < 1e-9);
    assert.ok(Math.abs(scoreAt(one.query, one.key, distance, one.base, one.pairing) - score) < 1e-9);
    near(
      pairs.reduce((sum, pair) => sum + pair.part, 0),
      score,
    );
  }
});

test("pairs are named by their features", () => {
  assert.deepEqual(features(8, "interleaved", 3), [6, 7]);
  assert.deepEqual(features(8, "split halves", 3), [3, 7]);
});

test("words: angles are within one turn, signs are minus signs, distances have a side", () => {
  assert.deepEqual([degrees(Math.PI), degrees(-Math.PI / 2), degrees(4 * Math.PI)], [180, 270, 0]);
  assert.deepEqual([fixed(-0.25), fixed(-0.0001), fixed(2)], ["−0.250", "0.000", "2.000"]);
  assert.match(apart(-4), /key 4 before/);
  assert.match(apart(4), /key 4 after/);
  assert.match(apart(0), /same place/);
  const state = { query: [1, 0], key: [1, 0], query_position: 1, key_position: 3, base: 10, pairing: "interleaved" };
  const seen = look(state);
  assert.equal(
    sentence(seen, state),
    "Query at 1, key at 3, the key 2 after the query: q·k = −0.416; without rotation 1.000.",
  );
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
