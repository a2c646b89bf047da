// Sorts tables by a click (or Enter) on a column's head: numbers by value, words by the alphabet.
function makeSortable(table) {
  const heads = [...table.tHead.rows[0].cells];
  const valueOf = (row, column) => {
    const cell = row.cells[column];
    return cell === undefined ? "" : cell.dataset.sort === undefined ? cell.textContent : Number(cell.dataset.sort);
  };
  const compare = (a, b) => typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
  const sortBy = (column) => {
    const descending = heads[column].getAttribute("aria-sort") === "ascending";
    for (const head of heads) head.removeAttribute("aria-sort");
    heads[column].setAttribute("aria-sort", descending ? "descending" : "ascending");
    const body = table.tBodies[0];
    const rows = [...body.rows].sort((a, b) => compare(valueOf(a, column), valueOf(b, column)));
    if (descending) rows.reverse();
    body.append(...rows);
  };
  heads.forEach((head, column) => {
    head.tabIndex = 0;
    head.addEventListener("click", () => sortBy(column));
    head.addEventListener("keydown", (event) => { if (event.key === "Enter") sortBy(column); });
  });
}
