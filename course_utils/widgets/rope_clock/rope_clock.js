// Pairs of a query and a key, turned by where they stand: the controls and the page.
import { slider } from "../inputs.js";
import { button, choice, depict, div, figure, fill, folded, make, picture, scroll, shell, spoken, svg, uniqueId, widget } from "../shared.js";
import { task } from "../task.js";
import { degrees, look } from "./rope_clock_numbers.js";
import { curve, dial, fixed, pairWords, sentence } from "./rope_clock_picture.js";

const TRAITS = ["query", "key", "query_position", "key_position", "base", "pairing", "pair"];

export default widget(TRAITS, ({ model, write, read }) => {
  const id = uniqueId();
  const last = model.get("last");

  const place = (name, trait) =>
    slider(`${name} is at`, { min: 0, max: last }, (value) => write({ [trait]: value }));
  const [query, key] = [place("query", "query_position"), place("key", "key_position")];
  const shift = (by, words) => {
    const moved = (trait) => [trait, model.get(trait) + by];
    return button(words, () => write(Object.fromEntries(["query_position", "key_position"].map(moved))));
  };
  const earlier = shift(-1, "Both one earlier");
  const later = shift(1, "Both one later");
  const pairing = choice("pairing", (pairing) => write({ pairing }), ["interleaved", "split halves"]);
  const said = spoken("acw-said");
  const detail = spoken("acw-note");

  const dials = model.get("query").slice(0, model.get("query").length / 2).map((_, i) => {
    const face = svg("", { viewBox: "-60 -60 120 120" });
    const input = make("input", {
      type: "radio", name: `${id}-pair`, id: `${id}-pair-${i}`, onchange: () => write({ pair: i }),
    });
    const part = make("span", { className: "acw-part" });
    const text = make("span", {}, input, `pair ${i}`);
    return { input, part, face, label: make("label", { for: input.id }, text, face, part) };
  });
  const chart = picture("0 0 560 166");
  const head = ["pair", "features", "radians per position", "query rotated by", "key rotated by", "difference", "share of q·k"];
  const table = make("table");
  const goal = task("move query and key to other places without a change of q·k.");
  const began = ["query_position", "key_position"].map((name) => model.get(name));
  const root = shell("clock", "RoPE clock",
    div("acw-controls acw-rows", query.field, key.field, div("acw-switch", earlier, later, ...pairing.field.children)),
    said,
    make("fieldset", {},
      make("legend", { textContent: "Each pair of features as a clock" }),
      div("acw-dials", ...dials.map((one) => one.label)),
      make("p", { className: "acw-key" },
        make("span", { className: "query", textContent: "● query" }),
        make("span", { className: "key", textContent: "○ key" }),
      ),
    ),
    detail,
    figure("q·k at every distance", chart),
    goal.line,
    folded("All pairs, as a table", scroll("All pairs", table)),
  );

  function update() {
    const state = read();
    const seen = look(state);
    for (const [slider, at] of [[query, state.query_position], [key, state.key_position]]) slider.show(at, at, `position ${at}`);
    pairing.select.value = state.pairing;
    earlier.disabled = Math.min(state.query_position, state.key_position) <= 0;
    later.disabled = Math.max(state.query_position, state.key_position) >= last;
    said.textContent = sentence(seen, state);
    const moved = [state.query_position - began[0], state.key_position - began[1]];
    goal.met(moved[0] !== 0 && moved[0] === moved[1]);
    detail.textContent = pairWords(seen.pairs[state.pair]);
    const reach = Math.max(...seen.pairs.flatMap(({ q, k }) => [Math.hypot(...q), Math.hypot(...k)]));
    dials.forEach((one, i) => {
      one.input.checked = i === state.pair;
      one.face.innerHTML = dial(seen.pairs[i], reach);
      one.part.textContent = fixed(seen.pairs[i].part);
    });
    depict(chart, `q·k against distance; at ${seen.distance} it is ${fixed(seen.score)}`, curve(state, seen, last));
    const rows = seen.pairs.map((one) => [
      one.i,
      one.names.join(", "),
      one.frequency.toPrecision(3),
      ...[...one.angles, one.angles[1] - one.angles[0]].map((angle) => `${degrees(angle)}°`),
      fixed(one.part),
    ]);
    fill(table, "", head, rows);
  }

  return { root, update };
});
