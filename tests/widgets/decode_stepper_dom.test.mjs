// The stepper in a document: buttons, play, controls, and what it leaves behind.
import assert from "node:assert/strict";
import { mock, test } from "node:test";
import widget from "../../course_utils/widgets/decode_stepper.js";
import { fakeModel, stage } from "./dom.mjs";

const sizes = {
  prompt: 4, chunk: 4, window: 3, num_sinks: 1,
  num_layers: 12, num_heads: 8, num_kv_heads: 2, d_k: 64, bytes_per_element: 2,
};
const tokens = "a b c d e f <g> h".split(" ");
const settle = async () => {
  for (let i = 0; i < 4; i++) await Promise.resolve();
};

function show(changes = {}) {
  const { window, el } = stage();
  const model = fakeModel({ ...sizes, tokens, kind: "mha", step: 0, ...changes });
  const stop = widget.render({ model, el });
  const button = (name) => [...el.querySelectorAll("button")].find((one) => one.textContent === name);
  const slider = (label) => {
    const found = [...el.querySelectorAll("label")].find((one) => one.textContent === label);
    return el.querySelector(`#${found.getAttribute("for")}`);
  };
  const press = async (name) => {
    button(name).click();
    await settle();
  };
  const put = async (control, value, event = "input") => {
    control.value = String(value);
    control.dispatchEvent(new window.Event(event));
    await settle();
  };
  const said = () => el.querySelector(".acw-said").textContent;
  const count = (selector) => el.querySelectorAll(selector).length;
  return { el, model, stop, button, slider, press, put, said, count };
}

test("step, back and start walk through the text", async () => {
  const { press, said, count, button, model, el } = show();
  assert.ok(button("Back").disabled);
  await press("Step");
  assert.match(said(), /^Step 1 of 4\. Positions 0 to 3 are fed/);
  assert.deepEqual([count(".token.fed"), count(".slot.new"), count(".slot.empty")], [4, 4, 4]);
  await press("Step");
  assert.deepEqual([count(".token.fed"), count(".slot.held"), count(".slot.new")], [1, 4, 1]);
  assert.equal(el.querySelector(".token.next").textContent, "5f");
  assert.equal(count(".slot .head"), 8 * 8);
  await press("Back");
  assert.equal(model.get("step"), 1);
  await press("Start");
  assert.match(said(), /^Before the first step/);
});

test("a token is written as text, whatever stands in it", async () => {
  const { el } = show({ step: 4 });
  assert.equal(el.querySelector(".token.fed").textContent, "6<g>");
});

test("play goes on by itself, stops at the end, and can be stopped", async () => {
  mock.timers.enable({ apis: ["setTimeout"] });
  try {
    const { press, button, model, el, stop } = show();
    const beats = (count) => Array.from({ length: count }, () => mock.timers.tick(900));
    await press("Play");
    assert.equal(button("Pause").getAttribute("aria-label"), "Pause");
    assert.equal(el.querySelector(".acw-said").getAttribute("aria-live"), "off");
    beats(2);
    await settle();
    assert.equal(model.get("step"), 2);
    await press("Pause");
    beats(6);
    assert.equal(model.get("step"), 2);
    await press("Play");
    beats(6);
    await settle();
    assert.equal(model.get("step"), 4);
    assert.ok(button("Play"));
    await press("Play");
    assert.equal(model.get("step"), 0);
    stop();
    beats(6);
    assert.equal(model.get("step"), 0);
  } finally {
    mock.timers.reset();
  }
});

test("a change of what is kept or fed stays at the position", async () => {
  const { put, slider, said, model } = show({ step: 3 });
  await put(slider("fed at once"), 1);
  assert.equal(model.get("step"), 6);
  assert.match(said(), /Position 5 is fed/);
  await put(slider("kept"), "none", "change");
  assert.match(said(), /Positions 0 to 5 are fed/);
});

test("one head keeps one row, a window its slots, nothing none", async () => {
  const { put, slider, count } = show({ step: 3, kind: "gqa" });
  assert.equal(count(".slot .head"), 2 * 8);
  await put(slider("kept"), "mqa", "change");
  assert.equal(count(".slot .head"), 8);
  await put(slider("kept"), "window", "change");
  assert.deepEqual([count(".slot"), count(".slot.sink")], [4, 1]);
  await put(slider("kept"), "none", "change");
  assert.equal(count(".slot"), 0);
});

test("controls that say nothing about what is kept are switched off", async () => {
  const { put, slider } = show();
  assert.deepEqual(["window", "sinks", "key/value heads"].map((name) => slider(name).disabled), [true, true, true]);
  await put(slider("kept"), "window", "change");
  assert.deepEqual(["window", "sinks", "fed at once"].map((name) => slider(name).disabled), [false, false, false]);
  await put(slider("kept"), "none", "change");
  assert.ok(slider("fed at once").disabled);
});

test("sizes change bytes and operations", async () => {
  const { put, slider, el } = show({ step: 2 });
  const kept = () => el.querySelectorAll("tbody tr")[2].children[2].textContent;
  assert.equal(kept(), "120 KiB");
  await put(slider("bytes per number"), 0);
  assert.equal(kept(), "60 KiB");
  await put(slider("layers"), 24);
  assert.equal(kept(), "120 KiB");
});

test("the clean-up leaves nothing", async () => {
  const { el, model, stop } = show();
  model.set("step", 2);
  stop();
  await settle();
  assert.equal(model.listeners(), 0);
  assert.equal(el.children.length, 0);
});
