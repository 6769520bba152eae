import { once } from "node:events";
import { readFileSync } from "node:fs";
import { freePort } from "../../packages/ashlar/test/support/free-port.ts";
import { startPostgres } from "../../packages/ashlar/test/support/own-postgres.ts";
import { CROWD, type CrowdResult } from "./crowd.ts";
import { startFleet, versionsOfFleet } from "./fleet.ts";
import type { Instance } from "./instances.ts";
import { versionOf } from "./programs.ts";
import type { Scenario } from "./scenario.ts";
import { openShop } from "./shop.ts";
import { undoing } from "./undoing.ts";

/** How often a process is killed, how many of those kills hit a complete instance, and how many users there are. */
export interface KillOptions {
  readonly kills: number;
  readonly everyMs: number;
  readonly instanceEach: number;
  readonly people: number;
}

/** Kills workers of two instances behind HAProxy, and occasionally a complete instance, while users send requests. */
export function kill(options: KillOptions): Promise<CrowdResult> {
  return undoing(async (undo) => {
    const postgres = await startPostgres(await freePort(), DURABLE);
    undo(() => postgres.remove());
    const shop = await openShop("postgres", postgres.url);
    undo(() => shop.remove());
    const { instances, crowd } = await startFleet(undo, shop, options.people);
    for (let turn = 1; turn <= options.kills; turn++) {
      const instance = instances[turn % 2]!;
      const isWhole = turn % options.instanceEach === 0;
      await crowd.fault(() => (isWhole ? killInstance(instance) : killWorker(instance, turn)), options.everyMs);
    }
    return await crowd.finish();
  });
}

/** Every commit is on disk before it is acknowledged, as on a real server. */
export const DURABLE: readonly string[] = ["fsync=on", "synchronous_commit=on", "full_page_writes=on"];

function workersOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
  return children.split(" ").filter(Boolean).map(Number);
}

async function killWorker(instance: Instance, turn: number): Promise<void> {
  const child = instance.process()!;
  if (child.exitCode !== null) return await instance.start();
  const workers = workersOf(child.pid!);
  if (workers.length > 0) process.kill(workers[turn % workers.length]!, "SIGKILL");
}

/** Kills an instance's processes at once, and starts it again, as a supervisor such as systemd would. */
async function killInstance(instance: Instance): Promise<void> {
  const child = instance.process()!;
  if (child.exitCode !== null) return await instance.start();
  const ended = once(child, "close");
  const all = [child.pid!, ...workersOf(child.pid!)];
  for (const pid of all) process.kill(pid, "SIGKILL");
  await ended;
  await instance.start();
}

const BIG = { kills: 120, everyMs: 1000, instanceEach: 30, people: 6 };

export const KILLS: Scenario = {
  name: "kills",
  title: "Processes killed",
  about:
    "Two instances with two workers each, behind HAProxy, on PostgreSQL. Every second for two minutes, one of the " +
    `four workers is killed (kill -9); every ${BIG.instanceEach}th time, it's all processes of an instance, which ` +
    `is then started again. ${CROWD}`,
  seconds: 300,
  async run() {
    const { row, failures } = await kill(BIG);
    return { versions: { ...versionsOfFleet(), PostgreSQL: versionOf("psql", "--version") }, rows: [row], failures };
  },
};
