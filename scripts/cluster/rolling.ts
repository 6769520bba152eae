import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type Counts, visitForms } from "./forms.ts";
import { applicationIn, type Instance } from "./instances.ts";
import { versionOf } from "./programs.ts";
import { type RunningProxy, startHaproxy, startNginx } from "./proxies.ts";
import type { Scenario } from "./scenario.ts";

/** How instances are updated: stopped and started again, or their workers replaced. */
export type Update = "restart" | "reload";

/** The kind and the amount of updates. */
export interface RollingOptions {
  readonly proxy: "nginx" | "haproxy";
  readonly update: Update;
  /** The minimum number of requests, and of updates of both instances. */
  readonly requests: number;
  readonly rounds: number;
  readonly visitors: number;
  readonly pauseMs: number;
}

/** What has happened. */
export interface RollingResult extends Counts {
  /** How many instances were updated. */
  readonly updates: number;
  /** The exit codes of the instances that were stopped, each once. */
  readonly exitCodes: readonly (number | null)[];
}

/** As the manual says: until the proxy uses an instance again. */
const SETTLE_MS = 3000;

/** Updates two instances behind a proxy, one after the other, while visitors send forms. */
export async function roll(options: RollingOptions): Promise<RollingResult> {
  const folder = mkdtempSync(join(tmpdir(), "ashlar-rolling-"));
  const instances: Instance[] = [];
  let proxy: RunningProxy | null = null;
  try {
    mkdirSync(join(folder, "shop"));
    const instance = applicationIn(join(folder, "shop"));
    instances.push(await instance(), await instance());
    await Promise.all(instances.map((one) => one.start()));
    const start = options.proxy === "nginx" ? startNginx : startHaproxy;
    proxy = await start(folder, [instances[0]!.port, instances[1]!.port]);
    const load = visitForms(proxy.port, options.visitors, options.pauseMs);
    let updates = 0;
    const isEnough = () => load.counts().requests >= options.requests && updates >= 2 * options.rounds;
    for (let turn = 0; !isEnough(); turn++) {
      await update(instances[turn % 2]!, options.update);
      updates++;
    }
    const counts = await load.stop();
    return { ...counts, updates, exitCodes: [...new Set(instances.flatMap(({ exitCodes }) => exitCodes))] };
  } finally {
    await Promise.all(instances.map((one) => one.stop()));
    await proxy?.program.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function update(instance: Instance, how: Update): Promise<void> {
  if (how === "reload") return await instance.reload();
  await instance.stop();
  await instance.start();
  await sleep(SETTLE_MS);
}

const REQUESTS = 20_000;
const BIG = { requests: REQUESTS, rounds: 2, visitors: 8, pauseMs: 0 };

export const ROLLING: Scenario = {
  name: "rolling",
  title: "Rolling updates",
  about:
    "Two instances with two workers each, behind a proxy as [Deployment](guides/deployment.md#several-instances) " +
    "configures it, are repeatedly updated one after the other: either restarted (SIGTERM, then started again) or " +
    "reloaded (SIGHUP). In the meantime, eight visitors open a form and send it, with a session and a CSRF token, as " +
    "fast as they get responses. Every request counts, and none is repeated.",
  seconds: 900,
  async run() {
    const rows = [];
    const failures: string[] = [];
    for (const proxy of ["nginx", "haproxy"] as const) {
      for (const how of ["restart", "reload"] as const) {
        const result = await roll({ ...BIG, proxy, update: how });
        const failed = Object.values(result.failed).reduce((sum, one) => sum + one, 0);
        const { requests, forms, updates, slowestMs } = result;
        rows.push({ proxy, update: how, updates, requests, forms, failed, "slowest response (ms)": slowestMs });
        if (failed > 0) failures.push(`${proxy}, ${how}: ${JSON.stringify(result.failed)}`);
        if (requests < REQUESTS) failures.push(`${proxy}, ${how}: only ${requests} requests`);
        if (result.exitCodes.some((code) => code !== 0))
          failures.push(`${proxy}, ${how}: exit codes ${result.exitCodes}`);
      }
    }
    const versions = {
      "Node.js": process.versions.node,
      nginx: versionOf("nginx", "-v"),
      HAProxy: versionOf("haproxy", "-v"),
    };
    return { versions, rows, failures };
  },
};
