// Starts the scripts of the page. Without them the page can still be read.
document.documentElement.classList.add("script");

const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const themeChanged = () => document.dispatchEvent(new Event("themechange"));
prefersDark.addEventListener("change", themeChanged);
document.getElementById("theme").addEventListener("click", () => {
  const root = document.documentElement, isDark = root.dataset.theme ? root.dataset.theme === "dark" : prefersDark.matches;
  root.dataset.theme = isDark ? "light" : "dark";
  themeChanged();
});

for (const table of document.querySelectorAll("table.sortable")) makeSortable(table);

startCharts();

document.getElementById("download")?.addEventListener("click", () => {
  const link = document.createElement("a");
  link.href = "data:application/json;charset=utf-8," + encodeURIComponent(document.getElementById("scenario").textContent);
  link.download = "scenario.json";
  link.click();
});

addEventListener("beforeprint", () => { for (const part of document.querySelectorAll("details")) part.open = true; });

const timelineData = document.getElementById("timeline-data");  // a service has none
if (timelineData) startTimeline(readTimeline(timelineData), document.querySelector("h1").textContent);
