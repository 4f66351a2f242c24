// Large numbers as a reader says them.

/** A number with a power of ten: 3.14e23. */
export const power = (x) => x.toExponential(2).replace("e+", "e");

/** A number in the largest of these units that leaves at least 1 of it. */
export function scaled(value, base, units) {
  let i = 0;
  while (value >= 0.9995 * base && i < units.length - 1) [value, i] = [value / base, i + 1];
  return `${value >= 0.9995 * base ? power(value) : +value.toPrecision(3)} ${units[i]}`.trim();
}

/** Operations as a reader says them. */
export const inFlop = (n) => scaled(n, 1000, ["flop", "kflop", "Mflop", "Gflop", "Tflop", "Pflop", "Eflop", "Zflop"]);

/** Bytes as a reader says them. */
export const inBytes = (n) => scaled(n, 1024, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"]);

/** A count: 175 B. */
export const count = (n) => scaled(n, 1000, ["", "k", "M", "B", "T"]);
