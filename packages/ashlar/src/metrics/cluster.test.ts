import cluster, { type Worker } from "node:cluster";
import { setImmediate as nextTurn } from "node:timers/promises";
import { beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { byWorker, ClusterMetrics, type PrimaryMetrics, relayMetrics, type WorkerFamilies } from "./cluster.ts";
import type { Family } from "./families.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  return () => void vi.useRealTimers();
});

const family = (value: number): Family => ({
  name: "ashlar_uptime_seconds",
  help: "Help.",
  type: "gauge",
  values: [{ labels: {}, value }],
});

/** A relay in this process, and workers whose messages the test sends. */
function primary(known?: PrimaryMetrics) {
  const end = relayMetrics(known);
  onTestFinished(end);
  const worker = (id: number) => {
    const own = {
      id,
      got: [] as { readonly type: string; readonly id: string; readonly workers?: readonly unknown[] }[],
      isThere: true,
      isConnected: () => own.isThere,
      send(message: never) {
        if (!own.isThere) throw new Error("The channel is closed.");
        own.got.push(message);
      },
      tell(type: string, more: object = {}) {
        cluster.emit("message", own as unknown as Worker, { type: `ashlar:metrics:${type}`, ...more });
      },
      leave() {
        own.isThere = false;
        cluster.emit("disconnect", own as unknown as Worker);
      },
    };
    own.tell("ready");
    return own;
  };
  return { end, worker };
}

const families = (id: string, value: number) => ({ id, families: [family(value)] });
const of = (worker: number, value: number) => ({ worker, families: [family(value)] });

test("a primary reports how many connections wait for each worker, and were refused, even for one that doesn't respond", async () => {
  const { worker } = primary({ waiting: ({ id }) => id * 10, refused: ({ id }) => id + 5 });
  const [one] = [worker(1), worker(2)];
  one.tell("collect", { id: "a" });
  one.tell("families", families("a", 5));
  await vi.advanceTimersByTimeAsync(2000);
  const [, collected] = one.got;
  const told = byWorker(collected!.workers as WorkerFamilies[]);
  expect(told.map(({ name, values }) => [name, ...values.map(({ labels, value }) => [labels, value])])).toEqual([
    ["ashlar_worker_waiting_connections", [{ worker: "1" }, 10], [{ worker: "2" }, 20]],
    ["ashlar_worker_refused_connections_total", [{ worker: "1" }, 6], [{ worker: "2" }, 7]],
    ["ashlar_uptime_seconds", [{ worker: "1" }, 5]],
  ]);
});

test("a worker that asks gets the metrics of all, once the last has sent its own", () => {
  const { worker } = primary();
  const [one, two] = [worker(1), worker(2)];
  one.tell("collect", { id: "a" });
  const read = { type: "ashlar:metrics:read", id: "a" };
  expect([one.got, two.got]).toEqual([[read], [read]]);
  two.tell("families", families("a", 20));
  expect(one.got).toHaveLength(1);
  one.tell("families", families("a", 10));
  expect(one.got.slice(1)).toEqual([{ type: "ashlar:metrics:collected", id: "a", workers: [of(2, 20), of(1, 10)] }]);
  expect([two.got.length, vi.getTimerCount()]).toEqual([1, 0]);
});

test("two workers that ask at once get an answer each", () => {
  const { worker } = primary();
  const [one, two] = [worker(1), worker(2)];
  one.tell("collect", { id: "a" });
  two.tell("collect", { id: "b" });
  one.tell("families", families("b", 1));
  one.tell("families", families("a", 2));
  two.tell("families", families("a", 3));
  expect(one.got.at(-1)).toEqual({ type: "ashlar:metrics:collected", id: "a", workers: [of(1, 2), of(2, 3)] });
  two.tell("families", families("b", 4));
  expect(two.got.at(-1)).toEqual({ type: "ashlar:metrics:collected", id: "b", workers: [of(1, 1), of(2, 4)] });
});

test("a worker that ends in the meantime is not waited for", () => {
  const { worker } = primary();
  const [one, two] = [worker(1), worker(2)];
  one.tell("collect", { id: "a" });
  one.tell("families", families("a", 10));
  two.leave();
  expect(one.got.at(-1)).toEqual({ type: "ashlar:metrics:collected", id: "a", workers: [of(1, 10)] });
  one.tell("collect", { id: "b" });
  one.tell("families", families("b", 11));
  expect(one.got.at(-1)).toMatchObject({ id: "b", workers: [of(1, 11)] });
});

test("a worker whose channel is already closed is not asked", () => {
  const { worker } = primary();
  const [one, two] = [worker(1), worker(2)];
  two.isThere = false;
  one.tell("collect", { id: "a" });
  one.tell("families", families("a", 10));
  expect(one.got.at(-1)).toMatchObject({ id: "a", workers: [of(1, 10)] });
});

test("the primary waits two seconds for a worker that doesn't respond, and ignores its later response", async () => {
  const { worker } = primary();
  const [one, two] = [worker(1), worker(2)];
  one.tell("collect", { id: "a" });
  one.tell("families", families("a", 10));
  await vi.advanceTimersByTimeAsync(1999);
  expect(one.got).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(one.got.slice(1)).toEqual([{ type: "ashlar:metrics:collected", id: "a", workers: [of(1, 10)] }]);
  two.tell("families", families("a", 20));
  expect(one.got).toHaveLength(2);
});

test("a worker that ends after it has asked gets nothing", async () => {
  const { worker } = primary();
  const [one, two] = [worker(1), worker(2)];
  one.tell("collect", { id: "a" });
  one.leave();
  two.tell("families", families("a", 20));
  await vi.advanceTimersByTimeAsync(2000);
  expect(one.got).toHaveLength(1);
});

test("messages of the application are left alone, and a relay that has ended passes on nothing", () => {
  const { end, worker } = primary();
  const one = worker(1);
  cluster.emit("message", one as unknown as Worker, { port: 80 });
  expect(one.got).toEqual([]);
  end();
  one.tell("collect", { id: "a" });
  expect([one.got, cluster.listenerCount("message"), cluster.listenerCount("disconnect")]).toEqual([[], 0, 0]);
});

/** A worker's side in this process, and its messages to the primary. */
function side(read: () => Promise<readonly Family[]> = async () => [family(1)]) {
  const sent: { readonly type: string; readonly id: string; readonly families?: unknown }[] = [];
  const before = process.send;
  process.send = ((message: { readonly type?: unknown }, ...rest: unknown[]) => {
    // The test runner may also send messages to its parent process.
    if (!String(message.type).startsWith("ashlar:metrics:")) return before?.apply(process, [message, ...rest] as never);
    sent.push(message as never);
    return true;
  }) as NonNullable<typeof process.send>;
  const metrics = new ClusterMetrics(read);
  const listeners = process.listenerCount("message");
  metrics.start();
  onTestFinished(() => {
    metrics.stop();
    if (before === undefined) delete process.send;
    else process.send = before;
  });
  const got = (message: object) => process.emit("message", message, undefined as never);
  return { metrics, sent, got, own: () => process.listenerCount("message") - listeners };
}

test("a worker says that it is ready, sends its metrics when asked, and listens until it stops", async () => {
  const { metrics, sent, got, own } = side();
  expect([sent, own()]).toEqual([[{ type: "ashlar:metrics:ready" }], 1]);
  got({ type: "ashlar:metrics:read", id: "a" });
  await nextTurn();
  expect(sent.slice(1)).toEqual([{ type: "ashlar:metrics:families", id: "a", families: [family(1)] }]);
  metrics.stop();
  expect(own()).toBe(0);
  got({ type: "ashlar:metrics:read", id: "b" });
  await nextTurn();
  expect(sent).toHaveLength(2);
});

test("a worker whose metrics can't be read sends none", async () => {
  const { sent, got } = side(() => Promise.reject(new Error("no")));
  got({ type: "ashlar:metrics:read", id: "a" });
  await nextTurn();
  expect(sent).toHaveLength(1);
});

test("a worker gets the answer to its own question, and leaves no timer behind", async () => {
  const { metrics, sent, got } = side();
  const [first, second] = [metrics.collect(), metrics.collect()];
  const [a, b] = sent.slice(1).map(({ type, id }) => {
    expect(type).toBe("ashlar:metrics:collect");
    return id;
  });
  got({ type: "ashlar:metrics:collected", id: "of another", workers: [of(9, 9)] });
  got({ type: "ashlar:metrics:collected", id: b, workers: [of(2, 2)] });
  got({ type: "ashlar:metrics:collected", id: a, workers: [of(1, 1)] });
  expect([await first, await second]).toEqual([[of(1, 1)], [of(2, 2)]]);
  expect(vi.getTimerCount()).toBe(0);
});

test("a worker waits five seconds for a primary that doesn't respond", async () => {
  const { metrics } = side();
  const outcome: { code?: string } = {};
  metrics.collect().catch((error: { readonly code: string }) => Object.assign(outcome, { code: error.code }));
  await vi.advanceTimersByTimeAsync(4999);
  expect(outcome).toEqual({});
  await vi.advanceTimersByTimeAsync(1);
  expect(outcome).toEqual({ code: "E_OVERLOADED" });
});

test("metrics of several workers are one metric each, whose values say which worker's they are", () => {
  const requests = (value: number): Family => ({
    name: "ashlar_http_requests_total",
    help: "Requests.",
    type: "counter",
    values: [{ labels: { route: "/" }, value, metricName: "other" }],
  });
  expect(
    byWorker([
      { worker: 1, families: [family(10), requests(1)] },
      { worker: 2, families: [requests(2)] },
    ]),
  ).toEqual([
    { ...family(10), values: [{ labels: { worker: "1" }, value: 10 }] },
    {
      ...requests(0),
      values: [
        { labels: { route: "/", worker: "1" }, value: 1, metricName: "other" },
        { labels: { route: "/", worker: "2" }, value: 2, metricName: "other" },
      ],
    },
  ]);
});
