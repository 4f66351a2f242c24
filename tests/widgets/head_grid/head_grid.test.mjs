// The head grid's numbers and words; and in a document what can be seen, reached and heard.
import assert from "node:assert/strict";
import { test } from "node:test";
import widget from "../../../course_utils/widgets/head_grid/head_grid.js";
import * as picture from "../../../course_utils/widgets/head_grid/head_grid_picture.js";
import * as values from "../../../course_utils/widgets/head_grid/head_grid_values.js";
import { bare, floats, keepsHouse, near, read, show } from "../dom.mjs";

const cases = read("head_grid/head_grid_cases.json");
const NAMES = ["Head 0", "Head 1", "Head 2"];
// Two layers of two heads, one query by two keys; in layer 1 the first head says (3, 0), the second (0, 4).
const WEIGHTS = [0.1, 0.9, 0.2, 0.8, 0.3, 0.7, 0.4, 0.6];
const START = {
  data: floats(...WEIGHTS), encoding: "float32", shape: [2, 2, 1, 2],
  parts: floats(1, 0, 1, 0, 3, 0, 0, 4), parts_encoding: "float32",
  query_tokens: ["q"], key_tokens: ["a", "b"], head_names: NAMES.slice(0, 2), layer_names: ["Layer 0", "Layer 1"],
  title: "Heads", layer: 1, cell: [0, 0], off: [],
};

keepsHouse("head_grid", widget, START);

test("the output moves as far as Python says, whichever heads are off", () => {
  assert.equal(cases.moves.length, 8);
  const layers = Float64Array.from([...cases.parts.map(() => 7), ...cases.parts]);
  for (const { off, shares } of cases.moves) near(values.shares(layers, [2, ...cases.shape], 1, off), shares);
});

test("heads that cancel move more than the whole output is long", () => {
  const parts = Float32Array.from([3, 0, -2, 0]);
  assert.deepEqual(values.shares(parts, [1, 2, 1, 2], 0, [0]), [3]);
  assert.deepEqual(values.shares(parts, [1, 2, 1, 2], 0, [0, 1]), [1]);
  assert.match(picture.barDrawing(300, [3], ["a"], false).inside, />300%</);
});

test("every grid fits its width, and rows of heads are even", () => {
  for (const width of [330, 640, 870])
    for (const heads of [1, 2, 5, 8, 12, 16])
      for (const [rows, columns] of [[1, 1], [12, 12], [5, 40], [64, 3]]) {
        const at = values.gridLayout(width, heads, rows, columns, 90);
        assert.ok(at.across * at.card + 14 * (at.across - 1) <= width);
        assert.ok(at.left + at.w <= at.card + 0.01, `${width} ${heads} ${rows} ${columns}`);
        assert.ok(at.w > 0 && at.h > 0);
        assert.equal(Math.ceil(heads / at.across), Math.ceil(heads / Math.min(heads, at.across)));
      }
  assert.equal(values.gridLayout(870, 8, 4, 4, 20).across, 4, "4 and 4, not 5 and 3");
});

test("the sentence puts the largest weight first and counts what it leaves out", () => {
  assert.equal(
    bare(values.cellSentence([0.25, 0.5, 0.25], NAMES, ["x y"], null, [0, 3])),
    "query 'x␣y' (0) to key 3: Head 1 0.500, Head 0 0.250, Head 2 0.250.",
  );
  const many = Array.from({ length: 9 }, (_, i) => i / 10);
  const names = many.map((_, i) => `h${i}`);
  assert.match(values.cellSentence(many, names, null, null, [0, 0]), /: h8 0\.800, .*h3 0\.300, 3 more below\.$/);
});

test("the other sentence names the heads that are off and the position that needs them most", () => {
  assert.equal(
    bare(values.offSentence([0, 2], NAMES, [0.25, 0.75], ["a", "b"])),
    "Off: Head 0, Head 2. The output moves by 50% of its length on average; most at query 'b' (1), 75%.",
  );
});

test("tokens stay text", () => {
  const view = { rowLabels: ["<b>"], columnLabels: ["&"], queries: ["<b>"], keys: ["&"] };
  view.at = { left: 20, top: 20, cellWidth: 20, cellHeight: 20, w: 20, h: 20, rows: 1, columns: 1 };
  const drawn = picture.mapLabels(view) + picture.cross(view, 0, 0);
  assert.ok(!drawn.includes("<b>"));
  assert.match(drawn, /&lt;b&gt;.*&amp;/);
});

test("arrow keys move one cell in all heads, and the page does not scroll", async () => {
  const { one, press, text, texts, traitsOf } = show(widget, START);
  assert.equal(text(".acw-readout"), "query 'q' (0) to key 'a' (0): Head 1 0.400, Head 0 0.300.");
  const pressed = [await press(one(".acw-grid"), "ArrowRight"), await press(one(".acw-grid"), "Tab")];
  assert.deepEqual(pressed.map(({ defaultPrevented }) => defaultPrevented), [true, false]);
  assert.deepEqual(traitsOf("cell"), [[0, 1]]);
  assert.equal(text(".acw-readout"), "query 'q' (0) to key 'b' (1): Head 0 0.700, Head 1 0.600.");
  assert.deepEqual(texts(".acw-value"), ["0.700", "0.600"]);
});

test("pointing at one map shows its cell in every map, for as long as it lasts", async () => {
  const { one, all, texts, text, fire, traitsOf } = show(widget, START);
  const [map, at] = [all(".acw-map")[1], { clientX: 1e4, clientY: 0 }];
  await fire(map, "pointermove", at);
  assert.match(text(".acw-readout"), /key 'b' \(1\)/);
  for (const marks of texts(".acw-marks .cross")) assert.match(marks, /b$/);
  assert.deepEqual(traitsOf("cell"), [[0, 0]]);
  await fire(one(".acw-grid"), "pointerleave");
  assert.match(text(".acw-readout"), /key 'a' \(0\)/);
  await fire(map, "click", at);
  assert.deepEqual(traitsOf("cell"), [[0, 1]]);
});

test("a head that is off says so, and the output moves by what it gave", async () => {
  const { one, all, button, click, said, traitsOf } = show(widget, START);
  assert.match(said(), /^All heads are on/);
  await click("Head 0");
  assert.equal(button("Head 0").getAttribute("aria-pressed"), "false");
  assert.match(button("Head 0").textContent, /off$/);
  assert.deepEqual(traitsOf("off"), [[[1, 0]]]);
  assert.match(said(), /^Off: Head 0\. The output moves by 60%/);
  await click("All off");
  assert.match(said(), /^All heads are off\. .*100%/);
  assert.equal(bare(one("figure svg").getAttribute("aria-label")), said());
  await click("All on");
  assert.deepEqual(traitsOf("off"), [[]]);
  assert.equal(all('[aria-pressed="false"]').length, 0);
});

test("each layer has its own maps and its own heads off", async () => {
  const { put, click, traitsOf, said, text } = show(widget, { ...START, off: [[0, 1]] });
  await click("Head 0");
  assert.deepEqual(traitsOf("off"), [[[0, 1], [1, 0]]]);
  await put("Layer", 0);
  assert.match(said(), /^Off: Head 1\. The output moves by 50%/);
  assert.match(text(".acw-readout"), /Head 1 0\.200, Head 0 0\.100/);
});

test("without contributions there is nothing to switch, and one layer needs no choice", () => {
  const small = { shape: [1, 2, 1, 2], data: floats(...WEIGHTS.slice(0, 4)), layer_names: ["Layer 0"], layer: 0 };
  const { one, all } = show(widget, { ...START, ...small, parts: floats() });
  assert.equal(all(".acw-card button").length, 0);
  assert.ok(one(".acw-switches").hidden && one("figure").hidden && one("select").parentElement.hidden);
});

test("the table has every head; a row of no numbers is said, not thrown", async () => {
  const { open, click, rows } = show(widget, { ...START, data: floats(...WEIGHTS.slice(0, 4), NaN, NaN, 0.4, 0.6) });
  await open();
  await click("Head 1");
  assert.deepEqual(rows("details"), [
    ["Head 0", "not a number", "–", "60%", "on"],
    ["Head 1", "0.400", "'b' (1), 0.600", "80%", "off"],
  ]);
});

test("only the head that the chosen query needs most ticks the task", async () => {
  const { click, text } = show(widget, START);
  for (const [name, sign] of [["All off", "○"], ["All on", "○"], ["Head 0", "○"], ["Head 1", "○"], ["Head 0", "✓"]]) {
    await click(name);
    assert.equal(text(".acw-task")[0], sign, name);
  }
  assert.ok(show(widget, { ...START, parts: floats() }).one(".acw-task").hidden);
});
