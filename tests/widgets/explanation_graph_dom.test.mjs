// The graph in a document: controls, nodes under the pointer, and what it leaves behind.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import widget from "../../course_utils/widgets/explanation_graph.js";
import { fakeModel, stage } from "./dom.mjs";

const [one] = JSON.parse(readFileSync(new URL("explanation_graph_cases.json", import.meta.url)));
const numbers = (text) => {
  const bytes = Buffer.from(text, "base64");
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
};
const settle = async () => {
  for (let i = 0; i < 4; i++) await Promise.resolve();
};

function show(changes = {}) {
  const { window, el } = stage();
  const model = fakeModel({
    tokens: ["[class]", "kraj", "a<b", "kruna", "jezyk", "wyspa"], shape: one.shape,
    weights: numbers(one.weights), gradients: numbers(one.gradients), importance: one.importance,
    reader: 0, title: "A sentence", method: "flow", layer: 1, head: -1, residual: 0.5, source: 1,
    target: [2, 0], ...changes,
  });
  const stop = widget.render({ model, el });
  const control = (label) => {
    const found = [...el.querySelectorAll("label")].find((each) => each.textContent === label);
    return el.querySelector(`#${found.getAttribute("for")}`);
  };
  const put = async (label, value, event = "change") => {
    control(label).value = String(value);
    control(label).dispatchEvent(new window.Event(event));
    await settle();
  };
  const said = () => el.querySelector(".acw-said").textContent;
  const node = (name) => el.querySelector(`[data-node="${name}"]`);
  const touch = async (name, kind) => {
    node(name).dispatchEvent(new window.Event(kind, { bubbles: true }));
    await settle();
  };
  return { window, el, model, stop, control, put, said, touch };
}

test("the controls change ranking, token and node", async () => {
  const { put, said, model, el } = show();
  assert.match(said(), /^Maximum flow, from kraj to \[class\] above layer 2/);
  await put("ranking", "rollout");
  assert.match(said(), /^Rollout, from kraj/);
  await put("input token", 4);
  await put("node above", "1 3");
  assert.match(said(), /^Rollout, from jezyk to kruna above layer 1/);
  assert.deepEqual([model.get("source"), model.get("target")], [4, [1, 3]]);
  assert.match(el.querySelector(".acw-agrees").textContent, /^Rank correlation of rollout/);
  assert.equal(el.querySelectorAll("tbody tr").length, 6);
});

test("layer and head are for raw weights, the residual's share for rollout and flow", async () => {
  const { put, control, said } = show();
  assert.ok(control("layer").disabled && !control("residual's share").disabled);
  await put("residual's share", 10, "input");
  assert.match(said(), /: 0, place/);
  await put("ranking", "raw");
  assert.ok(!control("layer").disabled && control("residual's share").disabled);
  await put("layer", 0);
  await put("head", 2);
  assert.match(said(), /^Raw weights, layer 1, head 3, from kraj to \[class\] above layer 1/);
});

test("a node under the pointer is shown, a clicked one chosen", async () => {
  const { touch, said, model, el } = show();
  await touch("0 3", "pointermove");
  assert.match(said(), /from kruna/);
  assert.equal(model.get("source"), 1);
  await touch("2 5", "pointermove");
  assert.match(said(), /from kraj to wyspa above layer 2/);
  await touch("2 5", "click");
  assert.deepEqual(model.get("target"), [2, 5]);
  el.querySelector("svg").dispatchEvent(new globalThis.window.Event("pointerleave"));
  await settle();
  assert.match(said(), /from kraj to wyspa/);
});

test("words are written as text", () => {
  const { el } = show({ source: 2 });
  assert.match(el.querySelector(".acw-said").textContent, /from a<b/);
  assert.equal(el.querySelectorAll("b").length, 0);
});

test("the clean-up leaves nothing", async () => {
  const { el, model, stop } = show();
  model.set("source", 2);
  stop();
  await settle();
  assert.equal(model.listeners(), 0);
  assert.equal(el.children.length, 0);
});
