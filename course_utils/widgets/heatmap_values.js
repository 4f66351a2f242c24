// The values of a heatmap: how they are read from bytes, spanned by colours, and made into pixels.
import { viridis } from "./shared.js";

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
 * The picture as RGBA pixels. Where several cells share a pixel the largest is shown, so that a thin line
 * of large weights never vanishes; where one of them is not finite the pixel is part of a grey hatch.
 */
export function raster(values, rows, columns, height, width, range) {
  const pixels = new Uint8ClampedArray(4 * width * height);
  const ramp = Array.from({ length: 256 }, (_, i) => viridis(i / 255));
  const gain = 255 / (range.high - range.low);
  for (let y = 0; y < height; y++) {
    const top = Math.floor((y * rows) / height);
    const bottom = Math.max(top + 1, Math.floor(((y + 1) * rows) / height));
    for (let x = 0; x < width; x++) {
      const left = Math.floor((x * columns) / width);
      const right = Math.max(left + 1, Math.floor(((x + 1) * columns) / width));
      let largest = -Infinity;
      let finite = true;
      for (let r = top; r < bottom; r++) {
        for (let c = left; c < right; c++) {
          const value = values[r * columns + c];
          if (value - value !== 0) finite = false;
          else if (value > largest) largest = value;
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
