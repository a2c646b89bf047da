// Reads the packed bars of the pipeline (written by sim/html/slices.cpp) into typed arrays.
const activities = ["forward", "backward", "step end", "message", "data-parallel communication",
  "backward for input", "backward for weight", "recompute", "copy or update on the host"];
const isPass = (activity) => activity < 2 || (activity > 4 && activity < 8);

// The bars of one lane in order of start, as parallel arrays.
function unpackLane(reader) {
  const count = reader.number();
  const lane = {
    count, begin: new Float64Array(count), end: new Float64Array(count), activity: new Uint8Array(count),
    chunk: new Uint16Array(count), microbatch: new Uint32Array(count),
  };
  const chunkOf = new Array(16).fill(0), rhythms = new Map();
  let end = 0;
  for (let i = 0; i < count; ++i) {
    const flags = reader.byte(), activity = (flags & 7) | (flags >> 4 & 8);
    const chunk = flags & 8 ? chunkOf[activity] : reader.number();
    const key = activity + 16 * chunk, rhythm = rhythms.get(key) ?? { microbatch: -1, duration: 0 };
    const microbatch = flags & 16 ? rhythm.microbatch + 1 : reader.number();
    const begin = end + (flags & 32 ? 0 : reader.signed());
    const duration = rhythm.duration + (flags & 64 ? 0 : reader.signed());
    end = begin + duration;
    chunkOf[activity] = chunk;
    rhythms.set(key, { microbatch, duration });
    lane.begin[i] = begin; lane.end[i] = end; lane.activity[i] = activity; lane.chunk[i] = chunk; lane.microbatch[i] = microbatch;
  }
  // Bars may overlap, so the search needs the latest end so far.
  lane.reach = new Float64Array(count);
  for (let i = 0, reach = 0; i < count; ++i) lane.reach[i] = reach = Math.max(reach, lane.end[i]);
  return lane;
}

class PackedReader {
  constructor(base64) { this.bytes = Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)); this.at = 0; }
  byte() { return this.bytes[this.at++]; }
  number() {
    let value = 0, scale = 1, byte;
    do { byte = this.bytes[this.at++]; value += (byte & 127) * scale; scale *= 128; } while (byte >= 128);
    return value;
  }
  signed() { const value = this.number(); return value % 2 ? -(value + 1) / 2 : value / 2; }
}

function readTimeline(element) {
  const data = JSON.parse(element.textContent), reader = new PackedReader(data.slices);
  data.lanes = Array.from({ length: data.rows }, () => [unpackLane(reader), unpackLane(reader)]);
  delete data.slices;
  return data;
}

// Returns the first bar of a lane that may reach beyond `time`.
function firstReaching(lane, time) {
  let low = 0, high = lane.count;
  while (low < high) { const middle = (low + high) >> 1; if (lane.reach[middle] > time) high = middle; else low = middle + 1; }
  return low;
}

function timeText(seconds) {
  const [scale, unit] = seconds >= 1 || seconds === 0 ? [1, "s"] : seconds >= 1e-3 ? [1e3, "ms"] : [1e6, "us"];
  return `${Number((seconds * scale).toPrecision(4))} ${unit}`;
}

function bytesText(bytes) {
  for (const unit of ["B", "KiB", "MiB", "GiB", "TiB"]) {
    if (bytes < 1024) return `${Number(bytes.toPrecision(3))} ${unit}`;
    bytes /= 1024;
  }
  return `${Number(bytes.toPrecision(3))} PiB`;
}
