import { expect, test } from "vitest";
import { createRedisClient } from "./redis-client.ts";
import { readRedisSettings } from "./redis-settings.ts";

test("a cluster's own queries have a command's time limit, and a lost node's keys don't wait for another node", async () => {
  const settings = readRedisSettings(
    { url: "redis-cluster://127.0.0.1:6390", commandTimeoutMs: 1234 },
    { where: "test", root: "." },
    "Shop",
  );
  const client = await createRedisClient(settings);
  expect((client as unknown as { readonly options: object }).options).toMatchObject({
    enableOfflineQueue: true,
    slotsRefreshTimeout: 1234,
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    redisOptions: { enableOfflineQueue: false, maxRetriesPerRequest: 0, socketTimeout: 1234 },
  });
  // The client doesn't connect until `connect()` is called.
  expect(client.status).toBe("wait");
});
