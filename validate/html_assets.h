// Style and script of the validation page, written into it.
#pragma once

#include <string_view>

namespace foretoken::validate {

inline constexpr std::string_view kStyle = R"css(
:root { color-scheme: light dark; --paper: #ffffff; --panel: #f6f7f9; --ink: #1b1f24; --dim: #5c6670; --line: #d6dae0;
  --low: #0072b2; --high: #d55e00; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14171a; --panel: #1d2125; --ink: #e6e9ec; --dim: #9aa4ae; --line: #363c43; --low: #56b4e9; --high: #e69f00; } }
body { margin: 0 auto; max-width: 1180px; padding: 1.5rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .3rem; } h2 { font-size: 1.2rem; margin: 2.2rem 0 .4rem; }
p { max-width: 78ch; } .dim { color: var(--dim); }
table { border-collapse: collapse; font-size: .86rem; font-variant-numeric: tabular-nums; margin: .6rem 0; }
th, td { padding: .22rem .6rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th { cursor: pointer; position: sticky; top: 0; background: var(--panel); color: var(--dim); font-weight: 600; }
th[data-way="1"]::after { content: " \2191"; } th[data-way="-1"]::after { content: " \2193"; }
td.text, th.text { text-align: left; } td.text { white-space: normal; }
.wide { overflow-x: auto; } .plots { display: flex; flex-wrap: wrap; gap: 1rem; }
.plots svg { width: 560px; max-width: 100%; height: auto; background: var(--panel); border-radius: 6px; }
.plots svg > rect:first-of-type { fill: none; }
.plots svg text { fill: var(--ink); } .plots svg line { stroke: var(--line); }
.plots svg line[stroke="#888"] { stroke: var(--dim); } .plots svg [fill="#000000"] { fill: var(--ink); }
.split { display: flex; width: 180px; height: .8rem; border-radius: 2px; overflow: hidden; }
.error { display: inline-block; width: 90px; height: .7rem; margin-left: .5rem; position: relative;
  background: linear-gradient(var(--line), var(--line)) center / 1px 100% no-repeat; }
.error i { position: absolute; top: 0; bottom: 0; background: var(--high); } .error i.low { background: var(--low); }
p.key { max-width: none; } .key i { display: inline-block; width: .8rem; height: .8rem; margin: 0 .3rem 0 .9rem; vertical-align: -1px; }
input { font: inherit; padding: .3rem .6rem; border: 1px solid var(--line); border-radius: 4px; background: var(--panel);
  color: var(--ink); width: 22rem; max-width: 100%; }
.bad { color: var(--high); font-weight: 600; }
)css";

inline constexpr std::string_view kScript = R"js(
for (const table of document.querySelectorAll("table")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.addEventListener("click", () => {
    const way = head.dataset.way === "-1" ? 1 : -1;
    heads.forEach(other => delete other.dataset.way);
    head.dataset.way = way;
    const value = row => { const cell = row.cells[column]; return cell.dataset.v ?? cell.textContent; };
    const compare = (a, b) => {
      const x = value(a), y = value(b), known = s => s !== "" && !isNaN(s);
      if (known(x) && known(y)) return x - y;
      return known(x) - known(y) || x.localeCompare(y);
    };
    table.tBodies[0].append(...[...table.tBodies[0].rows].sort((a, b) => way * compare(a, b)));
  }));
}
const find = document.getElementById("find"), rows = [...document.getElementById("rows").tBodies[0].rows];
find.addEventListener("input", () => {
  const words = find.value.toLowerCase().split(/\s+/);
  for (const row of rows) row.hidden = !words.every(word => row.textContent.toLowerCase().includes(word));
});
)js";

}  // namespace foretoken::validate
