import { readdir, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ashlar } from "../support/command-line.ts";
import { doctor, setVariables } from "../support/doctor.ts";
import { execute, freePort, generatedApplication } from "../support/generated-application.ts";
import { startMailServer } from "../support/mail-server.ts";
import { onPostgres, postgres } from "../support/services.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const NOTHING = { errors: 0, warnings: 0, findings: [], skipped: [] };

/** A complete environment for production, but for the mail server. */
async function production(root: string): Promise<void> {
  const { port } = await startMailServer();
  await setVariables(
    root,
    ...["APP_ENV=production", "APP_URL=https://shop.example", "TRUSTED_PROXIES=loopback", "HOST=127.0.0.1"],
    ...["MAIL_FROM=no-reply@shop.example", "SMTP_HOST=127.0.0.1", `SMTP_PORT=${port}`],
  );
}

/** Everything in a folder, by path; files with their sizes, times and modes. */
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
});

await onPostgres("an application on PostgreSQL", () => {
  test("has no finding once it is migrated, nor in production", async () => {
    const { configuration, drop } = await postgres.open();
    try {
      const root = await generatedApplication({ database: "postgres" });
      const { user, password = "", host, port, database } = configuration as unknown as Record<string, string>;
      const url = `postgres://${user}:${password}@${host}:${port}/${database}`;
      await setVariables(root, "APP_ENV=development", `DATABASE_URL=${url}`);
      expect((await doctor(root)).findings.map(({ id }) => id)).toEqual(["migrations.pending"]);
      await ashlar(root, "migrate");
      expect(await doctor(root)).toMatchObject(NOTHING);
      await production(root);
      expect(await doctor(root)).toMatchObject(NOTHING);
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
    // Whatever was listening there would keep this from it.
    const server = createServer();
    await new Promise<void>((resolve, reject) => server.once("error", reject).listen(port, "127.0.0.1", resolve));
    await new Promise((resolve) => server.close(resolve));
  });
});

describe("the report", () => {
  test("is one JSON document of a fixed shape, without what the application itself prints", async () => {
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
        { check: "Mail and sessions", reason: "the application doesn't boot" },
        { check: "Routes", reason: "the application doesn't boot" },
      ],
      notes: [],
    });
  });

  test("for people has the findings by subject, what mends them, and the counts", async () => {
    const root = await generatedApplication({ api: false });
    await setVariables(root, "APP_ENV=development", "APP_KEY=");
    const { code, output } = await ashlar(root, "doctor");
    expect(code).toBe(1);
    expect(output).toMatch(/^Judged for .*development/);
    expect(output).toContain("  error .env: APP_KEY is not set. [secret.missing]\n    Run: npx ashlar key:generate\n");
    expect(output).toContain("Not checked, because the application doesn't boot: Routes\n");
    expect(output).toMatch(/1 error, 1 warning$/);
  });

  test("judges the configuration as production on request, without being there", async () => {
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

  test("says so if there is no application in the folder", async () => {
    const { findings } = await doctor(await temporaryFolder());
    expect(findings.map(({ id }) => id)).toContain("boot.entry");
  });
});

/** What the command prints in a process of its own. */
async function processOf(root: string, ...args: string[]): Promise<{ code: number | null; stdout: string }> {
  const script = `import { main } from ${JSON.stringify(join(import.meta.dirname, "../../dist/cli.js"))};
    process.exitCode = await main(${JSON.stringify(args)});`;
  await writeFile(join(root, ".doctor.mjs"), script);
  const { code, output } = await execute(root, "sh", ["-c", `${process.execPath} .doctor.mjs 2>/dev/null`]);
  return { code, stdout: output };
}
