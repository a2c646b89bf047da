// Writes reports with the program, and opens them in pages that record every error and request.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { chromium } from "playwright-core";

const folder = mkdtempSync(join(tmpdir(), "foretoken-browser-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

/** Writes the report of a shipped scenario and returns its file:// address. */
export function writeReport(scenario, ...more) {
  const file = join(folder, `${basename(scenario, ".json")}.html`);
  execFileSync(process.env.FORETOKEN, ["report", scenario, ...more, "-o", file], { cwd: new URL("../..", import.meta.url) });
  return `file://${file}`;
}

/** Writes the report of a capacity plan and returns its file:// address. */
export function writePlanReport(scenario, ...options) {
  const plan = join(folder, `${scenario}-plan.json`);
  writeFileSync(plan, execFileSync(process.env.FORETOKEN, ["plan", scenario, ...options, "--json"], { cwd: new URL("../..", import.meta.url) }));
  return writeReport(plan);
}

/** Starts Chromium without a screen. Root (in containers) gets no sandbox. */
export const startBrowser = () =>
  chromium.launch({ executablePath: process.env.BROWSER, args: process.getuid() === 0 ? ["--no-sandbox"] : [] });

/** Opens a page; `page.complaints` lists errors and every request beyond the file itself. */
export async function openPage(browser, address, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
  context.setDefaultTimeout(120_000);  // pictures without a GPU are slow beside other tests
  const page = await context.newPage();
  page.complaints = [];
  page.on("console", (message) => { if (message.type() === "error" || message.type() === "warning") page.complaints.push(message.text()); });
  page.on("pageerror", (error) => page.complaints.push(error.message));
  page.on("request", (request) => { if (request.url() !== address && !request.url().startsWith("data:")) page.complaints.push(`requests ${request.url()}`); });
  await page.goto(address);
  return page;
}

/** Returns the number of colours in each of `boxes` of a PNG, counted by the browser itself. */
export async function coloursIn(browser, png, boxes) {
  const page = await browser.newPage();
  const colours = await page.evaluate(async ([base64, boxes]) => {
    const image = new Image();
    image.src = `data:image/png;base64,${base64}`;
    await image.decode();
    return boxes.map(({ x, y, width, height }) => {
      const pen = new OffscreenCanvas(width, height).getContext("2d");
      pen.drawImage(image, -x, -y);
      return new Set(new Uint32Array(pen.getImageData(0, 0, width, height).data.buffer)).size;
    });
  }, [png.toString("base64"), boxes]);
  await page.close();
  return colours;
}
