// The clock's arithmetic: pairs of features turned by their position.
import { dot } from "../numbers.js";

/** Radians per position for each pair: base^(-2i / width). */
export const frequencies = (width, base) => Array.from({ length: width / 2 }, (_, i) => base ** ((-2 * i) / width));

/** Which two features form pair i. */
export const features = (width, pairing, i) => (pairing === "interleaved" ? [2 * i, 2 * i + 1] : [i, i + width / 2]);

/** A vector with each pair turned counter-clockwise by position times frequency. */
export function turn(vector, position, base, pairing) {
  const turned = [...vector];
  frequencies(vector.length, base).forEach((frequency, i) => {
    const [a, b] = features(vector.length, pairing, i);
    const [cos, sin] = [Math.cos(position * frequency), Math.sin(position * frequency)];
    turned[a] = vector[a] * cos - vector[b] * sin;
    turned[b] = vector[a] * sin + vector[b] * cos;
  });
  return turned;
}

/** q·k of a key `distance` positions after the query; where both stand does not matter. */
export const scoreAt = (query, key, distance, base, pairing) => dot(query, turn(key, distance, base, pairing));

/** An angle as whole degrees of one turn, from 0 to 359. */
export const degrees = (radians) => ((Math.round((radians * 180) / Math.PI) % 360) + 360) % 360;

/** Everything that the picture and its words show at one setting. */
export function look({ query, key, query_position, key_position, base, pairing }) {
  const turned = [turn(query, query_position, base, pairing), turn(key, key_position, base, pairing)];
  const pairs = frequencies(query.length, base).map((frequency, i) => {
    const [a, b] = features(query.length, pairing, i);
    const [q, k] = turned.map((vector) => [vector[a], vector[b]]);
    const angles = [query_position, key_position].map((position) => position * frequency);
    return { i, names: [a, b], frequency, q, k, angles, part: dot(q, k) };
  });
  return { pairs, score: dot(...turned), plain: dot(query, key), distance: key_position - query_position };
}
