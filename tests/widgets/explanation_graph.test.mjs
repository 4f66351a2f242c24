// The graph's rankings, flows and cuts as Python has them, and its words.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import {
  METHODS, agreement, explained, maximumFlow, pipes, places, rankCorrelation, ranks, unpack,
} from "../../course_utils/widgets/explanation_graph_numbers.js";
import { draw, layout, nodeName, rows, sentence, short, verdict } from "../../course_utils/widgets/explanation_graph_picture.js";

const cases = JSON.parse(readFileSync(new URL("explanation_graph_cases.json", import.meta.url)));
const tokens = ["[class]", "kraj", "a<b", "kruna", "jezyk", "wyspa"];
const numbers = (text) => {
  const bytes = Buffer.from(text, "base64");
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
};
const modelOf = (one) => ({
  tokens, importance: one.importance, reader: one.reader,
  weights: unpack(numbers(one.weights), one.shape), gradients: unpack(numbers(one.gradients), one.shape),
});
const close = (got, wanted) => got.forEach((x, i) => assert.ok(Math.abs(x - wanted[i]) < 1e-8, `${got} is not ${wanted}`));

test("every ranking is Python's, and so is its agreement with leave-one-out", () => {
  for (const one of cases) {
    const model = modelOf(one);
    for (const method of Object.keys(METHODS)) {
      const { values } = explained(model, { ...one, method, source: 1 });
      close(values, one.said[method]);
      const { signed, size } = agreement(values, one.importance, one.reader);
      close([signed, size], [one.agreement[method].signed, one.agreement[method].size]);
    }
  }
});

test("a smallest cut holds the largest flow, flow is kept at every node, and no edge is overfull", () => {
  for (const one of cases) {
    const model = modelOf(one);
    const edges = model.weights.slice(0, one.target[0]).map((heads) => pipes(heads[0], 0.3));
    tokens.forEach((_, source) => {
      const { value, flow, cut } = maximumFlow(edges, source, one.target[1]);
      assert.ok(Math.abs(cut.reduce((all, { room }) => all + room, 0) - value) < 1e-9);
      flow.forEach((rows, l) => rows.forEach((row, i) => row.forEach((x, j) => assert.ok(x > -1e-9 && x < edges[l][i][j] + 1e-9))));
      flow.slice(1).forEach((rows, l) =>
        tokens.forEach((_, node) => {
          const into = flow[l][node].reduce((a, b) => a + b, 0);
          const out = rows.reduce((all, row) => all + row[node], 0);
          assert.ok(Math.abs(into - out) < 1e-9);
        }),
      );
    });
  }
});

test("a position is another node at every level, and what is unreachable has no flow", () => {
  const [one, two] = [[[0, 1], [1, 0]], [[1, 0], [0, 1]]];
  assert.equal(maximumFlow([one, two], 0, 0).value, 0);
  assert.equal(maximumFlow([one, two], 1, 0).value, 1);
  assert.deepEqual(maximumFlow([one, two], 0, 0).cut, []);
});

test("equal values share a rank, and a constant ranking agrees with none", () => {
  assert.deepEqual(ranks([3, 1, 3, 7]), [2.5, 1, 2.5, 4]);
  assert.equal(rankCorrelation([1, 1, 1], [1, 2, 3]), 0);
  assert.ok(Math.abs(rankCorrelation([1, 2, 3], [9, 5, 4]) + 1) < 1e-12);
  assert.deepEqual(places([9, 1, 5, 5], 0), [null, 3, 1, 1]);
});

test("what an edge carries adds up to the token's share", () => {
  const model = modelOf(cases[0]);
  const chosen = { method: "rollout", residual: 0.5, target: [2, 0], source: 3, layer: 0, head: -1 };
  const { values, lit } = explained(model, chosen);
  for (const rows of lit) assert.ok(Math.abs(rows.flat().reduce((a, b) => a + b, 0) - values[3]) < 1e-9);
});

test("it is said in words, and in a table", () => {
  const model = modelOf(cases[0]);
  const chosen = { method: "flow", residual: 0.5, target: [2, 0], source: 2, layer: 1, head: -1 };
  const found = explained(model, chosen);
  assert.match(sentence(model, chosen, found), /^Maximum flow, from a<b to \[class\] above layer 2: 0\.\d+, place \d of 5\. Leave-one-out: .*\. Smallest cut: \d+ edges with a capacity of 0\.\d+ in all\.$/);
  assert.match(verdict(model, chosen, found), /^Rank correlation of maximum flow with leave-one-out: −?\.\d\d; with its size: −?\.\d\d\.$/);
  const raw = { ...chosen, method: "raw", head: 1, source: 0, target: [2, 0] };
  assert.match(sentence(model, raw, explained(model, raw)), /^Raw weights, layer 2, head 2, from \[class\] .* not ranked: it reads/);
  const table = rows(model, found);
  assert.equal(table.length, 6);
  assert.deepEqual([table[0][2], table[0][4]], ["–", "–"]);
  assert.equal(nodeName(tokens, [1, 3]), "kruna above layer 1");
});

test("the drawing marks what is chosen, carried and cut, and escapes words", () => {
  const model = modelOf(cases[0]);
  const chosen = { method: "flow", residual: 0.5, target: [2, 0], source: 2, layer: 1, head: -1 };
  const { inside } = draw(model, chosen, explained(model, chosen), 640);
  for (const part of ["edge lit", "edge cut", "node chosen", "a&lt;b", 'data-node="2 5"']) assert.ok(inside.includes(part), part);
  assert.ok(!inside.includes("NaN"));
});

test("everything stands inside, however narrow", () => {
  for (const wide of [300, 390, 640, 880]) {
    const at = layout(wide, 16, 2);
    assert.ok(at.level(2) < at.bars[0].left && at.bars[1].left + at.bars[1].wide + 28 <= wide + 1e-9);
    assert.ok(at.bars[0].wide > 20);
  }
  assert.equal(short("abcdefghij", 40), "abcd…");
});
