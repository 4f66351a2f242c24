// The explorer in a document: lists, buttons and the switch change what is read; nothing is left behind.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import widget from "../../course_utils/widgets/patch_explorer.js";
import { fakeModel, stage, tick } from "./dom.mjs";

const record = JSON.parse(readFileSync(new URL("../../course_utils/records/chapter_14_explorer.json", import.meta.url)));

function show(changes = {}) {
  const { window, el } = stage();
  const model = fakeModel({
    images: record.pictures, models: record.runs, layers: 2, heads: 4, image: 0, patch: 2, layer: 1, head: 1, positions: true, shuffle: 0, ...changes,
  });
  const stop = widget.render({ model, el });
  const choose = async (at, value) => {
    const select = el.querySelectorAll("select")[at];
    select.value = String(value);
    select.dispatchEvent(new window.Event("change"));
    await tick();
  };
  const press = async (words) => {
    [...el.querySelectorAll("button")].find((one) => one.textContent === words).click();
    await tick();
  };
  return { window, el, model, stop, choose, press, said: () => el.querySelector(".acw-said").textContent };
}

test("it opens on an image in order, with a token for each patch and one more", () => {
  const { el, said } = show();
  assert.match(said(), /^In order, with positions: the model reads .* it is a 0\./);
  assert.equal(el.querySelectorAll(".acw-tokens .bar").length, 17);
  assert.equal(el.querySelectorAll("details tbody tr").length, 17);
});

test("the lists choose image, patch, layer and head", async () => {
  const { el, model, choose, said } = show();
  await choose(0, 9);
  await choose(1, 4);
  await choose(2, 2);
  await choose(3, 3);
  assert.deepEqual(["image", "patch", "layer", "head"].map((name) => model.get(name)), [9, 4, 2, 3]);
  assert.match(said(), /it is a 4\. In layer 2, head 3 .* of at most 1\.61\.$/);
  assert.equal(el.querySelectorAll(".acw-tokens .bar").length, 5);
});

test("the button shuffles, once more each time, and another takes it back", async () => {
  const { el, model, press, said } = show();
  await press("shuffle patches");
  await press("shuffle patches");
  assert.match(said(), /^Shuffle 2, with positions/);
  assert.equal(model.get("shuffle"), 2);
  const stands = [...el.querySelectorAll("details tbody tr")].map((row) => row.children[2].textContent);
  assert.notDeepEqual(stands.slice(1, 5), ["1", "2", "3", "4"]);
  await press("in order");
  assert.match(said(), /^In order/);
  await new Promise((done) => setTimeout(done, 200));
  assert.equal(model.saved, 1);
});

test("without positions a shuffle keeps every probability", async () => {
  const { window, el, press } = show();
  const box = el.querySelector("input[type=checkbox]");
  box.checked = false;
  box.dispatchEvent(new window.Event("change"));
  await tick();
  const table = () => el.querySelector(".acw-main tbody").textContent;
  const before = table();
  await press("shuffle patches");
  assert.equal(table(), before);
});

test("it leaves nothing behind", () => {
  const { el, model, stop } = show();
  stop();
  assert.equal(model.listeners(), 0);
  assert.equal(el.children.length, 0);
});
