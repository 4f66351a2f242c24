// What a released model says comes next, how far a nucleus reaches, and what is drawn: the controls and the page.
import { decimal, whole } from "../numbers.js";
import { check, slider } from "../inputs.js";
import { button, choice, depict, div, fill, folded, make, note, picture, say, scroll, shell, spoken, widget } from "../shared.js";
import { rove } from "../rove.js";
import { MOST, TASK, expected, fulfilled, look, sizeAt, tally, unpack } from "./next_token_explorer_numbers.js";
import { CHART, bars, chance, drawSizes, drawnWords, nearest, risk, sentence, shown, taskParts } from "./next_token_explorer_picture.js";

const TRAITS = ["place", "temperature", "top_p", "seed", "draws", "nucleus_only", "met"];

export default widget(TRAITS, ({ model, write, read }) => {
  const [texts, temperatures, shares, vocabulary] = ["texts", "temperatures", "shares", "vocabulary"].map((name) => model.get(name));
  const places = model.get("places").map(unpack);
  const firstOf = (text) => places.findIndex((place) => place.text === text);
  const state = () => ({ ...read(), temperatures, shares, vocabulary, count: places.length });
  let text;

  /** Places that fulfil the task, those at hand included. */
  const metAt = (now) => {
    const ticked = fulfilled(places[now.place], now);
    return now.met.map((one, i) => (one < 0 && ticked[i] ? now.place : one));
  };
  const go = (changes) => {
    const moved = changes.place !== undefined && changes.place !== model.get("place");
    const all = { ...changes, ...(moved ? { draws: 0 } : {}) };
    const met = metAt({ ...state(), ...all });
    write(String(met) === String(model.get("met")) ? all : { ...all, met });
  };
  const draw = (count) => go({ draws: model.get("draws") + count });

  const chosen = choice("text", (value) => go({ place: firstOf(+value) }), texts.map(({ name }, i) => [i, name]));
  const box = div("acw-text");
  const reading = make("div", { className: "acw-page", role: "group", "aria-label": "The text. Arrow keys move from place to place." }, box);
  const said = spoken("acw-said");
  const warmth = slider("temperature", { min: 0, max: temperatures.length - 1 }, (i) => go({ temperature: temperatures[i] }));
  const share = slider("top-p", { min: 0, max: shares.length - 1 }, (i) => go({ top_p: shares[i] }));
  const one = button("Draw", () => draw(1));
  const many = button("Draw 1000", () => draw(1000));
  const again = button("Begin again", () => go({ seed: (model.get("seed") + 1) % 2 ** 31, draws: 0 }));
  const only = check("draw from the nucleus only", (nucleus_only) => go({ nucleus_only }));
  const came = spoken("acw-drawn");
  const key = (className, words) => make("span", {}, make("i", { className, "aria-hidden": "true" }), words);
  const legend = make("p", { className: "acw-legend" }, key("inside", "in the nucleus"), key("outside", "outside"), key("came", "drawn"));
  const table = make("table", { className: "acw-tokens" });
  const sizes = picture(`0 0 ${CHART.wide} ${CHART.high}`);
  const sizeWords = make("figcaption");
  const left = make("p", { className: "acw-risk" });
  const task = spoken("acw-task");
  const [every, recorded] = [make("table"), make("table")];
  const opened = folded("All places, as a table", scroll("All places", every));
  const listed = folded("All recorded tokens of this place, as a table", scroll("All recorded tokens", recorded));
  for (const details of [opened, listed]) details.addEventListener("toggle", update);
  sizes.addEventListener("pointerdown", (event) => {
    const { left, width } = sizes.getBoundingClientRect();
    if (width) go({ place: nearest(((event.clientX - left) / width) * CHART.wide, places.length) });
  });
  const root = shell("next", "The next token, really",
    chosen.field,
    reading,
    said,
    div("acw-controls acw-rows", warmth.field, share.field),
    div("acw-bar", one, many, again, only.label),
    came,
    div("acw-columns",
      make("div", {}, legend, table),
      make("div", {}, make("figure", {}, sizeWords, sizes), left, task),
    ),
    note(
      `Recorded: of each place the ${places[0].tokens.length} likeliest tokens, the true one, and for every setting of the two sliders how many of ` +
        `all ${whole(vocabulary)} tokens the nucleus holds. All counts of a nucleus and all probabilities are exact to rounding. Of a token ` +
        "drawn from beyond those recorded only a range of numbers is known; and where the nucleus reaches beyond them, its share is taken as " +
        "top-p, which is off by less than the probability of one token.",
    ),
    opened,
    listed,
  );

  const buttons = () => [...box.querySelectorAll("button")];
  rove(box, ["ArrowLeft", "ArrowRight"], buttons, (to) => go({ place: firstOf(text) + to }));

  /** Another text: its tokens at the places become buttons. */
  function load(number) {
    text = number;
    const from = firstOf(number);
    const parts = texts[number].between.flatMap((before, i) => {
      const { token } = places[from + i];
      const named = make("button", {
        type: "button", textContent: shown(token),
        "aria-label": `Place ${from + i + 1}: ${shown(token)}`, onclick: () => go({ place: from + i }),
      });
      return [make("span", { textContent: before }), named, ...(token.endsWith("\n") ? ["\n"] : [])];
    });
    box.replaceChildren(...parts);
  }

  function showText(now) {
    if (text !== places[now.place].text) load(places[now.place].text);
    chosen.select.value = text;
    const at = now.place - firstOf(text);
    buttons().forEach((named, i) => {
      named.setAttribute("aria-pressed", String(i === at));
      named.tabIndex = i === at ? 0 : -1;
    });
    box.querySelectorAll("span").forEach((part, i) => part.classList.toggle("ahead", i > at));
    const here = buttons()[at];
    if (here.offsetTop < reading.scrollTop || here.offsetTop + here.offsetHeight > reading.scrollTop + reading.clientHeight)
      reading.scrollTop = here.offsetTop - reading.clientHeight / 2;
  }

  function showBars(now, place, seen) {
    const rows = bars(now, place, seen);
    const most = Math.max(...rows.map(({ inside, outside }) => inside + outside));
    const bar = (className, width) => make("span", { className, style: `width: ${Math.min(100, (100 * width) / most).toFixed(2)}%` });
    const lines = fill(table, "", ["number", "token", "probability", "", "drawn"], rows.map((row) => [
      row.name,
      row.token === null ? "together" : make("span", { className: "token" }, `\u2068${shown(row.token)}\u2069`, row.true ? " ← true" : ""),
      make("span", { className: "track" },
        make("span", { className: "two" }, bar("inside", row.inside), bar("outside", row.outside)),
        bar("came", now.draws && row.came ? row.came / now.draws : 0),
      ),
      chance(row.inside + row.outside),
      now.draws && row.came !== null ? whole(row.came) : "–",
    ]));
    lines.forEach((line, i) => line.classList.toggle("true", rows[i].true === true));
  }

  function showTables(now, place, seen) {
    if (opened.open)
      fill(every, `Tokens in the nucleus at temperature ${decimal(now.temperature, 1)} and top-p ${now.top_p}`,
        ["place", "text", "true next token", "its number", "nucleus"],
        places.map((each, i) => [i + 1, texts[each.text].name, `\u2068${shown(each.token)}\u2069`, whole(each.rank), whole(sizeAt(each, now))]),
      );
    if (!listed.open) return;
    const { counts } = tally(seen, now.seed, now.draws, now.nucleus_only);
    const wanted = expected(seen, now.nucleus_only).chances;
    fill(recorded, `Place ${now.place + 1}`, ["number", "token", "probability", "nucleus", "drawn"],
      place.tokens.map((token, i) => [i + 1, `\u2068${shown(token)}\u2069`, chance(wanted[i]), i < seen.size ? "inside" : "outside", whole(counts[i])]),
    );
  }

  function update() {
    const now = state();
    const place = places[now.place];
    const seen = look(place, now);
    showText(now);
    warmth.show(temperatures.indexOf(now.temperature), decimal(now.temperature, 1));
    share.show(shares.indexOf(now.top_p), now.top_p);
    only.input.checked = now.nucleus_only;
    one.disabled = now.draws + 1 > MOST;
    many.disabled = now.draws + 1000 > MOST;
    again.disabled = now.draws === 0;
    say(said, sentence(now, place, seen, texts[place.text].between[now.place - firstOf(place.text)]));
    say(came, drawnWords(now, place, seen));
    showBars(now, place, seen);
    const all = places.map((each) => sizeAt(each, now)).sort((a, b) => a - b);
    sizeWords.textContent = `Tokens in the nucleus at all ${places.length} places: ${whole(all[0])} to ${whole(all.at(-1))}`;
    depict(sizes, `${sizeWords.textContent}; all of them are in a table below`, drawSizes(now, places, texts));
    left.textContent = risk(seen);
    const met = metAt(now);
    const done = met.every((at) => at >= 0) ? " Done." : "";
    say(task, `Task: at top-p ${TASK.top_p} and temperature ${TASK.temperature}, find a place where… ${taskParts(met).join("; ")}.${done}`);
    showTables(now, place, seen);
  }

  return { root, update };
});
