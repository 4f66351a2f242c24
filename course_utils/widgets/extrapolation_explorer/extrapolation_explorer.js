// Which scheme of positions still works at which length: the controls, the picture and the tables.
import { slider } from "../inputs.js";
import { choice, depict, div, fill, folded, make, picture, scroll, shell, spoken, svg, widget } from "../shared.js";
import { task } from "../task.js";
import { WIDE, keepsUp, looks, nearest, panel, point, ranking, sentence, times, two } from "./extrapolation_explorer_drawing.js";

export default widget(["task", "chosen", "index"], ({ model, write }) => {
  const tasks = model.get("tasks");
  const groups = model.get("groups");
  const styles = looks(groups);

  const names = tasks.map(({ name }, i) => [i, name]);
  const kind = choice("task", (value) => write({ task: +value }), names);
  const reading = slider("tokens read", { min: 0, max: tasks[0].lengths.length - 1 }, (index) => write({ index }));
  const boxes = new Map();
  const choose = (name, wanted) => {
    const chosen = model.get("chosen").filter((one) => one !== name);
    write({ chosen: wanted ? [...chosen, name] : chosen });
  };
  const box = (name) => {
    const input = make("input", { type: "checkbox", onchange: () => choose(name, input.checked) });
    boxes.set(name, input);
    const sign = svg("", { viewBox: "-7 -7 14 14" });
    sign.innerHTML = point(0, 0, styles.get(name));
    return make("label", {}, input, sign, name);
  };
  const fields = groups.map(([title, names]) =>
    make("fieldset", {}, make("legend", { textContent: title }), ...names.map(box)),
  );
  const said = spoken("acw-said");
  const caption = make("figcaption");
  const chart = picture(`0 0 ${WIDE} 284`);
  const follow = (event) => {
    const { left, width } = chart.getBoundingClientRect();
    if (!width) return;
    const index = nearest(tasks[model.get("task")], ((event.clientX - left) / width) * WIDE);
    if (index !== model.get("index")) write({ index });
  };
  chart.addEventListener("pointermove", follow);
  chart.addEventListener("pointerdown", follow);
  const here = make("table", { className: "acw-here" });
  const every = make("table");
  const goal = task("find a scheme that is as good on the longest text as at the trained length.");
  const root = shell("extrapolation", "Train short, test long",
    div("acw-controls", kind.field, reading.field),
    div("acw-groups", ...fields),
    said,
    div("acw-both", make("figure", {}, caption, chart), here),
    goal.line,
    folded("Every scheme at every length, as a table", scroll("All numbers", every)),
  );

  function update() {
    const number = model.get("task");
    const now = tasks[number];
    const [chosen, index] = [model.get("chosen"), model.get("index")];
    const tokens = now.lengths[index];
    kind.select.value = number;
    reading.show(index, tokens, `${tokens} tokens, ${times(tokens, now.trained)}`);
    for (const [name, input] of boxes) input.checked = chosen.includes(name);
    said.textContent = sentence(now, chosen, index);
    goal.met(index === now.lengths.length - 1 && keepsUp(now, chosen));
    caption.textContent = `${now.what}, ${now.lower ? "lower" : "higher"} is better; line: mean of the runs, band: all runs`;
    depict(chart, `${now.what} against tokens read; the numbers are in the tables`, panel(now, chosen, index, styles));
    fill(
      here,
      `At ${tokens}, best first`,
      ["scheme", "mean", "runs"],
      ranking(now, chosen, index).map((one) => [one.name, two(one.mean), `${two(one.low)} to ${two(one.high)}`]),
    );
    fill(
      every,
      `${now.name}: ${now.what}, mean of the runs (lowest to highest); trained at ${now.trained}`,
      ["scheme", ...now.lengths],
      now.curves.map(([name, points]) => [
        name,
        ...points.map(([low, mean, high]) => `${two(mean)} (${two(low)} to ${two(high)})`),
      ]),
    );
  }

  return { root, update };
});
