import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterEach, describe, expect, test } from "vitest";
import { cpuTimeUntil } from "../../../test/support/cpu-time.ts";
import { onPostgres } from "../../../test/support/services.ts";
import { type TestShop, type TestShopOptions, testShop } from "../../../test/support/test-shop.ts";
import { ApiProvider, type Drivers, many } from "../../api/index.ts";
import { Authenticates, AuthProvider } from "../../auth/index.ts";
import { type Application, createApplication, Provider } from "../../boot/index.ts";
import { compose, Database, DatabaseProvider, Model, postgres, sql } from "../../database/index.ts";
import { MailProvider } from "../../mail/index.ts";
import { generateSecret } from "../../security/index.ts";
import { VerificationKey } from "../../security/jwt/index.ts";
import { ViewProvider } from "../../views/index.ts";
import { createTestApplication, createTestClient, factory, resetDatabase } from "../index.ts";

const ends: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function shop(options: TestShopOptions = {}): Promise<TestShop> {
  const made = await testShop(options);
  ends.push(() => made.close());
  return made;
}

async function application(options: Parameters<typeof createTestApplication>[0]): Promise<Application> {
  const made = await createTestApplication(options);
  ends.push(() => made.shutdown());
  return made;
}

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "ashlar-kit-"));
  ends.push(() => rm(path, { recursive: true, force: true }));
  return path;
}

describe("a test application", () => {
  test("has its own migrated database in memory", async () => {
    const [one, other] = [await shop(), await shop()];
    const database = one.application.container.make("database");
    expect(database.dialect.isInMemory).toBe(true);
    await database.kysely.insertInto("purchases").values({ title: "T" }).execute();
    const rows = await other.application.container
      .make("database")
      .kysely.selectFrom("purchases")
      .selectAll()
      .execute();
    expect(rows).toEqual([]);
  });

  test("has secrets for drivers of API tokens whose own are not set, and keeps those that a test gives", async () => {
    class Member extends compose(Model, Authenticates) {}
    const given = generateSecret();
    const driversWith = (secret: string | undefined) => ({
      issuer: { algorithm: "ES256", secret: undefined, model: Member, tokens: many() },
      admin: { secret, model: Member, tokens: many() },
      idp: { issuer: "https://id.example/", audience: "shop", jwks: "https://id.example/jwks", model: Member },
    });
    const providers = [DatabaseProvider, AuthProvider, ApiProvider];
    const made = async (DRIVERS: object) => {
      const { container } = await application({
        providers,
        config: { api: { DRIVERS }, auth: { GUARDS: { default: "admin" } } },
      });
      return container.make("apiDrivers");
    };
    const keysOf = (drivers: Drivers, name: string) => {
      const { settings } = drivers.of(name);
      return settings.kind === "issuing" ? settings.verificationKeys : [];
    };
    const [one, other] = [await made(driversWith("")), await made(driversWith(given))];
    expect(keysOf(one, "issuer")[0]!.isSecret).toBe(false);
    expect(keysOf(one, "admin")[0]!.isSecret).toBe(true);
    expect(keysOf(other, "admin")[0]!.isSameAs(new VerificationKey("HS512", given))).toBe(true);
    expect(keysOf(one, "admin")[0]!.isSameAs(keysOf(other, "admin")[0]!)).toBe(false);
    const misspelled = { jwt: { secrett: "", model: Member, tokens: many() } };
    await expect(made(misspelled)).rejects.toThrow(/DRIVERS\.jwt\.secrett: /);
    for (const drivers of [null, { jwt: null }]) {
      await expect(made(drivers as never)).rejects.toThrow(/^config\/api\.ts: DRIVERS/);
    }
  });

  test("its tables exist before the other providers boot", async () => {
    let rows: unknown = null;
    class Reads extends Provider {
      override async boot(): Promise<void> {
        rows = await this.application.container.make("database").kysely.selectFrom("customers").selectAll().execute();
      }
    }
    await shop({ providers: [Reads] });
    expect(rows).toEqual([]);
  });

  test("it is created in milliseconds", async () => {
    await shop();
    const times: number[] = [];
    for (let count = 0; count < 5; count++) times.push(await cpuTimeUntil(() => shop()));
    expect(Math.min(...times)).toBeLessThan(200);
  });

  test("no connection of the configuration is ever opened", async () => {
    const path = join(await folder(), "precious.sqlite");
    const made = await application({
      providers: [DatabaseProvider],
      config: {
        database: {
          DATABASES: {
            default: "main",
            main: { driver: "sqlite", path },
            reports: { driver: "postgres", url: "postgres://nobody@192.0.2.1/none" },
          },
        },
      },
    });
    const database = made.container.make("database");
    await database.connection("reports").connect();
    const names = Object.keys(database.settings.connections);
    expect(names.map((name) => database.connection(name).dialect.isInMemory)).toEqual([true, true]);
    await expect(rm(path)).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("it has its own environment and secrets, and mails stay in memory", async () => {
    const made = await shop();
    const { settings, container } = made.application;
    expect(settings.environment).toBe("test");
    expect(Buffer.from(settings.key, "base64url").length).toBeGreaterThanOrEqual(32);
    expect(container.make("mail").captured).toEqual([]);
  });

  test("mails stay in memory even if the configuration has a server", async () => {
    const root = await folder();
    const mail = {
      MAIL: { transport: "smtp", smtp: { host: "smtp.shop.example" }, from: { address: "a@shop.example" } },
    };
    const made = await application({ root, providers: [ViewProvider, MailProvider], config: { mail } });
    expect(made.container.make("mail").captured).toEqual([]);
  });

  test("its configuration comes from its folder, and it needs no .env", async () => {
    const root = await folder();
    const source = join(import.meta.dirname, "../..");
    await mkdir(join(root, "config"));
    await writeFile(
      join(root, "config/providers.ts"),
      `import { DatabaseProvider } from "${source}/database/index.ts";\nexport const PROVIDERS = [DatabaseProvider];`,
    );
    await writeFile(
      join(root, "config/app.ts"),
      `import { env } from "${source}/boot/index.ts";\nexport const APP = { name: "Shop", key: env("APP_KEY") };`,
    );
    const made = await application({ root });
    expect(made.settings.name).toBe("Shop");
    await made.container.make("database").connect();
  });

  test("an application without a database does not get one", async () => {
    const made = await application({});
    expect(made.container.has("database")).toBe(false);
  });

  test("a failing boot throws", async () => {
    class Fails extends Provider {
      override boot(): void {
        throw new Error("no boot");
      }
    }
    await expect(createTestApplication({ providers: [DatabaseProvider, Fails] })).rejects.toThrow("no boot");
  });
});

describe("resetDatabase", () => {
  test("empties every table, whatever refers to what, and counts from 1 again", async () => {
    const { application: made, Customer, Purchase } = await shop();
    const customers = factory(Customer, (n) => ({ name: `C${n}`, email: `c${n}@example.com`, password: "x" }));
    const ada = await customers.create();
    await Purchase.create({ title: "T", customer_id: ada.id });
    await createTestClient(made).actingAs(ada);
    await resetDatabase(made);
    expect([await Customer.all(), await Purchase.all()]).toEqual([[], []]);
    const { kysely } = made.container.make("database");
    expect(await kysely.selectFrom("logins").selectAll().execute()).toEqual([]);
    expect(await kysely.selectFrom("migrations").select("name").execute()).toHaveLength(4);
    expect((await customers.create()).id).toBe(1);
    await expect(Purchase.create({ title: "T", customer_id: 99 })).rejects.toMatchObject({
      code: "E_FOREIGN_KEY_VIOLATION",
    });
  });

  test("waits for the background jobs of the previous test", async () => {
    const { application: made, Customer } = await shop();
    made.background.run("a late customer", async () => {
      await Customer.create({ name: "Late", email: "late@example.com", password: "x" } as object);
    });
    await resetDatabase(made);
    expect([made.background.pending, await Customer.all()]).toEqual([0, []]);
  });

  test("takes one statement per table, and a few more", async () => {
    const { application: made } = await shop();
    const database = made.container.make("database");
    const tables = await database.kysely.introspection.getTables();
    let statements = 0;
    database.onQuery(() => statements++);
    await resetDatabase(made);
    expect(statements).toBeLessThanOrEqual(tables.length + 5);
  });

  test("leaves a database alone that was not created for tests", async () => {
    const path = join(await folder(), "precious.sqlite");
    const DATABASES = { default: "main", main: { driver: "sqlite", path } };
    const made = await createApplication({
      providers: [DatabaseProvider],
      config: { database: { DATABASES } },
      environment: { APP_ENV: "test" },
    });
    ends.push(() => made.shutdown());
    await expect(resetDatabase(made)).rejects.toMatchObject({
      code: "E_INVALID_CONFIGURATION",
      message: expect.stringContaining("createTestApplication()"),
    });
  });

  test("one in memory may be emptied, whatever created the application", async () => {
    const DATABASES = { default: "main", main: { driver: "sqlite", path: ":memory:" } };
    const made = await createApplication({
      providers: [DatabaseProvider],
      config: { database: { DATABASES } },
      environment: { APP_ENV: "test" },
    });
    ends.push(() => made.shutdown());
    await resetDatabase(made);
    const { kysely } = made.container.make("database");
    await kysely.schema.createTable('a"b').addColumn("n", "integer").execute();
    await kysely.insertInto('a"b').values({ n: 1 }).execute();
    await resetDatabase(made);
    expect(await kysely.selectFrom('a"b').selectAll().execute()).toEqual([]);
  });
});

await onPostgres("on PostgreSQL", () => {
  const url = `postgres://${process.env.PGUSER ?? "postgres"}@${process.env.PGHOST ?? "127.0.0.1"}:${process.env.PGPORT ?? 5432}/${process.env.PGDATABASE ?? "test"}`;

  async function databases(): Promise<string[]> {
    const client = new pg.Client(url);
    await client.connect();
    const { rows } = await client.query("select datname from pg_database where datname like 'ashlar_test_%'");
    await client.end();
    // Other suites create databases at the same time, with shorter names.
    return rows.map(({ datname }) => String(datname)).filter((name) => /^ashlar_test_[0-9a-f]{16}$/.test(name));
  }

  test("a database is created on the server, emptied on demand, and dropped at shutdown", async () => {
    const made = await testShop({ database: { driver: "postgres", url } });
    const database = made.application.container.make("database");
    const { rows } = await sql<{ name: string }>`select current_database() as name`.execute(database.kysely);
    const { name } = rows[0]!;
    expect(await databases()).toContain(name);
    const customers = factory(made.Customer, (n) => ({ name: `C${n}`, email: `c${n}@x.example`, password: "x" }));
    const ada = await customers.create();
    await made.Purchase.create({ title: "T", customer_id: ada.id });
    const client = createTestClient(made.application);
    await client.actingAs(ada);
    await client.assertAuthenticatedAs(ada);
    await resetDatabase(made.application);
    await client.assertGuest();
    expect((await customers.create()).id).toBe(1);
    await made.close();
    expect(await databases()).not.toContain(name);
  });

  test("it also works with the parts of an address instead of a URL, and leaves nothing behind after a failed boot", async () => {
    const { hostname, port, username, pathname } = new URL(url);
    const server = postgres({ host: hostname, port, user: username, database: pathname.slice(1) });
    const made = await createTestApplication({ providers: [DatabaseProvider], database: server });
    expect(made.container.make("database").dialect.name).toBe("postgres");
    expect(made.container.make("database")).toBeInstanceOf(Database);
    await made.shutdown();
    const before = await databases();
    class Fails extends Provider {
      override boot(): void {
        throw new Error("no boot");
      }
    }
    const failing = createTestApplication({ providers: [DatabaseProvider, Fails], database: server });
    await expect(failing).rejects.toThrow("no boot");
    const after = await databases();
    expect(after.filter((name) => !before.includes(name))).toEqual([]);
  });
});
