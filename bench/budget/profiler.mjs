// Loaded before a server (`--import`). The first SIGUSR2 begins a profile of CPU time and allocations, and the second one
// writes it to the file that BUDGET_PROFILE names. Plain JavaScript, because Node.js would load its TypeScript compiler for
// anything else.
import { renameSync, writeFileSync } from "node:fs";
import { Session } from "node:inspector/promises";

const SAMPLE_MICROSECONDS = 200;
const SAMPLE_BYTES = 8192;

const session = new Session();
session.connect();
let isRunning = false;

process.on("SIGUSR2", async () => {
  if (!isRunning) {
    isRunning = true;
    await session.post("Profiler.enable");
    await session.post("Profiler.setSamplingInterval", { interval: SAMPLE_MICROSECONDS });
    await session.post("HeapProfiler.startSampling", {
      samplingInterval: SAMPLE_BYTES,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    });
    await session.post("Profiler.start");
    return;
  }
  const time = await session.post("Profiler.stop");
  const heap = await session.post("HeapProfiler.stopSampling");
  const path = process.env.BUDGET_PROFILE;
  // The profile appears complete.
  writeFileSync(`${path}.part`, JSON.stringify({ time: time.profile, heap: heap.profile }));
  renameSync(`${path}.part`, path);
  session.disconnect();
});
