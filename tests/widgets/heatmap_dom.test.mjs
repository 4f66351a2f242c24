// The heatmap in a document: what can be seen, reached and heard, and what is left behind.
import assert from "node:assert/strict";
import { test } from "node:test";
import widget from "../../course_utils/widgets/heatmap.js";
import { fakeModel, stage, tick } from "./dom.mjs";

const WEIGHTS = [0.1, 0.2, 0.7, 0.3, 0.3, 0.4, 0.5, 0.25, 0.25, 0.05, 0.9, 0.05];

function show(changes = {}) {
  const { window, el } = stage();
  const model = fakeModel({
    data: new DataView(Float32Array.from(WEIGHTS).buffer),
    encoding: "float32",
    shape: [1, 2, 2, 3],
    query_tokens: null,
    key_tokens: ["a", "b", "c"],
    head_names: ["Head 0", "Head 1"],
    layer_names: ["Layer 0"],
    title: "Weights",
    color_range: "auto",
    view: "first",
    partner: [0, 1],
    pair_names: [],
    layer: 0,
    head: 0,
    cell: [0, 0],
    ...changes,
  });
  const stop = widget.render({ model, el });
  const press = (key) => {
    const event = new window.KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
    el.querySelector(".acw-plot").dispatchEvent(event);
    return event;
  };
  const read = () => el.querySelector(".acw-readout").textContent.replace(/[\u2068\u2069]/g, "");
  return { window, el, model, stop, press, read };
}

test("arrow keys move the cell, the readout follows, the page does not scroll", async () => {
  const { press, read, model } = show();
  assert.equal(read(), "query 0 attends 0.100 to key 'a' (0); this row's largest: 0.700 to key 'c' (2).");
  assert.ok(press("ArrowDown").defaultPrevented);
  assert.ok(press("ArrowRight").defaultPrevented);
  assert.ok(!press("Tab").defaultPrevented);
  await tick();
  assert.deepEqual(model.get("cell"), [1, 1]);
  assert.equal(read(), "query 1 attends 0.300 to key 'b' (1); this row's largest: 0.400 to key 'c' (2).");
  await new Promise((done) => setTimeout(done, 200));
  assert.equal(model.saved, 1);
});

test("hover shows a cell for as long as it lasts and chooses nothing; a click chooses", async () => {
  const { window, el, model, read } = show();
  const plot = el.querySelector(".acw-plot");
  const at = { clientX: 130, clientY: 60, bubbles: true };
  plot.dispatchEvent(new window.MouseEvent("pointermove", at));
  assert.match(read(), /^query 1 attends 0\.400 to key 'c'/);
  assert.deepEqual(model.get("cell"), [0, 0]);
  plot.dispatchEvent(new window.MouseEvent("pointerleave"));
  assert.match(read(), /^query 0 attends 0\.100/);
  plot.dispatchEvent(new window.MouseEvent("click", at));
  await tick();
  assert.deepEqual(model.get("cell"), [1, 2]);
});

test("a head is chosen with a radio button, here or from Python", async () => {
  const { window, el, model, read } = show();
  const radios = [...el.querySelectorAll("input[type=radio]")];
  assert.deepEqual(
    radios.map((radio) => radio.closest("label").textContent.trim()),
    ["Head 0", "Head 1"],
  );
  assert.deepEqual(
    radios.map((radio) => radio.checked),
    [true, false],
  );
  radios[1].dispatchEvent(new window.Event("change"));
  await tick();
  assert.equal(model.get("head"), 1);
  assert.match(read(), /0\.500/);
  model.set("head", 0);
  await tick();
  assert.match(read(), /0\.100/);
  assert.ok(radios[0].checked);
  assert.equal(el.querySelectorAll("input[type=radio]")[0], radios[0], "updated in place");
});

test("layers have a choice of their own and their own values", async () => {
  const { window, el, model, read } = show({
    shape: [2, 1, 2, 3],
    layer_names: ["Layer 0", "Layer 1"],
    head_names: ["Head 0"],
  });
  const select = el.querySelector("select");
  assert.equal(el.querySelector(`label[for=${select.id}]`).textContent.trim().slice(0, 5), "Layer");
  assert.ok(el.querySelector("fieldset").hidden);
  select.selectedIndex = 1;
  select.dispatchEvent(new window.Event("change"));
  await tick();
  assert.equal(model.get("layer"), 1);
  assert.match(read(), /0\.500/);
});

const field = (el, label) => {
  const found = [...el.querySelectorAll(".acw-bar label")].find((one) => one.textContent === label);
  return { field: found.parentElement, select: found.parentElement.querySelector("select") };
};

test("two heads are compared side by side, with one cell in both, or as a difference", async () => {
  const { window, el, model, press, read } = show();
  assert.ok(field(el, "Compared with").field.hidden);
  const { select } = field(el, "View");
  select.value = "side";
  select.dispatchEvent(new window.Event("change"));
  await tick();
  assert.equal(el.querySelectorAll(".acw-map").length, 2);
  assert.deepEqual([...el.querySelectorAll(".name")].map((name) => name.textContent), ["Head 0", "Head 1"]);
  assert.equal(read(), "query 0 to key 'a' (0): Head 0 0.100, Head 1 0.500, difference +0.400.");
  press("ArrowRight");
  await tick();
  const tags = [...el.querySelectorAll(".acw-map")].map((map) => [...map.querySelectorAll(".tag text")][1].textContent);
  assert.deepEqual(tags, ["b", "b"]);
  model.set("view", "difference");
  await tick();
  assert.equal(el.querySelectorAll(".acw-map").length, 1);
  assert.equal(el.querySelector(".name").textContent, "Head 1 − Head 0");
  assert.match(el.querySelector(".acw-plot").getAttribute("aria-label"), /^Weights · Head 1 − Head 0\. Arrow/);
  assert.match(el.querySelector(".acw-note").textContent, /On average 52% of a query's weight lies on other keys/);
  const partner = field(el, "Compared with").select;
  partner.selectedIndex = 0;
  partner.dispatchEvent(new window.Event("change"));
  await tick();
  assert.deepEqual(model.get("partner"), [0, 0]);
  assert.match(el.querySelector(".acw-note").textContent, /: no difference\.$/);
});

test("two stacks show the same head of both, and the table their differences", async () => {
  const halves = { shape: [1, 1, 2, 3], head_names: ["Head 0"], pair_names: ["before", "after"] };
  const { window, el, model, read } = show({ ...halves, view: "side" });
  assert.equal(read(), "query 0 to key 'a' (0): before 0.100, after 0.500, difference +0.400.");
  assert.ok(field(el, "Compared with").field.hidden);
  const details = el.querySelector("details");
  details.open = true;
  details.dispatchEvent(new window.Event("toggle"));
  const cells = [...details.querySelectorAll("tbody tr")].map((tr) => [...tr.children].map((td) => td.textContent));
  assert.deepEqual(cells.map((row) => row.slice(1)), [
    ["0.700", "0.250", "−0.450"],
    ["0.100", "0.500", "+0.400"],
    ["0.200", "0.250", "+0.0500"],
  ]);
  assert.equal(details.querySelector("summary").textContent, "Largest differences of this row, as a table");
  model.set("view", "second");
  await tick();
  assert.match(read(), /^query 0 attends 0\.500 to key 'a'/);
  assert.deepEqual([...el.querySelectorAll(".name")].map((name) => name.textContent), ["after"]);
});

test("controls without a choice are not shown", () => {
  const { el } = show({
    data: new DataView(Float32Array.of(-1, 2, 3, 4, 5, 6).buffer),
    shape: [1, 1, 2, 3],
    head_names: ["Head 0"],
  });
  assert.deepEqual(
    [...el.querySelectorAll(".acw-bar .acw-field")].map((field) => field.hidden),
    [true, true, true, true],
  );
  assert.match(el.querySelector(".acw-note").textContent, /outside 0 to 1: the colours span −1\.00 to 6\.00/);
});

test("the table gives the row's largest keys", async () => {
  const { window, el, press } = show();
  press("ArrowDown");
  await tick();
  const details = el.querySelector("details");
  details.open = true;
  details.dispatchEvent(new window.Event("toggle"));
  const rows = [...details.querySelectorAll("tbody tr")].map((tr) =>
    [...tr.children].map((td) => td.textContent.replace(/[\u2068\u2069]/g, "")),
  );
  assert.deepEqual(rows, [
    ["'c' (2)", "0.400"],
    ["'a' (0)", "0.300"],
    ["'b' (1)", "0.300"],
  ]);
});

test("what is not finite is said, not thrown", () => {
  const { el, read } = show({
    data: new DataView(Float32Array.from({ length: 12 }, () => NaN).buffer),
    title: "",
  });
  assert.equal(read(), "query 0, key 'a' (0): not a number; this row holds no finite number.");
  assert.match(
    el.querySelector(".acw-note").textContent,
    /no finite number\. 6 cells are not finite \(hatched\)/,
  );
});

test("tokens and titles stay text", () => {
  const { el } = show({ key_tokens: ["<img src=x>", "&amp;", "ok"], title: "<b>x</b>" });
  assert.equal(el.querySelector("img, b"), null);
  assert.equal(el.querySelector(".acw-title").textContent, "<b>x</b>");
});

test("ids differ between widgets of a page and every label names a control", () => {
  const { el, model } = show();
  widget.render({ model, el });
  const ids = [...el.querySelectorAll("[id]")].map((element) => element.id);
  assert.equal(new Set(ids).size, ids.length);
  assert.ok(ids.length >= 6);
  for (const label of el.querySelectorAll("label[for]")) assert.ok(ids.includes(label.getAttribute("for")));
  const names = new Set([...el.querySelectorAll("input")].map((input) => input.name));
  assert.equal(names.size, 2);
});

test("the clean-up leaves nothing, and Python's changes after it do no harm", async () => {
  const { el, model, stop } = show();
  model.set("head", 1);
  stop();
  await tick();
  assert.equal(model.listeners(), 0);
  assert.equal(el.children.length, 0);
});
