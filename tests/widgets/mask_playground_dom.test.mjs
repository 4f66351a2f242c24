// The playground in a document: controls move the mask, rows answer mouse and keyboard.
import assert from "node:assert/strict";
import { test } from "node:test";
import widget from "../../course_utils/widgets/mask_playground.js";
import { fakeModel, stage, tick } from "./dom.mjs";

function show(changes = {}) {
  const { window, el } = stage();
  const model = fakeModel({
    tokens: ["the", "cat", "sat", "my", "dog", "ran"],
    on: ["causal"],
    num_queries: 6,
    offset: 0,
    window: 3,
    pads: 2,
    left: false,
    prefix: 2,
    second: 3,
    third: 6,
    row: 2,
    ...changes,
  });
  const stop = widget.render({ model, el });
  const field = (words) => {
    const label = [...el.querySelectorAll("label")].find((one) => one.textContent.trim() === words);
    return el.querySelector(`#${label.getAttribute("for")}`);
  };
  const move = async (words, value) => {
    const input = typeof words === "string" ? field(words) : words;
    const box = typeof value === "boolean";
    if (box) input.checked = value;
    else if (input.tagName === "SELECT") input.selectedIndex = value;
    else input.value = String(value);
    input.dispatchEvent(new window.Event(input.type === "range" ? "input" : "change"));
    await tick();
  };
  const bits = (kind = "mask") =>
    [...el.querySelectorAll(`.acw-${kind} tbody tr`)].map((tr) =>
      [...tr.querySelectorAll("td")].map((td) => td.textContent).join(kind === "mask" ? "" : " "),
    );
  const keys = () => [...el.querySelectorAll(".acw-mask tbody button")];
  const said = () => el.querySelector(".acw-readout").textContent;
  return { window, el, model, stop, field, move, bits, keys, said };
}

test("it opens causal, with the row of the chosen query read out", () => {
  const { bits, said, field } = show();
  assert.deepEqual(bits(), ["100000", "110000", "111000", "111100", "111110", "111111"]);
  assert.equal(bits("weights")[0], "1.00 0 0 0 0 0");
  assert.match(said(), /^query 'sat' reads: the .*, cat .*, sat .* Hidden: my, dog, ran by causal\.$/);
  assert.ok(field("causal").checked);
  assert.ok(field("keys").disabled, "the number of a rule that is off does nothing");
});

test("each rule is switched on and moved, and Python is told once", async () => {
  const { move, bits, model, field } = show();
  await move("window", true);
  await move("keys", 1);
  assert.deepEqual(bits(), ["100000", "010000", "001000", "000100", "000010", "000001"]);
  await move("offset", 1);
  assert.equal(bits()[0], "010000");
  await move("causal", false);
  assert.deepEqual(model.get("on"), ["window"]);
  assert.ok(!field("offset").disabled, "a window ends at i + offset too");
  await move("padding", true);
  await move("pads", 3);
  await move("pads on the left", true);
  assert.deepEqual(model.get("on"), ["window", "padding"]);
  assert.deepEqual([model.get("pads"), model.get("left")], [3, true]);
  assert.equal(bits()[2], "000100");
  await new Promise((done) => setTimeout(done, 200));
  assert.equal(model.saved, 1);
});

test("the list shows examples and says so when the setting is none of them", async () => {
  const { move, bits, field, model } = show();
  const list = field("Example");
  assert.equal(list.options[list.selectedIndex].textContent, "a decoder");
  await move(list, 10);
  assert.deepEqual(bits(), ["100000", "110000"], "aligned at the top: the cache is not seen");
  await move(list, 11);
  assert.deepEqual(bits(), ["111110", "111111"]);
  assert.equal(model.get("offset"), 4);
  await move("offset", 3);
  assert.equal(list.selectedIndex, 0);
});

test("pointing shows a row, leaving goes back, keys move one stop", async () => {
  const { window, el, keys, said, model } = show();
  const before = said();
  const line = el.querySelectorAll(".acw-weights tbody tr")[4];
  line.dispatchEvent(new window.PointerEvent("pointerenter", { pointerType: "mouse" }));
  assert.match(said(), /^query 'dog'/);
  assert.ok(el.querySelectorAll(".acw-mask tbody tr")[4].classList.contains("here"), "in both tables");
  line.dispatchEvent(new window.PointerEvent("pointerleave"));
  assert.equal(said(), before);
  line.dispatchEvent(new window.MouseEvent("click"));
  await tick();
  assert.equal(model.get("row"), 4);
  assert.equal(keys().filter((key) => key.tabIndex === 0).length, 1);
  for (const [key, row] of [["ArrowDown", 5], ["ArrowDown", 5], ["Home", 0], ["ArrowUp", 0], ["End", 5]]) {
    const focused = keys().find((button) => button.tabIndex === 0);
    focused.dispatchEvent(new window.KeyboardEvent("keydown", { key, bubbles: true }));
    await tick();
    assert.equal(model.get("row"), row, key);
  }
});

test("fewer queries are the last ones, and a row beyond them is read as the last", async () => {
  const { move, keys, said } = show({ row: 5 });
  await move("queries: the last", 2);
  assert.deepEqual(
    keys().map((key) => key.textContent),
    ["dog", "ran"],
  );
  assert.match(said(), /^query 'ran' reads: the .*, cat .*\. Hidden:/);
});

test("it follows Python, and shows the mask as code", async () => {
  const { model, el, bits } = show();
  model.set("on", ["causal", "documents"]);
  await tick();
  assert.deepEqual(bits().slice(2, 5), ["111000", "000100", "000110"]);
  assert.equal(
    el.querySelector("pre").textContent,
    "ids = torch.tensor([0, 0, 0, 1, 1, 1])\nmask = (\n    causal_mask(6, 6, offset=0)\n    & (ids[-6:, None] == ids)\n)",
  );
});

test("packed documents are counted in three layouts while their rule is on", async () => {
  const { el, move, field, model, bits } = show();
  const table = el.querySelector(".acw-packing");
  const counts = () => [...table.querySelectorAll("tbody tr")].map((tr) => tr.textContent);
  assert.ok(table.hidden && field("third document at").disabled);
  await move("documents", true);
  assert.ok(!table.hidden);
  assert.equal(table.querySelector("caption").textContent, "Pairs multiplied for documents of 3 and 3 tokens");
  assert.deepEqual(counts(), ["each for itself3² + 3²= 18", "padded to the longest2 · 3²= 18", "one row, T × T6²= 36"]);
  await move("third document at", 5);
  assert.equal(model.get("third"), 5);
  assert.equal(table.querySelector("caption").textContent, "Pairs multiplied for documents of 3, 2 and 1 tokens");
  assert.deepEqual(counts(), ["each for itself3² + 2² + 1²= 14", "padded to the longest3 · 3²= 27", "one row, T × T6²= 36"]);
  assert.deepEqual([...table.querySelectorAll(".acw-bar")].map((bar) => Math.round(parseFloat(bar.style.width))), [39, 75, 100]);
  assert.deepEqual(bits().slice(3), ["000100", "000110", "000001"]);
  const list = field("Example");
  assert.equal(list.options[list.selectedIndex].textContent, "three documents, the last one short");
});

test("long names and many tokens stand upright", () => {
  const { el } = show({ tokens: ["a", "b", "c", "d", "e", "attention"] });
  assert.ok(el.querySelector(".acw-mask").classList.contains("acw-tall"));
});

test("the clean-up leaves nothing", async () => {
  const { el, model, stop } = show();
  model.set("offset", 2);
  stop();
  await tick();
  assert.equal(model.listeners(), 0);
  assert.equal(el.children.length, 0);
});
