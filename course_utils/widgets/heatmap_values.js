// The values of a heatmap: how they are read from bytes, spanned by colours, and made into pixels.
import { viridis } from "./shared.js";

/** A part of what the colours span, 0 to 1, as red, green and blue; a range may have a scale of its own. */
export const shade = (range, t) => (range.scale ?? viridis)(t);

/** The colour of a finite value. */
export const colour = (range, value) => shade(range, (value - range.low) / (range.high - range.low));

/** Every float16 as a number; JavaScript's own Float16Array is too young to rely on. */
export function halfTable() {
  return Float32Array.from({ length: 65536 }, (_, bits) => {
    const sign = bits & 0x8000 ? -1 : 1;
    const exponent = (bits >> 10) & 31;
    const fraction = bits & 1023;
    if (exponent === 31) return fraction ? NaN : sign * Infinity;
    return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
  });
}

/** The values in the bytes that Python sent. @param {DataView} view @param {"float32"|"float16"} encoding */
export function decode(view, encoding) {
  const bytes = view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength);
  if (encoding === "float32") return new Float32Array(bytes);
  const table = halfTable();
  return Float32Array.from(new Uint16Array(bytes), (bits) => table[bits]);
}

/** One map of the stack, without copying. @param {number[]} shape layers, heads, rows, columns */
export function mapOf(values, shape, layer, head) {
  const size = shape[2] * shape[3];
  const start = (layer * shape[1] + head) * size;
  return values.subarray(start, start + size);
}

/** Least and largest finite value and how many are not finite. */
export function extent(values) {
  let low = Infinity;
  let high = -Infinity;
  let strange = 0;
  for (const x of values) {
    if (!Number.isFinite(x)) strange++;
    else {
      if (x < low) low = x;
      if (x > high) high = x;
    }
  }
  return strange === values.length ? { low: 0, high: 0, strange } : { low, high, strange };
}

/** Where the least and the largest finite value stand; -1 where there is none. */
export function extremes(values) {
  let [least, largest] = [-1, -1];
  for (let i = 0; i < values.length; i++) {
    if (!Number.isFinite(values[i])) continue;
    if (least < 0 || values[i] < values[least]) least = i;
    if (largest < 0 || values[i] > values[largest]) largest = i;
  }
  return { least, largest };
}

/** What the colours span. @param {"auto"|"unit"|"all"|"head"} mode @param all,head their extents */
export function colourRange(mode, all, head) {
  const weights = all.low >= 0 && all.high <= 1;
  if (weights && (mode === "unit" || (mode === "auto" && all.high >= 0.5)))
    return { low: 0, high: 1, mode: "unit" };
  const of = mode === "head" ? head : all;
  const low = weights ? 0 : of.low;
  return { low, high: of.high > low ? of.high : low + 1, mode: mode === "head" ? "head" : "all" };
}

/**
 * The picture as RGBA pixels. Where several cells share a pixel the largest is shown (of values on both sides
 * of 0 the one farthest from it), so that a thin line of large weights never vanishes; where one of them is not finite the pixel is part of a grey hatch.
 */
export function raster(values, rows, columns, height, width, range) {
  const pixels = new Uint8ClampedArray(4 * width * height);
  const ramp = Array.from({ length: 256 }, (_, i) => shade(range, i / 255));
  const gain = 255 / (range.high - range.low);
  for (let y = 0; y < height; y++) {
    const top = Math.floor((y * rows) / height);
    const bottom = Math.max(top + 1, Math.floor(((y + 1) * rows) / height));
    for (let x = 0; x < width; x++) {
      const left = Math.floor((x * columns) / width);
      const right = Math.max(left + 1, Math.floor(((x + 1) * columns) / width));
      let largest = range.signed ? 0 : -Infinity;
      let finite = true;
      for (let r = top; r < bottom; r++) {
        for (let c = left; c < right; c++) {
          const value = values[r * columns + c];
          if (value - value !== 0) finite = false;
          else if (range.signed ? Math.abs(value) > Math.abs(largest) : value > largest) largest = value;
        }
      }
      const at = 4 * (y * width + x);
      if (finite) {
        const rgb = ramp[Math.min(255, Math.max(0, Math.round((largest - range.low) * gain)))];
        pixels[at] = rgb[0];
        pixels[at + 1] = rgb[1];
        pixels[at + 2] = rgb[2];
      } else pixels.fill((x + y) % 6 < 2 ? 70 : 200, at, at + 3);
      pixels[at + 3] = 255;
    }
  }
  return pixels;
}

/** Where a row is largest; null where it holds no finite value. */
export function largestInRow(values, row, columns) {
  let best = null;
  for (let c = 0; c < columns; c++) {
    const value = values[row * columns + c];
    if (Number.isFinite(value) && (best === null || value > values[row * columns + best])) best = c;
  }
  return best;
}

/** The columns of a row's largest values, largest first, equal ones in order. */
export function ranking(values, row, columns, count) {
  return Array.from({ length: columns }, (_, c) => c)
    .filter((c) => Number.isFinite(values[row * columns + c]))
    .sort((a, b) => values[row * columns + b] - values[row * columns + a] || a - b)
    .slice(0, count);
}
