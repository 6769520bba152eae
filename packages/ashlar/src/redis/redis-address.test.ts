import { expect, test } from "vitest";
import { parseRedisUrl } from "./redis-address.ts";

const SERVER = {
  kind: "server",
  hosts: [{ host: "127.0.0.1", port: 6379 }],
  name: null,
  username: null,
  password: null,
  database: 0,
  isEncrypted: false,
};

test.each<[string, object]>([
  ["redis://127.0.0.1", {}],
  ["redis://127.0.0.1/", {}],
  ["valkey://127.0.0.1:6379", {}],
  ["REDIS://127.0.0.1", {}],
  ["rediss://127.0.0.1", { isEncrypted: true }],
  ["valkeys://127.0.0.1", { isEncrypted: true }],
  ["redis://cache.shop.example:6380/5", { hosts: [{ host: "cache.shop.example", port: 6380 }], database: 5 }],
  ["redis://[::1]:7000", { hosts: [{ host: "::1", port: 7000 }] }],
  ["redis://ann:p%40ss%3Aword%2F%2C@127.0.0.1", { username: "ann", password: "p@ss:word/," }],
  ["redis://:secret@127.0.0.1", { password: "secret" }],
  ["redis://ann@127.0.0.1", { username: "ann" }],
  ["redis://ann:a:b@127.0.0.1", { username: "ann", password: "a:b" }],
  ["redis://ann:a@b@127.0.0.1", { username: "ann", password: "a@b" }],
  [
    "redis+sentinel://127.0.0.1,[::1]:5000/main",
    {
      kind: "sentinel",
      hosts: [
        { host: "127.0.0.1", port: 26_379 },
        { host: "::1", port: 5000 },
      ],
      name: "main",
    },
  ],
  [
    "rediss+sentinel://:secret@one:1,two:2/my-master.0/3",
    {
      kind: "sentinel",
      hosts: [
        { host: "one", port: 1 },
        { host: "two", port: 2 },
      ],
      name: "my-master.0",
      password: "secret",
      database: 3,
      isEncrypted: true,
    },
  ],
  [
    "redis-cluster://one,two:7001",
    {
      kind: "cluster",
      hosts: [
        { host: "one", port: 6379 },
        { host: "two", port: 7001 },
      ],
    },
  ],
  ["valkeys-cluster://one", { kind: "cluster", hosts: [{ host: "one", port: 6379 }], isEncrypted: true }],
])("%s is read", (url, parts) => {
  expect(parseRedisUrl(url)).toEqual({ ...SERVER, ...parts });
});

test.each([
  "",
  "127.0.0.1:6379",
  "http://127.0.0.1",
  "postgres://127.0.0.1/shop",
  "redis://",
  "redis:///0",
  "redis://one,two",
  "redis://one:port",
  "redis://one:0",
  "redis://one:65536",
  "redis://one/shop",
  "redis://one/-1",
  "redis://one/1/2",
  "redis://one/0?tls=true",
  "redis://one/0#x",
  "redis://o ne",
  "redis://[::1",
  "redis://%zz@one",
  "redis-sentinel://one/main",
  "redis+sentinel://one",
  "redis+sentinel://one/",
  "redis+sentinel://one/ma in",
  "redis+sentinel://one/main/x",
  "redis+sentinel://one/main/0/0",
  "redis+sentinel://one,/main",
  "redis-cluster://one/1",
])("%j is not the URL of a Redis server", (url) => {
  expect(parseRedisUrl(url)).toBeNull();
});
