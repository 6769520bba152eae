import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { Database, type DialectSource, mariadb, sql } from "../../src/database/index.ts";
import { type OwnMariadb, startMariadb, withOwnMariadb } from "../support/own-mariadb.ts";

const run = promisify(execFile);

const KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];

/** Writes the server's certificate, for this name. */
async function certifyAs(folder: string, name: string): Promise<void> {
  const file = (one: string): string => join(folder, one);
  await run("openssl", [
    "req",
    "-subj",
    "/CN=server",
    ...KEY,
    "-keyout",
    file("server.key"),
    "-out",
    file("server.csr"),
  ]);
  await writeFile(file("names"), `subjectAltName=DNS:${name}\n`);
  await run("openssl", [
    ...["x509", "-req", "-days", "2", "-in", file("server.csr"), "-CA", file("ca.pem"), "-CAkey", file("ca.key")],
    ...["-extfile", file("names"), "-out", file("server.pem")],
  ]);
}

/** Creates two authorities, and a certificate of the first for the server's name, which is `localhost`. */
async function certify(folder: string): Promise<readonly string[]> {
  for (const name of ["ca", "other-ca"]) {
    const files = ["-keyout", join(folder, `${name}.key`), "-out", join(folder, `${name}.pem`)];
    await run("openssl", ["req", "-x509", "-days", "2", "-subj", `/CN=${name}`, ...KEY, ...files]);
  }
  await certifyAs(folder, "localhost");
  return [`--ssl-cert=${join(folder, "server.pem")}`, `--ssl-key=${join(folder, "server.key")}`];
}

withOwnMariadb("a MariaDB server", () => {
  let server: OwnMariadb;
  beforeAll(async () => {
    server = await startMariadb(certify);
  });
  afterAll(() => server?.remove());

  const openOn = (source: DialectSource): Database => new Database({ default: "main", main: source }, server.folder);
  const open = (options: object = {}): Database => {
    const { port } = server;
    return openOn(mariadb({ host: "127.0.0.1", port, user: "root", database: "shop", poolSize: 2, ...options }));
  };
  const one = (database: Database) => sql`select 1 as one`.execute(database.kysely).then(({ rows }) => rows);
  const connectionOf = async (database: Database): Promise<number> =>
    (await sql<{ id: number }>`select connection_id() as id`.execute(database.kysely)).rows[0]!.id;

  test("that is frozen gets a deadline, after which its connection is dropped and nothing waits for the rollback", async () => {
    // Long enough for everything before the server is frozen, even on a busy machine.
    const database = open({ statementTimeoutMs: 5000, acquireTimeoutMs: 5000, poolSize: 1 });
    onTestFinished(() => server.thaw());
    const id = await connectionOf(database);
    let failures = 0;
    const transaction = database.transaction(async () => {
      server.freeze();
      await one(database).catch((error: unknown) => {
        failures++;
        throw error;
      });
    });
    await expect(transaction).rejects.toMatchObject({ code: "E_DATABASE_UNAVAILABLE", status: 503 });
    expect(failures).toBe(1);
    await expect(one(database), "a new connection has a deadline too").rejects.toMatchObject({
      code: "E_DATABASE_UNAVAILABLE",
    });
    server.thaw();
    await expect.poll(() => one(database).catch(() => null)).toEqual([{ one: 1 }]);
    expect(await connectionOf(database)).not.toBe(id);
    await database.close();
  });

  test("that reports no warnings doesn't make text equal to the number 0", async () => {
    const administrator = open();
    await sql`set global max_error_count = 0`.execute(administrator.kysely);
    const database = open();
    const { kysely } = database;
    try {
      await sql`create table points (n integer)`.execute(kysely);
      await sql`insert into points values (0)`.execute(kysely);
      const found = kysely.selectFrom("points").selectAll().where("n", "=", "abc");
      await expect(found.execute()).rejects.toMatchObject({ code: "E_INVALID_INPUT" });
      const deleted = kysely.deleteFrom("points").where("n", "=", "abc");
      await expect(deleted.execute()).rejects.toMatchObject({ code: "E_INVALID_INPUT" });
      expect(await kysely.selectFrom("points").selectAll().execute()).toHaveLength(1);
    } finally {
      await sql`set global max_error_count = default`.execute(administrator.kysely);
      await database.close();
      await administrator.close();
    }
  });

  test("that is closed while it is frozen blocks nothing", async () => {
    const database = open();
    await one(database);
    server.freeze();
    await database.close();
    server.thaw();
  });

  test("that is killed and restarted is used again, without a failing statement", async () => {
    const database = open();
    await Promise.all([one(database), one(database)]);
    const broken = sql`select sleep(60)`.execute(database.kysely).catch((error: unknown) => error);
    await server.kill();
    expect(await broken).toMatchObject({ code: "E_DATABASE_UNAVAILABLE" });
    await expect(one(database)).rejects.toMatchObject({
      code: "E_DATABASE_UNAVAILABLE",
      message: expect.stringContaining(
        "Start the server, or correct its address in config/database.ts: DATABASES.main.",
      ),
    });
    await server.start();
    expect(await one(database)).toEqual([{ one: 1 }]);
    await database.close();
  });

  test("that closes an idle connection costs no statement", async () => {
    const database = open({ poolSize: 1 });
    const admin = open();
    const id = await connectionOf(database);
    await sql.raw(`kill ${id}`).execute(admin.kysely);
    const gone = sql`select 1 from information_schema.processlist where id = ${id}`;
    await expect.poll(async () => (await gone.execute(admin.kysely)).rows).toEqual([]);
    await expect.poll(async () => await connectionOf(database)).not.toBe(id);
    await database.close();
    await admin.close();
  });

  test("whose certificate is signed by the named authority is used, encrypted", async () => {
    const database = open({ host: "localhost", ca: "ca.pem" });
    const { rows } = await sql<{ Value: string }>`show session status like 'Ssl_cipher'`.execute(database.kysely);
    expect(rows[0]!.Value).not.toBe("");
    await database.close();
  });

  const refusal = async (options: object): Promise<unknown> => {
    const database = open({ ...options, host: "localhost", password: "hunter2" });
    const error = await database.connect().catch((thrown: unknown) => thrown);
    await database.close();
    return error;
  };

  test("whose certificate is signed by another authority is refused", async () => {
    for (const options of [{ ca: "other-ca.pem" }, { ssl: true }]) {
      const message = expect.stringMatching(/certificate/);
      expect(await refusal(options)).toMatchObject({ code: "E_DATABASE_UNAVAILABLE", message });
    }
  });

  test("whose certificate is for another name is refused", async () => {
    const admin = open();
    await certifyAs(server.folder, "other.example");
    await sql`flush ssl`.execute(admin.kysely);
    const message = expect.stringMatching(/localhost.*other\.example/);
    expect(await refusal({ ca: "ca.pem" })).toMatchObject({ code: "E_DATABASE_UNAVAILABLE", message });
    await certifyAs(server.folder, "localhost");
    await sql`flush ssl`.execute(admin.kysely);
    await admin.close();
  });

  test("S189 whose authority is named in the URL is used, encrypted, and only with that authority and name", async () => {
    const outcome = async (parameters: string, { host = "localhost", ...options } = {}): Promise<unknown> => {
      const url = `mysql://root:hunter2@${host}:${server.port}/shop?${parameters}`;
      const database = openOn(mariadb({ url, ...options }));
      try {
        const status = await sql<{ Value: string }>`show session status like 'Ssl_cipher'`.execute(database.kysely);
        return status.rows[0]!.Value === "" ? "plain" : "encrypted";
      } catch (error) {
        return (error as Error).message;
      } finally {
        await database.close();
      }
    };
    for (const mode of ["REQUIRED", "PREFERRED", "VERIFY_CA", "VERIFY_IDENTITY"]) {
      expect(await outcome(`ssl-mode=${mode}&ssl-ca=ca.pem`)).toBe("encrypted");
      for (const authority of ["&ssl-ca=other-ca.pem", ...(mode === "VERIFY_CA" ? [] : [""])]) {
        const message = await outcome(`ssl-mode=${mode}${authority}`);
        expect(message).toContain("Set config/database.ts: DATABASES.main.ca to the file of the authority");
        expect(message).not.toContain("hunter2");
      }
    }
    expect(await outcome("sslmode=verify-full&sslrootcert=ca.pem")).toBe("encrypted");
    expect(await outcome("ssl-mode=DISABLED")).toBe("plain");
    expect(await outcome("", { servername: "db.example", ca: "ca.pem" } as object)).toContain(
      "DATABASES.main.servername",
    );
    const byAddress = { host: "127.0.0.1" };
    expect(await outcome("ssl-mode=VERIFY_CA&ssl-ca=ca.pem", byAddress)).toBe("encrypted");
    expect(await outcome("ssl-ca=ca.pem", { ...byAddress, servername: "localhost" } as object)).toBe("encrypted");
  });

  test("whose authority's file is missing, or has no certificate, is refused at startup with its place in the configuration", () => {
    const place = "DATABASES.main";
    expect(() => open({ host: "localhost", ca: "missing.pem" })).toThrow(
      `${place}.ca: is a file that can't be read (ENOENT).`,
    );
    expect(() => open({ host: "localhost", ca: "names" })).toThrow(`${place}.ca: is a file without a certificate.`);
    const url = `mysql://root@localhost:${server.port}/shop?ssl-ca=missing.pem`;
    expect(() => openOn(mariadb({ url }))).toThrow(`${place}.url: ssl-ca: is a file that can't be read (ENOENT).`);
  });
});
