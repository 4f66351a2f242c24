// Toggle the rules of a mask; see the mask, the weights under it, and what each query reads.
import { check, slider } from "../inputs.js";
import { choice, div, fill, folded, heat, make, say, shell, spoken, widget } from "../shared.js";
import { rove } from "../rove.js";
import { task } from "../task.js";
import { EXAMPLES, code, example, keyNames, maskOf, rowSentence, summary, weightsUnder } from "./mask_playground_rules.js";
import { packingTable } from "./mask_playground_packing.js";

const TRAITS = ["tokens", "on", "offset", "window", "pads", "left", "prefix", "second", "third", "num_queries", "row"];
const RULES = [
  ["causal", "causal", "offset", "offset", (S) => [-S, S]],
  ["window", "window", "window", "keys", (S) => [1, S]],
  ["prefix", "prefix", "prefix", "keys", (S) => [0, S]],
  ["documents", "documents", "second", "second at", (S) => [1, S - 1]],
  ["padding", "padding", "pads", "pads", (S) => [0, S]],
];
const NAMES = RULES.map(([name]) => name);

export default widget(TRAITS, ({ model, write, read }) => {
  let view,
    grids,
    shapeDrawn,
    hovered = null;

  const sizer = (name, words, [min, max]) =>
    slider(words, { min, max }, (value) => write({ [name]: value }));
  const numTokens = model.get("tokens").length;
  const rules = RULES.map(([rule, words, trait, unit, range]) => {
    const number = sizer(trait, unit, range(numTokens));
    number.input.setAttribute("aria-label", `${words}: ${unit}`);
    const box = check(words, (isOn) =>
      write({ on: NAMES.filter((name) => (name === rule ? isOn : model.get("on").includes(name))) }),
    );
    return { rule, trait, ...number, box };
  });
  const left = check("pads on the left", (left) => write({ left }));
  const third = sizer("third", "third document at", [1, numTokens]);
  const packing = packingTable();
  const queries = sizer("num_queries", "queries: the last", [1, numTokens]);
  const names = ["your own", ...EXAMPLES.map(([name]) => name)].map((name, i) => [i, name]);
  const show = (_, i) => i && write({ ...example(i - 1, numTokens), row: 0 });
  const examples = choice("Example", show, names);
  const said = make("p", { className: "acw-said" });
  const readout = spoken("acw-readout");
  const maskTable = make("table", { className: "acw-mask" });
  const weightTable = make("table", { className: "acw-weights" });
  const python = make("pre", { tabIndex: 0, "aria-label": "This mask in Python" });
  const goal = task("find a mask that leaves a query with nothing.");
  const row = (...parts) => div("acw-rule", ...parts);
  const root = shell("playground", "Mask playground",
    div("acw-rules",
      row(...examples.field.children),
      ...rules.map(({ box, label, input, output }) => row(box.label, label, input, output)),
    ),
    said,
    div("acw-grids", maskTable, weightTable),
    readout,
    packing.table,
    goal.line,
    folded("More settings", div("acw-rules",
      row(queries.label, queries.input, queries.output), row(left.label), row(third.label, third.input, third.output),
    )),
    folded("This mask in Python", python),
  );

  /** Another number of queries or other names: new tables. */
  function build(names) {
    const queries = names.slice(names.length - view.num_queries);
    const table = (table, caption, header) => {
      const head = names.map((name) => make("span", { textContent: name }));
      const lines = queries.map((name, i) => [header(name, i), ...names.map(() => "")]);
      const rows = fill(table, caption, ["query", ...head], lines);
      table.classList.toggle("acw-tall", names.length > 8 || names.some((name) => name.length > 4));
      rows.forEach((row, i) => {
        row.addEventListener("pointerenter", (event) => event.pointerType !== "touch" && point((hovered = i)));
        row.addEventListener("pointerleave", () => point((hovered = null)));
        row.addEventListener("click", () => choose(i));
      });
      return { rows, cells: rows.map((row) => [...row.querySelectorAll("td")]) };
    };
    const pick = (textContent, i) => make("button", { type: "button", textContent, onfocus: () => choose(i) });
    grids = [
      table(maskTable, "Mask: 1 = may look", pick),
      table(weightTable, "Weights: softmax under the mask", (name) => name),
    ];
    grids.buttons = [...maskTable.querySelectorAll("button")];
  }

  function choose(i) {
    hovered = null;
    if (i !== view.row) write({ row: i });
    else point();
  }

  /** Mark the row pointed at, else the chosen one, and say what its query reads. */
  function point() {
    const at = Math.min(hovered ?? view.row, view.num_queries - 1);
    for (const { rows } of grids) rows.forEach((line, i) => line.classList.toggle("here", i === at));
    grids.buttons.forEach((button, i) => {
      button.setAttribute("aria-pressed", String(i === at));
      button.tabIndex = i === Math.min(view.row, view.num_queries - 1) ? 0 : -1;
    });
    say(readout, rowSentence(view, at));
  }

  function update() {
    view = read();
    const names = keyNames(view);
    const shape = JSON.stringify([names, view.num_queries]);
    if (shape !== shapeDrawn) build(names);
    shapeDrawn = shape;
    for (const { rule, trait, box, input, show } of rules) {
      box.input.checked = view.on.includes(rule);
      const used = box.input.checked || (trait === "offset" && view.on.includes("window"));
      input.disabled = !used;
      show(view[trait], String(view[trait]).replace("-", "−"));
    }
    third.input.disabled = !view.on.includes("documents");
    third.show(view.third, view.third < names.length ? view.third : "none");
    packing.show(view);
    left.input.checked = view.left;
    left.input.disabled = !view.on.includes("padding");
    queries.show(view.num_queries, `${view.num_queries} of ${names.length}`);
    const same = (traits) =>
      Object.entries(traits).every(([name, value]) =>
        name === "on" ? [...view.on].sort().join() === [...value].sort().join() : view[name] === value,
      );
    examples.select.selectedIndex = 1 + EXAMPLES.findIndex((_, i) => same(example(i, names.length)));
    const mask = maskOf(view);
    const weights = weightsUnder(mask, names.length);
    mask.forEach((line, i) =>
      line.forEach((seen, j) => {
        const [bit, weight] = grids.map(({ cells }) => cells[i][j]);
        bit.textContent = seen ? "1" : "0";
        bit.className = weight.className = seen ? "seen" : "hidden";
        weight.textContent = seen ? weights[i][j].toFixed(2) : "0";
        if (seen) heat(weight, weights[i][j]);
        else weight.removeAttribute("style");
      }),
    );
    said.textContent = summary(view);
    goal.met(mask.some((line) => !line.some(Boolean)));
    python.textContent = code(view);
    point();
  }

  rove(maskTable, ["ArrowUp", "ArrowDown"], () => grids.buttons);
  return { root, update };
});
