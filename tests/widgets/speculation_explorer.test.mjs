// The explorer's rounds, counts and long run are Python's; its bars always sum to 100; its words.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { mulberry32 } from "../../course_utils/widgets/numbers.js";
import * as numbers from "../../course_utils/widgets/speculation_explorer_numbers.js";
import * as picture from "../../course_utils/widgets/speculation_explorer_picture.js";

const read = (name) => JSON.parse(readFileSync(new URL(name, import.meta.url)));
const cases = read("speculation_explorer_cases.json");
const first = { ...cases.rounds[0].state, rounds: 0, stage: 0 };
const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-12, `${a} is not ${b}`);

test("the random numbers are mulberry32's, each by its own number", () => {
  for (const { seed, numbers: wanted } of read("cases.json").uniform)
    wanted.forEach((x, n) => assert.equal(mulberry32(seed, n), x));
});

test("every call drafts, accepts and draws what Python does", () => {
  for (const { state, calls } of cases.rounds)
    calls.forEach(([drafted, accepted, token], number) => {
      const made = numbers.round(state, number);
      assert.deepEqual([made.drafted, made.accepted, made.events.at(-1).token], [drafted, accepted, token]);
    });
});

test("the counts and what they come to are Python's", () => {
  for (const { state, count, tally, longRun } of cases.rounds) {
    assert.deepEqual(numbers.tally(state, count), tally);
    const made = numbers.longRun(state);
    near(made.alpha, longRun.alpha);
    near(made.perCall, longRun.perCall);
    made.shares.forEach((x, i) => near(x, longRun.shares[i]));
  }
});

test("tokens per call are (1 - α^(γ+1)) / (1 - α), and the law is the target's", () => {
  for (const { state } of cases.rounds) {
    const { alpha, perCall, shares } = numbers.longRun(state);
    near(perCall, alpha === 1 ? state.gamma + 1 : (1 - alpha ** (state.gamma + 1)) / (1 - alpha));
    near(numbers.longRun({ ...state, from_target: false }).shares.reduce((a, b) => a + b), 1);
    if (!state.from_target) near(numbers.distance(shares, state.target), 0);
  }
  assert.ok(numbers.distance(numbers.longRun({ ...first, from_target: true }).shares, first.target) > 0.1);
});

test("a bar that is moved takes from the others, or gives to them, and all sum to 100", () => {
  for (const [weights, index, height, made] of cases.moved) assert.deepEqual(numbers.moved(weights, index, height), made);
  let weights = first.target;
  for (let n = 0; n < 500; n++) {
    const index = n % 8;
    const height = Math.floor(140 * mulberry32(3, n)) - 20;
    weights = numbers.moved(weights, index, height);
    assert.equal(weights[index], Math.max(0, Math.min(100, height)));
    assert.equal(weights.reduce((a, b) => a + b), 100);
    assert.ok(weights.every((x) => Number.isInteger(x) && x >= 0));
  }
});

test("a token of probability 0 is never met", () => {
  assert.equal(numbers.pick([0, 3, 0, 1], 0), 1);
  assert.equal(numbers.pick([0, 3, 0, 1], 0.75), 3);
  assert.equal(numbers.pick([0, 3, 0, 0], 0.999999), 1);
});

test("a call goes event by event, and is over after the last", () => {
  const { events } = numbers.round(first, 0);
  for (let stage = 0; stage <= numbers.WHOLE; stage++) {
    const { shown, over } = numbers.progress({ ...first, rounds: 7, stage: Math.min(stage, 99) });
    assert.ok(shown <= stage);
    assert.equal(over, shown === numbers.round(first, 7).events.length ? 8 : 7);
  }
  assert.equal(events.at(-1).kind, "last");
});

/** The first call of the default settings that was refused at a place, or nowhere. */
const callThat = (accepts) => {
  for (let rounds = 0; ; rounds++) if (numbers.round(first, rounds).accepted === accepts) return rounds;
};

test("the words say what happened, and what each place holds", () => {
  const at = (rounds, stage) => {
    const now = numbers.progress({ ...first, rounds, stage });
    return [picture.sentence({ ...first, rounds }, now), picture.places(now)];
  };
  assert.deepEqual(at(0, 0), ["4 tokens drafted at a time. Step looks at the first one.", ["?", "?", "?", "?", "?"]]);
  const [refused, through] = [callThat(1), callThat(4)];
  const { drafted, events } = numbers.round(first, refused);
  const [one, two, , four] = drafted.map((token) => numbers.TOKENS[token]);
  assert.match(at(refused, 1)[0], new RegExp(`^Call ${refused + 1}, place 1 of 4: the draft says ${one}\\. .* is below it: accepted\\.$`));
  assert.match(at(refused, 2)[0], /is not below it: refused\.$/);
  assert.deepEqual(at(refused, 2)[1].slice(0, 2), [`${one} ✓`, `${two} ✗`]);
  assert.equal(at(refused, 2)[1][3], `${four} –`);
  assert.equal(at(refused, 2)[1][4], "?");
  const last = numbers.TOKENS[events.at(-1).token];
  assert.match(at(refused, 7)[0], new RegExp(`refused at place 2: one more token, from the residual, is ${last}\\. The call wrote 2 tokens: ${one}, ${last}\\.$`));
  assert.equal(at(refused, 7)[1][4], `${last} new`);
  assert.match(at(through, 7)[0], /, all accepted: one more token, from p, is .\. The call wrote 5 tokens:/);
  assert.match(at(callThat(0), 7)[0], /The call wrote 1 token: .\.$/);
});

test("the lines have a part for each weight, and say no number that is not one", () => {
  const { events } = numbers.round(first, callThat(1));
  assert.match(picture.drawRatio(events[0]), /p\/q = .*u = 0\.\d{3}/);
  assert.match(picture.drawRatio({ ratio: 7, u: 0.99 }), /7\.00, above the line/);
  assert.equal(picture.drawSum(events.at(-1)).match(/class="(met|other)"/g).length, 3);
  for (const drawn of [picture.drawRatio(), picture.drawSum()]) assert.match(drawn, /<rect/);
  assert.doesNotMatch(picture.drawSum(events.at(-1)) + picture.drawRatio(events[0]), /NaN|undefined/);
});

test("the counters stand beside the long run", () => {
  const none = picture.counters(first, 0);
  assert.equal(none.shares, null);
  assert.deepEqual(none.rows.map((row) => row[1]), ["–", "–", "–"]);
  const { rows, shares } = picture.counters(first, 4000);
  assert.equal(rows[0][2], "Σ min(p, q) = 0.64");
  assert.ok(Math.abs(rows[0][1] - 0.64) < 0.02);
  assert.ok(Math.abs(rows[1][1] - rows[1][2]) < 0.05);
  assert.equal(rows[2][2], "0.000");
  assert.ok(rows[2][1] < 0.02);
  assert.ok(Math.abs(shares.reduce((a, b) => a + b) - 1) < 1e-12);
});
