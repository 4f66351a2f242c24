// Moving over a grid of cells, and how many of its labels fit.

/** Write every how many labels so that they do not touch. */
export function stepFor(room, cell, positions) {
  const least = Math.ceil(room / cell);
  if (!positions || least <= 1) return least;
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= least);
}

/** The cell at a point of the plot, kept inside it. */
export function cellAt(x, y, { rows, columns, cellWidth, cellHeight }) {
  const clip = (i, n) => Math.min(n - 1, Math.max(0, Math.floor(i)));
  return [clip(y / cellHeight, rows), clip(x / cellWidth, columns)];
}

/** Where a key takes the focused cell; null for keys that mean nothing here. */
export function moved(key, control, [row, column], rows, columns) {
  const steps = {
    ArrowUp: [-1, 0],
    ArrowDown: [1, 0],
    ArrowLeft: [0, -1],
    ArrowRight: [0, 1],
    PageUp: [-10, 0],
    PageDown: [10, 0],
    Home: [control ? -rows : 0, -columns],
    End: [control ? rows : 0, columns],
  };
  const step = steps[key];
  const clip = (i, n) => Math.min(n - 1, Math.max(0, i));
  return step ? [clip(row + step[0], rows), clip(column + step[1], columns)] : null;
}

/**
 * Make a plot of cells follow the pointer and the keys: hovering shows, a click or a key chooses.
 * @param {(event) => [number, number] | null} under the cell below the pointer, if any
 * @param {(cell) => void} hover called with null when the pointer leaves
 */
export function steer(plot, { under, size, chosen, hover, choose }) {
  plot.addEventListener("pointermove", (event) => hover(under(event)));
  plot.addEventListener("pointerleave", () => hover(null));
  plot.addEventListener("click", (event) => {
    const cell = under(event);
    if (cell) choose(cell);
  });
  plot.addEventListener("keydown", (event) => {
    if (event.altKey || event.metaKey) return;
    const cell = moved(event.key, event.ctrlKey, chosen(), ...size());
    if (!cell) return;
    event.preventDefault();
    hover(null);
    choose(cell);
  });
}
