// What each variant of attention costs: counted as its formulas say, with 2 operations a multiply-add.

const FEATURES = 256;
const MIXTURES = 256;
export const SUMMARY = 8;
const ROUNDS = 2;
export const REACH = 64;

/** Each variant: its name, how its recorded curve is called, with which sizes it was
 * recorded besides heads and width, and what it is compared with. */
export const VARIANTS = {
  full: { name: "multi-head (full)", curve: "SDPA, causal", against: "softmax, written out" },
  grouped: { name: "grouped-query", curve: "grouped-query, 1 of 4 heads", against: "SDPA" },
  latent: { name: "latent", curve: "latent, absorbed, width 128", against: "SDPA" },
  window: { name: "sliding window", curve: "sliding window", sizes: "window 128", against: "SDPA, causal" },
  strided: { name: "strided pattern", curve: "strided pattern, stride √n", sizes: "stride √n", against: "SDPA, causal" },
  fixed: { name: "fixed pattern", curve: "fixed pattern, blocks of √n", sizes: "blocks of √n", against: "SDPA, causal" },
  linear: { name: "linear kernel", curve: "causal linear, chunks", against: "SDPA, causal" },
  performer: { name: "Performer", curve: "Performer, causal", against: "SDPA, causal" },
  linformer: { name: "Linformer", curve: "Linformer", against: "SDPA" },
  lsh: { name: "LSH (Reformer)", curve: "LSH, n/64 buckets, 2 rounds", against: "SDPA, causal" },
  xca: { name: "cross-covariance", curve: "cross-covariance", against: "SDPA" },
};

/** Whether a causal model can use it. */
export const isCausal = (variant) => variant !== "linformer" && variant !== "xca";

const triangle = (n) => (n * (n + 1)) / 2;

/** How many pairs of a query and a key meet in one head, for the variants that are a pattern. */
export function pairs(variant, n, window) {
  const w = Math.min(window, n);
  const [blocks, rest] = [Math.floor(n / window), n % window];
  const earlier = (window * blocks * (blocks - 1)) / 2 + rest * blocks;
  if (variant === "window") return n * w - triangle(w - 1);
  if (variant === "strided") return n * w - triangle(w - 1) + earlier;
  if (variant === "fixed") return blocks * triangle(window) + triangle(rest) + Math.min(SUMMARY, window) * earlier;
  return triangle(n);
}

/** Operations, numbers of weights or state, and numbers kept while generating (null: it cannot). */
export function costs(variant, { length: n, d_k: d, num_heads: H, num_kv_heads, window: w }) {
  const met = pairs(variant, n, w);
  const pattern = { flops: 4 * H * d * met, table: H * met, cache: 2 * H * d * n };
  switch (variant) {
    case "grouped":
      return { ...pattern, cache: 2 * Math.min(num_kv_heads, H) * d * n };
    case "latent":
      return { ...pattern, flops: H * (16 * d * met + 16 * n * d * d), cache: 4 * d * n };
    case "window":
      return { ...pattern, cache: 2 * H * d * Math.min(n, w) };
    case "fixed":
      return { ...pattern, cache: 2 * H * d * Math.min(n, w + Math.min(SUMMARY, w) * Math.floor(n / w)) };
    case "linear":
      return { flops: H * n * (4 * d * d + 2 * d), table: H * d * (d + 1), cache: H * d * (d + 1) };
    case "performer": {
      const state = H * FEATURES * (d + 1);
      // Keys are projected twice: the first time for the largest exponent, which keeps exp in range.
      return { flops: H * n * FEATURES * (10 * d + 2), table: state, cache: state };
    }
    case "linformer":
      return { flops: 8 * H * n * MIXTURES * d, table: H * n * MIXTURES, cache: null };
    case "lsh": {
      const half = Math.max(1, Math.floor(n / 128));
      const flops = ROUNDS * H * n * d * (2 * half + 8 * REACH);
      return { ...pattern, flops, table: ROUNDS * H * n * 2 * REACH };
    }
    case "xca":
      return { flops: 4 * H * n * d * d, table: H * d * d, cache: null };
    default:
      return pattern;
  }
}

/** Plain multi-head attention with the same sizes: over the past, or over all pairs. */
export function plain(variant, sizes) {
  const causal = costs("full", sizes);
  const all = sizes.length ** 2;
  if (isCausal(variant)) return causal;
  return { ...causal, flops: 4 * sizes.num_heads * sizes.d_k * all, table: sizes.num_heads * all };
}

/** A share as a reader says it. */
export function share(part, whole) {
  const ratio = part / whole;
  if (ratio >= 1.995) return `${+ratio.toPrecision(2)} times`;
  if (ratio >= 0.095) return `${Math.round(100 * ratio)}%`;
  return `${+(100 * ratio).toPrecision(1)}%`;
}
