import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Crowd, gather, type Probing } from "./crowd.ts";
import type { Instance } from "./instances.ts";
import { versionOf } from "./programs.ts";
import { startHaproxy } from "./proxies.ts";
import type { Shop } from "./shop.ts";
import type { Undo } from "./undoing.ts";

/** Two instances with two workers each, behind HAProxy, and their simulated users. */
export interface Fleet {
  readonly instances: readonly [Instance, Instance];
  readonly crowd: Crowd;
}

/** Starts the instances, the proxy and the users. */
export async function startFleet(undo: Undo, shop: Shop, people: number, probing?: Probing): Promise<Fleet> {
  const instances = [await shop.instance(), await shop.instance()] as const;
  for (const one of instances) undo(() => one.stop());
  await Promise.all(instances.map((one) => one.start()));
  const folder = mkdtempSync(join(tmpdir(), "ashlar-fleet-"));
  undo(() => rmSync(folder, { recursive: true, force: true }));
  const proxy = await startHaproxy(folder, [instances[0].port, instances[1].port]);
  undo(() => proxy.program.stop());
  const crowd = await gather(shop.mail, proxy.port, people, probing);
  undo(() => crowd.leave());
  return { instances, crowd };
}

/** The versions of the software that a fleet runs on. */
export function versionsOfFleet(): Record<string, string> {
  return { "Node.js": process.versions.node, HAProxy: versionOf("haproxy", "-v") };
}
