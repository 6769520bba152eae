import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { freePort } from "./free-port.ts";
import { RedisServer } from "./redis-server.ts";

/** After how many milliseconds without a response Sentinels consider a server down: long enough for a busy machine. */
const NEVER_GONE_MS = 3_600_000;

/** A server, a replica of it, and the Sentinels that watch both. */
export interface SentinelGroup {
  /** The URL that leads to the current primary. */
  readonly url: string;
  readonly servers: readonly [RedisServer, RedisServer];
  readonly sentinels: readonly RedisServer[];
  /**
   * Makes the Sentinels notice that a server doesn't respond. Until then, they only fail over on command.
   *
   * @param afterMs how long it must not respond, in milliseconds
   */
  notice(afterMs: number): Promise<void>;
}

/** Registers a server's cleanup. */
type AtEnd = (end: () => Promise<void>) => void;

/**
 * Starts a server with a replica, and three Sentinels that know both.
 *
 * @param atEnd default: they are stopped after the test
 */
export async function startSentinels(atEnd: AtEnd = onTestFinished): Promise<SentinelGroup> {
  const first = await started({}, atEnd);
  const second = await started({ args: ["--replicaof", "127.0.0.1", String(first.port)] }, atEnd);
  await until(() => follows(second));
  const file = (port: number) => `
    port ${port}
    sentinel monitor main 127.0.0.1 ${first.port} 2
    sentinel down-after-milliseconds main ${NEVER_GONE_MS}
    sentinel failover-timeout main 5000`;
  const sentinels = await Promise.all([1, 2, 3].map(() => started({ file, args: ["--sentinel"] }, atEnd)));
  for (const sentinel of sentinels) {
    // On a busy machine, a Sentinel that is late by two seconds would do nothing for half a minute ("TILT").
    await sentinel.run("SENTINEL", "DEBUG", "TILT-TRIGGER", NEVER_GONE_MS);
    await until(async () => {
      const [known, replicas] = [
        await sentinel.run("SENTINEL", "SENTINELS", "main"),
        await sentinel.run("SENTINEL", "REPLICAS", "main"),
      ];
      return (known as unknown[]).length === 2 && (replicas as unknown[]).length === 1;
    });
  }
  const hosts = sentinels.map(({ port }) => `127.0.0.1:${port}`).join(",");
  const notice = async (afterMs: number): Promise<void> => {
    const set = ["SET", "main", "down-after-milliseconds", afterMs];
    await Promise.all(sentinels.map((sentinel) => sentinel.run("SENTINEL", ...set)));
  };
  return { url: `redis+sentinel://${hosts}/main`, servers: [first, second], sentinels, notice };
}

/**
 * Starts a cluster of three nodes, each with a third of the keys, without failover. They are stopped after the test.
 */
export async function startCluster(): Promise<{ readonly url: string; readonly nodes: readonly RedisServer[] }> {
  // Nodes talk on a separate port. By default it is 10,000 higher, where the system may assign it to any program.
  const busPorts = [await freePort(), await freePort(), await freePort()];
  const args = ["--cluster-enabled", "yes", "--cluster-node-timeout", "120000", "--cluster-port"];
  const start = (busPort: number) => started({ args: [...args, String(busPort)] }, onTestFinished);
  const nodes = await Promise.all(busPorts.map(start));
  const bounds = [0, 5461, 10_923, 16_384];
  for (const [index, node] of nodes.entries()) {
    await node.run("CLUSTER", "ADDSLOTSRANGE", bounds[index]!, bounds[index + 1]! - 1);
    await node.run("CLUSTER", "SET-CONFIG-EPOCH", index + 1);
    if (index > 0) await node.run("CLUSTER", "MEET", "127.0.0.1", nodes[0]!.port, busPorts[0]!);
  }
  for (const node of nodes) {
    await until(async () => {
      const text = String(await node.run("CLUSTER", "INFO"));
      return text.includes("cluster_state:ok") && text.includes("cluster_known_nodes:3");
    });
  }
  return { url: `redis-cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(",")}`, nodes };
}

async function started(options: Parameters<typeof RedisServer.start>[0], atEnd: AtEnd): Promise<RedisServer> {
  const server = await RedisServer.start(options);
  atEnd(() => server.remove());
  return server;
}

/** Whether a server is the replica of another one, and has its data. */
export async function follows(server: RedisServer): Promise<boolean> {
  return String(await server.run("INFO", "replication")).includes("master_link_status:up");
}

/** Waits, for a minute at most, until the servers have agreed on something. */
async function until(isDone: () => Promise<boolean>): Promise<void> {
  const endsAt = performance.now() + 60_000;
  while (!(await isDone())) {
    if (performance.now() > endsAt) throw new Error("The servers haven't found each other in a minute.");
    await sleep(20);
  }
}
