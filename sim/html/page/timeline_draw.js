// Draws the pipeline over time on a canvas. Where a lane has too many bars to distinguish, bins of a few pixels sum them
// up, and heights show shares of time. The pixels then limit the rectangles of a frame, not the bars. Passes are opaque:
// later chunks have paler shades (sim/draw/palette.h), and the hatching of bubbles shines through none of them.
const axisHeight = 26, labelWidth = 66, stripShare = 0.22;
const fewestPixels = 5;  // with fewer pixels for each bar of a lane, bins sum them up
const binPixels = 8, widestInBin = 24;
const leastPassPixels = 4;  // narrower passes have no room for a border (kLeastPassPixels in sim/draw/gantt_keys.h)
const shades = 8, colourNames = ["forward", "backward", "optimizer", "pipeline", "data", "backward-input", "backward-weight", "recompute", "offload"];

function colours() {
  const style = getComputedStyle(document.documentElement), of = (name) => style.getPropertyValue(name).trim();
  const shaded = (prefix, name, activity) =>
    Array.from({ length: isPass(activity) ? shades : 1 }, (_, shade) => of(`--${prefix}-${name}${shade ? `-${shade}` : ""}`));
  return {
    activity: colourNames.map((name, activity) => shaded("c", name, activity)),
    on: colourNames.map((name, activity) => shaded("on", name, activity)),
    ink: of("--ink"), dim: of("--dim"), line: of("--line"), idle: of("--idle"), hatch: of("--hatch"), panel: of("--panel"), path: of("--c-path"),
  };
}

// Returns the shade of a chunk: the first chunk has shade 0, the last one the palest.
const shadeOf = (chunk, chunks) => chunks > 1 ? Math.round(chunk * (shades - 1) / (chunks - 1)) : 0;

function hatching(context, colour) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const pen = tile.getContext("2d");
  pen.fillStyle = colour.idle;
  pen.fillRect(0, 0, 8, 8);
  pen.strokeStyle = colour.hatch;
  pen.lineWidth = 1.2;
  for (const from of [-8, 0, 8]) { pen.beginPath(); pen.moveTo(from - 1, 9); pen.lineTo(from + 9, -1); pen.stroke(); }
  return context.createPattern(tile, "repeat");
}

class TimelineDrawing {
  constructor(canvas, data) {
    this.canvas = canvas;
    this.data = data;
    this.context = canvas.getContext("2d");
    this.restyle();
    this.resize();
  }
  restyle() { this.colour = colours(); this.pattern = hatching(this.context, this.colour); }
  resize() {
    const ratio = window.devicePixelRatio || 1;
    this.width = this.canvas.parentElement.clientWidth;
    this.rowHeight = Math.min(34, Math.max(10, Math.floor(720 / this.data.rows)));
    this.height = this.rowHeight * this.data.rows + axisHeight;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.canvas.style.height = `${this.height}px`;
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
  }
  get plotWidth() { return Math.max(1, this.width - labelWidth); }
  x(time, view) { return labelWidth + (time - view.from) / (view.to - view.from) * this.plotWidth; }
  time(x, view) { return view.from + (x - labelWidth) / this.plotWidth * (view.to - view.from); }
  // Returns top and height of a lane: 0 passes, 1 communication.
  laneBox(row, lane) {
    const strip = Math.max(2, Math.round((this.rowHeight - 1) * stripShare)), work = this.rowHeight - 1 - strip;
    return lane === 0 ? [row * this.rowHeight, work] : [row * this.rowHeight + work, strip];
  }

  // `marks`: {path: bool, range: {from, to} or null, bars: [bar], links: [message]}; the bars have outlines.
  draw(view, marks) {
    const pen = this.context;
    pen.clearRect(0, 0, this.width, this.height);
    pen.save();
    pen.beginPath();
    pen.rect(labelWidth, 0, this.plotWidth, this.height);
    pen.clip();
    this.data.lanes.forEach((lanes, row) => {
      pen.fillStyle = this.pattern;
      const left = Math.max(labelWidth, this.x(0, view)), right = Math.min(this.width, this.x(this.data.length, view));
      pen.fillRect(left, row * this.rowHeight, right - left, this.rowHeight - 1);
      lanes.forEach((bars, lane) => this.drawLane(bars, ...this.laneBox(row, lane), view));
    });
    if (marks.path) this.drawPath(view);
    for (const bar of marks.bars) this.drawOutline(bar, view);
    for (const link of marks.links) this.drawArrow(link, view);
    if (marks.range) this.drawRange(marks.range, view);
    pen.restore();
    this.drawLabels();
    this.drawAxis(view);
  }

  drawLane(bars, top, height, view) {
    const perPixel = (view.to - view.from) / this.plotWidth, binTime = binPixels * perPixel;
    const first = firstReaching(bars, view.from);
    let last = first;
    while (last < bars.count && bars.begin[last] < view.to) ++last;
    const narrow = (last - first > this.plotWidth / fewestPixels ? widestInBin : leastPassPixels) * perPixel;
    const dense = new Map();  // bin -> its extent and time by activity
    for (let i = first; i < last; ++i) {
      const time = bars.end[i] - bars.begin[i];
      if (time < narrow) this.addToBins(dense, bars, i, binTime);
      else if (bars.end[i] > view.from) this.drawBar(bars, i, this.x(bars.begin[i], view), Math.max(0.7, time / perPixel), top, height);
    }
    for (const [bin, sum] of dense) {
      // Where the neighbouring bin is empty, the first and the last bar keep their exact times.
      const from = dense.has(bin - 1) ? bin * binTime : sum.from, to = dense.has(bin + 1) ? (bin + 1) * binTime : sum.to;
      const x = this.x(from, view), width = Math.max(0.7, this.x(to, view) - x);
      let bottom = top + height;
      sum.times.forEach((time, activity) => {
        if (time === 0) return;
        const part = Math.max(0.7, Math.min(1, time / (to - from)) * height);
        bottom -= part;
        this.context.fillStyle = this.colour.activity[activity][0];
        this.context.fillRect(x, Math.max(top, bottom), width, part);
      });
    }
  }

  // Bins start at whole multiples of their width in time, so that they do not flicker while the view moves.
  addToBins(dense, bars, i, binTime) {
    const last = Math.floor(bars.end[i] / binTime);
    for (let bin = Math.floor(bars.begin[i] / binTime); bin <= last; ++bin) {
      const from = Math.max(bars.begin[i], bin * binTime), to = Math.min(bars.end[i], (bin + 1) * binTime);
      if (to <= from) continue;
      let sum = dense.get(bin);
      if (!sum) dense.set(bin, sum = { from, to, times: activities.map(() => 0) });
      sum.from = Math.min(sum.from, from);
      sum.to = Math.max(sum.to, to);
      sum.times[bars.activity[i]] += to - from;
    }
  }

  drawBar(bars, i, x, width, top, height) {
    const pen = this.context, activity = bars.activity[i], shade = isPass(activity) ? shadeOf(bars.chunk[i], this.data.chunks) : 0;
    pen.fillStyle = this.colour.panel;  // the border between passes
    pen.fillRect(x, top, width, height);
    pen.fillStyle = this.colour.activity[activity][shade];
    pen.fillRect(x, top, width - (isPass(activity) ? 1 : 0), height);
    const number = String(bars.microbatch[i]);
    if (!isPass(activity) || height < 9 || width < 8 + 6.2 * number.length) return;
    pen.font = "10.5px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.fillStyle = this.colour.on[activity][shade];
    const left = Math.max(x, labelWidth), right = Math.min(x + width, this.width);
    if (right - left > 6.2 * number.length) pen.fillText(number, (left + right) / 2, top + height / 2 + 3.7);
  }

  // Draws the critical path as a line below its passes, from stage to stage. Parts smaller than a pixel are left out.
  drawPath(view) {
    const pen = this.context, shift = this.laneBox(0, 0)[1] - 2;
    const least = 0.75 * (view.to - view.from) / this.plotWidth;
    pen.beginPath();
    let drawn = false, row = -1;
    for (const [at, , begin, end] of this.data.path) {
      if (end < view.from || begin > view.to) { drawn = false; continue; }
      if (end - begin < least && drawn && at !== row) continue;
      const y = at * this.rowHeight + shift;
      if (drawn) pen.lineTo(this.x(begin, view), y); else pen.moveTo(this.x(begin, view), y);
      pen.lineTo(this.x(end, view), y);
      drawn = true;
      row = at;
    }
    pen.lineJoin = "round";
    pen.strokeStyle = this.colour.panel;
    pen.lineWidth = 4;
    pen.stroke();
    pen.strokeStyle = this.colour.path;
    pen.lineWidth = 2;
    pen.stroke();
  }

  drawOutline({ row, lane, index }, view) {
    const bars = this.data.lanes[row][lane], [top, height] = this.laneBox(row, lane), left = this.x(bars.begin[index], view);
    this.stroke((pen) => pen.rect(left, top + 0.5, Math.max(2, this.x(bars.end[index], view) - left), height - 1));
  }

  // Draws a message: from the strip of its sender, down or up while it is on its way, and on to the start of its pass.
  drawArrow({ from, to, message }, view) {
    const [work, strip] = this.data.lanes[from.row], [top, height] = this.laneBox(from.row, message < 0 ? 0 : 1);
    const left = message < 0 ? work.end[from.index] : strip.begin[message], arrives = message < 0 ? left : strip.end[message];
    const [toTop, toHeight] = this.laneBox(to.row, 0), end = this.x(this.data.lanes[to.row][0].begin[to.index], view), y = toTop + toHeight / 2;
    this.stroke((pen) => {
      pen.moveTo(this.x(left, view), top + height / 2);
      pen.lineTo(Math.min(end - 7, this.x(arrives, view)), y);
      pen.lineTo(end - 1, y);
      pen.moveTo(end - 6, y - 4); pen.lineTo(end - 1, y); pen.lineTo(end - 6, y + 4);
    });
  }

  // Draws lines in ink on a wider line of the page's colour, so that they show on every bar.
  stroke(shape) {
    const pen = this.context;
    pen.lineJoin = pen.lineCap = "round";
    for (const [colour, width] of [[this.colour.panel, 4.5], [this.colour.ink, 1.8]]) {
      pen.beginPath();
      shape(pen);
      pen.strokeStyle = colour;
      pen.lineWidth = width;
      pen.stroke();
    }
    pen.lineCap = "butt";
  }

  drawRange({ from, to }, view) {
    const pen = this.context, left = this.x(from, view), right = this.x(to, view), bottom = this.height - axisHeight;
    pen.globalAlpha = 0.35;
    pen.fillStyle = this.colour.panel;
    pen.fillRect(labelWidth, 0, left - labelWidth, bottom);
    pen.fillRect(right, 0, this.width - right, bottom);
    pen.globalAlpha = 1;
    this.stroke((line) => { line.moveTo(left, 0); line.lineTo(left, bottom); line.moveTo(right, 0); line.lineTo(right, bottom); });
  }

  drawLabels() {
    const pen = this.context, every = Math.ceil(14 / this.rowHeight);
    pen.font = "12px system-ui, sans-serif";
    pen.fillStyle = this.colour.ink;
    pen.textAlign = "right";
    for (let row = 0; row < this.data.rows; row += every)
      pen.fillText(`stage ${row}`, labelWidth - 9, row * this.rowHeight + this.rowHeight / 2 + 4);
  }

  drawAxis(view) {
    const pen = this.context, unit = this.data.unit_s, span = (view.to - view.from) * unit;
    const raw = span / Math.max(2, this.plotWidth / 120), magnitude = 10 ** Math.floor(Math.log10(raw)), ratio = raw / magnitude;
    const step = (ratio > 5 ? 10 : ratio > 2 ? 5 : ratio > 1 ? 2 : 1) * magnitude;
    const [scale, name] = step >= 0.1 ? [1, "s"] : step >= 1e-4 ? [1e3, "ms"] : [1e6, "us"];
    const digits = Math.max(0, -Math.floor(Math.log10(step * scale) + 1e-9)), bottom = this.height - axisHeight;
    pen.font = "12px system-ui, sans-serif";
    pen.textAlign = "center";
    pen.strokeStyle = this.colour.line;
    for (let k = Math.ceil(view.from * unit / step); k * step <= view.to * unit; ++k) {
      const x = this.x(k * step / unit, view);
      if (x < labelWidth - 1) continue;
      pen.beginPath(); pen.moveTo(x, bottom); pen.lineTo(x, bottom + 5); pen.stroke();
      pen.fillStyle = this.colour.dim;
      pen.fillText(`${(k * step * scale).toFixed(digits)} ${name}`, Math.min(Math.max(x, labelWidth + 8), this.width - 26), bottom + 18);
    }
  }

  // Returns the bar under a point as {row, lane, index}, or the idle row, or nothing.
  barAt(x, y, view) {
    const row = Math.floor(y / this.rowHeight);
    if (x < labelWidth || row < 0 || row >= this.data.rows) return null;
    const [stripTop] = this.laneBox(row, 1), lane = y >= stripTop - 1 ? 1 : 0, bars = this.data.lanes[row][lane];
    const time = this.time(x, view), slack = (view.to - view.from) / this.plotWidth;
    for (let i = firstReaching(bars, time - slack); i < bars.count && bars.begin[i] <= time + slack; ++i)
      if (bars.end[i] >= time - slack) return { row, lane, index: i };
    return { row, lane, index: -1, time };
  }
}
