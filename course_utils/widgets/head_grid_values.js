// What the head grid computes: how far the output moves without some heads.

/** The length of the sum of some heads' contributions to one query. */
function length(parts, shape, layer, heads, query) {
  const width = shape[3];
  let squares = 0;
  for (let i = 0; i < width; i++) {
    let sum = 0;
    for (const head of heads) sum += parts[((layer * shape[1] + head) * shape[2] + query) * width + i];
    squares += sum * sum;
  }
  return Math.sqrt(squares);
}

/**
 * How far each query's output moves when heads are left out: the length of what is missing, divided by
 * the length of all heads' sum. @param {number[]} shape layers, heads, queries, width of the output
 */
export function shares(parts, shape, layer, missing) {
  const all = Array.from({ length: shape[1] }, (_, head) => head);
  return Array.from({ length: shape[2] }, (_, query) => {
    const gone = length(parts, shape, layer, missing, query);
    return gone === 0 ? 0 : gone / length(parts, shape, layer, all, query);
  });
}

export const mean = (numbers) => numbers.reduce((sum, x) => sum + x, 0) / numbers.length;

/** Sizes of one small map among many, in CSS pixels; all maps of a grid are alike. */
export function gridLayout(width, heads, rows, columns, labelWidth) {
  const [gap, least, most] = [14, 148, 300];
  const fit = Math.max(1, Math.min(heads, Math.floor((width + gap) / (least + gap))));
  const across = Math.ceil(heads / Math.ceil(heads / fit));
  const card = Math.min(most, Math.floor((width - gap * (across - 1)) / across));
  const left = Math.min(labelWidth, 0.3 * card);
  const room = card - left - 2;
  const square = Math.min(room / columns, 34);
  const cellWidth = Math.max(square, Math.min(room / columns, 60 / columns));
  const cellHeight = Math.max(square, Math.min(34, 60 / rows));
  const [w, h] = [cellWidth * columns, cellHeight * rows];
  return { across, card, left, cellWidth, cellHeight, w, h, rows, columns };
}
