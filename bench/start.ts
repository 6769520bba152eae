// How long a new application takes from the start of its process to its first response, and its memory, next to the
// smallest server that uses `Response`: in production, on SQLite, with warm compile caches.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { performance } from "node:perf_hooks";
import { FOLDER } from "./fixtures.ts";
import { load, median, preciseCpuTime, residentMemory } from "./processes.ts";
import { ashlar, createShop, ORIGIN, PORT, type Starter, start, stop } from "./shop.ts";

/** The first starts write the compile caches that later ones read. */
const COLD_STARTS = 2;
/** Starts of each server. The lowest values are the ones without the machine's other work. */
const STARTS = 20;
const LOADED_PATHS = ["/", "/login"];
const LOAD_SECONDS = 10;

/** The goals: milliseconds more than the bare server, and megabytes. */
const GOAL_MS = 150;
const GOAL_STARTED_MB = 90;
const GOAL_LOADED_MB = 140;

const BARE = `
  const { createServer } = require("node:http");
  createServer((_request, response) => response.end(String(new Response("hello").status)))
    .listen(${PORT}, "127.0.0.1", () => console.log("listening"));
`;

/** One start: milliseconds until the first response was complete, CPU milliseconds until then, and memory in MB. */
interface Start {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly memoryMb: number;
}

const bare: Starter = { name: "node:http and Response", args: ["--eval", BARE] };

async function measure(starter: Starter): Promise<Start> {
  const begin = performance.now();
  const child = await start(starter);
  try {
    const response = await fetch(ORIGIN);
    await response.text();
    const wallMs = performance.now() - begin;
    if (!response.ok) throw new Error(`${starter.name} responds with ${response.status}`);
    return { wallMs, cpuMs: preciseCpuTime(child.pid!), memoryMb: residentMemory(child.pid!) };
  } finally {
    await stop(child);
  }
}

/** The memory after load on each page, in MB. */
async function measureLoaded(starter: Starter): Promise<number> {
  const script = join(FOLDER, "start.lua");
  await writeFile(script, "");
  const child = await start(starter);
  try {
    for (const path of LOADED_PATHS) await load(ORIGIN + path, script, LOAD_SECONDS);
    return residentMemory(child.pid!);
  } finally {
    await stop(child);
  }
}

/**
 * Measures starts of the bare server and of a new application alternately, then the memory of each after load.
 *
 * @returns the lines of the report, and whether Ashlar reached its goals
 */
export async function measureStart(): Promise<{ readonly lines: readonly string[]; readonly reached: boolean }> {
  await createShop();
  const starters = [bare, ashlar];
  const starts = new Map<Starter, Start[]>(starters.map((starter) => [starter, []]));
  for (let round = 0; round < COLD_STARTS + STARTS; round++) {
    for (const starter of starters) {
      const measured = await measure(starter);
      if (round >= COLD_STARTS) starts.get(starter)!.push(measured);
    }
  }
  const loaded = new Map<Starter, number>();
  for (const starter of starters) loaded.set(starter, await measureLoaded(starter));
  return report(starts, loaded);
}

function report(
  starts: ReadonlyMap<Starter, readonly Start[]>,
  loaded: ReadonlyMap<Starter, number>,
): { readonly lines: readonly string[]; readonly reached: boolean } {
  const lowest = (starter: Starter, key: keyof Start): number =>
    Math.min(...starts.get(starter)!.map((one) => one[key]));
  const rows = [...starts].map(([starter, measured]) => {
    const cells = [
      lowest(starter, "wallMs"),
      median(measured.map(({ wallMs }) => wallMs)),
      lowest(starter, "cpuMs"),
      median(measured.map(({ cpuMs }) => cpuMs)),
      lowest(starter, "memoryMb"),
      loaded.get(starter)!,
    ];
    return `| ${starter.name} | ${cells.map((cell) => cell.toFixed(0)).join(" | ")} |`;
  });
  const more = lowest(ashlar, "wallMs") - lowest(bare, "wallMs");
  const missed = [
    ...(more > GOAL_MS ? ["the start"] : []),
    ...(lowest(ashlar, "memoryMb") > GOAL_STARTED_MB ? ["the memory after the start"] : []),
    ...(loaded.get(ashlar)! > GOAL_LOADED_MB ? ["the memory after load"] : []),
  ];
  const verdict = missed.length === 0 ? "." : `; not reached in this run: ${missed.join(", ")}.`;
  const lines = [
    "## Start",
    "",
    "A new application with all features, in production mode on SQLite, from the start of its process to its first page.",
    `The lowest and the median of ${STARTS} starts, with warm compile caches; MB resident after that page, and after`,
    `${LOAD_SECONDS} s of load (64 connections) on each of ${LOADED_PATHS.map((path) => `\`${path}\``).join(" and ")}.`,
    "",
    "| server | ms, lowest | median | CPU ms, lowest | median | MB started | MB after load |",
    "|---|--:|--:|--:|--:|--:|--:|",
    ...rows,
    "",
    `Goal for Ashlar: at most ${GOAL_MS} ms more than the other server (here ${more.toFixed(0)}), at most ${GOAL_STARTED_MB} MB started, and at most`,
    `${GOAL_LOADED_MB} MB after load${verdict}`,
    "",
  ];
  return { lines, reached: missed.length === 0 };
}
