import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../packages/ashlar/test/support/free-port.ts";
import { startPostgres } from "../../packages/ashlar/test/support/own-postgres.ts";
import { type CustomerCounts, type CustomerLoad, useCustomers } from "./customers.ts";
import { versionsOfFleet } from "./fleet.ts";
import { COMMAND, ENVIRONMENT, type Instance, instancesOf, until } from "./instances.ts";
import { versionOf } from "./programs.ts";
import { startHaproxy } from "./proxies.ts";
import { makeReleases, type Release } from "./releases.ts";
import type { Scenario } from "./scenario.ts";
import { undoing } from "./undoing.ts";

/** Each step forward, back, and forward again. */
const ALL = [0, 1, 0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4];

/** The results of deploying one version after another. */
export interface Deployment {
  readonly from: string;
  readonly to: string;
  readonly isBack: boolean;
  readonly counts: CustomerCounts;
}

/** The deployments, and their number of requests. */
export interface VersionsOptions {
  /** The versions to deploy one after the other, by index. The first one is running from the beginning. */
  readonly path: readonly number[];
  readonly people: number;
  /** The minimum number of requests while two versions run side by side. */
  readonly beside: number;
  /** As the manual says: until the proxy uses an instance again. */
  readonly settleMs: number;
}

/** One of two instances, whose folder is a link to a version's. */
interface Place {
  readonly link: string;
  readonly instance: Instance;
}

/** Deploys the manual's versions one after the other, and back, while users use two instances behind a proxy. */
export async function deployVersions({ path, people, beside, settleMs }: VersionsOptions): Promise<Deployment[]> {
  return await undoing(async (undo) => {
    const parent = mkdtempSync(join(tmpdir(), "ashlar-versions-"));
    undo(() => rmSync(parent, { recursive: true, force: true }));
    const postgres = await startPostgres(await freePort());
    undo(() => postgres.remove());
    const releases = await makeReleases(parent);
    const env = { DATABASE_URL: postgres.url };
    migrate(releases[path[0]!]!, env);

    const places: Place[] = [];
    for (const name of ["one", "two"]) {
      const link = join(parent, name);
      symlinkSync(releases[path[0]!]!.folder, link);
      const instance = await instancesOf({ folder: link, env })();
      undo(() => instance.stop());
      places.push({ link, instance });
    }
    await Promise.all(places.map(({ instance }) => instance.start()));
    mkdirSync(join(parent, "proxy"));
    const proxy = await startHaproxy(join(parent, "proxy"), [places[0]!.instance.port, places[1]!.instance.port]);
    undo(() => proxy.program.stop());
    const load = useCustomers(proxy.port, people);
    undo(() => load.stop());

    const deployments: Deployment[] = [];
    for (const [index, to] of path.slice(1).entries()) {
      const from = path[index]!;
      const release = releases[to]!;
      migrate(release, env);
      await update(places[0]!, release, settleMs);
      await sideBySide(load, beside);
      await update(places[1]!, release, settleMs);
      await sideBySide(load, beside);
      const counts = load.take();
      deployments.push({ from: releases[from]!.step, to: release.step, isBack: to < from, counts });
    }
    return deployments;
  });
}

/** As in the generated files: newer migrations are allowed. */
function migrate({ folder }: Release, env: Readonly<Record<string, string>>): void {
  execFileSync(process.execPath, [COMMAND, "migrate", "--allow-newer"], {
    cwd: folder,
    env: { ...process.env, ...ENVIRONMENT, ...env },
    stdio: ["ignore", "ignore", "inherit"],
  });
}

async function update({ link, instance }: Place, { folder }: Release, settleMs: number): Promise<void> {
  await instance.stop();
  rmSync(link);
  symlinkSync(folder, link);
  await instance.start();
  await sleep(settleMs);
}

async function sideBySide(load: CustomerLoad, requests: number): Promise<void> {
  const before = load.look().requests;
  await until(
    () => load.look().requests >= before + requests,
    () => JSON.stringify(load.look()),
  );
}

export const VERSIONS: Scenario = {
  name: "versions",
  title: "Two versions side by side",
  about:
    "In a generated application, a column is renamed as in [Deployments without " +
    "downtime](guides/zero-downtime.md#renaming-a-column), with the migrations and models of that page, on " +
    "PostgreSQL. For each version, `ashlar migrate --allow-newer` runs first; then the two instances behind " +
    "HAProxy, with two workers each, are restarted one after the other, so that both versions serve side by side. " +
    "Each version is also rolled back to the one before, and deployed again. In the meantime, eight people create, " +
    "rename and read customers as fast as they get responses. A response without the name that was written last " +
    "counts as failed, and no request is repeated.",
  seconds: 900,
  async run() {
    const rows = [];
    const failures: string[] = [];
    for (const { from, to, isBack, counts } of await deployVersions({
      path: ALL,
      people: 8,
      beside: 2000,
      settleMs: 3000,
    })) {
      const { requests, failed, slowestMs, versions } = counts;
      const count = Object.values(failed).reduce((sum, one) => sum + one, 0);
      const which = `${from} to ${to}`;
      rows.push({
        deployment: isBack ? `${which} (back)` : which,
        requests,
        "by the version before": versions[from] ?? 0,
        "by the new one": versions[to] ?? 0,
        failed: count,
        "slowest response (ms)": slowestMs,
      });
      if (count > 0) failures.push(`${which}: ${JSON.stringify(failed)}`);
      if (!(versions[from]! > 0 && versions[to]! > 0)) failures.push(`${which}: not side by side`);
    }
    const versions = { ...versionsOfFleet(), PostgreSQL: versionOf("psql", "--version") };
    return { versions, rows, failures };
  },
};
