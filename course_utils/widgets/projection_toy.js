// One head in the plane, without a kernel: drag the rows of W_Q, W_K and W_V and see who looks at whom.
import { inkOn, make, uniqueId, viridis, watch, writer } from "./shared.js";
import { LIMIT, attend, form, moved, snap, starts } from "./projection_toy_numbers.js";
import { SIDE, at, decimal, from, keyPanel, queryPanel, sentence, tokenPanel, valuePanel } from "./projection_toy_panels.js";

const ROLES = [
  { role: "query", letter: "Q", words: "queries", draw: queryPanel },
  { role: "key", letter: "K", words: "keys", draw: keyPanel },
  { role: "value", letter: "V", words: "values", draw: valuePanel },
];

function render({ model, el }) {
  const id = uniqueId();
  const write = writer(model);
  const [tokens, points] = [model.get("tokens"), model.get("points")];
  const trait = (role) => `w_${role}`;
  const places = starts(tokens.length);

  const picture = (words) => {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", `0 0 ${SIDE} ${SIDE}`);
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", words);
    return svg;
  };

  function setRow(role, row, vector) {
    const matrix = model.get(trait(role)).map((old, i) => (i === row ? vector : old));
    write({ [trait(role)]: matrix });
  }

  /** A row of a matrix as a handle: drag it, or focus it and use the arrow keys. */
  function handle({ role, letter }, row, plane) {
    const grip = make("div", {
      className: `acw-grip ${role}`,
      role: "slider",
      tabIndex: 0,
      textContent: row + 1,
      "aria-roledescription": "handle in the plane",
      "aria-label": `W_${letter}, row ${row + 1}`,
      "aria-valuemin": -LIMIT,
      "aria-valuemax": LIMIT,
      onkeydown(event) {
        const next = moved(model.get(trait(role))[row], event.key, event.shiftKey);
        if (!next) return;
        event.preventDefault();
        setRow(role, row, next);
      },
      onpointerdown(event) {
        event.preventDefault();
        grip.focus();
        grip.setPointerCapture(event.pointerId);
      },
      onpointermove(event) {
        if (!grip.hasPointerCapture(event.pointerId)) return;
        const box = plane.getBoundingClientRect();
        const place = from((event.clientX - box.x) / box.width, (event.clientY - box.y) / box.height);
        setRow(role, row, snap(place));
      },
    });
    return grip;
  }

  const tokenPicture = picture("");
  const tokenFigure = make(
    "figure",
    {},
    make("figcaption", { textContent: "Tokens x" }),
    make("div", { className: "acw-plane" }, tokenPicture),
  );
  const planes = ROLES.map((of) => {
    const svg = picture("");
    const plane = make("div", { className: "acw-plane" }, svg);
    const grips = [0, 1].map((row) => handle(of, row, plane));
    plane.append(...grips);
    const caption = make("figcaption");
    return { ...of, svg, grips, caption, figure: make("figure", {}, caption, plane) };
  });

  const buttons = Object.entries(places).map(([textContent, { query, key }]) =>
    make("button", {
      type: "button",
      textContent,
      onclick: () => write({ w_query: query, w_key: key }),
    }),
  );
  const radios = tokens.map((_, i) =>
    make("input", { type: "radio", name: `${id}-query`, onchange: () => write({ query: i }) }),
  );
  const cells = tokens.map(() => tokens.map(() => make("td")));
  const weightTable = make(
    "table",
    { className: "acw-weights" },
    make("caption", { textContent: "Weights: row looks at column. Choose a row." }),
    make(
      "thead",
      {},
      make("tr", {}, make("td"), ...tokens.map((textContent) => make("th", { scope: "col", textContent }))),
    ),
    make(
      "tbody",
      {},
      ...tokens.map((token, i) =>
        make("tr", {}, make("th", { scope: "row" }, make("label", {}, radios[i], ` ${token}`)), ...cells[i]),
      ),
    ),
  );
  const parts = [
    ["", "W_Q W_Kᵀ"],
    ["= ", "symmetric"],
    ["+ ", "antisymmetric"],
  ].map(([sign, words]) => {
    const numbers = make("span", { className: "acw-matrix", role: "img" });
    const heading = make("p", { className: "acw-note", textContent: sign + words });
    return { words, numbers, box: make("div", {}, heading, numbers) };
  });
  const said = make("p", { className: "acw-said", "aria-live": "polite" });
  const root = make(
    "div",
    {
      className: "acw acw-toy",
      role: "group",
      "aria-label": "Projections in the plane",
      "data-lm-suppress-shortcuts": "true",
    },
    make("div", { className: "acw-bar", role: "group", "aria-label": "Start from" }, "Start from", ...buttons),
    make(
      "p",
      { className: "acw-note" },
      "Drag 1 and 2, the rows of a matrix, or focus one and use the arrow keys (with Shift: larger steps). " +
        "Thick lines and large dots: large weights. Dashed: the chosen query. Cross: its output.",
    ),
    make(
      "div",
      { className: "acw-main" },
      make("div", { className: "acw-planes" }, tokenFigure, ...planes.map((one) => one.figure)),
      make(
        "div",
        { className: "acw-side" },
        make("div", { className: "acw-scroll", tabIndex: 0, role: "group", "aria-label": "Weights" }, weightTable),
        said,
        make("div", { className: "acw-form" }, ...parts.map((part) => part.box)),
      ),
    ),
  );

  const rows = (matrix) => matrix.map((row) => row.map(decimal));

  function update() {
    const matrices = Object.fromEntries(ROLES.map(({ role }) => [role, model.get(trait(role))]));
    const chosen = model.get("query");
    const bilinear = form(matrices.query, matrices.key);
    const seen = { tokens, points, matrices, chosen, bilinear, ...attend(points, matrices) };
    tokenPicture.innerHTML = tokenPanel(seen);
    tokenPicture.setAttribute("aria-label", `${tokens[chosen]} and lines to the tokens it looks at`);
    for (const { role, letter, words, draw, svg, grips, caption } of planes) {
      const [first, second] = rows(matrices[role]);
      caption.textContent = `${words[0].toUpperCase()}${words.slice(1)} x W_${letter}`;
      svg.innerHTML = draw(seen);
      svg.setAttribute("aria-label", `${words}; W_${letter} has the rows ${first.join(", ")} and ${second.join(", ")}`);
      grips.forEach((grip, row) => {
        const [x, y] = at(matrices[role][row]);
        grip.style.left = `${(100 * x) / SIDE}%`;
        grip.style.top = `${(100 * y) / SIDE}%`;
        grip.setAttribute("aria-valuenow", matrices[role][row][0]);
        grip.setAttribute("aria-valuetext", [first, second][row].join(", "));
      });
    }
    buttons.forEach((button) => {
      const { query, key } = places[button.textContent];
      const here = JSON.stringify([query, key]) === JSON.stringify([matrices.query, matrices.key]);
      button.setAttribute("aria-pressed", here);
    });
    radios.forEach((radio, i) => (radio.checked = i === chosen));
    cells.forEach((row, i) =>
      row.forEach((cell, j) => {
        const colour = viridis(seen.weights[i][j]);
        cell.textContent = seen.weights[i][j].toFixed(2).replace(/^0/, "");
        cell.style.background = `rgb(${colour})`;
        cell.style.color = inkOn(colour);
        cell.className = i === chosen ? "here" : "";
      }),
    );
    [bilinear.whole, bilinear.symmetric, bilinear.antisymmetric].forEach((matrix, i) => {
      const text = rows(matrix);
      parts[i].numbers.replaceChildren(...text.flat().map((textContent) => make("span", { textContent })));
      parts[i].numbers.setAttribute("aria-label", `${parts[i].words}: ${text.map((row) => row.join(", ")).join("; ")}`);
    });
    said.textContent = sentence(seen);
  }

  el.append(root);
  update();
  const stop = watch(model, [...ROLES.map(({ role }) => trait(role)), "query"], update);
  return () => {
    stop();
    root.remove();
  };
}

export default { render };
