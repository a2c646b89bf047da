// Writes the pipeline as a trace and hands it to ui.perfetto.dev, which reads it in the reader's own browser. The page asks
// nothing of the network before a click.
const perfetto = "https://ui.perfetto.dev", perfettoPatience = 20000;

// Returns the trace in the JSON form of Chrome: a process for a stage, threads for passes and for communication, and
// an arrow for each message. Slices of a thread nest or follow one another, so overlapping communication has several threads.
function traceOf(data, messages, title) {
  const events = [], micro = (units) => Math.round(units * data.unit_s * 1e9) / 1e3;
  const flows = new Map();  // bar -> the arrows that leave or reach it
  const flowKey = (row, lane, index) => `${row} ${lane} ${index}`;
  let arrows = 0;
  data.lanes.forEach(([work], row) => {
    for (let index = 0; index < work.count; ++index)
      for (const { from, to, message } of messages.of({ row, lane: 0, index })) {
        if (to.row !== row || to.index !== index) continue;
        const id = `0x${(++arrows).toString(16)}`;
        flows.set(message < 0 ? flowKey(from.row, 0, from.index) : flowKey(from.row, 1, message), { bind_id: id, flow_out: true });
        flows.set(`${flowKey(row, 0, index)} in`, { bind_id: id, flow_in: true });
      }
  });
  const named = (pid, tid, name) => events.push({ ph: "M", name: "thread_name", pid, tid, args: { name } });
  data.lanes.forEach((lanes, row) => {
    events.push({ ph: "M", name: "process_name", pid: row, args: { name: `stage ${row}` } },
      { ph: "M", name: "process_sort_index", pid: row, args: { sort_index: row } });
    named(row, 0, "compute");
    const ends = [];
    lanes.forEach((bars, lane) => {
      for (let i = 0; i < bars.count; ++i) {
        let tid = 0;
        if (lane === 1) {
          tid = ends.findIndex((end) => end <= bars.begin[i]);
          if (tid < 0) { tid = ends.length; named(row, tid + 1, `communication${tid ? ` ${tid + 1}` : ""}`); }
          ends[tid++] = bars.end[i];
        }
        const kind = bars.activity[i], numbered = isPass(kind) || kind === 3, begin = micro(bars.begin[i]);
        events.push({ ph: "X", name: numbered ? `${activities[kind]} ${bars.microbatch[i]}` : activities[kind], cat: activities[kind], pid: row, tid,
          ts: begin, dur: Math.max(0, Math.round((micro(bars.end[i]) - begin) * 1e3) / 1e3),
          ...flows.get(flowKey(row, lane, i)), ...flows.get(`${flowKey(row, lane, i)} in`),
          ...(numbered ? { args: { microbatch: bars.microbatch[i], chunk: bars.chunk[i] } } : {}) });
      }
    });
  });
  return JSON.stringify({ displayTimeUnit: "ms", metadata: { program: "foretoken", scenario: title }, traceEvents: events });
}

function downloadTrace(text) {
  const link = document.createElement("a"), address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.href = address;
  link.download = "trace.json";
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}

// Opens Perfetto and posts the trace once it answers. Offline, or where it does not answer, the trace is downloaded.
function openInPerfetto(text, title, say) {
  const target = navigator.onLine ? open(perfetto) : null;
  const instead = () => { downloadTrace(text); say("Perfetto cannot be reached. Open trace.json there later."); };
  if (target === null) return instead();
  say("Waiting for Perfetto …");
  const start = Date.now();
  const stop = () => { clearInterval(ping); removeEventListener("message", answer); };
  const answer = (event) => {
    if (event.source !== target || event.origin !== perfetto || event.data !== "PONG") return;
    stop();
    const { buffer } = new TextEncoder().encode(text);
    target.postMessage({ perfetto: { buffer, title, fileName: "trace.json" } }, perfetto);
    say("Sent to Perfetto.");
  };
  const ping = setInterval(() => {
    if (!target.closed && Date.now() - start < perfettoPatience) return target.postMessage("PING", perfetto);
    stop();
    if (target.closed) say(""); else instead();
  }, 100);
  addEventListener("message", answer);
}

function startTrace(data, messages, title) {
  const say = (text) => { document.getElementById("found").textContent = text; };
  const trace = () => traceOf(data, messages, title);
  document.getElementById("perfetto").addEventListener("click", () => openInPerfetto(trace(), title, say));
  document.getElementById("trace").addEventListener("click", () => downloadTrace(trace()));
}
