// Attention tile by tile: the controls and the page.
import { make, uniqueId, watch, writer } from "./shared.js";
import { look, plan } from "./tile_stepper_walk.js";
import { bars, detail, extent, fixed, onChip, sentence, tiles } from "./tile_stepper_picture.js";

const TRAITS = ["query", "key", "value", "block_q", "block_k", "is_causal", "order", "step"];
const PAUSE = 1100; // milliseconds that a step stands while playing

function render({ model, el }) {
  const id = uniqueId();
  const write = writer(model);
  const given = () => Object.fromEntries(TRAITS.map((name) => [name, model.get(name)]));
  const steps = () => plan(given()).length;
  let timer = null;

  const go = (step) => write({ step: Math.max(0, Math.min(step, steps())) });
  const rest = () => {
    clearInterval(timer);
    timer = null;
    playing();
  };
  const playing = () => {
    play.textContent = timer ? "Pause" : "Play";
    said.setAttribute("aria-live", timer ? "off" : "polite");
  };
  const by = (words, where) =>
    make("button", { type: "button", textContent: words, onclick: () => (rest(), go(where())) });
  const first = by("Start", () => 0);
  const back = by("Back", () => model.get("step") - 1);
  const forward = by("Step", () => model.get("step") + 1);
  const last = by("End", () => Infinity);
  const play = make("button", {
    type: "button",
    className: "play",
    onclick() {
      if (timer) return rest();
      if (model.get("step") >= steps()) go(0);
      timer = setInterval(() => {
        go(model.get("step") + 1);
        if (model.get("step") >= steps()) rest();
      }, PAUSE);
      playing();
    },
  });
  const slider = make("input", {
    id: `${id}-step`, type: "range", min: 0, step: 1, oninput: () => (rest(), go(+slider.value)),
  });

  const choice = (name, words, options, read) => {
    const input = make(
      "select",
      { id: `${id}-${name}`, onchange: () => (rest(), write({ [name]: read(input.value), step: 0 })) },
      ...options.map((value) => make("option", { value: String(value), textContent: String(value) })),
    );
    return { input, row: make("div", {}, make("label", { for: input.id, textContent: words }), input) };
  };
  const sizes = [1, 2, 3, 4, 5, 6, 7, 8];
  const blockQ = choice("block_q", "queries a block", sizes, Number);
  const blockK = choice("block_k", "keys a block", sizes, Number);
  const order = choice("order", "loop", ["queries outside", "keys outside"], String);
  const causal = make("input", {
    id: `${id}-causal`, type: "checkbox", onchange: () => (rest(), write({ is_causal: causal.checked, step: 0 })),
  });

  const said = make("p", { className: "acw-said" });
  const note = make("p", { className: "acw-note" });
  const table = drawing();
  const moved = drawing("0 0 402 48");
  const chip = make("p", { className: "acw-chip" });
  const [states, counts] = [make("tbody"), make("tbody")];
  const grid = (caption, head, body) =>
    make(
      "table",
      {},
      make("caption", { textContent: caption }),
      make("thead", {}, make("tr", {}, ...head.map((textContent) => make("th", { scope: "col", textContent })))),
      body,
    );
  const figure = (words, ...inside) => make("figure", {}, make("figcaption", { textContent: words }), ...inside);
  const scroll = (label, inside) =>
    make("div", { className: "acw-scroll", tabIndex: 0, role: "group", "aria-label": label }, inside);
  const root = make(
    "div",
    { className: "acw acw-tiles", role: "group", "aria-label": "Tile stepper", "data-lm-suppress-shortcuts": "true" },
    make(
      "div",
      { className: "acw-choices" },
      blockQ.row,
      blockK.row,
      order.row,
      make("div", {}, causal, make("label", { for: causal.id, textContent: "causal" })),
    ),
    make(
      "div",
      { className: "acw-steps" },
      first, back, play, forward, last,
      make("label", { for: slider.id, textContent: "step" }),
      slider,
    ),
    said,
    make(
      "div",
      { className: "acw-columns" },
      figure("Scores: a row for each query, a column for each key", table),
      scroll(
        "State of every query",
        grid("State of every query", ["query", "old ×", "m", "l", "acc", "where"], states),
      ),
    ),
    note,
    chip,
    make(
      "div",
      { className: "acw-columns" },
      figure(
        "Numbers moved between HBM and chip",
        moved,
        make(
          "p",
          { className: "acw-key" },
          make("span", { className: "read", textContent: "■ read" }),
          make("span", { className: "written", textContent: "■ written, to the right of it" }),
          make("span", { textContent: "dashed: the whole walk" }),
        ),
      ),
      scroll("Numbers moved, as a table", grid("The same, counted", ["numbers", "read", "written", "together"], counts)),
    ),
  );

  const line = ([name, ...cells], className = "") =>
    make(
      "tr",
      { className },
      make("th", { scope: "row", textContent: name }),
      ...cells.map((textContent) => make("td", { textContent })),
    );

  function update() {
    const state = given();
    const all = steps();
    const count = Math.min(state.step, all);
    const seen = look(state, count);
    slider.max = all;
    slider.value = count;
    slider.setAttribute("aria-valuetext", `step ${count} of ${all}`);
    blockQ.input.value = state.block_q;
    blockK.input.value = state.block_k;
    order.input.value = state.order;
    causal.checked = state.is_causal;
    first.disabled = back.disabled = count === 0;
    forward.disabled = last.disabled = count === all;
    said.textContent = sentence(seen, count);
    note.textContent = detail(seen, count);
    table.setAttribute("viewBox", extent(state));
    table.setAttribute("aria-label", `Table of ${state.query.length} by ${state.key.length} scores in tiles. ${said.textContent}`);
    table.innerHTML = tiles(state, seen, count);
    const rows = seen.rows.map(({ m, l, acc, shrunk, where, before }, i) => {
      const active = seen.now && i >= seen.now.q[0] && i < seen.now.q[1];
      const factor = active && seen.now.kind === "tile" && before > -Infinity ? fixed(shrunk) : "";
      return line([i, factor, fixed(m), fixed(l), acc.map(fixed).join(", "), where], active ? "active" : "");
    });
    states.replaceChildren(...rows);
    chip.textContent = onChip(seen);
    const sums = [["this walk, so far", seen.sofar], ["this walk, in all", seen.whole], ["naive, in all", seen.naive]];
    moved.innerHTML = bars(seen);
    moved.setAttribute("aria-hidden", "true");
    counts.replaceChildren(
      ...sums.map(([name, { read, written }]) => line([name, read, written, read + written])),
    );
  }

  table.setAttribute("role", "img");
  el.append(root);
  playing();
  update();
  const stop = watch(model, TRAITS, update);
  return () => {
    clearInterval(timer);
    stop();
    root.remove();
  };
}

function drawing(viewBox = "0 0 1 1") {
  const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  picture.setAttribute("viewBox", viewBox);
  return picture;
}

export default { render };
