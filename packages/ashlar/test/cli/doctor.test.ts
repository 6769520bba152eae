import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, onTestFinished, test } from "vitest";
import { error } from "../../src/cli/doctor/finding.ts";
import { redactionFor } from "../../src/cli/doctor/redaction.ts";
import { Subject } from "../../src/cli/doctor/subject.ts";
import { sql } from "../../src/database/index.ts";
import { ashlar } from "../support/command-line.ts";
import { completeForProduction, copyOf, doctor, setVariables } from "../support/doctor.ts";
import { edit, execute, freePort, generatedApplication } from "../support/generated-application.ts";
import { mariadb, onMariadb, onPostgres, postgres, type TestEngine } from "../support/services.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const NOTHING = { errors: 0, warnings: 0, findings: [], skipped: [] };

/** A complete environment for production. */
async function production(root: string): Promise<void> {
  await completeForProduction(root);
  await setVariables(root, "APP_ENV=production");
}

/** Everything in a folder by path, with the files' sizes, times and modes. */
async function listing(root: string): Promise<string[]> {
  const paths = await readdir(root, { recursive: true });
  const lines = paths.map(async (path) => {
    const found = await stat(join(root, path));
    return found.isFile() ? `${path} ${found.size} ${found.mtimeMs} ${found.mode}` : path;
  });
  return (await Promise.all(lines)).sort();
}

// Git finds an application's own repository, but not that of the framework around it.
process.env.GIT_CEILING_DIRECTORIES = join(import.meta.dirname, "../..");

describe("an application as generated", () => {
  const combinations = [
    { pages: true, api: true },
    { pages: true, api: false },
    { pages: false, api: true },
    { pages: false, api: false },
  ];

  test.for(combinations)("has no finding once it is migrated, nor in production: %o", async (has) => {
    const root = await generatedApplication(has);
    await setVariables(root, "APP_ENV=development");
    await ashlar(root, "migrate");
    const notes = has.api ? [] : ["The application has no API tokens. To add them: npx ashlar api:install"];
    expect(await doctor(root)).toMatchObject({ ...NOTHING, environment: "development", notes });
    await production(root);
    expect(await doctor(root)).toMatchObject({ ...NOTHING, environment: "production" });
  });

  const both = [true, false];
  const choices = both.flatMap((json) =>
    both.flatMap((api) =>
      both.flatMap((registration) => both.map((verification) => ({ json, api, registration, verification }))),
    ),
  );

  test.for(choices)("is not checked for features that its author left out: %j", async (has) => {
    const root = await generatedApplication({ ...has, pages: !has.json });
    await setVariables(root, "APP_ENV=development");
    await ashlar(root, "migrate");
    expect(await doctor(root)).toMatchObject(NOTHING);
  });
});

/** A new application on a server, with an empty database. */
async function applicationOn(engine: TestEngine): Promise<{ root: string; drop(): Promise<void> }> {
  const { configuration, drop } = await engine.open();
  const root = await generatedApplication({ database: engine.name });
  const { user, password = "", host, port, database } = configuration as unknown as Record<string, string>;
  const url = `${engine.name}://${user}:${password}@${host}:${port}/${database}`;
  await setVariables(root, "APP_ENV=development", `DATABASE_URL=${url}`);
  return { root, drop };
}

/** Runs lines as a new migration. */
async function migrate(root: string, time: string, lines: string): Promise<void> {
  const code = `import { type Kysely, sql } from "ashlar/database";\nexport async function up(database: Kysely<unknown>) { ${lines} }`;
  await writeFile(join(root, `database/migrations/${time}_change.ts`), code);
  await ashlar(root, "migrate");
}

async function isFineOn(engine: TestEngine): Promise<void> {
  const { root, drop } = await applicationOn(engine);
  try {
    expect((await doctor(root)).findings.map(({ id }) => id)).toEqual(["migrations.pending"]);
    await ashlar(root, "migrate");
    expect(await doctor(root)).toMatchObject(NOTHING);
    await production(root);
    expect(await doctor(root)).toMatchObject(NOTHING);
  } finally {
    await drop();
  }
}

await onPostgres("an application on PostgreSQL", () => {
  test("has no finding once it is migrated, nor in production", () => isFineOn(postgres));

  test("gets findings about read replicas that are down or don't follow it, and not about the others", async () => {
    const [{ root, drop }, other] = [await applicationOn(postgres), await postgres.open()];
    try {
      await ashlar(root, "migrate");
      const [, own = ""] = /^DATABASE_URL=(.+)$/m.exec(await readFile(join(root, ".env"), "utf8")) ?? [];
      const stopped = own.replace(/\/[^/]+$/, `/${String(other.configuration.database)}`);
      const away = own.replace(/:\d+\//, ":1/");
      const poolSize = "poolSize: 10,";
      const withReplicas = `${poolSize} read: ${JSON.stringify([own, stopped, away])},`;
      await edit(root, "config/database.ts", [poolSize, withReplicas]);
      await edit(root, "app/kernel.ts", ["httpMiddleware = [", "httpMiddleware = [ReadReplicas, "]);
      const kernel = await readFile(join(root, "app/kernel.ts"), "utf8");
      await writeFile(join(root, "app/kernel.ts"), `import { ReadReplicas } from "ashlar/database";\n${kernel}`);
      const { findings } = await doctor(root);
      expect(findings).toMatchObject([
        { id: "database.replica", severity: "warning", file: "config/database.ts" },
        { id: "database.replica", severity: "warning" },
      ]);
      const which = (n: number) => `The read replica ${n} of the connection "postgres", counted from 0,`;
      expect(findings[0]!.problem).toContain(`${which(1)} can't be read, so its reads go elsewhere: `);
      expect(findings[1]!.problem).toContain(`${which(2)} can't be read, so its reads go elsewhere: `);

      const table = "create table migrations (name varchar(255), batch integer, run_at timestamptz)";
      await sql.raw(table).execute(other.database.kysely);
      const [late] = (await doctor(root)).findings;
      expect(late!.problem).toMatch(/doesn't follow its primary: it lacks the migrations \d{4}_\S+create_users, /);

      const copy = await copyOf(root);
      await edit(copy, "config/database.ts", [JSON.stringify([own, stopped, away]), JSON.stringify([own])]);
      expect((await doctor(copy)).findings).toEqual([]);
    } finally {
      await drop();
      await other.drop();
    }
  });

  test("whose driver is missing gets the command that installs it", async () => {
    const root = await generatedApplication({ database: "postgres" });
    await setVariables(root, "APP_ENV=development");
    const missing = `(setup: DialectSetup) => Object.assign(sqlite({ path: ":memory:" })(setup), {
      connect: () => Promise.reject(new AshlarError("E_MISSING_PACKAGE", 'It needs "pg". Run: npm install pg')),
    })`;
    await edit(
      root,
      "config/database.ts",
      ["import { env }", "import { AshlarError, env }"],
      ["type DatabaseSettings", "type DatabaseSettings, type DialectSetup"],
      ["postgres: postgres(", `postgres: ${missing},\n  other: postgres(`],
    );
    expect((await doctor(root)).findings).toMatchObject([
      {
        id: "database.connection",
        problem: "The database can't be reached, because its driver is not installed.",
        remedy: { run: "npm install pg" },
      },
    ]);
  });
});

await onMariadb("an application on MariaDB", () => {
  test("has no finding once it is migrated, nor in production", () => isFineOn(mariadb));

  test("whose users are in a table that another program created gets the line that makes its addresses exact", async () => {
    const { root, drop } = await applicationOn(mariadb);
    try {
      await migrate(
        root,
        "2090_01_01_000000",
        "await sql`alter table users convert to character set utf8mb4 collate utf8mb4_unicode_ci`.execute(database);",
      );
      const { findings } = await doctor(root);
      expect(findings).toMatchObject([{ id: "database.collation", severity: "error" }]);
      expect(findings[0]!.problem).toContain("email, password, access_epoch");
      await migrate(root, "2091_01_01_000000", findings[0]!.remedy.lines[0]!);
      expect((await doctor(root)).findings).toEqual([]);
    } finally {
      await drop();
    }
  });

  test("whose tables have an engine without transactions gets the lines that fix them", async () => {
    const { root, drop } = await applicationOn(mariadb);
    try {
      await migrate(
        root,
        "2090_01_01_000000",
        `await sql\`alter table maintenance engine=MyISAM\`.execute(database);
        await sql\`create table hits (n integer) engine=Aria\`.execute(database);`,
      );
      const { findings } = await doctor(root);
      expect(findings).toMatchObject([{ id: "database.engine", severity: "error" }]);
      expect(findings[0]!.problem).toContain("The tables hits, maintenance have no transactions");
      await migrate(root, "2091_01_01_000000", findings[0]!.remedy.lines.join("\n"));
      expect((await doctor(root)).findings).toEqual([]);
    } finally {
      await drop();
    }
  });
});

describe("side effects", () => {
  test("neither a new application's database nor any other file is created or changed", async () => {
    const root = await generatedApplication();
    await setVariables(root, "APP_ENV=development");
    const before = await listing(root);
    await doctor(root);
    await doctor(root, "--production");
    expect(await listing(root)).toEqual(before);
    expect((await ashlar(root, "routes")).code).toBe(0);
    expect(await listing(root)).toEqual(before);
  });

  test("a database is left as it is, its log and modes included", async () => {
    const root = await generatedApplication();
    await setVariables(root, "APP_ENV=development");
    await ashlar(root, "migrate");
    const before = await listing(root);
    expect(await doctor(root)).toMatchObject(NOTHING);
    expect(await listing(root)).toEqual(before);
  });

  test("a log that a crash left beside a database is read, and stays", async () => {
    const root = await generatedApplication();
    await setVariables(root, "APP_ENV=development");
    await ashlar(root, "migrate");
    const database = new DatabaseSync(join(root, "database/app.sqlite"));
    onTestFinished(() => database.close());
    database.exec("drop table email_changes");
    // While the connection is open, the files look as a crash would leave them.
    const crashed = await copyOf(root);
    const before = await listing(crashed);
    expect(before.join("\n")).toContain("database/app.sqlite-wal");
    expect((await doctor(crashed)).findings).toMatchObject([
      { id: "pages.tables", problem: expect.stringContaining("email_changes") },
    ]);
    // SQLite may rebuild the log's index, -shm, which holds no data.
    const kept = (lines: readonly string[]) => lines.filter((line) => !line.includes("-shm"));
    expect(kept(await listing(crashed))).toEqual(kept(before));
  });

  test("an app.ts that listens is checked without listening", async () => {
    const root = await generatedApplication({ pages: false, api: false });
    const port = await freePort();
    await writeFile(
      join(root, "app.ts"),
      `import { createApplication, Route } from "ashlar";
      const application = await createApplication({ root: import.meta.dirname, routes: [Route.get("/", () => "hello")] });
      await application.listen({ port: ${port}, hostname: "127.0.0.1" });`,
    );
    await setVariables(root, "APP_ENV=development", `PORT=${port}`);
    expect(await doctor(root)).toMatchObject({ errors: 0, skipped: [] });
    // This would fail if anything was listening there.
    const server = createServer();
    await new Promise<void>((resolve, reject) => server.once("error", reject).listen(port, "127.0.0.1", resolve));
    await new Promise((resolve) => server.close(resolve));
  });
});

describe("the report", () => {
  test("is one JSON document of a fixed shape, without the application's own output", async () => {
    const root = await generatedApplication({ pages: false });
    await setVariables(root, "APP_ENV=development", "APP_KEY=secretsecretsecretsecretsecretsecret");
    await writeFile(
      join(root, "config/extra.ts"),
      'console.log("hello from the application");\nexport const EXTRA = 1;\n',
    );
    const { code, stdout } = await processOf(root, "doctor", "--json");
    expect(code).toBe(1);
    const remedy = { run: "npx ashlar key:generate", file: ".env", lines: ["APP_KEY="], remove: null, note: null };
    expect(JSON.parse(stdout)).toEqual({
      version: 1,
      environment: "development",
      errors: 1,
      warnings: 1,
      findings: [
        {
          ...{ id: "secret.weak", severity: "error", file: ".env", line: null },
          ...{ problem: "APP_KEY is not random.", remedy },
        },
        {
          ...{ id: "migrations.pending", severity: "warning", file: "database/migrations", line: null },
          problem: expect.stringMatching(/^Migrations have not been run on this database: \S+_create_users, /),
          remedy: { run: "npx ashlar migrate", file: null, lines: [], remove: null, note: null },
        },
      ],
      skipped: [
        { check: "Limit store", reason: "the application doesn't boot" },
        { check: "Events of accounts", reason: "the application doesn't boot" },
        { check: "Uploads", reason: "the application doesn't boot" },
        { check: "Routes", reason: "the application doesn't boot" },
      ],
      notes: [],
    });
  });

  test("for people lists the findings by subject, their fixes, and the counts", async () => {
    const root = await generatedApplication({ api: false });
    await setVariables(root, "APP_ENV=development", "APP_KEY=");
    const { code, output } = await ashlar(root, "doctor");
    expect(code).toBe(1);
    expect(output).toMatch(/^Checked as .*development/);
    expect(output).toContain("  error .env: APP_KEY is not set. [secret.missing]\n    Run: npx ashlar key:generate\n");
    expect(output).toContain("Not checked, because the application doesn't boot: Routes\n");
    expect(output).toMatch(/1 error, 1 warning$/);
  });

  test("checks the configuration as for production on request, even elsewhere", async () => {
    const root = await generatedApplication();
    await setVariables(root, "APP_ENV=development");
    const ids = async (...args: string[]) => (await doctor(root, ...args)).findings.map(({ id }) => id);
    const inProduction = await ids("--production");
    expect(inProduction).toEqual(["url.missing", "migrations.pending", "mail.sender", "mail.sender"]);
    expect(await ids("--env", "production")).toEqual(inProduction);
    expect((await ashlar(root, "doctor", "--env", "staging")).code).toBe(1);
  });

  test("never contains a secret", async () => {
    const root = await generatedApplication();
    const secrets = ["APP_KEY=changeme-4f9a8b7c6d5e4f3a2b1c-key", "JWT_SECRET=changeme-4f9a8b7c6d5e4f3a2b1c-key"];
    const address = "DATABASE_URL=postgres://user:pass-8f3e2d@127.0.0.1:1/shop";
    await setVariables(root, "APP_ENV=development", "DATABASE_CONNECTION=postgres", ...secrets, address);
    const { output, errors } = await ashlar(root, "doctor");
    expect(output).toContain("[secret.known]");
    expect(output).toContain("[secret.shared]");
    expect(output).toContain("[database.connection]");
    for (const secret of ["4f9a8b7c6d5e", "pass-8f3e2d"]) expect(output + errors).not.toContain(secret);
  });

  test("contains no secret from another program's message, however it is written", async () => {
    const root = await generatedApplication();
    const server = createServer((socket) => {
      socket.on("error", () => {});
      socket.write("220 mail.example\r\n");
      socket.on("data", (data) => {
        const line = data.toString();
        if (/^EHLO/.test(line)) socket.write("250-mail.example\r\n250 AUTH PLAIN\r\n");
        else if (/^AUTH/.test(line)) socket.write(`535 5.7.8 What is ${line.trim()}?\r\n`);
        else socket.end("221 Bye\r\n");
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => new Promise((resolve) => server.close(() => resolve())));
    const { port } = server.address() as AddressInfo;
    const pasted = "x4Kq9ZrT2vLm8NwB6yHd3JfG/7sPc5AeU1oViX0lRzQt";
    await setVariables(
      root,
      ...["APP_ENV=development", "SMTP_HOST=127.0.0.1", `SMTP_PORT=${port}`, "SMTP_USER=shop-mails"],
      ...["SMTP_PASSWORD=h4nd", `TRUSTED_PROXIES=${pasted}`],
    );
    await edit(root, "config/mail.ts", ["  smtp: {", '  transport: "smtp",\n  smtp: {']);
    const told = JSON.stringify(await doctor(root));
    expect(told).toContain('TRUSTED_PROXIES names \\"[TRUSTED_PROXIES]\\"');
    expect(told).not.toContain(pasted.slice(0, 12));

    const valid = await copyOf(root);
    await setVariables(valid, "TRUSTED_PROXIES=");
    const { findings } = await doctor(valid);
    const mail = findings.find(({ id }) => id === "mail.server")!;
    expect(mail.problem).toBe("Mails can't be delivered: Invalid login: 535 5.7.8");
  });

  test("redacts a password in each encoding, a short one as a word, and leaves commands as they are", async () => {
    const root = await generatedApplication();
    const base64 = (text: string) => Buffer.from(text).toString("base64");
    await setVariables(
      root,
      ...["APP_ENV=development", "SMTP_USER=shop-mails", "SMTP_PASSWORD=h4nd", "SHOP_API_TOKEN=own-token"],
      "DATABASE_URL=postgres://shop:p%40ss%2Fw%3Ard@127.0.0.1:1/shop",
    );
    const subject = await Subject.load(root, false);
    onTestFinished(() => subject.close());
    const redacted = redactionFor(subject);
    const shown = (problem: string) => redacted(error("boot.failed", { problem, run: "npx h4nd" }));
    for (const [text, name] of [
      ["p@ss/w:rd", "DATABASE_URL"],
      ["p%40ss%2Fw%3Ard", "DATABASE_URL"],
      ["h4nd", "SMTP_PASSWORD"],
      [base64("h4nd"), "SMTP_PASSWORD"],
      [base64("\0shop-mails\0h4nd"), "SMTP_PASSWORD"],
      [base64("shop-mails"), "SMTP_USER"],
      ["own-token", "SHOP_API_TOKEN"],
    ] as const) {
      expect(shown(`It was "${text}".`).problem).toBe(`It was "[${name}]".`);
    }
    expect(shown("unh4nded").problem).toBe("unh4nded");
    expect(shown("").remedy.run).toBe("npx h4nd");
  });

  test("says so if there is no application in the folder", async () => {
    const { findings } = await doctor(await temporaryFolder());
    expect(findings.map(({ id }) => id)).toContain("boot.entry");
  });
});

/** The command's output in a separate process. */
async function processOf(root: string, ...args: string[]): Promise<{ code: number | null; stdout: string }> {
  const script = `import { main } from ${JSON.stringify(join(import.meta.dirname, "../../dist/cli.js"))};
    process.exitCode = await main(${JSON.stringify(args)});`;
  await writeFile(join(root, ".doctor.mjs"), script);
  const { code, output } = await execute(root, "sh", ["-c", `${process.execPath} .doctor.mjs 2>/dev/null`]);
  return { code, stdout: output };
}
