import { test } from "vitest";
import { dialectSuite } from "../../src/public/testing.ts";
import { createMariadb, onMariadb } from "../support/mariadb/mariadb-server.ts";

await onMariadb("MariaDB, added from outside, keeps the promises of a dialect", () => {
  for (const { title, run } of dialectSuite(({ acquireTimeoutMs }) => createMariadb(acquireTimeoutMs)))
    test(title, run);
});
