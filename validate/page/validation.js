// Makes every table sortable, and hides rows without the words of the search field.
for (const table of document.querySelectorAll("table")) makeSortable(table);
const find = document.getElementById("find"), rows = [...document.getElementById("rows").tBodies[0].rows];
find.addEventListener("input", () => {
  const words = find.value.toLowerCase().split(/\s+/);
  for (const row of rows) row.hidden = !words.every(word => row.textContent.toLowerCase().includes(word));
});
