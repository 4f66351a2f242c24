// What two models wrote at each length, without a kernel: the controls, the symbols and the table.
import { slider } from "../inputs.js";
import { button, div, figure, fill, folded, make, note, picture, scroll, shell, spoken, widget } from "../shared.js";
import { task } from "../task.js";
import { compare, curvePanel, sentence } from "./length_explorer_drawing.js";

const PART = 10; // symbols in one small table, so that a line can break

export default widget(["length", "example"], ({ model, write }) => {
  const names = model.get("names");
  const curves = model.get("curves");
  const byLength = new Map();
  for (const sample of model.get("samples")) {
    const length = Array.from(sample[0]).length;
    byLength.set(length, [...(byLength.get(length) ?? []), sample.map((text) => Array.from(text))]);
  }
  const lengths = [...byLength.keys()].sort((a, b) => a - b);
  const longest = Math.max(lengths.at(-1), ...curves.flat().map((row) => row[0]));

  const reading = slider("source length", { min: 0, max: lengths.length - 1 }, (i) =>
    write({ length: lengths[i], example: 0 }),
  );
  const again = button("Another example", () =>
    write({ example: (model.get("example") + 1) % byLength.get(model.get("length")).length }),
  );
  const said = spoken("acw-said");
  const goal = task(`find the shortest source in which ${names[0]} makes an error.`);
  const parts = div("acw-parts");
  const chart = picture("0 0 400 188");
  const numbers = make("table");
  const root = shell("lengths", "Copies by length",
    div("acw-control", reading.label, reading.input, reading.output, again),
    figure("Share of symbols copied right (line: mean, band: all runs)", chart),
    said,
    parts,
    note("Framed: wrong. –: nothing written."),
    goal.line,
    folded("Every measured length, as a table", scroll("Accuracies", numbers)),
  );

  const errs = ([source, first]) => compare(source, first).some(({ right }) => !right);
  const shortest = lengths.find((length) => byLength.get(length).some(errs));

  const wrong = (symbol) => [
    make("mark", { textContent: symbol || "–" }),
    make("span", { className: "acw-hidden", textContent: " wrong" }),
  ];
  const cell = ({ symbol, right }) => make("td", {}, ...(right ? [symbol] : wrong(symbol)));
  const row = (name, cells) => make("tr", {}, make("th", { scope: "row", textContent: name }), ...cells);

  function part(start, source, copies) {
    const piece = (all) => all.slice(start, start + PART);
    const end = Math.min(start + PART, source.length);
    const given = piece(source).map((symbol) => cell({ symbol, right: true }));
    const rows = names.map((name, i) => row(name, piece(copies[i]).map(cell)));
    return make("table", {},
      make("caption", { textContent: end === start + 1 ? `symbol ${end}` : `symbols ${start + 1} to ${end}` }),
      make("tbody", {}, row("source", given), ...rows),
    );
  }

  function update() {
    const length = model.get("length");
    const all = byLength.get(length);
    const [source, ...written] = all[model.get("example") % all.length];
    const copies = written.map((one) => compare(source, one));
    reading.show(lengths.indexOf(length), length, `${length} symbols`);
    again.disabled = all.length < 2;
    said.textContent = sentence(names, source, copies);
    goal.met(length === shortest && errs([source, written[0]]));
    const starts = Array.from({ length: Math.ceil(length / PART) }, (_, i) => i * PART);
    parts.replaceChildren(...starts.map((start) => part(start, source, copies)));
    chart.innerHTML = curvePanel({ names, curves, trained: model.get("trained"), length, longest });
    chart.setAttribute(
      "aria-label",
      `Accuracy against source length up to ${longest}; the numbers are in the table below. Shown: ${length}`,
    );
  }

  const percent = (share) => `${(100 * share).toFixed(0)}%`;
  const measured = ([, low, mean, high]) => `${percent(mean)} (${percent(low)} to ${percent(high)})`;
  const at = (rows, n) => rows.find((point) => point[0] === n);
  const everyLength = [...new Set(curves.flat().map((point) => point[0]))].sort((a, b) => a - b);
  fill(
    numbers,
    "Share of symbols right: mean of the runs (lowest to highest)",
    ["length", ...names],
    everyLength.map((n) => [n, ...curves.map((rows) => (at(rows, n) ? measured(at(rows, n)) : "not measured"))]),
  );
  return { root, update };
});
