// Tests the report in a browser: it opens from a file without errors, shows every section, and its controls work.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { coloursIn, openPage, startBrowser, writePlanReport, writeReport } from "./pages.mjs";

const sections = ["verdict", "configuration", "step", "timeline-section", "memory", "communication", "schedules", "scaling",
  "sensitivity", "alternatives", "validation", "assumptions", "reproduce"];
let browser, report, large, planned;

before(async () => {
  browser = await startBrowser();
  report = writeReport("gpt3-175b-1024-a100");
  large = writeReport("gpt-1t-3072-a100");
  planned = writePlanReport("gpt3-175b-1024-a100", "--tokens", "300B", "--gpus", "512,1024", "--free", "parallelism.data");
});
after(() => browser.close());

const viewOf = async (page) => {
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  return page.$eval("#timeline", (canvas) => ({ from: Number(canvas.dataset.from), to: Number(canvas.dataset.to) }));
};

for (const colorScheme of ["light", "dark"])
  test(`every section shows something, ${colorScheme}`, async () => {
    const page = await openPage(browser, report, { colorScheme });
    for (const id of sections) {
      const colours = await coloursIn(browser, await page.locator(`#${id}`).screenshot());
      assert.ok(colours > 20, `${id} has ${colours} colours`);
    }
    const canvas = await coloursIn(browser, await page.locator("#timeline").screenshot());
    assert.ok(canvas > 30, `the pipeline has ${canvas} colours`);
    assert.deepEqual(page.complaints, []);
    await page.context().close();
  });

// Lists the words and numbers that reach beyond `width` or into one another's column. The bar of contents scrolls.
const cutWords = (page, width) => page.evaluate((right) => {
  const cut = [];
  for (const element of document.querySelectorAll("main td, main th, main p, main h2, main h3, main h4, main dd, main li, main button, main svg text")) {
    const box = element.getBoundingClientRect();
    if (box.width > 0 && (box.left < -0.5 || box.right > right + 0.5)) cut.push(`${element.textContent}: ${box.left} to ${box.right}`);
  }
  for (const element of document.querySelectorAll("main *:not(pre)"))
    if (element.scrollWidth > element.clientWidth + 1 && /auto|scroll|hidden/.test(getComputedStyle(element).overflowX)) cut.push(`${element.tagName} ${element.className} scrolls`);
  return cut;
}, width);

for (const [name, address] of [["a scenario", () => report], ["a plan", () => planned]])
  for (const colorScheme of ["light", "dark"])
    test(`on a phone no number and no column of ${name} is cut, ${colorScheme}`, async () => {
      const page = await openPage(browser, address(), { viewport: { width: 390, height: 844 }, colorScheme });
      assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), 390);
      assert.deepEqual(await cutWords(page, 390), []);
      assert.equal(await page.locator("#memory td[data-label=weights]").first().evaluate((cell) => getComputedStyle(cell, "::before").content), "\"weights\"");
      assert.deepEqual(page.complaints, []);
      await page.context().close();
    });

for (const [name, address] of [["a scenario", () => report], ["a plan", () => planned]])
  test(`on paper no number and no column of ${name} is cut`, async () => {
    const a4 = Math.floor((210 - 2 * 13) / 25.4 * 96);  // millimetres between the margins, in pixels
    const page = await openPage(browser, address(), { viewport: { width: a4, height: 1000 } });
    await page.emulateMedia({ media: "print" });
    assert.deepEqual(await cutWords(page, a4), []);
    await page.context().close();
  });

// A busy machine says nothing about speed. Times are always printed, but checked only where FORETOKEN_TIMINGS is set.
const judged = process.env.FORETOKEN_TIMINGS !== undefined;

test("a trillion parameters on 3,072 GPUs open at once", async (t) => {
  const times = [];
  for (let i = 0; i < 3; ++i) {
    const page = await openPage(browser, large);
    times.push(await page.evaluate(() => performance.timing.loadEventEnd - performance.timing.navigationStart));
    assert.deepEqual(page.complaints, []);
    assert.equal((await viewOf(page)).from, 0);
    await page.context().close();
  }
  t.diagnostic(`opened in ${times} ms`);
  if (judged) assert.ok(Math.min(...times) < 2000, `took ${times} ms`);
});

test("drawing 100,000 bars keeps up with the eye", async (t) => {
  const page = await openPage(browser, large);
  const frame = await page.evaluate(async () => {
    const canvas = document.getElementById("timeline"), times = [];
    for (let i = 0; i < 10; ++i) {
      const start = performance.now();
      canvas.dispatchEvent(new KeyboardEvent("keydown", { key: i % 2 ? "-" : "+" }));
      await new Promise(requestAnimationFrame);
      times.push(performance.now() - start);
    }
    return times.sort((a, b) => a - b)[2];
  });
  t.diagnostic(`a frame took ${frame} ms`);
  if (judged) assert.ok(frame < 150, `a frame took ${frame} ms`);
  await page.context().close();
});

test("zoom by buttons, keys and wheel; moving; the whole step again", async () => {
  const page = await openPage(browser, report), whole = await viewOf(page);
  await page.click('[data-zoom="in"]');
  const nearer = await viewOf(page);
  assert.ok(nearer.to - nearer.from < (whole.to - whole.from) * 0.9);
  await page.focus("#timeline");
  await page.keyboard.press("ArrowRight");
  const moved = await viewOf(page);
  assert.ok(moved.from > nearer.from);
  await page.hover("#timeline");
  await page.mouse.wheel(0, -200);
  await page.waitForFunction((span) => {
    const { from, to } = document.getElementById("timeline").dataset;
    return to - from < span * 0.95;
  }, moved.to - moved.from);
  await page.keyboard.press("0");
  assert.deepEqual(await viewOf(page), whole);
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

test("hovering shows micro-batch, chunk, time and bytes", async () => {
  const page = await openPage(browser, report);
  await page.locator("#timeline").scrollIntoViewIfNeeded();
  const box = await page.locator("#timeline").boundingBox();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 12);
  const tip = await page.textContent("#timeline-tip");
  assert.match(tip, /Stage 0: (forward|backward) pass\nmicro-batch \d+, chunk \d\n[\d.]+ ms, from [\d.]+ s to [\d.]+ s\n(keeps|frees) [\d.]+ [KMG]iB/);
  await page.mouse.move(box.x + box.width * 0.97, box.y + 12);
  assert.match(await page.textContent("#timeline-tip"), /bubble/);
  await page.context().close();
});

for (const id of ["memory", "scaling"])
  test(`pointing at a curve shows its values: ${id}`, async () => {
    const page = await openPage(browser, report), chart = page.locator(`#${id} .live-canvas`).first();
    assert.equal(await page.locator(`#${id} .live .static`).first().isVisible(), false);
    await chart.scrollIntoViewIfNeeded();
    await page.mouse.move(0, 0);
    const box = await chart.boundingBox(), before = await chart.screenshot();
    await page.mouse.move(box.x + box.width * 0.55, box.y + box.height * 0.5);
    await viewOf(page);
    assert.notDeepEqual(await chart.screenshot(), before);
    assert.deepEqual(page.complaints, []);
    await page.context().close();
  });

test("tables sort by their heads", async () => {
  const page = await openPage(browser, report);
  const table = page.locator("#alternatives table").first(), head = table.locator("th").nth(1);
  const column = () => table.locator("tbody tr").evaluateAll((rows) => rows.map((row) => Number(row.cells[1].dataset.sort)));
  const sorted = (values) => [...values].sort((a, b) => a - b);
  await head.click();
  assert.deepEqual(await column(), sorted(await column()));
  await head.click();
  assert.deepEqual(await column(), sorted(await column()).reverse());
  await page.context().close();
});

test("the button turns light to dark, and the pipeline with it", async () => {
  const page = await openPage(browser, report, { colorScheme: "light" });
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const before = await background(), pipeline = await page.locator("#timeline").screenshot();
  await page.click("#theme");
  assert.notEqual(await background(), before);
  await viewOf(page);
  assert.notDeepEqual(await page.locator("#timeline").screenshot(), pipeline);
  await page.context().close();
});

test("without JavaScript figures and tables are there, and nothing that needs it", async () => {
  const page = await openPage(browser, report, { javaScriptEnabled: false });
  for (const id of ["communication", "schedules", "scaling", "alternatives", "validation", "assumptions", "memory"])
    assert.ok(await page.locator(`#${id} table`).first().isVisible(), `${id} has a table`);
  for (const id of ["step", "timeline-section", "memory", "schedules", "scaling", "sensitivity"])
    assert.ok(await page.locator(`#${id} svg.chart, #${id} svg.gantt`).first().isVisible(), `${id} has a figure`);
  for (const part of await page.locator(".live .static").all()) assert.ok(await part.isVisible());
  for (const part of await page.locator(".needs-script").all()) assert.equal(await part.isVisible(), false);
  await page.context().close();
});

test("on paper the drawn pipeline stands for the one that moves", async () => {
  const page = await openPage(browser, report);
  await page.emulateMedia({ media: "print" });
  assert.equal(await page.locator("#timeline").isVisible(), false);
  assert.ok(await page.locator("#timeline-section svg.gantt").isVisible());
  assert.ok(await page.locator("#scaling svg.chart").first().isVisible());
  assert.equal(await page.locator("#scaling canvas").first().isVisible(), false);
  assert.ok((await page.pdf({ format: "A4" })).length > 50000);
  await page.context().close();
});
