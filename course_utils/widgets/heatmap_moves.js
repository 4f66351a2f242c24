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
