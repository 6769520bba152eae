import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ConfigurationError } from "../../support/index.ts";
import type { DialectSetup } from "../dialect/dialect.ts";
import { postgres } from "../postgres/postgres.ts";
import { readPostgresSettings } from "../postgres/postgres-settings.ts";
import { readSqliteSettings, sqlite } from "../sqlite/sqlite.ts";
import { Database } from "./database.ts";
import { readDatabaseSettings } from "./settings.ts";

const ROOT = "/srv/shop";
const SQLITE = { driver: "sqlite", path: "database/app.sqlite" };

const problem = (databases: unknown): string => {
  try {
    new Database(databases, ROOT);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigurationError);
    return (error as Error).message;
  }
  return "";
};

const where = (name: string) => ({ where: `config/database.ts: DATABASES.${name}`, root: ROOT });

/** The options of a named connection, checked and complete. */
const settings = ({ driver, ...options }: Record<string, unknown>): Record<string, unknown> =>
  driver === "sqlite"
    ? { ...readSqliteSettings(options as never, where("a")) }
    : { ...readPostgresSettings(options, where("a")) };

/** Settings that a connection with a URL doesn't need. */
const NO_FILES = { ca: null, cert: null, key: null, servername: null };
const POSTGRES_DEFAULTS = {
  ...NO_FILES,
  tls: { ...NO_FILES, verifiesName: true, isDirect: false },
  url: null,
  transactionPooling: false,
  read: [],
  ownWritesSeconds: 10,
};

test("defaults are filled in", () => {
  expect(settings(SQLITE)).toEqual({
    path: "/srv/shop/database/app.sqlite",
    busyTimeoutMs: 10_000,
    acquireTimeoutMs: 10_000,
    maxWaiting: 1000,
  });
  expect(settings({ driver: "postgres", database: "shop" })).toEqual({
    url: null,
    host: "127.0.0.1",
    port: 5432,
    user: null,
    password: null,
    database: "shop",
    ssl: null,
    ...NO_FILES,
    tls: null,
    poolSize: 10,
    statementTimeoutMs: 15_000,
    acquireTimeoutMs: 10_000,
    maxWaiting: 1000,
    transactionPooling: false,
    read: [],
    ownWritesSeconds: 10,
  });
});

test("it is frozen to any depth", () => {
  const read = readDatabaseSettings({ default: "a", a: SQLITE });
  expect([read, read.connections].every(Object.isFrozen)).toBe(true);
});

test("paths: relative to the root, absolute, in memory", () => {
  const path = (value: string): unknown => settings({ ...SQLITE, path: value }).path;
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
  [null, null],
])("ssl: %j becomes %s", (ssl, expected) => {
  expect(settings({ driver: "postgres", ssl })).toMatchObject({ ssl: expected });
});

test("environment variables are text: numbers and booleans in them are read, and empty ones count as missing", () => {
  const POSTGRES = { driver: "postgres", url: "", database: "d", port: "5433", ssl: "true", poolSize: "3", user: null };
  expect(settings(POSTGRES)).toMatchObject({ url: null, port: 5433, ssl: true, poolSize: 3, user: null });
});

describe("the value of a connection", () => {
  const made = (main: unknown): Database => new Database({ default: "main", main }, ROOT);

  test.each([
    ["sqlite()", sqlite({ path: ":memory:" }), "sqlite"],
    ["postgres()", postgres({ url: "postgres://h/d" }), "postgres"],
    ["a named dialect", SQLITE, "sqlite"],
    ["your own function", (setup: DialectSetup) => sqlite({ path: ":memory:" })(setup), "sqlite"],
  ])("%s", (_, connection, name) => {
    expect(made(connection).dialect.name).toBe(name);
  });

  test.each([
    ["sqlite()", sqlite({ path: ":memory:" })],
    ["a named dialect", SQLITE],
  ])("%s can have a name similar to a setting's", (_, connection) => {
    const database = new Database({ default: "defaults", defaults: connection }, ROOT);
    expect(database.dialect.name).toBe("sqlite");
  });

  test("its options are checked at boot, and the message has its location", () => {
    expect(problem({ default: "a", a: sqlite({ path: "" }) })).toContain(
      "config/database.ts: DATABASES.a.path: is missing.",
    );
    expect(problem({ default: "a", a: SQLITE, b: postgres({ poolSize: 0 }) })).toContain("DATABASES.b.poolSize: is 0.");
    expect(problem({ default: "a", a: sqlite(7 as never) })).toContain("DATABASES.a: is a number. Write an object:");
  });

  test.each([
    ["nothing", () => undefined],
    ["a promise", async () => sqlite({ path: ":memory:" })],
    ["what creates a dialect", () => sqlite({ path: ":memory:" })],
    ["no method to reserve a connection", () => ({ begin() {}, commit() {} })],
    ["no method to begin a transaction", () => ({ reserve() {}, commit() {} })],
    ["no method to commit a transaction", () => ({ reserve() {}, begin() {} })],
  ])("a function that returns %s is refused", (_, source) => {
    expect(problem({ default: "a", a: source })).toBe(
      "config/database.ts: DATABASES.a: is a function that does not return a dialect. Return an object with the members of Dialect, not a promise.",
    );
  });
});

describe("mistakes are reported with their location and the remedy", () => {
  test.each([
    [undefined, "config/database.ts: DATABASES: is missing. Write an object: {"],
    [[], "DATABASES: is a list. Write an object: {"],
    [{ sqlite: SQLITE }, 'DATABASES.default: is missing. Write "sqlite".'],
    [{ rotated: SQLITE }, 'DATABASES.default: is missing. Write "rotated".'],
    [{ default: "a" }, 'DATABASES.default: is "a". Write "main", and a connection with this name: main: sqlite({'],
    [{ default: "sqlit", sqlite: SQLITE }, 'DATABASES.default: is "sqlit". Did you mean "sqlite"?'],
    [{ default: "a", a: 1 }, "DATABASES.a: is a number. Write a connection: sqlite({"],
    [{ default: "a", a: SQLITE, defalt: "a" }, 'DATABASES.defalt: is not a known setting. Did you mean "default"?'],
    [{ default: "a", a: {} }, 'DATABASES.a.driver: is missing. Write "sqlite", "postgres" or "mariadb".'],
    [{ default: "a", a: { driver: "postgre" } }, 'driver: is "postgre". Did you mean "postgres"?'],
    [{ default: "a", a: { driver: "sqlite" } }, "DATABASES.a.path: is missing. Write the path of a file"],
    [{ default: "a", a: { ...SQLITE, pth: "x" } }, 'DATABASES.a.pth: is not a known setting. Did you mean "path"?'],
    [{ default: "a", a: { ...SQLITE, path: 7 } }, "DATABASES.a.path: is a number. Write the path of a file"],
    [
      { default: "a", a: { ...SQLITE, busyTimeoutMs: -1 } },
      "busyTimeoutMs: is -1. Write a whole number of milliseconds from 0 to 600000, or leave it out for 10000.",
    ],
    [{ default: "a", a: { ...SQLITE, busyTimeoutMs: "1e3" } }, 'busyTimeoutMs: is "1e3". Write a whole number'],
    [
      { default: "a", a: { driver: "postgres", poolSize: 0 } },
      "poolSize: is 0. Write a whole number from 1 to 10000, or leave it out for 10.",
    ],
    [{ default: "a", a: { driver: "postgres", port: 70_000 } }, "port: is 70000. Write a whole number from 1 to 65535"],
    [
      { default: "a", a: { driver: "postgres", ssl: "maybe" } },
      'ssl: is "maybe". Write true or false, or leave it out.',
    ],
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

  test("an invalid URL is not repeated, because it contains a password", () => {
    for (const url of ["mysql://u:hunter2@h/d", "hunter2", "://hunter2"]) {
      const message = problem({ default: "a", a: { driver: "postgres", url } });
      expect(message).toContain("is not the address of a PostgreSQL database");
      expect(message).not.toContain("hunter2");
    }
    const listed = problem({ default: "a", a: { driver: "postgres", url: ["postgres://u:hunter2@h/d"] } });
    expect(listed).toContain("DATABASES.a.url: is not text.");
    expect(listed).not.toContain("hunter2");
  });

  test("S9 any value for a number is a number in its range, or an error", () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        try {
          const { busyTimeoutMs } = settings({ ...SQLITE, busyTimeoutMs: value }) as { busyTimeoutMs: number };
          expect(Number.isInteger(busyTimeoutMs) && busyTimeoutMs >= 0 && busyTimeoutMs <= 600_000).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(ConfigurationError);
        }
      }),
    );
  });
});

describe("each setting is accepted unchanged, from the minimum to the maximum", () => {
  const POSTGRES = { driver: "postgres", host: "h", user: "u", password: "p", database: "d", ssl: true };

  test.each([
    { ...SQLITE, path: "/x.db", busyTimeoutMs: 0, acquireTimeoutMs: 1, maxWaiting: 1 },
    { ...SQLITE, path: "/x.db", busyTimeoutMs: 600_000, acquireTimeoutMs: 600_000, maxWaiting: 1_000_000 },
    { ...POSTGRES, port: 1, poolSize: 1, statementTimeoutMs: 1, acquireTimeoutMs: 1, maxWaiting: 1 },
    {
      ...POSTGRES,
      port: 65_535,
      poolSize: 10_000,
      statementTimeoutMs: 86_400_000,
      acquireTimeoutMs: 600_000,
      maxWaiting: 1_000_000,
    },
  ])("%j", ({ driver, ...options }) => {
    expect(settings({ driver, ...options })).toEqual({ ...options, ...(driver === "postgres" && POSTGRES_DEFAULTS) });
  });

  test.each([
    [SQLITE, "busyTimeoutMs", 0, 600_000],
    [SQLITE, "acquireTimeoutMs", 1, 600_000],
    [POSTGRES, "port", 1, 65_535],
    [POSTGRES, "poolSize", 1, 10_000],
    [POSTGRES, "statementTimeoutMs", 0, 86_400_000],
    [POSTGRES, "maxWaiting", 1, 1_000_000],
    [SQLITE, "maxWaiting", 1, 1_000_000],
    [POSTGRES, "acquireTimeoutMs", 1, 600_000],
  ])("%j: %s is not less than %i or more than %i", (given, name, least, most) => {
    for (const value of [least - 1, most + 1, [String(most)], `${most}.5`]) {
      expect(problem({ default: "a", a: { ...given, [name]: value } })).toMatch(
        new RegExp(`DATABASES.a.${name}: is .*Write a whole number.* from ${least} to ${most}\\b`),
      );
    }
  });
});

test.each(["postgres://u@h/d", "postgresql://u@h/d"])("%s is the address of a database", (url) => {
  expect(settings({ driver: "postgres", url })).toMatchObject({ url });
});

test.each(["host", "port", "user", "password", "database", "ssl"])("a URL is refused together with %s", (name) => {
  const value = name === "port" ? 5432 : name === "ssl" ? true : "x";
  const given = { driver: "postgres", url: "postgres://u@h/d", [name]: value };
  expect(problem({ default: "a", a: given })).toContain(`DATABASES.a.${name}: is set together with url.`);
});

test.each([
  [
    "mariadb",
    "postgres://u:hunter2@h/d",
    "a MariaDB or MySQL",
    "MARIADB_URL",
    "mariadb://user:password@host:3306/database",
  ],
  [
    "postgres",
    "mariadb://u:hunter2@h/d",
    "a PostgreSQL",
    "POSTGRES_URL",
    "postgres://user:password@host:5432/database",
  ],
])("%s with the address of another server says to give it its own variable", (driver, url, what, name, example) => {
  expect(problem({ default: "a", a: { driver, url } })).toBe(
    `config/database.ts: DATABASES.a.url: is not the address of ${what} database. Write the address of ${what} database: ${example}. If another connection reads its address from the same variable, as when copying from one server to another, give this one its own variable: url: env("${name}", "${example}").`,
  );
});

test("an invalid URL is reported with what to write, and a time with its unit", () => {
  expect(problem({ default: "a", a: { driver: "postgres", url: "h/d" } })).toContain(
    "Write the address of a PostgreSQL database: postgres://user:password@host:5432/database",
  );
  for (const a of [{ driver: "postgres" }, { driver: "sqlite", path: ":memory:" }]) {
    expect(problem({ default: "a", a: { ...a, acquireTimeoutMs: 0 } })).toContain(
      "acquireTimeoutMs: is 0. Write a whole number of milliseconds from 1",
    );
  }
});

test.each([
  ["postgres", "mariadb://u:hunter2@h/d", "a PostgreSQL"],
  ["mariadb", "postgres://u:hunter2@h/d", "a MariaDB or MySQL"],
] as const)(
  "only the use of a %s connection with the address of another server fails: one variable holds both",
  (driver, url, own) => {
    const right = driver === "postgres" ? "mariadb" : "postgres";
    const database = new Database({ default: "used", used: { driver: right, url }, other: { driver, url } }, ROOT);
    expect(database.dialect.name).toBe(right);
    const message = `config/database.ts: DATABASES.other.url: is not the address of ${own} database. Write the address of`;
    for (const use of [() => database.connection("other"), () => database.connectionNamedBy("x", "other")]) {
      expect(use).toThrow(message);
      expect(use).not.toThrow("hunter2");
    }
    // The default connection is always used.
    expect(problem({ default: "other", other: { driver, url } })).toContain(message);
  },
);

test("an invalid URL is reported under its name", () => {
  const message = "config/database.ts: DATABASES.a.url: is not the address of a PostgreSQL database.";
  expect(problem({ default: "a", a: { driver: "postgres", url: "h/d" } })).toContain(message);
});
