import { chownSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { Database, type DialectSource, postgres, sql } from "../../src/database/index.ts";
import { type CertificateFiles, makeCertificate } from "../support/certificate.ts";
import { freePort } from "../support/free-port.ts";
import { type OwnPostgres, serverUser, startPostgres, withOwnPostgres } from "../support/own-postgres.ts";
import { folderWith } from "../support/temporary-folder.ts";

/** Removes the files. */
const removals: (() => void)[] = [];
afterAll(() => {
  for (const remove of removals) remove();
});

/** Makes a certificate whose key the server may read. */
async function certificateFor(host: string): Promise<CertificateFiles> {
  const folder = mkdtempSync(join(tmpdir(), "ashlar-authority-"));
  removals.push(() => rmSync(folder, { recursive: true, force: true }));
  const files = makeCertificate(folder, host);
  const user = await serverUser();
  for (const path of [folder, files.key, files.chain]) if (user !== null) chownSync(path, user.uid!, user.gid!);
  return files;
}

withOwnPostgres("S189 a PostgreSQL server with a certificate of another authority", () => {
  let server: OwnPostgres;
  let plain: OwnPostgres;
  let own: CertificateFiles;
  let other: CertificateFiles;
  let client: CertificateFiles;

  beforeAll(async () => {
    [own, other, client] = [
      await certificateFor("localhost"),
      await certificateFor("localhost"),
      await certificateFor("shop"),
    ];
    const files = [`ssl_cert_file=${own.chain}`, `ssl_key_file=${own.key}`, `ssl_ca_file=${client.chain}`];
    server = await startPostgres(await freePort(), ["ssl=on", ...files]);
    plain = await startPostgres(await freePort());
  });
  afterAll(async () => {
    await server?.remove();
    await plain?.remove();
  });

  const connect = async (source: DialectSource, root = "."): Promise<unknown> => {
    const database = new Database({ default: "main", main: source }, root);
    try {
      const found = await sql`select ssl, client_dn from pg_stat_ssl where pid = pg_backend_pid()`.execute(
        database.kysely,
      );
      return found.rows[0];
    } catch (error) {
      return (error as Error).message;
    } finally {
      await database.close();
    }
  };
  const url = (parameters: string, host = "localhost"): string =>
    `postgres://postgres:hunter2@${host}:${server.port}/postgres?${parameters}`;
  const ENCRYPTED = { ssl: true, client_dn: null };

  test("is used, encrypted, with its authority in the URL or the settings, as a file or as PEM", async () => {
    for (const mode of ["require", "prefer", "verify-ca", "verify-full"]) {
      expect(await connect(postgres({ url: url(`sslmode=${mode}&sslrootcert=${own.chain}`) }))).toEqual(ENCRYPTED);
    }
    expect(await connect(postgres({ url: url(`sslnegotiation=postgres&sslrootcert=${own.chain}`) }))).toEqual(
      ENCRYPTED,
    );
    const address = { host: "localhost", port: server.port, user: "postgres", database: "postgres" };
    const root = folderWith({ "certificates/ca.pem": readFileSync(own.chain, "utf8") });
    expect(await connect(postgres({ ...address, ca: "certificates/ca.pem" }), root)).toEqual(ENCRYPTED);
    expect(await connect(postgres({ ...address, ca: readFileSync(own.chain, "utf8") }))).toEqual(ENCRYPTED);
    expect(await connect(postgres({ url: url(""), ca: own.chain }))).toEqual(ENCRYPTED);
    expect(await connect(postgres({ url: url("sslmode=disable") }))).toEqual({ ssl: false, client_dn: null });
  });

  test.each(["require", "prefer", "verify-full"])(
    "is refused with sslmode=%s without it, and with another, and the error names ca",
    async (mode) => {
      process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
      onTestFinished(() => void delete process.env.NODE_TLS_REJECT_UNAUTHORIZED);
      for (const authority of ["", `&sslrootcert=${other.chain}`]) {
        const message = await connect(postgres({ url: url(`sslmode=${mode}${authority}`) }));
        expect(message).toContain("Set config/database.ts: DATABASES.main.ca to the file of the authority");
        expect(message).not.toContain("hunter2");
      }
      expect(await connect(postgres({ url: url("sslmode=verify-ca"), ca: other.chain }))).toContain(
        "DATABASES.main.ca",
      );
    },
  );

  test("is refused by PGSSLMODE too, regardless of other variables", async () => {
    const variables = { NODE_TLS_REJECT_UNAUTHORIZED: "0", PGSSLMODE: "require", PGSSLROOTCERT: own.chain };
    Object.assign(process.env, variables);
    onTestFinished(() => {
      for (const name of Object.keys(variables)) delete process.env[name];
    });
    expect(await connect(postgres({ url: url("") }))).toContain("DATABASES.main.ca to the file of the authority");
    expect(await connect(postgres({ url: url(""), ca: own.chain }))).toEqual(ENCRYPTED);
  });

  test("is refused under another name, unless servername is its name or sslmode is verify-ca", async () => {
    const at = (parameters: string) => url(parameters, "127.0.0.1");
    for (const parameters of ["", "sslmode=require", "sslmode=verify-full"]) {
      const message = await connect(postgres({ url: at(parameters), ca: own.chain }));
      expect(message).toContain(
        "Set config/database.ts: DATABASES.main.servername to a name in the server's certificate.",
      );
    }
    expect(await connect(postgres({ url: at(""), ca: own.chain, servername: "localhost" }))).toEqual(ENCRYPTED);
    expect(await connect(postgres({ url: at("sslmode=verify-ca"), ca: own.chain }))).toEqual(ENCRYPTED);
    const elsewhere = { url: url(""), ca: own.chain, servername: "db.example" };
    expect(await connect(postgres(elsewhere)), "the setting counts more than the host").toContain(
      "DATABASES.main.servername",
    );
  });

  test("gets the application's own certificate", async () => {
    const seen = { ssl: true, client_dn: "/CN=shop" };
    const parameters = `sslrootcert=${own.chain}&sslcert=${client.chain}&sslkey=${client.key}`;
    expect(await connect(postgres({ url: url(parameters) }))).toEqual(seen);
    const files = { ca: own.chain, cert: client.chain, key: client.key };
    expect(await connect(postgres({ url: url("sslmode=require"), ...files }))).toEqual(seen);
  });

  test("is verified as a read replica by the settings next to its address, or in it", async () => {
    const main = `postgres://postgres@127.0.0.1:${plain.port}/postgres`;
    const replicas = async (options: object, read: string): Promise<unknown> => {
      const dialect = postgres({ url: `${main}?sslmode=disable`, ...options, read: [read] });
      const database = new Database({ default: "main", main: dialect }, ".");
      try {
        const [executor] = database.dialect.replicas!.executors;
        const { rows } = await executor!.execute(
          sql`select ssl from pg_stat_ssl where pid = pg_backend_pid()`.compile(database.kysely),
        );
        return rows[0];
      } catch (error) {
        return (error as Error).message;
      } finally {
        await database.close();
      }
    };
    expect(await replicas({}, url(`sslrootcert=${own.chain}`))).toEqual({ ssl: true });
    expect(await replicas({}, url(`sslrootcert=${other.chain}`))).toContain("DATABASES.main.ca");
    expect(await replicas({ url: main, ca: own.chain }, url(""))).toEqual({ ssl: true });
    expect(await replicas({ url: main, ca: other.chain }, url(""))).toContain("DATABASES.main.ca");
  });

  test("that doesn't encrypt is refused with a remedy", async () => {
    const message = await connect(postgres({ url: `${plain.url}?sslmode=prefer` }));
    expect(message).toContain("Turn TLS on in the server, or write sslmode=disable on a network that you trust.");
  });

  test("is not even contacted if the file is missing or has no certificate", async () => {
    const root = folderWith({ "empty.pem": "\n" });
    const open = (options: object) => () =>
      new Database({ default: "main", main: postgres({ url: url(""), ...options }) }, root);
    const place = "config/database.ts: DATABASES.main";
    expect(open({ ca: "missing.pem" })).toThrow(`${place}.ca: is a file that can't be read (ENOENT).`);
    expect(open({ ca: "empty.pem" })).toThrow(`${place}.ca: is a file without a certificate.`);
    const inUrl = { url: url("sslrootcert=missing.pem") };
    expect(open(inUrl)).toThrow(`${place}.url: sslrootcert: is a file that can't be read (ENOENT).`);
    expect(open({ cert: own.chain, key: own.chain })).toThrow(`${place}.key: is a file without a private key.`);
  });
});
