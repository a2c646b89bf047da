// Sums up the time of each kind in a range of the pipeline.

// Returns [kind, time] of lane 0 and of lane 1, as means of all stages, and the idle time. In the strip bars of a kind may
// overlap; their common time counts once.
function sumsOf(data, from, to) {
  const work = activities.map(() => 0), strip = activities.map(() => 0);
  for (const [bars, beside] of data.lanes) {
    for (let i = firstReaching(bars, from); i < bars.count && bars.begin[i] < to; ++i)
      work[bars.activity[i]] += Math.max(0, Math.min(bars.end[i], to) - Math.max(bars.begin[i], from));
    const reached = activities.map(() => from);
    for (let i = firstReaching(beside, from); i < beside.count && beside.begin[i] < to; ++i) {
      const kind = beside.activity[i], begin = Math.max(beside.begin[i], reached[kind]), end = Math.min(beside.end[i], to);
      if (end > begin) { strip[kind] += end - begin; reached[kind] = end; }
    }
  }
  const mean = (times) => times.map((time, kind) => [kind, time / data.rows]).filter(([, time]) => time > 0);
  const busy = work.reduce((a, b) => a + b, 0) / data.rows;
  return { work: mean(work), strip: mean(strip), idle: Math.max(0, to - from - busy) };
}

// Fills the table below the pipeline. Without a range it is hidden.
function showSums(holder, data, range) {
  holder.hidden = range === null;
  if (range === null) return;
  const { work, strip, idle } = sumsOf(data, range.from, range.to), span = range.to - range.from;
  const seconds = (units) => timeText(units * data.unit_s);
  const row = (colour, name, time) => {
    const line = document.createElement("tr"), cells = [name, seconds(time), `${(100 * time / span).toFixed(1)} %`];
    line.dataset.kind = name;
    line.dataset.seconds = String(time * data.unit_s);
    cells.forEach((text, place) => {
      const cell = line.appendChild(document.createElement("td"));
      if (place === 0) cell.appendChild(document.createElement("span")).className = `key k-${colour}`;
      else cell.className = "n";
      cell.append(text);
    });
    return line;
  };
  holder.querySelector("caption").textContent =
    `${seconds(range.from)} to ${seconds(range.to)}: ${seconds(span)}, mean of ${data.rows === 1 ? "one stage" : `${data.rows} stages`}`;
  holder.querySelector("tbody").replaceChildren(
    ...work.map(([kind, time]) => row(colourNames[kind], activities[kind], time)), row("bubble", "bubble", idle),
    ...strip.map(([kind, time]) => row(colourNames[kind], `${activities[kind]}, beside the above`, time)));
}
