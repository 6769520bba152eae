import { expect, test } from "vitest";
import { readMariadbSettings } from "./mariadb-settings.ts";

const read = (options: object) => readMariadbSettings(options, { where: "DATABASES.main" });
const problem = (options: object): string => {
  try {
    read(options);
  } catch (error) {
    return (error as Error).message;
  }
  return "accepted";
};

const NO_FILES = { ca: null, cert: null, key: null, servername: null };
const DEFAULTS = {
  host: "127.0.0.1",
  port: 3306,
  user: null,
  password: null,
  database: null,
  ssl: null,
  ...NO_FILES,
  tls: null,
  poolSize: 10,
  statementTimeoutMs: 15_000,
  acquireTimeoutMs: 10_000,
  maxWaiting: 1000,
  read: [],
  ownWritesSeconds: 10,
};

test("every setting has a default", () => {
  expect(read({})).toEqual(DEFAULTS);
});

test.each([
  [
    "mariadb://ada:p%40ss%2Fw%3Ard@db.example:3307/shop",
    { host: "db.example", port: 3307, user: "ada", password: "p@ss/w:rd", database: "shop" },
  ],
  ["mysql://ada@db.example/shop", { host: "db.example", user: "ada", database: "shop" }],
  ["mariadb://db.example", { host: "db.example" }],
  ["mariadb://[::1]:3306/d%C3%A9p%C3%B4t", { host: "::1", database: "dépôt" }],
])("the URL %s is an address", (url, expected) => {
  expect(read({ url })).toEqual({ ...DEFAULTS, ...expected });
});

test("numbers and booleans may be text, 0 means no limit of statements, and ca turns encryption on", () => {
  const written = { poolSize: "3", statementTimeoutMs: "0", acquireTimeoutMs: "5", maxWaiting: "7", port: "3310" };
  expect(read({ ...written, host: "db.example", ca: "ca.pem" })).toEqual({
    ...DEFAULTS,
    ...{ host: "db.example", port: 3310, ca: "ca.pem" },
    tls: { ...NO_FILES, ca: { value: "ca.pem", setting: "ca" }, verifiesName: true, isDirect: false },
    ...{ poolSize: 3, statementTimeoutMs: null, acquireTimeoutMs: 5, maxWaiting: 7 },
  });
});

test.each([
  [{ poolSize: 0 }, "DATABASES.main.poolSize: is 0."],
  [{ statementTimeoutMs: -1 }, "statementTimeoutMs: is -1. Write a whole number of milliseconds from 0 to 86400000"],
  [{ acquireTimeoutMs: 0 }, "acquireTimeoutMs: is 0. Write a whole number of milliseconds from 1 to 600000"],
  [{ ownWritesSeconds: 0 }, "ownWritesSeconds: is 0. Write a whole number of seconds from 1 to 3600"],
  [{ read: "mariadb://h/d" }, "DATABASES.main.read: is not a list of addresses."],
  [
    { read: ["mariadb://h/d", "http://u:hunter2@h/d"] },
    "DATABASES.main.read: is a list in which an entry is not the address",
  ],
  [{ read: ["http://h/d?x=1"] }, "DATABASES.main.read: is a list in which an entry is not the address"],
  [{ read: ["mariadb://h/d?x=1"] }, "is a list in which an entry is an address with parameters"],
  [{ read: ["mariadb://10.0.0.2/d"], host: "db.example", ssl: true }, "read: has a numeric address"],
  [{ maxWaiting: 0 }, "maxWaiting: is 0. Write a whole number from 1 to 1000000"],
  [{ port: 70_000 }, "port: is 70000."],
  [{ pool: 3 }, "DATABASES.main.pool: is not a known setting."],
  [{ url: "mariadb://h/d", host: "h" }, "DATABASES.main.host: is set together with url."],
  [{ host: "h", ssl: false, ca: "ca.pem" }, "DATABASES.main.ca: is set, although ssl is false."],
  [
    { url: "mariadb://10.0.0.1/d", ssl: true },
    "DATABASES.main.url: is a numeric address, which no certificate is verified against.",
  ],
  [{ host: "::1", ca: "ca.pem" }, "DATABASES.main.host: is a numeric address"],
  [{ url: 7 }, "DATABASES.main.url: is not text."],
])("%j is refused", (options, message) => {
  expect(problem(options)).toContain(message);
});

test.each([
  "postgres://u:hunter2@h/d",
  "hunter2",
  "mariadb://u:hunter2%@h/d",
  "mariadb://hunter2%@h/d",
  "mariadb://u:hunter2@h/d%",
  "mariadb://",
  "mariadb://u:hunter2@h/d#x",
])("the URL %s is refused, without repeating its password", (url) => {
  expect(problem({ url })).toContain("is not the address of a MariaDB or MySQL database. Write the address of");
  expect(problem({ url })).not.toContain("hunter2");
});

test("a URL with parameters that aren't about encryption is refused, because they can turn off a driver's protections", () => {
  for (const parameters of ["multipleStatements=true", "ssl-mode=REQUIRED&flags=LOCAL_FILES"]) {
    expect(problem({ url: `mysql://u:hunter2@h/d?${parameters}` })).toContain(
      'DATABASES.main.url: is an address with parameters after "?" that are not about encryption: write settings next to url.',
    );
  }
});
