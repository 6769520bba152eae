import { expect, test } from "vitest";
import { RedisReason, reasonOf, redisUnavailable } from "./redis-failure.ts";

const reply = (message: string) => {
  return Object.assign(new Error(message), {
    name: "ReplyError",
    command: { name: "set", args: ["key", "confidential"] },
  });
};

test.each<[unknown, string]>([
  [new RedisReason("no answer within 5 ms"), "no answer within 5 ms"],
  [reply("OOM command not allowed when used memory > 'maxmemory'."), "the server's memory is full (OOM)"],
  [reply("READONLY You can't write against a read only replica."), "the server is a read-only replica (READONLY)"],
  [reply("WRONGPASS invalid username-password pair"), "the server refuses the user or the password (WRONGPASS)"],
  [
    reply("MOVED 3999 10.0.0.1:6381"),
    "the key is on another node; for a cluster, the url begins with redis-cluster (MOVED)",
  ],
  [reply("ERR unknown command 'confidential'"), "the server answered ERR"],
  [reply("XCUSTOM confidential"), "the server answered XCUSTOM"],
  [reply("confidential"), "the server answered ERR"],
  [
    Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED", address: "127.0.0.1", port: 1 }),
    "ECONNREFUSED 127.0.0.1:1",
  ],
  [Object.assign(new Error("getaddrinfo ENOTFOUND cache"), { code: "ENOTFOUND" }), "ENOTFOUND"],
  [Object.assign(new Error("x"), { code: "ENOENT", address: "/tmp/redis" }), "ENOENT /tmp/redis"],
  [Object.assign(new Error("x"), { code: "confidential" }), "the connection was lost"],
  [new Error("connect ETIMEDOUT"), "no connection was made in time"],
  [new Error("Socket timeout. Expecting data, but didn't receive any in 5ms."), "the server didn't answer in time"],
  [
    new Error("All sentinels are unreachable. Retrying from scratch."),
    "no Sentinel could name a server that can be reached",
  ],
  [new Error("Connection is closed."), "the connection was lost"],
  [
    Object.assign(new Error("Failed to refresh slots cache."), {
      lastNodeError: reply("CLUSTERDOWN Hash slot not served"),
    }),
    "no node of the cluster can be reached: the cluster doesn't serve this key right now (CLUSTERDOWN)",
  ],
  [undefined, "the connection was lost"],
])("%o is reported without the sent data", (error, reason) => {
  expect(reasonOf(error)).toBe(reason);
  const { code, status, message, cause } = redisUnavailable(error);
  expect({ code, status, message, cause }).toEqual({
    code: "E_REDIS_UNAVAILABLE",
    status: 503,
    message: `Redis can't be used: ${reason}.`,
    cause: undefined,
  });
});
