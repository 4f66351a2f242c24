// The state explorer: pairs arrive one by one; what a state and a cache hold of them, and what can be read back.
import { decimal, whole } from "../numbers.js";
import { slider } from "../inputs.js";
import { button, choice, depict, div, make, note, picture, shell, spoken, cividis, widget } from "../shared.js";
import { task } from "../task.js";
import { FADING, KINDS, MOST, bytes, fresh, overwritten, readings, stateOf } from "./state_explorer_numbers.js";
import { SIZE, STATE, drawCache, drawState, letter, limitOf, sentence } from "./state_explorer_picture.js";

const MANY = 10; // keys of the task

export default widget(["kind", "writes", "width", "fade", "asked"], ({ model, write, read }) => {
  const grown = (pair) => write({ writes: [...model.get("writes"), pair], asked: pair[0] });

  const kind = choice("memory", (kind) => write({ kind }), Object.entries(KINDS));
  const width = slider("width d", { min: 2, max: 5 }, (power) => write({ width: 2 ** power }));
  const fade = slider("kept of the past", { min: 50, max: 100 }, (hundredths) => write({ fade: hundredths / 100 }));
  const add = button("Add a pair", () => grown(fresh(model.get("writes"))));
  const again = button("", () => grown(overwritten(model.get("writes"), model.get("asked"))));
  const back = button("Take the last pair back", () => {
    const writes = model.get("writes").slice(0, -1);
    const known = writes.some(([k]) => k === model.get("asked"));
    write({ writes, ...(known ? {} : { asked: writes.at(-1)[0] }) });
  });

  const goal = task(`let ${MANY} keys or more all read right from a state.`);
  const story = make("p", { className: "acw-story" });
  const said = spoken("acw-said");
  const cache = picture(`0 0 ${SIZE.wide} ${SIZE.high}`);
  const state = picture(`0 0 ${STATE} ${STATE}`);
  const cacheWords = make("figcaption");
  const stateWords = make("figcaption");
  const cacheFigure = make("figure", {}, cacheWords, cache);
  const stateFigure = make("figure", {}, stateWords, state);
  const bars = make("div", { className: "acw-bars", role: "group", "aria-label": "What each key reads" });
  const rows = Array.from({ length: MOST.keys }, (_, key) => {
    const bar = make("span", { className: "bar" });
    const words = make("span", { className: "words" });
    const row = make("button", { type: "button", onclick: () => write({ asked: key }) },
      make("b", { textContent: letter(key) }),
      make("span", { className: "track" }, bar),
      words,
    );
    return { row, bar, words };
  });
  bars.append(...rows.map(({ row }) => row));
  const root = shell("memory", "State explorer",
    div("acw-controls", kind.field, width.field, fade.field),
    div("acw-bar", add, again, back),
    story,
    div("acw-held", cacheFigure, stateFigure),
    said,
    note("A bar is the cosine between what a key reads and its newest value. Choose a key to query the memory with it."),
    bars,
    goal.line,
  );

  function update() {
    const now = read();
    const found = readings(now.kind, now.writes, now.width, now.fade);
    const held = bytes(now.writes.length, now.width);
    const matrix = stateOf(now.kind === "softmax" ? "sum" : now.kind, now.writes, now.width, now.fade);
    const cached = now.kind === "softmax";
    kind.select.value = now.kind;
    width.show(Math.log2(now.width), now.width);
    fade.show(Math.round(100 * now.fade), now.fade.toFixed(2));
    fade.input.disabled = !FADING.includes(now.kind);
    add.disabled = now.writes.length >= MOST.writes || found.length >= MOST.keys;
    again.disabled = now.writes.length >= MOST.writes;
    back.disabled = now.writes.length <= 1;
    again.textContent = `Write ${letter(now.asked)} again, with ${overwritten(now.writes, now.asked)[1]}`;
    story.textContent = now.writes.map(([k, v]) => `${letter(k)} ${v}`).join(" · ");
    said.textContent = sentence({ ...now, read: found });
    cacheWords.textContent = `${cached ? "Cache" : "A cache, not kept"}: ${whole(held.cache)} bytes`;
    stateWords.textContent = `${cached ? "A sum, not kept" : "State"}: ${whole(held.state)} bytes`;
    cacheFigure.classList.toggle("idle", !cached);
    stateFigure.classList.toggle("idle", cached);
    const columns = `${now.writes.length} columns, one per pair: a key of ${now.width} numbers above, its value below`;
    depict(cache, columns, drawCache(now.writes, now.width));
    depict(state, `${now.width} by ${now.width} numbers, the largest ${limitOf(matrix).toFixed(2)}`, drawState(matrix));
    goal.met(!cached && found.length >= MANY && found.every((one) => one.answered === one.wanted));
    rows.forEach(({ row, bar, words }, key) => {
      const one = found.find((other) => other.key === key);
      row.hidden = !one;
      if (!one) return;
      const right = one.answered === one.wanted;
      row.setAttribute("aria-pressed", String(key === now.asked));
      bar.style.width = `${100 * Math.max(0, one.cosine)}%`;
      bar.style.background = `rgb(${cividis(one.cosine)})`;
      words.textContent = ` ${decimal(one.cosine)}, reads ${one.answered} ${right ? "✓" : `✗ not ${one.wanted}`}`;
    });
  }

  return { root, update };
});
