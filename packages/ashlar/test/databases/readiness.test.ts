import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { type Application, createApplication, createLogger } from "../../src/boot/index.ts";
import { DatabaseProvider, Migrations, sql } from "../../src/database/index.ts";
import { Route } from "../../src/routing/index.ts";
import { POSTGRES } from "../support/postgres-databases.ts";
import { onPostgres, postgres } from "../support/services.ts";
import { type TcpProxy, tcpProxy } from "../support/tcp-proxy.ts";
import { folderWith } from "../support/temporary-folder.ts";

type Line = Readonly<Record<string, unknown>>;

const A = "2026_01_01_000000_make_a";
const B = "2026_01_02_000000_make_b";

/** A migration that creates a table named after its last letter. */
const making = (name: string): string =>
  `export const up = (database) => database.schema.createTable("${name.at(-1)}").addColumn("n", "integer").execute();`;

interface Setup {
  readonly proxy: TcpProxy;
  readonly lines: Line[];
  /** Boots the application, whose database is behind the proxy. */
  readonly boot: () => Promise<Application>;
}

async function behindProxy(server: Record<string, unknown>, files: Record<string, string> = {}): Promise<Setup> {
  const own = await postgres.open();
  onTestFinished(() => own.drop());
  const proxy = await tcpProxy(Number(POSTGRES.port), String(POSTGRES.host));
  onTestFinished(() => proxy.stop());
  const lines: Line[] = [];
  const settings = { name: "Shop", environment: "test", log: { level: "info", requests: false } } as const;
  const logger = createLogger(settings, { write: (line) => void lines.push(JSON.parse(line) as Line) });
  const main = { ...own.configuration, host: "127.0.0.1", port: proxy.port, poolSize: 2 };
  const boot = async () => {
    const application = await createApplication({
      root: folderWith(files),
      providers: [DatabaseProvider],
      config: { app: { APP: { server } }, database: { DATABASES: { default: "main", main } } },
      environment: { APP_ENV: "test" },
      logger,
      routes: [
        Route.get("/query", async () => {
          await sql`select 1`.execute(application.container.make("database").kysely);
          return "done";
        }),
      ],
    });
    return application;
  };
  return { proxy, lines, boot };
}

/** `/ready`'s response to this machine. */
async function ready(application: Application): Promise<readonly [number, unknown]> {
  const response = await application.fetch(new Request("http://localhost/ready"), { address: "127.0.0.1" });
  return [response.status, ((await response.json()) as { checks: unknown }).checks];
}

await onPostgres("an application and its database", () => {
  test("startup waits for a database that starts later, and says so", async () => {
    const { proxy, lines, boot } = await behindProxy({ waitSeconds: 600 });
    const booting = boot();
    await expect
      .poll(() => lines.map(({ msg }) => msg))
      .toEqual(["The database can't be reached yet. Waiting for it, for up to 600 seconds."]);
    expect(lines[0]).toMatchObject({ level: "warn", app: "Shop", err: { code: "E_DATABASE_UNAVAILABLE" } });
    await proxy.start();
    const application = await booting;
    expect(lines.at(-1)!.msg).toBe("The database can be reached now. The application starts.");
    expect((await application.fetch(new Request("http://localhost/query"))).status).toBe(200);
    await application.shutdown();
  });

  test("without time to wait, startup fails with the usual error", async () => {
    const { lines, boot } = await behindProxy({ waitSeconds: 0 });
    await expect(boot()).rejects.toMatchObject({ code: "E_DATABASE_UNAVAILABLE" });
    expect(lines.map(({ msg }) => msg)).toEqual([]);
  });

  test("/ready depends on whether the database responds", async () => {
    const { proxy, boot } = await behindProxy({});
    await proxy.start();
    const application = await boot();
    expect(await ready(application)).toEqual([200, { database: "ok" }]);
    await proxy.stop();
    await expect.poll(() => ready(application)).toEqual([503, { database: "failed" }]);
    await proxy.start();
    await expect.poll(() => ready(application)).toEqual([200, { database: "ok" }]);
    proxy.freeze();
    await expect.poll(() => ready(application)).toEqual([503, { database: "timeout" }]);
    await proxy.stop();
    await application.shutdown();
  });

  test("/ready waits for the running code's migrations, and not for later ones", async () => {
    const { proxy, boot, lines } = await behindProxy({}, { [`database/migrations/${A}.ts`]: making(A) });
    await proxy.start();
    const application = await boot();
    await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
    expect(await ready(application)).toEqual([503, { database: "failed" }]);
    expect(lines.at(-1)!.err).toMatchObject({ message: `Migrations have not been run on this database: ${A}.` });
    const folder = join(application.root, "database/migrations");
    await new Migrations(application.container.make("database"), folder).up();
    // A deployment adds the next version's files while this one runs.
    await writeFile(join(folder, `${B}.ts`), making(B));
    await expect.poll(() => ready(application)).toEqual([200, { database: "ok" }]);
    // Once they have run, this isn't checked again.
    const statements: string[] = [];
    application.container.make("database").onQuery(({ sql: text }) => statements.push(text));
    await expect
      .poll(async () => {
        await ready(application);
        return statements.length;
      })
      .toBeGreaterThan(1);
    expect(new Set(statements)).toEqual(new Set(["select 1"]));
    await application.shutdown();
  });

  test("S50 a database that hangs delays the shutdown no longer than its total limit", async () => {
    const { proxy, boot, lines } = await behindProxy({ shutdownTimeoutSeconds: 1 });
    await proxy.start();
    const application = await boot();
    const { url } = await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
    proxy.freeze();
    const asked = fetch(`${url}query`).then(
      () => "answered",
      () => "cut off",
    );
    const database = application.container.make("database");
    const sent = Promise.withResolvers<void>();
    database.onQuery(() => sent.resolve());
    await sent.promise;
    expect(await application.stop({ drains: false })).toEqual({ requests: 1, providers: 1 });
    expect(await asked).toBe("cut off");
    // The times of its parts, each of which could take a second by itself. A timer may be a millisecond early.
    const [late] = lines.flatMap(
      ({ err }) => /longer than ([\d.]+) seconds/.exec((err as Error)?.message ?? "")?.[1] ?? [],
    );
    expect(Number(late)).toBeLessThanOrEqual(0.201);
    await proxy.stop();
  });
});
