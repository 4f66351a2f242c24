// The graph's rankings, flows and cuts as Python has them, and its words; its controls, and nodes under the pointer.
import assert from "node:assert/strict";
import { test } from "node:test";
import widget from "../../../course_utils/widgets/explanation_graph/explanation_graph.js";
import {
  METHODS, agreement, explained, maximumFlow, pipes, places, rankCorrelation, ranks, unpack,
} from "../../../course_utils/widgets/explanation_graph/explanation_graph_numbers.js";
import { draw, layout, nodeName, rows, sentence, short, verdict } from "../../../course_utils/widgets/explanation_graph/explanation_graph_picture.js";
import { keepsHouse, near, read, show } from "../dom.mjs";

const tokens = ["[class]", "kraj", "a<b", "kruna", "jezyk", "wyspa"];
const bytes = (text) => {
  const made = Buffer.from(text, "base64");
  return new DataView(made.buffer, made.byteOffset, made.length);
};
const cases = read("explanation_graph/explanation_graph_cases.json").map((one) => ({
  ...one, tokens, weights: bytes(one.weights), gradients: bytes(one.gradients),
}));
const modelOf = (one) => ({ ...one, weights: unpack(one.weights, one.shape), gradients: unpack(one.gradients, one.shape) });
const total = (numbers) => numbers.reduce((a, b) => a + b, 0);
const START = { ...cases[0], title: "A sentence", method: "flow", layer: 1, head: -1, residual: 0.5, source: 1, target: [2, 0] };

keepsHouse("explanation_graph", widget, START);

test("every ranking is Python's, and so is its agreement with leave-one-out", () => {
  for (const one of cases)
    for (const method of Object.keys(METHODS)) {
      const { values } = explained(modelOf(one), { ...one, method, source: 1 });
      near(values, one.said[method], 1e-8);
      const { signed, size } = agreement(values, one.importance, one.reader);
      near([signed, size], [one.agreement[method].signed, one.agreement[method].size], 1e-8);
    }
});

test("a smallest cut holds the largest flow, flow is kept at every node, and no edge is overfull", () => {
  for (const one of cases) {
    const edges = modelOf(one).weights.slice(0, one.target[0]).map((heads) => pipes(heads[0], 0.3));
    tokens.forEach((_, source) => {
      const { value, flow, cut } = maximumFlow(edges, source, one.target[1]);
      near(total(cut.map(({ room }) => room)), value, 1e-9);
      flow.forEach((rows, l) => rows.forEach((row, i) => row.forEach((x, j) => assert.ok(x > -1e-9 && x < edges[l][i][j] + 1e-9))));
      flow.slice(1).forEach((rows, l) =>
        tokens.forEach((_, node) => near(total(flow[l][node]), total(rows.map((row) => row[node])), 1e-9)),
      );
    });
  }
});

test("a position is another node at every level, and what is unreachable has no flow", () => {
  const edges = [[[0, 1], [1, 0]], [[1, 0], [0, 1]]];
  assert.equal(maximumFlow(edges, 0, 0).value, 0);
  assert.equal(maximumFlow(edges, 1, 0).value, 1);
  assert.deepEqual(maximumFlow(edges, 0, 0).cut, []);
});

test("equal values share a rank, and a constant ranking agrees with none", () => {
  assert.deepEqual(ranks([3, 1, 3, 7]), [2.5, 1, 2.5, 4]);
  assert.equal(rankCorrelation([1, 1, 1], [1, 2, 3]), 0);
  near(rankCorrelation([1, 2, 3], [9, 5, 4]), -1);
  assert.deepEqual(places([9, 1, 5, 5], 0), [null, 3, 1, 1]);
});

test("what an edge carries adds up to the token's share", () => {
  const { values, lit } = explained(modelOf(cases[0]), { ...START, method: "rollout", source: 3, layer: 0 });
  for (const rows of lit) near(total(rows.flat()), values[3], 1e-9);
});

test("it is said in words, and in a table", () => {
  const [model, chosen] = [modelOf(cases[0]), { ...START, source: 2 }];
  const found = explained(model, chosen);
  assert.match(sentence(model, chosen, found), /^Maximum flow, from a<b to \[class\] above layer 2: 0\.\d+, place \d of 5\. Leave-one-out: .*\. Smallest cut: \d+ edges with a capacity of 0\.\d+ in all\.$/);
  assert.match(verdict(model, chosen, found), /^Rank correlation of maximum flow with leave-one-out: −?\d\.\d\d; with its size: −?\d\.\d\d\.$/);
  const raw = { ...chosen, method: "raw", head: 1, source: 0 };
  assert.match(sentence(model, raw, explained(model, raw)), /^Raw weights, layer 2, head 2, from \[class\] .* not ranked: it reads/);
  const table = rows(model, found);
  assert.equal(table.length, 6);
  assert.deepEqual([table[0][2], table[0][4]], ["–", "–"]);
  assert.equal(nodeName(tokens, [1, 3]), "kruna above layer 1");
});

test("the drawing marks what is chosen, carried and cut, and escapes words", () => {
  const [model, chosen] = [modelOf(cases[0]), { ...START, source: 2 }];
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

test("the controls change ranking, token and node", async () => {
  const { put, said, text, rows, traitsOf } = show(widget, START);
  assert.match(said(), /^Maximum flow, from kraj to \[class\] above layer 2/);
  await put("ranking", "rollout");
  await put("input token", 4);
  await put("node above", "1 3");
  assert.match(said(), /^Rollout, from jezyk to kruna above layer 1/);
  assert.deepEqual(traitsOf("source", "target"), [4, [1, 3]]);
  assert.match(text(".acw-agrees"), /^Rank correlation of rollout/);
  assert.equal(rows().length, 6);
});

test("layer and head are for raw weights, the residual's share for rollout and flow", async () => {
  const { put, control, said } = show(widget, START);
  const off = () => ["layer", "residual's share"].map((name) => control(name).disabled);
  assert.deepEqual(off(), [true, false]);
  await put("residual's share", 10);
  assert.match(said(), /: 0, place/);
  await put("ranking", "raw");
  assert.deepEqual(off(), [false, true]);
  await put("layer", 0);
  await put("head", 2);
  assert.match(said(), /^Raw weights, layer 1, head 3, from kraj to \[class\] above layer 1/);
});

test("a node under the pointer is shown, a clicked one chosen", async () => {
  const { one, fire, said, traitsOf } = show(widget, START);
  const touch = (node, kind) => fire(one(`[data-node="${node}"]`), kind);
  await touch("0 3", "pointermove");
  assert.match(said(), /from kruna/);
  assert.deepEqual(traitsOf("source"), [1]);
  await touch("2 5", "pointermove");
  assert.match(said(), /from kraj to wyspa above layer 2/);
  await touch("2 5", "click");
  assert.deepEqual(traitsOf("target"), [[2, 5]]);
  await fire(one("svg"), "pointerleave");
  assert.match(said(), /from kraj to wyspa/);
});

test("it follows Python; words are written as text", async () => {
  const { set, said, all } = show(widget, START);
  await set({ source: 2 });
  assert.match(said(), /from a<b/);
  assert.equal(all("b").length, 0);
});

test("a ranking that agrees with leave-one-out ticks the task", async () => {
  const { put, text } = show(widget, { ...START, importance: explained(modelOf(cases[0]), { ...START, method: "gradient" }).values });
  assert.match(text(".acw-task"), /^○/);
  await put("ranking", "gradient");
  assert.match(text(".acw-task"), /^✓/);
});
