// Tests the report in a browser: it opens from a file without errors, shows every section, and its controls work.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
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
    const parts = [...sections, "timeline"], boxes = await Promise.all(parts.map((id) => page.locator(`#${id}`).boundingBox()));
    const colours = await coloursIn(browser, await page.screenshot({ fullPage: true }), boxes);
    parts.forEach((id, i) => assert.ok(colours[i] > (id === "timeline" ? 30 : 20), `${id} has ${colours[i]} colours`));
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

const find = async (page, words) => {
  await page.fill("#find", words);
  await page.press("#find", "Enter");
  const view = await viewOf(page);
  return { ...view, said: await page.textContent("#found"), arrows: await page.$eval("#timeline", (canvas) => canvas.dataset.arrows) };
};

test("searching jumps to a pass, to the next one, and says what it does not understand", async () => {
  const page = await openPage(browser, report), whole = await viewOf(page);
  const first = await find(page, "B 12");
  assert.match(first.said, /^1 of 24\. Stage \d: backward pass; micro-batch 12, chunk \d; /);
  assert.ok(first.to - first.from < (whole.to - whole.from) / 5);
  const next = await find(page, "B 12");
  assert.match(next.said, /^2 of 24\. /);
  assert.notEqual(next.from, first.from);
  const exact = await find(page, "forward 3 stage 2 chunk 1"), [, begin] = exact.said.match(/^1 of 1\. Stage 2: forward pass; micro-batch 3, chunk 1; [\d.]+ ms, from ([\d.]+) ms/);
  assert.ok(exact.from < begin / 1e3 && begin / 1e3 < exact.to, "the pass is in view");
  assert.equal((await find(page, "f3 s2 c1")).said, exact.said);
  assert.match((await find(page, "forward 3 stage 99")).said, /No such pass/);
  assert.match((await find(page, "cheese")).said, /Not understood.*B 12/);
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

test("arrows show the messages of a selected and of a hovered pass", async () => {
  const page = await openPage(browser, report);
  const before = await page.locator("#timeline").screenshot();
  assert.equal((await find(page, "forward 3 stage 2 chunk 1")).arrows, "1>2 2>3");
  assert.notDeepEqual(await page.locator("#timeline").screenshot(), before);
  assert.equal((await find(page, "backward 3 stage 2 chunk 1")).arrows, "2>1 3>2");
  assert.equal((await find(page, "forward 0 stage 0 chunk 1")).arrows, "7>0 0>1", "from the last stage back to the first");
  assert.equal((await find(page, "forward 0 stage 0 chunk 0")).arrows, "0>1", "the first pass receives nothing");
  await page.locator("#timeline").scrollIntoViewIfNeeded();
  await page.focus("#timeline");
  await page.keyboard.press("Escape");
  const box = await page.locator("#timeline").boundingBox();
  await page.mouse.move(box.x + 5, box.y + 12);
  await viewOf(page);
  const arrows = () => page.$eval("#timeline", (canvas) => canvas.dataset.arrows);
  assert.equal(await arrows(), "");
  await page.mouse.move(box.x + box.width / 2, box.y + 3 * 34 + 12);
  await viewOf(page);
  assert.match(await arrows(), /^2>3 3>4$/);
  assert.match(await page.textContent("#timeline-tip"), /receives from stage 2\nsends to stage 4/);
  await page.context().close();
});

test("dragging selects a range, and the times of its kinds add up to it", async () => {
  const page = await openPage(browser, report), whole = await viewOf(page);
  const sums = () => page.$$eval("#timeline-sums tbody tr", (rows) => Object.fromEntries(rows.map((row) => [row.dataset.kind, Number(row.dataset.seconds)])));
  const spent = (all) => Object.entries(all).filter(([kind]) => !kind.includes("beside")).reduce((sum, [, time]) => sum + time, 0);
  assert.equal(await page.isVisible("#timeline-sums"), false);
  await page.click("#sum-view");
  const step = await sums();
  assert.ok(Math.abs(spent(step) - (whole.to - whole.from)) < 1e-6 * whole.to);
  assert.ok(step.backward > step.forward && step.forward > step.bubble);
  await page.locator("#timeline").scrollIntoViewIfNeeded();
  const box = await page.locator("#timeline").boundingBox(), plot = box.width - 66;
  await page.mouse.move(box.x + 66 + plot * 0.25, box.y + 50);
  await page.mouse.down();
  await page.mouse.move(box.x + 66 + plot * 0.75, box.y + 60, { steps: 5 });
  await page.mouse.up();
  const half = await sums();
  assert.ok(Math.abs(spent(half) / (whole.to - whole.from) - 0.5) < 0.01);
  assert.equal(half["step end"], undefined, "the middle has no optimizer");
  assert.deepEqual(await viewOf(page), whole, "the view stays");
  await page.keyboard.down("Shift");
  await page.click('[data-zoom="in"]');
  const near = await viewOf(page);
  await page.mouse.move(box.x + box.width * 0.6, box.y + 50);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.4, box.y + 50, { steps: 3 });
  await page.mouse.up();
  await page.keyboard.up("Shift");
  assert.ok((await viewOf(page)).from > near.from, "with Shift a drag moves");
  await page.click("#sums-close");
  assert.equal(await page.isVisible("#timeline-sums"), false);
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

// Stands for ui.perfetto.dev: answers a ping, and keeps what it is given.
const perfettoPage = `<script>
  addEventListener("message", (event) => {
    if (event.data === "PING") event.source.postMessage("PONG", "*"); else window.given = event.data.perfetto;
  });
</script>`;

const checkTrace = (text) => {
  const { traceEvents } = JSON.parse(text), slices = traceEvents.filter((event) => event.ph === "X");
  const ends = new Map();
  for (const { pid, tid, ts, dur } of slices) {
    assert.ok(ts >= (ends.get(`${pid} ${tid}`) ?? 0) - 0.002, "slices of a thread do not overlap");
    ends.set(`${pid} ${tid}`, ts + dur);
  }
  assert.equal(slices.filter((slice) => slice.cat === "forward").length, 8 * 3 * 96);
  const ids = (side) => slices.filter((slice) => slice[side]).map((slice) => slice.bind_id);
  assert.equal(ids("flow_in").length, 2 * (8 * 3 - 1) * 96, "every pass but the first and the last chunk's receives");
  assert.deepEqual(new Set(ids("flow_in")), new Set(ids("flow_out")));
};

test("a click hands the trace to Perfetto", async () => {
  const page = await openPage(browser, report);
  await page.context().route("https://ui.perfetto.dev/**", (route) => route.fulfill({ contentType: "text/html", body: perfettoPage }));
  const [opened] = await Promise.all([page.context().waitForEvent("page"), page.click("#perfetto")]);
  await opened.waitForFunction(() => window.given);
  assert.equal(await opened.evaluate(() => window.given.title), await page.textContent("h1"));
  checkTrace(await opened.evaluate(() => new TextDecoder().decode(window.given.buffer)));
  assert.match(await page.textContent("#found"), /Sent to Perfetto/);
  assert.deepEqual(page.complaints, []);
  await page.context().close();
});

test("without a network the trace is downloaded", async () => {
  const page = await openPage(browser, report);
  await page.context().setOffline(true);
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("#perfetto")]);
  assert.equal(download.suggestedFilename(), "trace.json");
  checkTrace(readFileSync(await download.path(), "utf8"));
  assert.equal(page.context().pages().length, 1, "no tab opens");
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
