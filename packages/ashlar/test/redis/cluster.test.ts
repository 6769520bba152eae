import { expect, onTestFinished, test } from "vitest";
import { redisSessions } from "../../src/session/index.ts";
import { sessionStoreSuite, throttleStoreSuite } from "../../src/testing/index.ts";
import { memoryStore, redisStore } from "../../src/throttle/index.ts";
import { emptyApplication, type LoggedLine, saidOfRedis } from "../support/redis-application.ts";
import { startCluster } from "../support/redis-groups.ts";
import { withProgram } from "../support/system-programs.ts";

const LOGIN = { name: "login", by: ["address"], attempts: 5, windowSeconds: 3600 } as const;

withProgram("redis-server", () => {
  test("a cluster keeps the contracts of the limit and session stores, and spreads both over its nodes", async () => {
    const { url, nodes } = await startCluster();
    const { container } = await emptyApplication();
    let count = 0;
    const settings = () => ({ url, prefix: `test-${++count}:`, commandTimeoutMs: 60_000 });
    const elapse = async (seconds: number) => {
      for (const node of nodes) await node.elapse(seconds);
    };
    const limits = throttleStoreSuite(() => redisStore({ ...settings(), whenAway: "refuse" })(container), { elapse });
    const sessions = sessionStoreSuite(() => redisSessions(settings())(container), { elapse });
    for (const { title, run } of [...limits, ...sessions]) {
      await run().catch((error: unknown) => {
        throw new Error(title, { cause: error });
      });
    }
    for (const node of nodes) expect((await node.run("KEYS", "*")) as string[]).not.toHaveLength(0);
  });

  test("S33 a lost node's keys count in the other store, and nothing waits for the node", async () => {
    const { url, nodes } = await startCluster();
    const lines: LoggedLine[] = [];
    const { container } = await emptyApplication(lines);
    const store = redisStore({ url, commandTimeoutMs: 5000, whenAway: memoryStore() })(container);
    onTestFinished(async () => store.close());
    const counter = store.counter(LOGIN);
    const keys = Array.from({ length: 60 }, (_, index) => `address ${index}`);
    for (const key of keys) await counter.add(key, 1);
    await nodes[2]!.stop();
    // If each key of that node waited for its deadline, that would take longer than the test may.
    let counts: number[] = [];
    for (let round = 1; round <= 5; round++) {
      counts = [];
      for (const key of keys) counts.push((await counter.add(key, 1)).attempts);
    }
    // Those of the other nodes continue there, after the first attempt; the others began in memory.
    expect(new Set(counts)).toEqual(new Set([5, 6]));
    expect(saidOfRedis(lines).at(0)).toContain("Limits count in the memory of each process");
  });
});
