// Renews docs/images/report-*.png: FORETOKEN=build/release/tools/foretoken BROWSER=$(command -v chromium) node tools/browser/pictures.mjs
import { openPage, startBrowser, writeReport } from "./pages.mjs";

const images = new URL("../../docs/images/", import.meta.url).pathname;
const browser = await startBrowser(), report = writeReport("gpt3-175b-1024-a100", "--date", "2026-11-23");

const light = await openPage(browser, report, { viewport: { width: 1080, height: 900 }, colorScheme: "light" });
const last = await light.locator("#step").boundingBox();
await light.setViewportSize({ width: 1080, height: Math.ceil(last.y + last.height + 12) });
await light.screenshot({ path: `${images}report-verdict.png` });

// The first second: a pass under the pointer, with the messages that it receives and sends, and the sum of a range.
const dark = await openPage(browser, report, { viewport: { width: 1080, height: 1200 }, colorScheme: "dark" });
await dark.locator("#timeline-section").scrollIntoViewIfNeeded();
await dark.focus("#timeline");
for (let i = 0; i < 9; ++i) await dark.keyboard.press("+");
for (let i = 0; i < 90; ++i) await dark.keyboard.press("ArrowLeft");
const box = await dark.locator("#timeline").boundingBox(), at = (part) => box.x + 66 + (box.width - 66) * part;
await dark.mouse.move(at(0.55), box.y + 20);
await dark.mouse.down();
await dark.mouse.move(at(0.95), box.y + 20, { steps: 4 });
await dark.mouse.up();
await dark.mouse.move(at(0.65), box.y + 3 * 34 + 12);
await dark.waitForTimeout(200);
await dark.locator("#timeline-section").screenshot({ path: `${images}report-pipeline.png` });
await browser.close();
