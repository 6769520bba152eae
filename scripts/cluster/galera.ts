import { CROWD, type CrowdResult } from "./crowd.ts";
import { startDatabaseProxy } from "./database-proxy.ts";
import { startFleet, versionsOfFleet } from "./fleet.ts";
import { type GaleraNode, startGalera } from "./galera-nodes.ts";
import { versionOf } from "./programs.ts";
import type { Scenario } from "./scenario.ts";
import { openShop } from "./shop.ts";
import { undoing } from "./undoing.ts";

/** How long the node is frozen, how long users continue after each fault, and how many users there are. */
export interface GaleraOptions {
  readonly frozenMs: number;
  readonly afterMs: number;
  readonly people: number;
}

/** Freezes the node that the application uses, and later kills it. */
export function loseNode({ frozenMs, afterMs, people }: GaleraOptions): Promise<CrowdResult> {
  return undoing(async (undo) => {
    const nodes = await startGalera(undo);
    const [first] = nodes as [GaleraNode, ...GaleraNode[]];
    const port = await startDatabaseProxy(
      undo,
      "option mysql-check user shop",
      nodes.map((one) => one.port),
    );
    const shop = await openShop("mariadb", `mariadb://shop@127.0.0.1:${port}/shop`);
    undo(() => shop.remove());
    const { crowd } = await startFleet(undo, shop, people);
    await crowd.fault(() => first.freeze(), frozenMs);
    first.thaw();
    await new Promise((resolve) => setTimeout(resolve, afterMs));
    await crowd.fault(() => first.kill(), afterMs);
    return await crowd.finish();
  });
}

const BIG = { frozenMs: 20_000, afterMs: 20_000, people: 6 };

export const GALERA: Scenario = {
  name: "galera",
  title: "A Galera cluster losing a node",
  about:
    "Two instances with two workers each, on a Galera cluster of three nodes (`wsrep_sync_wait=1`). " +
    "`DATABASE_URL` leads to an HAProxy that forwards connections to the first node, or to another one while " +
    "that is down: with one node for all writes, transactions don't conflict between nodes. The first node is " +
    `frozen (SIGSTOP) for ${BIG.frozenMs / 1000} seconds; ${BIG.afterMs / 1000} seconds after it continues, it is ` +
    `killed (kill -9) and stays down. ${CROWD}`,
  seconds: 240,
  async run() {
    const { row, failures } = await loseNode(BIG);
    const versions = { ...versionsOfFleet(), MariaDB: versionOf("mariadbd", "--version"), Galera: galeraVersion() };
    return { versions, rows: [row], failures };
  },
};

/** The library doesn't say its version; Debian does. */
const galeraVersion = (): string => versionOf("dpkg-query", "-W", "galera-4");
