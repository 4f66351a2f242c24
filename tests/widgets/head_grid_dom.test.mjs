// The head grid in a document: what can be seen, reached and heard, and what is left behind.
import assert from "node:assert/strict";
import { test } from "node:test";
import widget from "../../course_utils/widgets/head_grid.js";
import { fakeModel, stage, tick } from "./dom.mjs";

// Two layers of two heads, one query by two keys; in layer 1 the first head says (3, 0), the second (0, 4).
const WEIGHTS = [0.1, 0.9, 0.2, 0.8, 0.3, 0.7, 0.4, 0.6];
const PARTS = [1, 0, 1, 0, 3, 0, 0, 4];
const bytes = (numbers) => new DataView(Float32Array.from(numbers).buffer);

function show(changes = {}) {
  const { window, el } = stage();
  const model = fakeModel({
    data: bytes(WEIGHTS),
    encoding: "float32",
    shape: [2, 2, 1, 2],
    parts: bytes(PARTS),
    parts_encoding: "float32",
    query_tokens: ["q"],
    key_tokens: ["a", "b"],
    head_names: ["Head 0", "Head 1"],
    layer_names: ["Layer 0", "Layer 1"],
    title: "Heads",
    layer: 1,
    cell: [0, 0],
    off: [],
    ...changes,
  });
  const stop = widget.render({ model, el });
  const text = (selector) => el.querySelector(selector).textContent.replace(/[\u2068\u2069]/g, "");
  const press = (key, target = el.querySelector(".acw-grid")) => {
    const event = new window.KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
    target.dispatchEvent(event);
    return event;
  };
  const click = async (words) => {
    const button = [...el.querySelectorAll("button")].find((one) => one.textContent.startsWith(words));
    button.dispatchEvent(new window.MouseEvent("click"));
    await tick();
    return button;
  };
  return { window, el, model, stop, text, press, click };
}

test("arrow keys move one cell in all heads, and the page does not scroll", async () => {
  const { el, press, text, model } = show();
  assert.equal(text(".acw-readout"), "query 'q' (0) to key 'a' (0): Head 1 0.400, Head 0 0.300.");
  assert.ok(press("ArrowRight").defaultPrevented);
  assert.ok(!press("Tab").defaultPrevented);
  await tick();
  assert.deepEqual(model.get("cell"), [0, 1]);
  assert.equal(text(".acw-readout"), "query 'q' (0) to key 'b' (1): Head 0 0.700, Head 1 0.600.");
  assert.deepEqual(
    [...el.querySelectorAll(".acw-value")].map((one) => one.textContent),
    ["0.700", "0.600"],
  );
});

test("pointing at one map shows its cell in every map, for as long as it lasts", async () => {
  const { window, el, text, model } = show();
  const map = el.querySelectorAll(".acw-map")[1];
  const at = { clientX: 1e4, clientY: 0, bubbles: true };
  map.dispatchEvent(new window.MouseEvent("pointermove", at));
  assert.match(text(".acw-readout"), /key 'b' \(1\)/);
  for (const marks of el.querySelectorAll(".acw-marks .cross")) assert.match(marks.textContent, /b$/);
  assert.deepEqual(model.get("cell"), [0, 0]);
  el.querySelector(".acw-grid").dispatchEvent(new window.MouseEvent("pointerleave"));
  assert.match(text(".acw-readout"), /key 'a' \(0\)/);
  map.dispatchEvent(new window.MouseEvent("click", at));
  await tick();
  assert.deepEqual(model.get("cell"), [0, 1]);
});

test("a head that is off says so, and the output moves by what it gave", async () => {
  const { el, click, text, model } = show();
  assert.match(text(".acw-said"), /^All heads are on/);
  const button = await click("Head 0");
  assert.equal(button.getAttribute("aria-pressed"), "false");
  assert.match(button.textContent, /off$/);
  assert.deepEqual(model.get("off"), [[1, 0]]);
  assert.match(text(".acw-said"), /^Off: Head 0\. The output moves by 60%/);
  await click("All off");
  assert.match(text(".acw-said"), /^All heads are off\. .*100%/);
  assert.equal(el.querySelector("figure svg").getAttribute("aria-label"), el.querySelector(".acw-said").textContent);
  await click("All on");
  assert.deepEqual(model.get("off"), []);
  assert.equal(el.querySelectorAll('[aria-pressed="false"]').length, 0);
});

test("each layer has its own maps and its own heads off", async () => {
  const { window, el, click, model, text } = show({ off: [[0, 1]] });
  await click("Head 0");
  assert.deepEqual(model.get("off"), [[0, 1], [1, 0]]);
  const select = el.querySelector("select");
  select.selectedIndex = 0;
  select.dispatchEvent(new window.Event("change"));
  await tick();
  assert.match(text(".acw-said"), /^Off: Head 1\. The output moves by 50%/);
  assert.match(text(".acw-readout"), /Head 1 0\.200, Head 0 0\.100/);
});

test("without contributions there is nothing to switch, and one layer needs no choice", () => {
  const { el } = show({ parts: bytes([]), shape: [1, 2, 1, 2], data: bytes(WEIGHTS.slice(0, 4)), layer_names: ["Layer 0"], layer: 0 });
  assert.equal(el.querySelectorAll(".acw-card button").length, 0);
  assert.ok(el.querySelector(".acw-switches").hidden);
  assert.ok(el.querySelector("figure").hidden);
  assert.ok(el.querySelector("select").parentElement.hidden);
});

test("the table has every head; a row of no numbers is said, not thrown", async () => {
  const { window, el, click } = show({ data: bytes([...WEIGHTS.slice(0, 4), NaN, NaN, 0.4, 0.6]) });
  const details = el.querySelector("details");
  details.open = true;
  details.dispatchEvent(new window.Event("toggle"));
  await click("Head 1");
  const rows = [...details.querySelectorAll("tbody tr")].map((row) =>
    [...row.children].map((cell) => cell.textContent.replace(/[\u2068\u2069]/g, "")),
  );
  assert.deepEqual(rows, [
    ["Head 0", "not a number", "–", "60%", "on"],
    ["Head 1", "0.400", "'b' (1), 0.600", "80%", "off"],
  ]);
});

test("every label names a control, and the clean-up leaves nothing", async () => {
  const { el, model, stop } = show();
  for (const label of el.querySelectorAll("label")) assert.ok(el.querySelector(`#${label.getAttribute("for")}`));
  model.set("layer", 0);
  stop();
  await tick();
  assert.equal(model.listeners(), 0);
  assert.equal(el.children.length, 0);
});
