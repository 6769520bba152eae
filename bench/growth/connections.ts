// The cost of a request while many other connections are open and idle, and the memory that these take.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { type Contestant, cpuTime, load, pinned, residentMemory, startServer } from "../processes.ts";
import { writeRequests } from "./requests.ts";

export const CONNECTIONS = [10, 100, 1000, 10_000] as const;
const FIRST_PORT = 4130;
const WARM_UP_SECONDS = 2;

/** The measurements with one number of open connections. */
export interface ConnectionGrowth {
  readonly connections: number;
  /** How much additional memory the server used for them, in megabytes. */
  readonly memoryMb: number;
  /** For each round: a request's CPU time, in microseconds, and the 99th percentile of response times, in milliseconds. */
  readonly costs: readonly number[];
  readonly p99: readonly number[];
}

interface Held {
  readonly contestant: Contestant;
  readonly pid: number;
  readonly memoryMb: number;
  /** Closes the connections, and returns how many of them were still open. */
  release(): Promise<number>;
}

async function hold(connections: number, port: number): Promise<Held> {
  const contestant: Contestant = {
    name: `${connections} connections`,
    script: "routes.ts",
    port,
    environment: { ROUTES: "1" },
  };
  const server = await startServer(contestant);
  const url = `http://127.0.0.1:${port}`;
  await load(url, await writeRequests("connections", [{ path: "/json" }]), WARM_UP_SECONDS);
  const before = residentMemory(server.pid!);
  const script = join(import.meta.dirname, "hold-connections.ts");
  const [command, args] = pinned(1, process.execPath, [script, String(port), String(connections)]);
  const holder = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  let output = "";
  holder.stdout.on("data", (chunk: Buffer) => {
    output += chunk.toString();
  });
  await Promise.race([once(holder.stdout, "data"), once(holder, "close")]);
  if (!output.startsWith("open")) throw new Error(`${connections} connections could not be opened`);
  return {
    contestant,
    pid: server.pid!,
    memoryMb: residentMemory(server.pid!) - before,
    async release() {
      const closed = once(holder, "close");
      holder.stdin.end();
      await closed;
      server.kill("SIGKILL");
      return Number(output.split("\n")[1]);
    },
  };
}

/** Measures servers that differ only in how many connections are open; they take turns. */
export async function measureConnections(rounds: number, seconds: number): Promise<readonly ConnectionGrowth[]> {
  const held = new Map<number, Held>();
  const costs = new Map<number, number[]>(CONNECTIONS.map((connections) => [connections, []]));
  const p99 = new Map<number, number[]>(CONNECTIONS.map((connections) => [connections, []]));
  try {
    for (const [index, connections] of CONNECTIONS.entries()) {
      held.set(connections, await hold(connections, FIRST_PORT + index));
    }
    const script = await writeRequests("connections", [{ path: "/json" }]);
    for (let round = 0; round < rounds; round++) {
      for (const [index] of CONNECTIONS.entries()) {
        const connections = CONNECTIONS[(index + round) % CONNECTIONS.length]!;
        const { contestant, pid } = held.get(connections)!;
        const before = cpuTime(pid);
        const report = await load(`http://127.0.0.1:${contestant.port}`, script, seconds);
        costs.get(connections)!.push((cpuTime(pid) - before) / report.requests);
        p99.get(connections)!.push(report.p99);
      }
    }
  } finally {
    for (const [connections, one] of held) {
      const open = await one.release();
      if (open !== connections) console.error(`Only ${open} of ${connections} connections stayed open`);
      if (open !== connections) process.exitCode = 1;
    }
  }
  return CONNECTIONS.map((connections) => ({
    connections,
    memoryMb: held.get(connections)!.memoryMb,
    costs: costs.get(connections)!,
    p99: p99.get(connections)!,
  }));
}

/** The lowest cost of a request, relative to its cost with the fewest connections. */
export function connectionRatio(all: readonly ConnectionGrowth[], one: ConnectionGrowth): number {
  return Math.min(...one.costs) / Math.min(...all[0]!.costs);
}
