// The head grid's numbers and words.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as picture from "../../course_utils/widgets/head_grid_picture.js";
import * as values from "../../course_utils/widgets/head_grid_values.js";
import * as words from "../../course_utils/widgets/head_grid_words.js";

const CASES = JSON.parse(readFileSync(new URL("head_grid_cases.json", import.meta.url)));
const NAMES = ["Head 0", "Head 1", "Head 2"];
const plain = (text) => text.replace(/[\u2068\u2069]/g, "");

test("the output moves as far as Python says, whichever heads are off", () => {
  assert.equal(CASES.moves.length, 8);
  const layers = Float64Array.from([...CASES.parts.map(() => 7), ...CASES.parts]);
  for (const { off, shares } of CASES.moves) {
    const found = values.shares(layers, [2, ...CASES.shape], 1, off);
    found.forEach((share, query) => assert.ok(Math.abs(share - shares[query]) < 1e-12, `${off} ${query}`));
  }
});

test("heads that cancel move more than the whole output is long", () => {
  const parts = Float32Array.from([3, 0, -2, 0]);
  assert.deepEqual(values.shares(parts, [1, 2, 1, 2], 0, [0]), [3]);
  assert.deepEqual(values.shares(parts, [1, 2, 1, 2], 0, [0, 1]), [1]);
  const drawn = picture.barDrawing(300, [3], ["a"], false);
  assert.match(drawn.inside, />300%</);
});

test("every grid fits its width, and rows of heads are even", () => {
  for (const width of [330, 640, 870]) {
    for (const heads of [1, 2, 5, 8, 12, 16]) {
      for (const [rows, columns] of [[1, 1], [12, 12], [5, 40], [64, 3]]) {
        const at = values.gridLayout(width, heads, rows, columns, 90);
        assert.ok(at.across * at.card + 14 * (at.across - 1) <= width);
        assert.ok(at.left + at.w <= at.card + 0.01, `${width} ${heads} ${rows} ${columns}`);
        assert.ok(at.w > 0 && at.h > 0);
        assert.equal(Math.ceil(heads / at.across), Math.ceil(heads / Math.min(heads, at.across)));
      }
    }
  }
  assert.equal(values.gridLayout(870, 8, 4, 4, 20).across, 4, "4 and 4, not 5 and 3");
});

test("the sentence puts the largest weight first and counts what it leaves out", () => {
  assert.equal(
    plain(words.cellSentence([0.25, 0.5, 0.25], NAMES, ["x y"], null, [0, 3])),
    "query 'x␣y' (0) to key 3: Head 1 0.500, Head 0 0.250, Head 2 0.250.",
  );
  const many = Array.from({ length: 9 }, (_, i) => i / 10);
  const names = many.map((_, i) => `h${i}`);
  assert.match(words.cellSentence(many, names, null, null, [0, 0]), /: h8 0\.800, .*h3 0\.300, 3 more below\.$/);
});

test("the other sentence names the heads that are off and the position that needs them most", () => {
  assert.match(words.offSentence([], NAMES, [0, 0], null), /^All heads are on/);
  assert.equal(
    plain(words.offSentence([0, 2], NAMES, [0.25, 0.75], ["a", "b"])),
    "Off: Head 0, Head 2. The output moves by 50% of its length on average; most at query 'b' (1), 75%.",
  );
  assert.match(words.offSentence([0, 1, 2], NAMES, [1, 1], null), /^All heads are off\. .* 100%/);
});

test("tokens stay text", () => {
  const view = { rowLabels: ["<b>"], columnLabels: ["&"], queries: ["<b>"], keys: ["&"] };
  view.at = { left: 20, top: 20, cellWidth: 20, cellHeight: 20, w: 20, h: 20, rows: 1, columns: 1 };
  const drawn = picture.mapLabels(view) + picture.cross(view, 0, 0);
  assert.ok(!drawn.includes("<b>"));
  assert.match(drawn, /&lt;b&gt;.*&amp;/);
});
