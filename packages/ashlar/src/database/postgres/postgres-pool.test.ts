import { once } from "node:events";
import { type AddressInfo, createServer, Socket } from "node:net";
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { postgresMessage } from "../../../test/support/postgres-message.ts";
import { onPostgres, postgres, type TestDatabase } from "../../../test/support/services.ts";
import { Database, sql } from "../index.ts";
import { openPool } from "./postgres-pool.ts";
import { readPostgresSettings } from "./postgres-settings.ts";

/** The code that requests TLS, sent instead of a protocol version. */
const TLS_REQUEST = 80_877_103;

/**
 * The messages that a server receives when a client logs in.
 * https://www.postgresql.org/docs/current/protocol-message-formats.html
 */
interface Login {
  readonly wantsTls: boolean;
  readonly told: Readonly<Record<string, string>>;
  readonly password: string | null;
}

/** The messages that a server without TLS receives, which asks for the password and refuses it. */
async function loginWith(settings: object): Promise<Login> {
  let login: Login = { wantsTls: false, told: {}, password: null };
  const server = createServer((socket) => {
    let received = Buffer.alloc(0);
    // The first message has no letter before its length.
    let before = 0;
    socket.on("data", (data) => {
      received = Buffer.concat([received, data as Buffer]);
      if (received.length < before + 4 || received.length < before + received.readInt32BE(before)) return;
      const body = received.subarray(before + 4);
      received = Buffer.alloc(0);
      if (before > 0) {
        login = { ...login, password: body.toString("utf8", 0, body.length - 1) };
        socket.end(postgresMessage("E", "SFATAL\0C28P01\0Mnot let in\0\0"));
      } else if (body.readInt32BE() === TLS_REQUEST) {
        login = { ...login, wantsTls: true };
        socket.end("N");
      } else {
        const texts = body.toString("utf8", 4).split("\0");
        const names = texts.filter((name, place) => place % 2 === 0 && name !== "");
        login = { ...login, told: Object.fromEntries(names.map((name, n) => [name, texts[n * 2 + 1]!])) };
        socket.write(postgresMessage("R", Buffer.from([0, 0, 0, 3])));
        before = 1;
      }
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const main = { driver: "postgres", port, user: "ada", ...settings };
  const database = new Database({ default: "main", main }, "/");
  await expect(database.connect()).rejects.toMatchObject({ code: expect.stringMatching(/^E_DATABASE/) });
  await database.close();
  server.close();
  return login;
}

/** Sets an environment variable for the running test. */
function withVariable(name: string, value: string): void {
  process.env[name] = value;
  onTestFinished(() => void delete process.env[name]);
}

test.each(["no-verify", "allow", "verify_all"])(
  "S189 PGSSLMODE=%s is refused if nothing else is configured",
  (mode) => {
    withVariable("PGSSLMODE", mode);
    const open = (settings: object) =>
      new Database({ default: "main", main: { driver: "postgres", ...settings } }, "/");
    expect(() => open({})).toThrow(
      `Environment variable PGSSLMODE: is "${mode}", which may not verify the server's certificate. Set it to verify-full, or ` +
        "to disable on a network that you trust.",
    );
    expect(() => open({ url: "postgres://ada@127.0.0.1/shop" })).toThrow("Environment variable PGSSLMODE");
    const read = ["postgres://ada@127.0.0.1/shop"];
    expect(() => open({ url: "postgres://ada@127.0.0.1/shop?sslmode=disable", read })).toThrow("PGSSLMODE");
    expect(() => open({ ssl: false })).not.toThrow();
    expect(() => open({ url: "postgres://ada@127.0.0.1/shop?sslmode=verify-full" })).not.toThrow();
  },
);

test.each(["prefer", "require", "verify-ca", "verify-full"])(
  "S189 PGSSLMODE=%s encrypts and verifies if nothing else is configured, and otherwise the configuration wins",
  async (mode) => {
    withVariable("PGSSLMODE", mode);
    const { tls } = readPostgresSettings({}, { where: "main" });
    expect(tls).toEqual({
      ...{ ca: null, cert: null, key: null, servername: null },
      ...{ verifiesName: true, isDirect: false },
    });
    expect(await loginWith({ password: "p" })).toMatchObject({ wantsTls: true, password: null });
    expect(await loginWith({ password: "p", ssl: false })).toMatchObject({ wantsTls: false, password: "p" });
  },
);

test("S189 PGSSLMODE=disable and PGSSLNEGOTIATION don't change a connection that is to be encrypted", async () => {
  withVariable("PGSSLMODE", "disable");
  withVariable("PGSSLNEGOTIATION", "direct");
  expect(await loginWith({ password: "p", ssl: true })).toMatchObject({ wantsTls: true, password: null });
  expect(await loginWith({ password: "p" })).toMatchObject({ wantsTls: false, password: "p" });
});

test("without the driver, the error names the package to install", async () => {
  const missing = Object.assign(new Error("Cannot find package 'pg' imported from here"), {
    code: "ERR_MODULE_NOT_FOUND",
  });
  const opening = openPool(readPostgresSettings({}, { where: "main" }), false, () => Promise.reject(missing));
  await expect(opening).rejects.toMatchObject({
    code: "E_MISSING_PACKAGE",
    message: 'A connection to PostgreSQL needs the package "pg". Run: npm install pg',
    cause: missing,
  });
});

test("the server gets the user, the database and the password", async () => {
  const settings = { user: "grace", password: "pass phrase", database: "shop" };
  const { told, ...rest } = await loginWith(settings);
  expect([told.user, told.database, rest]).toEqual(["grace", "shop", { wantsTls: false, password: "pass phrase" }]);
});

test("the statement timeout is sent to the server: 15 seconds, or the configured one, or none", async () => {
  const { told } = await loginWith({ password: "p", statementTimeoutMs: 1234 });
  expect(told).toMatchObject({ statement_timeout: "1234", standard_conforming_strings: "on" });
  expect((await loginWith({ password: "p" })).told.statement_timeout).toBe("15000");
  const unlimited = await loginWith({ password: "p", statementTimeoutMs: 0 });
  expect(unlimited.told).not.toHaveProperty("statement_timeout");
});

test("with ssl, nothing is sent in plain text: a server without TLS gets no name and no password", async () => {
  expect(await loginWith({ password: "p", ssl: true })).toEqual({ wantsTls: true, told: {}, password: null });
});

test("the host may be the folder of the server's socket, whose name contains the port", async () => {
  const main = { driver: "postgres", host: "/no/such/folder", port: 5499 };
  const database = new Database({ default: "main", main }, "/");
  await expect(database.connect()).rejects.toMatchObject({
    code: "E_DATABASE_UNAVAILABLE",
    databaseCode: "ENOENT",
    message: expect.stringContaining("/no/such/folder/.s.PGSQL.5499"),
  });
  await database.close();
});

await onPostgres("a connection to PostgreSQL", () => {
  let own: TestDatabase;
  let database: Database;

  beforeAll(async () => {
    own = await postgres.open({ poolSize: 1 });
    database = own.database;
  });
  afterAll(() => own.drop());

  const one = async (text: string): Promise<unknown> => {
    const { rows } = await sql.raw<{ one: unknown }>(`select ${text} as one`).execute(database.kysely);
    return rows[0]!.one;
  };
  const server = (): Promise<unknown> => one("pg_backend_pid()");

  test("stays open for half a minute after its last use, and is replaced after that", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const first = await server();
    vi.advanceTimersByTime(29_999);
    expect(await server()).toBe(first);
    vi.advanceTimersByTime(30_000);
    expect(await server()).not.toBe(first);
  });

  test("does not keep the process alive while no statement is running", async () => {
    const held = (): number => process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;
    await database.close();
    database = new Database({ default: "main", main: own.configuration }, "/");
    const before = held();
    const answer = server();
    await answer;
    expect(held()).toBe(before);
    const slow = one("pg_sleep(0.05)");
    await new Promise((resolve) => setImmediate(resolve));
    expect(held()).toBe(before + 1);
    await slow;
  });

  test("checks regularly whether the other end is still there, because firewalls drop idle connections", async () => {
    const asked = vi.spyOn(Socket.prototype, "setKeepAlive");
    onTestFinished(() => asked.mockRestore());
    const other = new Database({ default: "main", main: own.configuration }, "/");
    await other.connect();
    await other.close();
    expect(asked).toHaveBeenCalledWith(true, 0);
  });

  test.each([
    ["timestamp '2026-07-01 12:00:00.5'", new Date("2026-07-01T12:00:00.500Z")],
    ["timestamp 'infinity'", Number.POSITIVE_INFINITY],
    ["timestamp '-infinity'", Number.NEGATIVE_INFINITY],
    ["timestamp '0044-03-15 12:00:00 BC'", "0044-03-15 12:00:00 BC"],
    ["date '2026-07-01'", "2026-07-01"],
    ["9007199254740991::bigint", 9007199254740991],
    ["9007199254740992::bigint", 9007199254740992n],
  ])("returns %s with its own type", async (text, value) => {
    expect(await one(text)).toEqual(value);
  });
});
