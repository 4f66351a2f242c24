// Type a date, and a trained model writes it as YYYY-MM-DD, without a kernel; point at a sign to see where it read.
import { div, folded, heat, make, note, say, shell, spoken, uniqueId, watch, widget } from "../shared.js";
import { rove } from "../rove.js";
import { task } from "../task.js";
import { isNoDay, signOf, signsOf, unpack, writeDate } from "./date_writer_model.js";
import { called, certainty, sentence } from "./date_writer_words.js";

const MOST = 60;

export default widget(["text"], ({ model, write }) => {
  const [alphabet, sure, languages] = ["alphabet", "sure", "languages"].map((name) => model.get(name));
  const state = unpack({ weights: model.get("weights"), layout: model.get("parts") });
  let signs, found, hovered = null;

  const id = uniqueId();
  const input = make("input", {
    id, type: "text", className: "acw-type", maxLength: MOST, autocomplete: "off", spellcheck: false, dir: "auto",
    oninput: () => write({ text: input.value }),
  });
  const source = make("div", { className: "acw-read", "aria-hidden": "true", dir: "ltr" });
  const said = spoken("acw-said");
  const target = make("div", {
    className: "acw-written", dir: "ltr", role: "group", "aria-label": "Written signs. Arrow keys move from one to the next.",
  });
  const verdict = spoken("acw-sure");
  const goal = task("make it sure of a day that no calendar has.");
  const chips = model.get("examples").map((text) =>
    make("button", { type: "button", textContent: text, dir: "auto", onclick: () => write({ text }) }),
  );
  const root = shell("dates", "Date writer",
    make("label", { for: id, textContent: `Type a date, in any of ${languages} languages. A model of chapter 02 writes it as YYYY-MM-DD, here in the page: nothing is sent.` }),
    input,
    source,
    said,
    target,
    verdict,
    make("div", { className: "acw-chips", role: "group", "aria-label": "Examples" }, ...chips),
    goal.line,
    folded("What was measured", note(model.get("measured"))),
  );

  /** Another text. */
  function read() {
    const text = model.get("text");
    if (root.getRootNode().activeElement !== input) input.value = text;
    const { signs: all, tokens, unknown } = signsOf(text, alphabet);
    signs = all;
    chips.forEach((chip) => chip.setAttribute("aria-pressed", String(chip.textContent === text)));
    found = signs.length ? writeDate(state, tokens) : { text: "", steps: [], chance: 0 };
    source.replaceChildren(
      ...signs.map((sign) => make("span", {}, make("b", { textContent: sign }), make("i"))),
    );
    target.replaceChildren(
      ...found.steps.map(({ token, chances }, place) =>
        make("button", {
          type: "button", textContent: signOf(token), className: chances[token] < sure ? "unsure" : "",
          "aria-label": `${called(found.text, place)}${chances[token] < sure ? ", unsure" : ""}`,
          onpointerenter: (event) => event.pointerType !== "touch" && point((hovered = place)),
          onpointerleave: () => point((hovered = null)),
          onfocus: () => settle(place),
          onclick: () => settle(place),
        }),
      ),
    );
    hovered = null;
    root.classList.toggle("doubtful", found.chance < sure);
    goal.met(found.chance >= sure && isNoDay(found.text));
    say(verdict, signs.length ? certainty(found, sure, unknown) : "Nothing to read yet.");
    point();
  }

  function settle(place) {
    hovered = null;
    if (place !== model.get("place")) write({ place });
    point();
  }

  /** Colour the source for the sign pointed at, else for the chosen one. */
  function point() {
    const place = Math.min(hovered ?? model.get("place"), found.steps.length - 1);
    if (place < 0) return say(said, "");
    [...source.children].forEach((cell, i) => {
      const weight = found.steps[place].weights[i];
      heat(cell.children[0], weight);
      cell.children[1].textContent = weight >= 0.045 ? weight.toFixed(2).replace(/^0/, "") : "";
    });
    [...target.children].forEach((key, i) => {
      key.setAttribute("aria-pressed", String(i === place));
      key.tabIndex = i === place ? 0 : -1;
    });
    say(said, sentence(signs, found, place));
  }

  rove(target, ["ArrowLeft", "ArrowRight"], () => [...target.children]);

  return { root, update: read, begin: () => [watch(model, ["place"], () => point())] };
});
