// Patterns and a state in the plane: drag them, and see the state walk down the energy, without a kernel.
import { fill, inkOn, make, slider, uniqueId, viridis, watch, writer } from "./shared.js";
import { LIMIT, UPDATES, moved, snap, valleys, walk } from "./hopfield_landscape_numbers.js";
import { SIDE, at, contours, decimal, energyPanel, from, names, path, sentence } from "./hopfield_landscape_panels.js";

const BETA = { min: -10, max: 20 }; // ten steps to a factor of ten

function render({ model, el }) {
  const id = uniqueId();
  const write = writer(model);
  const most = model.get("patterns").length;

  const picture = (width, height) => {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("role", "img");
    return svg;
  };
  const control = (name, range, changed) => {
    const made = slider(`${id}-${name}`, "", range, changed);
    return { ...made, row: make("div", { className: "acw-control" }, made.label, made.input, made.output) };
  };
  const beta = control("beta", BETA, (x) => write({ beta: +(10 ** (x / 10)).toPrecision(3) }));
  const count = control("count", { min: 1, max: most }, (x) => write({ count: x }));
  const swap = make("input", { type: "checkbox", onchange: () => write({ as_attention: swap.checked }) });
  const step = make("p", { className: "acw-step" });
  const said = make("p", { className: "acw-said", "aria-live": "polite" });

  const land = picture(SIDE, SIDE);
  const plane = make("div", {
    className: "acw-plane",
    onpointerdown: (event) => {
      if (event.target.closest(".acw-grip")) return;
      event.preventDefault();
      start.focus();
      place(start, event);
    },
  }, land);
  const pointed = (event) => {
    const box = plane.getBoundingClientRect();
    return snap(from((event.clientX - box.x) / box.width, (event.clientY - box.y) / box.height));
  };

  const seat = (grip) => (grip === start ? model.get("start") : model.get("patterns")[grips.indexOf(grip)]);
  const move = (grip, to) => {
    if (grip === start) write({ start: to });
    else write({ patterns: model.get("patterns").map((old, i) => (i === grips.indexOf(grip) ? to : old)) });
  };
  const place = (grip, event) => {
    grip.setPointerCapture(event.pointerId);
    move(grip, pointed(event));
  };
  /** A place of the plane as a handle: drag it, or focus it and use the arrow keys. */
  function handle(className, textContent) {
    const grip = make("div", {
      className: `acw-grip ${className}`,
      role: "slider",
      tabIndex: 0,
      textContent,
      "aria-roledescription": "handle in the plane",
      "aria-valuemin": -LIMIT,
      "aria-valuemax": LIMIT,
      onkeydown(event) {
        const next = moved(seat(grip), event.key, event.shiftKey);
        if (!next) return;
        event.preventDefault();
        move(grip, next);
      },
      onpointerdown(event) {
        event.preventDefault();
        grip.focus();
        grip.setPointerCapture(event.pointerId);
      },
      onpointermove(event) {
        if (grip.hasPointerCapture(event.pointerId)) move(grip, pointed(event));
      },
    });
    return grip;
  }
  const start = handle("start", "");
  const grips = Array.from({ length: most }, (_, i) => handle("pattern", i + 1));
  plane.append(start, ...grips);

  const curve = picture(SIDE, 140);
  const table = make("table", { className: "acw-numbers" });
  const root = make(
    "div",
    {
      className: "acw acw-hopfield",
      role: "group",
      "aria-label": "Hopfield landscape",
      "data-lm-suppress-shortcuts": "true",
    },
    make(
      "div",
      { className: "acw-controls" },
      beta.row,
      count.row,
      make("label", {}, swap, " call it attention"),
    ),
    step,
    make(
      "div",
      { className: "acw-main" },
      make(
        "figure",
        { className: "acw-land" },
        make("figcaption", { textContent: "Energy over the plane: the stronger the blue, the lower" }),
        plane,
        make("p", {
          className: "acw-note",
          textContent:
            "Click where the walk should start, or drag a handle. Arrow keys move the handle that has the focus " +
            "(with Shift: larger steps).",
        }),
      ),
      said,
      make("div", { className: "acw-scroll", tabIndex: 0, role: "group", "aria-label": "Every step" }, table),
      make(
        "figure",
        { className: "acw-fall" },
        make("figcaption", { textContent: "Energy after each step" }),
        curve,
      ),
    ),
  );

  let drawnFor, found;

  function update() {
    const patterns = model.get("patterns").slice(0, model.get("count"));
    const [sharpness, begin, asAttention] = ["beta", "start", "as_attention"].map((name) => model.get(name));
    const steps = walk(begin, patterns, sharpness, UPDATES);
    const words = names(asAttention);
    const key = JSON.stringify([patterns, sharpness]);
    if (key !== drawnFor) {
      found = valleys(patterns, sharpness).length;
      land.innerHTML = `<g>${contours(patterns, sharpness)}</g><g></g>`;
      drawnFor = key;
    }
    land.lastElementChild.innerHTML = path(steps);
    land.setAttribute("aria-label", `The energy over the plane, with ${found === 1 ? "one valley" : `${found} valleys`}, and the walk of the ${words.state}`);
    curve.innerHTML = energyPanel(steps);
    curve.setAttribute("aria-label", `Energy: ${steps.map((one) => decimal(one.energy, 3)).join(", ")}`);
    beta.input.value = Math.round(10 * Math.log10(sharpness));
    count.input.value = patterns.length;
    for (const [shown, name, text] of [
      [beta, words.beta, +sharpness.toPrecision(3)],
      [count, words.count, patterns.length],
    ]) {
      shown.label.textContent = name;
      shown.output.textContent = text;
      shown.input.setAttribute("aria-valuetext", text);
    }
    swap.checked = asAttention;
    step.textContent = words.step;
    said.textContent = sentence({ patterns, beta: sharpness, steps, found, asAttention });
    start.textContent = asAttention ? "q" : "ξ";
    [start, ...grips].forEach((grip, i) => {
      grip.hidden = i > patterns.length;
      const spot = seat(grip);
      const [x, y] = at(spot);
      grip.style.left = `${(100 * x) / SIDE}%`;
      grip.style.top = `${(100 * y) / SIDE}%`;
      grip.setAttribute("aria-label", i ? `${words.pattern} ${i}` : words.state);
      grip.setAttribute("aria-valuenow", spot[0].toFixed(2));
      grip.setAttribute("aria-valuetext", spot.map((one) => decimal(one)).join(", "));
    });
    fill(
      table,
      `The state before each step, its energy, and the ${words.weights}`,
      ["step", "state", "energy", ...patterns.map((_, i) => i + 1)],
      steps.map((one, i) => [
        i,
        one.state.map((x) => decimal(x)).join(", "),
        decimal(one.energy, 3),
        ...one.weights.map((w) => w.toFixed(2).replace(/^0/, "")),
      ]),
    );
    [...table.querySelectorAll("tbody tr")].forEach((row, i) =>
      [...row.querySelectorAll("td")].slice(2).forEach((cell, j) => {
        const colour = viridis(steps[i].weights[j]);
        cell.style.background = `rgb(${colour})`;
        cell.style.color = inkOn(colour);
      }),
    );
  }

  el.append(root);
  update();
  const stop = watch(model, ["patterns", "count", "start", "beta", "as_attention"], update);
  return () => {
    stop();
    root.remove();
  };
}

export default { render };
