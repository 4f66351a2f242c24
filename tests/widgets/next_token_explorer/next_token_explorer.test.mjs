// Nuclei, shares and draws are Python's, made-up and recorded; the explorer's words, rows and picture; its controls.
import assert from "node:assert/strict";
import { test } from "node:test";
import widget from "../../../course_utils/widgets/next_token_explorer/next_token_explorer.js";
import * as numbers from "../../../course_utils/widgets/next_token_explorer/next_token_explorer_numbers.js";
import * as picture from "../../../course_utils/widgets/next_token_explorer/next_token_explorer_picture.js";
import { keepsHouse, near, read, show } from "../dom.mjs";

const cases = read("next_token_explorer/next_token_explorer_cases.json");
const record = read("../../course_utils/records/chapter_19_next_token.json");
const { vocabulary, temperatures } = record.settings;
const joined = (list) => list.join(" ");
const SETTING = { temperature: 1, top_p: 0.9, seed: 0, draws: 0, nucleus_only: false, met: [-1, -1] };
const WORLD = { ...cases.world, ...SETTING, place: 0 };
const REAL = {
  ...SETTING, vocabulary, temperatures, texts: record.texts, place: 2, shares: [...record.settings.shares, 1],
  places: record.runs.map((run) => ({
    ...run, log_probs: joined(run.log_probs), log_norms: joined(run.log_norms),
    sizes: run.sizes.map((row) => joined([...row, vocabulary])),
  })),
};
const places = REAL.places.map(numbers.unpack);
const settingOf = (state, changes) => ({ ...state, count: state.places.length, ...changes });
const lookAt = (place, changes) => numbers.look(places[place], settingOf(REAL, changes));
const total = (list) => list.reduce((a, b) => a + b, 0);

keepsHouse("next_token_explorer", widget, REAL);

test("the nuclei of made-up distributions are what top_p_filter keeps of all tokens", () => {
  const made = cases.world.places.map(numbers.unpack);
  cases.whole.forEach((settings, i) => {
    for (const { temperature, top_p, size, kept, least, chances, beyond } of settings) {
      const seen = numbers.look(made[i], settingOf(WORLD, { temperature, top_p }));
      assert.equal(seen.size, size);
      near(seen.chances.slice(0, 6), chances, 2e-4);
      near(seen.kept, kept, (seen.exact ? 0 : least) + 1e-3);
      near([seen.kept + seen.left, seen.beyond], [1, beyond], 1e-3);
    }
  });
});

test("a draw meets the token that Python's meets, or a range of numbers that holds it", () => {
  const made = cases.world.places.map(numbers.unpack);
  const met = { token: 0, range: 0 };
  cases.whole.forEach((settings, i) => {
    for (const { temperature, top_p, size, kept, draws } of settings) {
      const seen = numbers.look(made[i], settingOf(WORLD, { temperature, top_p }));
      for (const [u, rank] of draws) {
        const { index, low, high, inside } = numbers.pick(seen, u, false);
        met[index === undefined ? "range" : "token"] += 1;
        if (index === undefined) assert.ok(low <= rank && rank <= high, `${low} ${rank} ${high}`);
        else assert.equal(index + 1, rank);
        if (u < top_p || u >= kept) assert.equal(inside, rank <= size);
        const one = numbers.pick(seen, u, true);
        assert.ok(one.inside && (one.index === undefined ? one.high : one.index + 1) <= size);
      }
    }
  });
  assert.ok(met.token > 100 && met.range > 100);
});

test("what is said of recorded places is Python's, and so is how many draws fall outside", () => {
  for (const { place, temperature, top_p, size, kept, rank, draws, outside, ...wanted } of cases.record) {
    const seen = lookAt(place, { temperature, top_p });
    assert.deepEqual([seen.size, seen.rank], [size, rank]);
    near([seen.kept, seen.true], [kept, wanted.true], 1e-9);
    const counted = numbers.tally(seen, 0, draws, false);
    assert.equal(counted.outside, outside);
    assert.equal(total(counted.counts) + counted.beyond, draws);
  }
});

test("every setting of every place keeps the rules", () => {
  for (const [i, temperature] of temperatures.entries())
    for (const [j, top_p] of REAL.shares.entries())
      places.forEach((place, number) => {
        const seen = lookAt(number, { temperature, top_p });
        assert.equal(seen.size, place.sizes[i][j]);
        assert.ok(seen.kept >= top_p - 1e-3 && seen.kept <= 1, `${number} ${temperature} ${top_p} ${seen.kept}`);
        for (const only of [false, true]) {
          const { chances, beyond, outside } = numbers.expected(seen, only);
          near(total(chances) + beyond.inside + beyond.outside, 1, 1e-3);
          if (only) near(outside + beyond.outside, 0);
        }
      });
});

test("drawn shares come to the probabilities, and the nucleus alone gives none outside", () => {
  const seen = lookAt(2, { top_p: 0.9 });
  for (const only of [false, true]) {
    const { counts, beyond, outside } = numbers.tally(seen, 5, 20000, only);
    const wanted = numbers.expected(seen, only);
    near(counts.map((n) => n / 20000), wanted.chances, 0.015);
    near([beyond / 20000, outside / 20000], [wanted.beyond.inside + wanted.beyond.outside, wanted.outside], 0.01);
  }
  assert.equal(numbers.tally(seen, 5, 20000, true).outside, 0);
});

test("the task is for one setting: one token alone, or more than fifty", () => {
  const done = (place, changes) => numbers.fulfilled(places[place], settingOf(REAL, changes));
  assert.deepEqual(done(2), [false, false]);
  assert.deepEqual(done(3), [true, false]);
  assert.deepEqual(done(4), [false, true]);
  assert.deepEqual([done(3, { temperature: 0.5 }), done(4, { top_p: 0.95 })], [[false, false], [false, false]]);
  assert.deepEqual(done(0), [false, false]); // 50 are not more than 50
});

test("tokens are named with their blanks, probabilities with a leading zero", () => {
  assert.equal(picture.shown(" a\n\tb"), "␣a⏎⇥b");
  assert.deepEqual([0, 0.5, 0.0123, 0.0012, 3e-7].map(picture.chance), ["0", "0.500", "0.012", "0.0012", "3e−7"]);
  assert.equal(picture.share(lookAt(4)), "about 0.9");
  assert.equal(picture.share(lookAt(4, { top_p: 1 })), "1");
  assert.match(picture.share(lookAt(3)), /^0\.934$/);
});

test("the sentence names the place, the nucleus and the true token", () => {
  const words = (place, changes) => {
    const setting = settingOf(REAL, { place, ...changes });
    return picture.sentence(setting, places[place], lookAt(place, changes), "and so\non");
  };
  assert.equal(
    words(3).replace(/[\u2068\u2069]/g, ""),
    "Place 4 of 24, after “…and␣so⏎on”. At temperature 1.0 and top-p 0.9 the nucleus holds 1 of 49,152 tokens, with a share of 0.934. " +
      "The true next token, ‘␣average’, is number 1 with probability 0.934: inside the nucleus.",
  );
  assert.match(words(1), /is number 182 with probability 0\.0002: outside the nucleus\.$/);
});

test("draws are put into words: none, one, a thousand, and from where", () => {
  const words = (place, changes) => picture.drawnWords(settingOf(REAL, { place, ...changes }), places[place], lookAt(place, changes)).replace(/[\u2068\u2069]/g, "");
  assert.equal(words(4), "Nothing is drawn yet.");
  assert.match(words(4, { draws: 1000, top_p: 0.98 }), /^1,000 drawn, \d+ from outside the nucleus \(expected: 20\)\. The last: .*, (inside|outside)\./);
  assert.match(words(4, { draws: 1000, top_p: 0.98 }), /The last from outside: among numbers 3,609 to 5,333, where ‘.*’ is 5,000\.$|among numbers/);
  assert.match(words(4, { draws: 1000, nucleus_only: true }), /, 0 from outside the nucleus \(expected: 0\.0\)/);
});

test("what is left out is said as a share and for a hundred tokens", () => {
  assert.match(picture.risk(lookAt(4, { top_p: 0.98 })), /a share of about 0\.020 .* about 2\.0 such tokens, and none with probability 0\.133\.$/);
  assert.match(picture.risk(lookAt(4, { top_p: 0.5 })), /none with probability below 0\.001\.$/);
  assert.equal(picture.risk(lookAt(4, { top_p: 1 })), "Nothing is cut off: all tokens are in the nucleus.");
});

test("the rows of the bars hold every probability once, and the true token wherever it stands", () => {
  for (const [place, rows, name] of [[2, 17, "2"], [12 + 4, 18, "50"], [4, 18, "218"]]) {
    const found = picture.bars(settingOf(REAL, { place, draws: 100 }), places[place], lookAt(place));
    assert.equal(found.length, rows);
    assert.equal(found.find((row) => row.true).name, name);
    const others = found.filter((row, i) => i < picture.SINGLE || row.token === null);
    near(total(others.map(({ inside, outside }) => inside + outside)), 1, 1e-3);
    assert.equal(total(others.map(({ came }) => came)), 100);
  }
  const cut = picture.bars(settingOf(REAL, { place: 2 }), places[2], lookAt(2));
  assert.ok(cut.at(-2).inside > 0 && cut.at(-2).outside > 0); // the nucleus ends between 16 and 60
});

test("the picture has a point for each place, and no number that is none", () => {
  const drawn = picture.drawSizes(settingOf(REAL), places, REAL.texts);
  assert.equal(drawn.match(/<circle/g).length, 24);
  assert.equal(drawn.match(/<circle[^>]*class="here"/g).length, 1);
  assert.doesNotMatch(drawn, /NaN|undefined/);
  assert.deepEqual([0, 50, 190, 330, 400].map((x) => picture.nearest(x, 24)), [0, 0, 12, 23, 23]);
});

test("it opens on the third place, with the text around it", () => {
  const { all, said, text, rows } = show(widget, REAL);
  assert.match(said(), /^Place 3 of 24, after “….*HouseAge␣*”/);
  assert.equal(all(".acw-text button").length, 12);
  assert.equal(text('[aria-pressed="true"]'), "␣median");
  assert.equal(all(".acw-text .ahead").length, 9);
  assert.equal(rows(".acw-tokens").length, 17);
  assert.match(text(".acw-tokens tr.true"), /␣median ← true/);
});

test("a place is chosen in the text, by its buttons or the arrow keys, and by the list of texts", async () => {
  const { all, click, press, put, said, traitsOf, text } = show(widget, REAL);
  await click(all(".acw-text button")[4]);
  assert.match(said(), /^Place 5 of 24/);
  await press(all(".acw-text button")[4], "ArrowLeft");
  assert.deepEqual(traitsOf("place"), [3]);
  await put("text", 1);
  assert.deepEqual(traitsOf("place"), [12]);
  assert.equal(text('[aria-pressed="true"]'), "␣class");
  await press(all(".acw-text button")[0], "End");
  assert.match(said(), /^Place 24 of 24/);
});

test("a click into the picture chooses the place below it", async () => {
  const { fire, one, traitsOf } = show(widget, REAL);
  const chart = one("figure svg");
  chart.getBoundingClientRect = () => ({ left: 10, width: 340 });
  await fire(chart, "pointerdown", { clientX: 10 + 330 });
  assert.deepEqual(traitsOf("place"), [23]);
});

test("the sliders go along the recorded settings", async () => {
  const { control, put, said, text, traitsOf } = show(widget, REAL);
  await put("temperature", 10);
  await put("top-p", 7);
  assert.deepEqual(traitsOf("temperature", "top_p"), [1.5, 0.98]);
  assert.match(said(), new RegExp(`holds ${places[2].sizes[10][7].toLocaleString("en-US")} of 49,152`));
  assert.equal(control("top-p").getAttribute("aria-valuetext"), "0.98");
  assert.match(text("figcaption"), /at all 24 places: 1,\d+ to [\d,]+$/);
  await put("top-p", 10);
  assert.match(said(), /holds 49,152 of 49,152 tokens, with a share of 1\./);
});

test("one token is drawn, then a thousand; another place begins anew, another setting does not", async () => {
  const { all, button, click, put, set, text, texts, traitsOf } = show(widget, REAL);
  assert.equal(button("Begin again").disabled, true);
  await click("Draw");
  assert.match(text(".acw-drawn"), /^1 drawn/);
  await click("Draw 1000");
  assert.match(text(".acw-drawn"), /^1,001 drawn, \d+ from outside/);
  await put("top-p", 9);
  assert.deepEqual(traitsOf("draws"), [1001]);
  await put("draw from the nucleus only", true);
  assert.match(text(".acw-drawn"), /, 0 from outside/);
  await click("Begin again");
  assert.deepEqual(traitsOf("seed", "draws"), [1, 0]);
  await click("Draw 1000");
  await put("text", 1);
  assert.deepEqual([traitsOf("draws"), texts(".acw-tokens td:last-child").every((one) => one === "–")], [[0], true]);
  await set({ draws: 19500 });
  const off = () => [all("button").find((one) => one.textContent === "Draw").disabled, button("Draw 1000").disabled];
  assert.deepEqual(off(), [false, true]);
  await set({ draws: 20000 });
  assert.deepEqual(off(), [true, true]);
});

test("both parts of the task are ticked where they are met, and stay", async () => {
  const { all, click, put, text, traitsOf } = show(widget, REAL);
  assert.match(text(".acw-task"), /☐ one token is the whole nucleus; ☐ it takes more than 50\.$/);
  await click(all(".acw-text button")[3]);
  assert.match(text(".acw-task"), /☑ one token is the whole nucleus: place 4; ☐/);
  await put("temperature", 10);
  await click(all(".acw-text button")[4]);
  assert.match(text(".acw-task"), /☑.*☐/);
  await put("temperature", 5);
  assert.match(text(".acw-task"), /☑.*☑ it takes more than 50: place 5\. Done\.$/);
  assert.deepEqual(traitsOf("met"), [[3, 4]]);
});

test("all is in tables as well", async () => {
  const { all, fire, rows } = show(widget, { ...REAL, draws: 50 });
  for (const details of all("details")) {
    details.open = true;
    await fire(details, "toggle");
  }
  const [every, recorded] = all("details table").map((table) => table.querySelectorAll("tbody tr").length);
  assert.deepEqual([every, recorded], [24, 60]);
  assert.deepEqual(rows("details")[4], ["5", "California housing", "␣Lat", "218", "977"]);
  assert.ok(total(rows("details").slice(24).map((row) => Number(row[4]))) <= 50);
});
