// What is shown, saved as a file.
import { make } from "./shared.js";

const asUrl = (svg) => `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
const save = (href, name) => make("a", { href, download: name }).click();

export const saveSvg = (svg, name) => save(asUrl(svg), `${name}.svg`);

export async function savePng(svg, name) {
  const image = new Image();
  image.src = asUrl(svg);
  await image.decode();
  const canvas = make("canvas", { width: image.width * 2, height: image.height * 2 });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  save(canvas.toDataURL("image/png"), `${name}.png`);
}

/** A name that every file system takes. */
export const fileName = (title) => (title || "heatmap").replace(/[^\p{L}\p{N}]+/gu, "-").toLowerCase();
