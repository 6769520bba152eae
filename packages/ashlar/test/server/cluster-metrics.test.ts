// Metrics of several workers, in real processes.
import { expect, test } from "vitest";
import { builtModule } from "../support/built-module.ts";
import { runScript } from "../support/script-process.ts";

/** A primary with two workers, which identify themselves at /who. A variable turns off the relay. */
const SCRIPT = `
import cluster from "node:cluster";
import { createApplication, Route } from "${builtModule("index")}";
import { MetricsProvider, relayMetrics } from "${builtModule("metrics")}";

if (cluster.isPrimary) {
  if (process.env.RELAY !== "off") relayMetrics({ waiting: (worker) => worker.id * 10 });
  const listening = new Map();
  for (const _ of [1, 2]) cluster.fork();
  process.on("SIGUSR2", () => process.kill(cluster.workers[1].process.pid, "SIGKILL"));
  cluster.on("message", (worker, message) => {
    if (message.port === undefined) return;
    listening.set(worker.id, message);
    if (listening.size === 2) console.log("metrics " + message.metrics + ", port " + message.port);
  });
} else {
  let metrics = null;
  class Metrics extends MetricsProvider {
    async listening(port) {
      await super.listening(port);
      metrics = this.port;
    }
  }
  const application = await createApplication({
    providers: [Metrics],
    config: { metrics: { METRICS: { port: 0 } } },
    routes: [
      Route.get("/who", () => ({ worker: cluster.worker.id })),
    ],
  });
  const { port } = await application.listen({ port: 0, hostname: "127.0.0.1" });
  process.send({ port, metrics });
}
`;

async function start(env: Readonly<Record<string, string>> = {}) {
  const { child, port, output } = await runScript(SCRIPT, { env });
  const metricsPort = Number(/metrics (\d+)/.exec(output())![1]);
  const visit = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: "close" } });
    return response.text();
  };
  const scrape = () => {
    // Node never closes a connection that was sent to a worker that is killed before it receives it.
    const signal = AbortSignal.timeout(10_000);
    return fetch(`http://127.0.0.1:${metricsPort}/metrics`, { headers: { connection: "close" }, signal });
  };
  /** The number of successful requests to /who by worker, as reported by any worker. */
  const counts = async (): Promise<Record<string, number>> => {
    const text = await (await scrape()).text();
    const lines = text.matchAll(
      /^ashlar_http_requests_total\{method="GET",route="\/who",status="2xx",worker="(\d+)"\} (\d+)$/gm,
    );
    return Object.fromEntries([...lines].map(([, worker, count]) => [worker, Number(count)]));
  };
  return { child, visit, scrape, counts };
}

test("each worker shows the metrics of all, by worker, and no longer those of workers that have ended", async () => {
  const { child, visit, scrape, counts } = await start();
  const seen: Record<string, number> = {};
  // The system distributes the connections, so repeat until both workers have had some.
  while (Object.keys(seen).length < 2) {
    const { worker } = JSON.parse(await visit("/who")) as { readonly worker: number };
    seen[worker] = (seen[worker] ?? 0) + 1;
  }
  // Every process reports both. On a busy machine, a worker may not respond in time and be left out once.
  for (let count = 0; count < 6; count++) await expect.poll(counts).toEqual(seen);
  const waiting = async () =>
    (await (await scrape()).text()).match(/(?<=^ashlar_worker_waiting_connections)\{.+/gm)?.sort();
  await expect.poll(waiting).toEqual(['{worker="1"} 10', '{worker="2"} 20']);
  child.kill("SIGUSR2");
  await expect.poll(counts).toEqual({ 2: seen[2] });
});

test("the response says so if the primary doesn't pass metrics on", async () => {
  const { scrape } = await start({ RELAY: "off" });
  const response = await scrape();
  expect([response.status, await response.text()]).toEqual([
    503,
    expect.stringContaining("Call relayMetrics() in it."),
  ]);
});
