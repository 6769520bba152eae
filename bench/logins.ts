// A storm of logins: how many of the machine's hashes become logins, and what it does to everybody else.
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { verify } from "@node-rs/argon2";
import { PASSWORD, PASSWORD_HASH } from "./fixtures.ts";
import { type Contestant, median, startServer } from "./processes.ts";

/** As many hashes at once as the framework computes at once. */
const AT_ONCE = 2;
const STORM = 16;

async function during(milliseconds: number, workers: number, work: (index: number) => Promise<void>): Promise<number> {
  const end = performance.now() + milliseconds;
  let count = 0;
  await Promise.all(
    Array.from({ length: workers }, async () => {
      while (performance.now() < end) {
        await work(count);
        count++;
      }
    }),
  );
  return count / (milliseconds / 1000);
}

/** Hashes per second with nothing around them: what the processors allow. */
function bareHashes(milliseconds: number): Promise<number> {
  return during(milliseconds, AT_ONCE, async () => {
    if (!(await verify(PASSWORD_HASH, PASSWORD)))
      throw new Error("The hash of the benchmark is not that of its password");
  });
}

function logins(port: number, milliseconds: number): Promise<number> {
  return during(milliseconds, STORM, async (index) => {
    const body = JSON.stringify({ email: `user${index % 1000}@example.com`, password: PASSWORD });
    const response = await fetch(`http://127.0.0.1:${port}/login`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body,
    });
    if (response.status !== 200 || !(await response.text()).includes("true"))
      throw new Error(`A login was answered ${response.status}`);
  });
}

/** The 99th percentile of a plain route's latency, in milliseconds, at 200 requests a second. */
async function plainLatency(port: number, milliseconds: number): Promise<number> {
  const latencies: number[] = [];
  const pending: Promise<void>[] = [];
  const end = performance.now() + milliseconds;
  while (performance.now() < end) {
    const start = performance.now();
    pending.push(
      fetch(`http://127.0.0.1:${port}/json`).then(async (response) => {
        await response.text();
        latencies.push(performance.now() - start);
      }),
    );
    await sleep(5);
  }
  await Promise.all(pending);
  return latencies.sort((a, b) => a - b)[Math.floor(latencies.length * 0.99)]!;
}

/** Measures logins against the bare hash, and a plain route at rest and during the storm, in turn. */
export async function measureLogins(
  contestant: Contestant,
  rounds: number,
  seconds: number,
): Promise<readonly string[]> {
  const server = await startServer(contestant, true);
  const hashes: number[] = [];
  const done: number[] = [];
  const atRest: number[] = [];
  const inStorm: number[] = [];
  try {
    await logins(contestant.port, 1000);
    await plainLatency(contestant.port, 1000);
    for (let round = 0; round < rounds; round++) {
      hashes.push(await bareHashes(seconds * 1000));
      done.push(await logins(contestant.port, seconds * 1000));
      atRest.push(await plainLatency(contestant.port, seconds * 1000));
      const [, latency] = await Promise.all([
        logins(contestant.port, seconds * 1000),
        plainLatency(contestant.port, seconds * 1000),
      ]);
      inStorm.push(latency);
    }
  } finally {
    server.kill("SIGKILL");
  }
  const ratio = median(done.map((count, round) => count / hashes[round]!));
  const slower = median(inStorm.map((latency, round) => latency / atRest[round]!));
  return [
    "## A storm of logins",
    "",
    "Server and load share the processors here, since hashing takes all of them.",
    "",
    "| | |",
    "|---|--:|",
    `| hashes per second, bare argon2id (19 MiB, 2 rounds), ${AT_ONCE} at once | ${median(hashes).toFixed(1)} |`,
    `| logins per second, ${STORM} clients | ${median(done).toFixed(1)} |`,
    `| logins as a share of what the hash allows | **${ratio.toFixed(2)}** |`,
    `| a plain route's p99 at rest | ${median(atRest).toFixed(1)} ms |`,
    `| its p99 during the storm | ${median(inStorm).toFixed(1)} ms |`,
    `| the second over the first | **${slower.toFixed(1)}** |`,
    "",
    "Goal: logins at 0.95 of what the hash allows; the plain route's p99 at most 5 times that at rest.",
    "",
  ];
}
