// Draws charts with Chart.js from the data beside each drawing (live_chart.h describes the data). Pointing at a chart shows
// its values. Colours come from the drawing, which replaces the chart on paper.
function startCharts() {
  const charts = [...document.querySelectorAll("figure.live")].map(liveChart);
  document.addEventListener("themechange", () => {
    for (const { chart, figure } of charts) { paint(chart, figure); chart.update("none"); }
  });
}

function liveChart(figure) {
  const data = JSON.parse(figure.querySelector("script").textContent), holder = document.createElement("div");
  const canvas = holder.appendChild(document.createElement("canvas"));
  holder.className = "live-canvas";
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", data.title);
  figure.append(holder);
  const isStacked = data.series.some((series) => series.stacked);
  const chart = new Chart(canvas, {
    type: "line",
    data: { datasets: datasetsOf(data.series) },
    options: {
      animation: false, parsing: false, normalized: true, aspectRatio: innerWidth > 640 ? data.aspect : Math.min(data.aspect, 1.6),
      interaction: { mode: isStacked ? "index" : "nearest", axis: "x", intersect: false },
      scales: { x: axisOf(data.x), y: axisOf(data.y) },
      plugins: {
        legend: { display: false },
        title: { display: !isStacked, text: data.title, align: "start", font: { size: 14, weight: 600 }, padding: { bottom: 12 } },
        tooltip: {
          filter: ({ dataset }) => dataset.isTold,
          itemSort: (a, b) => b.datasetIndex - a.datasetIndex,
          callbacks: {
            title: (items) => isStacked && items.length ? `${(items[0].raw.x).toPrecision(4)} s` : "",
            label: ({ dataset, raw }) => raw.hint ?? `${dataset.label}: ${raw.own.toPrecision(3)} GiB`,
          },
        },
      },
    },
  });
  paint(chart, figure);
  chart.update("none");
  return { chart, figure };
}

// A band has two edges, and is filled between them. A stacked area is filled down to the one before it.
function datasetsOf(series) {
  const below = [], datasets = [];
  const points = (x, y, more) => x.map((at, i) => ({ x: at, y: y[i], ...more?.(i) }));
  series.forEach((each, number) => {
    const common = { label: each.name, style: each.style, pointRadius: 0, pointHoverRadius: 0, borderWidth: 2 };
    if (each.low) {
      datasets.push({ ...common, borderWidth: 0, data: points(each.x, each.low) });
      datasets.push({ ...common, borderWidth: 0, isBand: true, fill: "-1", data: points(each.x, each.high) });
    }
    if (each.stacked) {
      const tops = each.y.map((own, i) => (below[i] = (below[i] ?? 0) + own));
      datasets.push({ ...common, borderWidth: 0, isArea: true, isTold: true, stepped: true, fill: number === 0 ? "origin" : "-1",
        data: points(each.x, tops, (i) => ({ own: each.y[i] })) });
      return;
    }
    datasets.push({ ...common, isTold: Boolean(each.points), borderDash: each.dashed ? [5, 4] : [],
      pointRadius: each.points ? each.x.map((_, i) => i === each.marked ? 6 : 4) : 0, pointHoverRadius: each.points ? 7 : 0,
      pointBorderWidth: 2, marked: each.marked, data: points(each.x, each.y, (i) => ({ hint: each.hints?.[i] })) });
  });
  return datasets;
}

function axisOf({ title, logarithmic, low, high, ticks }) {
  const labels = new Map(ticks);
  return {
    type: logarithmic ? "logarithmic" : "linear", min: low, max: high,
    title: { display: title !== "", text: title },
    afterBuildTicks: (axis) => { axis.ticks = ticks.map(([value]) => ({ value })); },
    ticks: { callback: (value) => labels.get(value), maxRotation: 0, autoSkipPadding: 10 },
  };
}

function paint(chart, figure) {
  const page = getComputedStyle(document.documentElement), of = (name) => page.getPropertyValue(name).trim();
  const clear = (colour) => colour.replace(/^rgb\((.*)\)$/, "rgba($1, .16)");
  for (const dataset of chart.data.datasets) {
    const { style, isArea, isBand } = dataset;
    const drawn = getComputedStyle(figure.querySelector(isBand ? `.band.${style}` : isArea ? `path.${style}` : `.line.${style}, line.${style}`));
    const colour = isArea || isBand ? drawn.fill : drawn.stroke;
    dataset.borderColor = colour;
    dataset.backgroundColor = isBand ? clear(colour) : colour;
    dataset.pointBackgroundColor = dataset.data.map((_, i) => i === dataset.marked ? of("--panel") : colour);
  }
  const { scales, plugins } = chart.options;
  for (const scale of Object.values(scales)) {
    scale.grid.color = of("--line");
    scale.grid.borderColor = of("--grey");
    scale.ticks.color = scale.title.color = of("--dim");
  }
  scales.x.grid.drawOnChartArea = false;
  plugins.title.color = of("--ink");
  Object.assign(plugins.tooltip, { backgroundColor: of("--panel"), borderColor: of("--grey"), borderWidth: 1, displayColors: false,
    titleColor: of("--ink"), bodyColor: of("--ink"), footerColor: of("--ink") });
  Object.assign(Chart.defaults.font, { family: getComputedStyle(document.body).fontFamily, size: 12.5 });
}
