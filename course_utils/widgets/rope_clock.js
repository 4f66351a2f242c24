// Pairs of a query and a key, turned by where they stand: the controls and the page.
import { fill, make, slider, uniqueId, watch, writer } from "./shared.js";
import { degrees, look } from "./rope_clock_numbers.js";
import { curve, dial, fixed, pairWords, sentence } from "./rope_clock_picture.js";

const TRAITS = ["query", "key", "query_position", "key_position", "base", "pairing", "pair"];

function render({ model, el }) {
  const id = uniqueId();
  const write = writer(model);
  const last = model.get("last");

  const control = (name, words, trait) => {
    const made = slider(`${id}-${name}`, words, { min: 0, max: last }, (value) => write({ [trait]: value }));
    const show = () => {
      made.input.value = model.get(trait);
      made.input.setAttribute("aria-valuetext", `position ${model.get(trait)}`);
      made.output.textContent = model.get(trait);
    };
    return { show, row: make("div", { className: `acw-control ${name}` }, made.label, made.input, made.output) };
  };
  const sliders = [
    control("query", "query stands at", "query_position"),
    control("key", "key stands at", "key_position"),
  ];
  const shift = (by, words) =>
    make("button", {
      type: "button",
      textContent: words,
      onclick: () =>
        write({
          query_position: model.get("query_position") + by,
          key_position: model.get("key_position") + by,
        }),
    });
  const earlier = shift(-1, "Both one earlier");
  const later = shift(1, "Both one later");
  const pairing = make(
    "select",
    { id: `${id}-pairing`, onchange: () => write({ pairing: pairing.value }) },
    ...["interleaved", "split halves"].map((value) => make("option", { value, textContent: value })),
  );
  const said = make("p", { className: "acw-said", "aria-live": "polite" });
  const detail = make("p", { className: "acw-note", "aria-live": "polite" });

  const dials = model.get("query").slice(0, model.get("query").length / 2).map((_, i) => {
    const picture = drawing("-60 -60 120 120");
    picture.setAttribute("aria-hidden", "true");
    const input = make("input", {
      type: "radio", name: `${id}-pair`, id: `${id}-pair-${i}`, onchange: () => write({ pair: i }),
    });
    const part = make("span", { className: "acw-part" });
    const text = make("span", {}, input, `pair ${i}`);
    return { input, part, picture, label: make("label", { for: input.id }, text, picture, part) };
  });
  const picture = drawing("0 0 560 166");
  picture.setAttribute("role", "img");
  const head = ["pair", "features", "radians a position", "query turned by", "key turned by", "difference", "share of q·k"];
  const table = make("table");
  const root = make(
    "div",
    { className: "acw acw-clock", role: "group", "aria-label": "RoPE clock", "data-lm-suppress-shortcuts": "true" },
    make(
      "div",
      { className: "acw-controls" },
      ...sliders.map((one) => one.row),
      make(
        "div",
        { className: "acw-switch" },
        earlier,
        later,
        make("label", { for: pairing.id, textContent: "pairing" }),
        pairing,
      ),
    ),
    said,
    make(
      "fieldset",
      {},
      make("legend", { textContent: "Each pair of features as a clock" }),
      make("div", { className: "acw-dials" }, ...dials.map((one) => one.label)),
      make(
        "p",
        { className: "acw-key" },
        make("span", { className: "query", textContent: "● query" }),
        make("span", { className: "key", textContent: "○ key" }),
      ),
    ),
    detail,
    make("figure", {}, make("figcaption", { textContent: "q·k at every distance" }), picture),
    make(
      "details",
      {},
      make("summary", { textContent: "All pairs, as a table" }),
      make("div", { className: "acw-scroll", tabIndex: 0, role: "group", "aria-label": "All pairs" }, table),
    ),
  );

  function update() {
    const state = Object.fromEntries(TRAITS.map((name) => [name, model.get(name)]));
    const seen = look(state);
    for (const one of sliders) one.show();
    pairing.value = state.pairing;
    earlier.disabled = Math.min(state.query_position, state.key_position) <= 0;
    later.disabled = Math.max(state.query_position, state.key_position) >= last;
    said.textContent = sentence(seen, state);
    detail.textContent = pairWords(seen.pairs[state.pair]);
    const reach = Math.max(...seen.pairs.flatMap(({ q, k }) => [Math.hypot(...q), Math.hypot(...k)]));
    dials.forEach((one, i) => {
      one.input.checked = i === state.pair;
      one.picture.innerHTML = dial(seen.pairs[i], reach);
      one.part.textContent = fixed(seen.pairs[i].part);
    });
    picture.innerHTML = curve(state, seen, last);
    picture.setAttribute("aria-label", `q·k against distance; at ${seen.distance} it is ${fixed(seen.score)}`);
    const rows = seen.pairs.map((one) => [
      one.i,
      one.names.join(", "),
      one.frequency.toPrecision(3),
      ...[...one.angles, one.angles[1] - one.angles[0]].map((angle) => `${degrees(angle)}°`),
      fixed(one.part),
    ]);
    fill(table, "", head, rows);
  }

  el.append(root);
  update();
  const stop = watch(model, TRAITS, update);
  return () => {
    stop();
    root.remove();
  };
}

function drawing(viewBox) {
  const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  picture.setAttribute("viewBox", viewBox);
  return picture;
}

export default { render };
