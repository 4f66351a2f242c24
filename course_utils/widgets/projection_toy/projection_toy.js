// One head in the plane, without a kernel: drag the rows of W_Q, W_K and W_V and see who looks at whom.
import { decimal } from "../numbers.js";
import { handle, put } from "../plane.js";
import { presets } from "../presets.js";
import { depict, div, figure, fill, folded, heat, make, note, picture, scroll, shell, spoken, uniqueId, widget } from "../shared.js";
import { task } from "../task.js";
import { attend, form, starts } from "./projection_toy_numbers.js";
import { SIDE, at, from, keyPanel, queryPanel, sentence, symmetry, tokenPanel, valuePanel } from "./projection_toy_panels.js";

const ROLES = [
  { role: "query", letter: "Q", words: "queries", draw: queryPanel },
  { role: "key", letter: "K", words: "keys", draw: keyPanel },
  { role: "value", letter: "V", words: "values", draw: valuePanel },
];

export default widget(["w_query", "w_key", "w_value", "query"], ({ model, write }) => {
  const id = uniqueId();
  const [tokens, points] = [model.get("tokens"), model.get("points")];
  const trait = (role) => `w_${role}`;
  const places = starts(tokens.length);

  function setRow(role, row, vector) {
    write({ [trait(role)]: model.get(trait(role)).with(row, vector) });
  }

  const viewBox = `0 0 ${SIDE} ${SIDE}`;
  const tokenPicture = picture(viewBox);
  const tokenFigure = figure("Tokens x", div("acw-plane", tokenPicture));
  const planes = ROLES.map(({ role, letter, ...more }) => {
    const svg = picture(viewBox);
    const plane = div("acw-plane", svg);
    const grips = [0, 1].map((row) => {
      const named = { textContent: row + 1, "aria-label": `W_${letter}, row ${row + 1}` };
      const seat = () => model.get(trait(role))[row];
      return handle({ className: `acw-grip ${role}`, ...named }, { plane, from, seat, move: (to) => setRow(role, row, to) });
    });
    plane.append(...grips);
    const caption = make("figcaption");
    return { role, letter, ...more, svg, grips, caption, figure: make("figure", {}, caption, plane) };
  });

  const start = presets("Start from", Object.keys(places), (name) => write({ w_query: places[name].query, w_key: places[name].key }));
  const goal = task("from “No projections”, move W_K alone until the chosen token looks most at another.");
  const radios = tokens.map((_, i) =>
    make("input", { type: "radio", name: `${id}-query`, onchange: () => write({ query: i }) }),
  );
  const weightTable = make("table", { className: "acw-weights" });
  const lines = tokens.map((token, i) => [make("label", {}, radios[i], ` ${token}`), ...tokens.map(() => "")]);
  const cells = fill(weightTable, "Weights: row looks at column. Choose a row.", ["", ...tokens], lines).map((row) => [
    ...row.querySelectorAll("td"),
  ]);
  const parts = [
    ["", "W_Q W_Kᵀ"],
    ["= ", "symmetric"],
    ["+ ", "antisymmetric"],
  ].map(([sign, words]) => {
    const numbers = make("span", { className: "acw-matrix", role: "img" });
    const heading = make("p", { className: "acw-note", textContent: sign + words });
    return { words, numbers, box: make("div", {}, heading, numbers) };
  });
  const said = spoken("acw-said");
  const whether = note("");
  const root = shell("toy", "Projections in the plane",
    start.field,
    note("Drag 1 and 2, the rows of a matrix, or focus one and use the arrow keys (with Shift: larger steps)."),
    div("acw-planes",
      tokenFigure,
      ...planes.map((one) => one.figure),
      div("acw-side", scroll("Weights", weightTable), said),
    ),
    note("Thick lines and large dots: large weights. Dashed: the chosen query. Cross: its output. A ring: beyond the edge."),
    goal.line,
    folded("W_Q W_Kᵀ, its symmetric and its antisymmetric part", div("acw-form", ...parts.map((part) => part.box)), whether),
  );

  const rows = (matrix) => matrix.map((row) => row.map((x) => decimal(x)));

  function update() {
    const matrices = Object.fromEntries(ROLES.map(({ role }) => [role, model.get(trait(role))]));
    const chosen = model.get("query");
    const bilinear = form(matrices.query, matrices.key);
    const seen = { tokens, points, matrices, chosen, bilinear, ...attend(points, matrices) };
    depict(tokenPicture, `${tokens[chosen]} and lines to the tokens it looks at`, tokenPanel(seen));
    for (const { role, letter, words, draw, svg, grips, caption } of planes) {
      const [first, second] = rows(matrices[role]);
      caption.textContent = `${words[0].toUpperCase()}${words.slice(1)} x W_${letter}`;
      depict(svg, `${words}; W_${letter} has the rows ${first.join(", ")} and ${second.join(", ")}`, draw(seen));
      grips.forEach((grip, row) => {
        put(grip, at(matrices[role][row]), SIDE);
        grip.setAttribute("aria-valuenow", matrices[role][row][0]);
        grip.setAttribute("aria-valuetext", [first, second][row].join(", "));
      });
    }
    const { query, key } = matrices;
    const isNow = (name) => JSON.stringify(places[name]) === JSON.stringify({ query, key });
    start.show(Object.keys(places).find(isNow));
    const most = Math.max(...seen.weights[chosen]);
    goal.met(JSON.stringify(query) === JSON.stringify(places["No projections"].query) && seen.weights[chosen][chosen] < most);
    radios.forEach((radio, i) => (radio.checked = i === chosen));
    cells.forEach((row, i) =>
      row.forEach((cell, j) => {
        cell.textContent = seen.weights[i][j].toFixed(2);
        heat(cell, seen.weights[i][j]);
        cell.className = i === chosen ? "here" : "";
      }),
    );
    [bilinear.whole, bilinear.symmetric, bilinear.antisymmetric].forEach((matrix, i) => {
      const text = rows(matrix);
      parts[i].numbers.replaceChildren(...text.flat().map((textContent) => make("span", { textContent })));
      parts[i].numbers.setAttribute("aria-label", `${parts[i].words}: ${text.map((row) => row.join(", ")).join("; ")}`);
    });
    said.textContent = sentence(seen);
    whether.textContent = symmetry(seen);
  }

  return { root, update };
});
