import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ConfigurationError } from "../support/index.ts";
import { databaseConfiguration } from "./configuration.ts";

const ROOT = "/srv/shop";
const SQLITE = { driver: "sqlite", path: "database/app.sqlite" };

const problem = (databases: unknown): string => {
  try {
    databaseConfiguration(databases, ROOT);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigurationError);
    return (error as Error).message;
  }
  return "";
};

test("what is left out is filled in", () => {
  expect(
    databaseConfiguration({ default: "sqlite", sqlite: SQLITE, pg: { driver: "postgres", database: "shop" } }, ROOT),
  ).toEqual({
    default: "sqlite",
    connections: {
      sqlite: {
        driver: "sqlite",
        path: "/srv/shop/database/app.sqlite",
        busyTimeoutMs: 5000,
        acquireTimeoutMs: 10_000,
      },
      pg: {
        driver: "postgres",
        url: null,
        host: "127.0.0.1",
        port: 5432,
        user: null,
        password: null,
        database: "shop",
        ssl: false,
        poolSize: 10,
        statementTimeoutMs: null,
        acquireTimeoutMs: 10_000,
      },
    },
  });
});

test("it is frozen to its depths", () => {
  const configuration = databaseConfiguration({ default: "a", a: SQLITE }, ROOT);
  expect([configuration, configuration.connections, configuration.connections.a].every(Object.isFrozen)).toBe(true);
});

test("paths: relative to the root, absolute, in memory", () => {
  const path = (value: string): unknown =>
    (databaseConfiguration({ default: "a", a: { ...SQLITE, path: value } }, ROOT).connections.a as { path: string })
      .path;
  expect([path("x.db"), path("../x.db"), path("/x.db"), path(":memory:")]).toEqual([
    "/srv/shop/x.db",
    "/srv/x.db",
    "/x.db",
    ":memory:",
  ]);
});

test.each([
  [true, true],
  ["true", true],
  [false, false],
  ["false", false],
  [null, false],
])("ssl: %j is %s", (ssl, expected) => {
  const { connections } = databaseConfiguration({ default: "a", a: { driver: "postgres", ssl } }, ROOT);
  expect(connections.a).toMatchObject({ ssl: expected });
});

test("environment variables are text: numbers and truth in them are read, and empty ones are left out", () => {
  const { connections } = databaseConfiguration(
    {
      default: "a",
      a: { driver: "postgres", url: "", database: "d", port: "5433", ssl: "true", poolSize: "3", user: null },
    },
    ROOT,
  );
  expect(connections.a).toMatchObject({ url: null, port: 5433, ssl: true, poolSize: 3, user: null });
});

describe("what is wrong is said, with its place and the remedy", () => {
  test.each([
    [undefined, "config/database.ts: DATABASES: is missing or no object. Write: {"],
    [[], "DATABASES: is missing or no object."],
    [{ sqlite: SQLITE }, "DATABASES.default: is not set."],
    [{ rotated: SQLITE }, 'DATABASES.default: is not set. Known are "rotated".'],
    [{ default: "a" }, 'DATABASES.default: names no connection: "a". Add a connection.'],
    [{ default: "sqlit", sqlite: SQLITE }, 'DATABASES.default: names no connection: "sqlit". Did you mean "sqlite"?'],
    [{ default: "a", a: 1 }, "DATABASES.a: is not an object."],
    [{ default: "a", a: SQLITE, defalt: "a" }, 'DATABASES.defalt: is not a known setting. Did you mean "default"?'],
    [{ default: "a", a: {} }, "DATABASES.a.driver: is not set."],
    [{ default: "a", a: { driver: "postgre" } }, 'is not a known driver: "postgre". Did you mean "postgres"?'],
    [{ default: "a", a: { driver: "sqlite" } }, "DATABASES.a.path: is not set."],
    [{ default: "a", a: { ...SQLITE, pth: "x" } }, 'DATABASES.a.pth: is not a known setting. Did you mean "path"?'],
    [{ default: "a", a: { ...SQLITE, path: 7 } }, "DATABASES.a.path: is not text."],
    [{ default: "a", a: { ...SQLITE, busyTimeoutMs: -1 } }, "busyTimeoutMs: is not a whole number from 0 to 600000."],
    [{ default: "a", a: { ...SQLITE, busyTimeoutMs: "1e3" } }, "busyTimeoutMs: is not a whole number"],
    [{ default: "a", a: { driver: "postgres", poolSize: 0 } }, "poolSize: is not a whole number from 1 to 10000."],
    [{ default: "a", a: { driver: "postgres", port: 70_000 } }, "port: is not a whole number"],
    [{ default: "a", a: { driver: "postgres", ssl: "maybe" } }, "ssl: is neither true nor false."],
    [
      { default: "a", a: { driver: "postgres", url: "postgres://h/d", host: "h" } },
      "DATABASES.a.host: is set together with url.",
    ],
    [{ default: "a", a: { driver: "postgres", path: "x" } }, "DATABASES.a.path: is not a known setting."],
  ])("%j", (databases, message) => {
    expect(problem(databases)).toContain(message);
  });

  test("a connection that is not the default one is checked as well", () => {
    expect(problem({ default: "a", a: SQLITE, b: { driver: "postgres", pool: 1 } })).toContain("DATABASES.b.pool");
  });

  test("an address that is none is not repeated: it holds a password", () => {
    for (const url of ["mysql://u:hunter2@h/d", "hunter2", "://hunter2"]) {
      const message = problem({ default: "a", a: { driver: "postgres", url } });
      expect(message).toContain("is not the address of a PostgreSQL database");
      expect(message).not.toContain("hunter2");
    }
  });

  test("S9 whatever stands for a number is a number in its range, or an error", () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        try {
          const configuration = databaseConfiguration({ default: "a", a: { ...SQLITE, busyTimeoutMs: value } }, ROOT);
          const { busyTimeoutMs } = configuration.connections.a as { busyTimeoutMs: number };
          expect(Number.isInteger(busyTimeoutMs) && busyTimeoutMs >= 0 && busyTimeoutMs <= 600_000).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(ConfigurationError);
        }
      }),
    );
  });
});

describe("each setting is taken as it is set, from the least to the most", () => {
  const POSTGRES = { driver: "postgres", host: "h", user: "u", password: "p", database: "d", ssl: true };

  test.each([
    { ...SQLITE, path: "/x.db", busyTimeoutMs: 0, acquireTimeoutMs: 1 },
    { ...SQLITE, path: "/x.db", busyTimeoutMs: 600_000, acquireTimeoutMs: 600_000 },
    { ...POSTGRES, port: 1, poolSize: 1, statementTimeoutMs: 1, acquireTimeoutMs: 1 },
    { ...POSTGRES, port: 65_535, poolSize: 10_000, statementTimeoutMs: 86_400_000, acquireTimeoutMs: 600_000 },
  ])("%j", (settings) => {
    expect(databaseConfiguration({ default: "a", a: settings }, ROOT).connections.a).toEqual({
      ...settings,
      ...(settings.driver === "postgres" && { url: null }),
    });
  });

  test.each([
    [SQLITE, "busyTimeoutMs", 0, 600_000],
    [SQLITE, "acquireTimeoutMs", 1, 600_000],
    [POSTGRES, "port", 1, 65_535],
    [POSTGRES, "poolSize", 1, 10_000],
    [POSTGRES, "statementTimeoutMs", 1, 86_400_000],
    [POSTGRES, "acquireTimeoutMs", 1, 600_000],
  ])("%j: %s is not less than %i or more than %i", (settings, name, least, most) => {
    for (const value of [least - 1, most + 1, [String(most)], `${most}.5`]) {
      expect(problem({ default: "a", a: { ...settings, [name]: value } })).toContain(
        `DATABASES.a.${name}: is not a whole number from ${least} to ${most}.`,
      );
    }
  });
});

test.each(["postgres://u@h/d", "postgresql://u@h/d"])("%s is the address of a database", (url) => {
  expect(databaseConfiguration({ default: "a", a: { driver: "postgres", url } }, ROOT).connections.a).toMatchObject({
    url,
  });
});

test("an invalid address is told under its name", () => {
  const message = "config/database.ts: DATABASES.a.url: is not the address of a PostgreSQL database.";
  expect(problem({ default: "a", a: { driver: "postgres", url: "h/d" } })).toContain(message);
});
