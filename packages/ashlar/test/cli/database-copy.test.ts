import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { appendFile, readFile, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { SMTPServer } from "smtp-server";
import { expect, onTestFinished, test } from "vitest";
import { createApplication } from "../../src/boot/index.ts";
import { Database } from "../../src/database/index.ts";
import type { KernelClass } from "../../src/kernel/index.ts";
import type { Mailable } from "../../src/mail/index.ts";
import { ashlar } from "../support/command-line.ts";
import { COMMAND, checkTypes, execute, freePort, generatedApplication } from "../support/generated-application.ts";
import { administerMariadb, MARIADB } from "../support/mariadb-databases.ts";
import { PageVisitor } from "../support/page-visitor.ts";
import { administer, POSTGRES } from "../support/postgres-databases.ts";
import { markdownSamples } from "../support/samples.ts";
import { onMariadb, onPostgres } from "../support/services.ts";
import { shellEnvironment } from "../support/shell-environment.ts";

interface Target {
  readonly connection: "postgres" | "mariadb";
  readonly url: (database: string) => string;
  readonly administer: (statement: string) => Promise<void>;
}

const postgres: Target = {
  connection: "postgres",
  url: (database) => address("postgres", POSTGRES, database),
  administer,
};
const mariadb: Target = {
  connection: "mariadb",
  url: (database) => address("mariadb", MARIADB, database),
  administer: administerMariadb,
};

function address(scheme: string, server: Readonly<Record<string, string | number>>, database: string): string {
  const { host, port, user, password = "" } = server;
  const secret = password === "" ? "" : `:${encodeURIComponent(password)}`;
  return `${scheme}://${user}${secret}@${host}:${port}/${database}`;
}

await onPostgres("an application on SQLite moves to PostgreSQL", () => defineFor(postgres));
await onMariadb("an application on SQLite moves to MariaDB", () => defineFor(mariadb));

await onPostgres("the page about it", () => {
  test("shows the command's output for a new application, except for the numbers of rows", async () => {
    const root = await generatedApplication();
    const name = `ashlar_copy_${randomBytes(6).toString("hex")}`;
    await postgres.administer(`create database ${name}`);
    onTestFinished(() => postgres.administer(`drop database if exists ${name}`));
    await appendFile(join(root, ".env"), `\nDATABASE_URL=${postgres.url(name)}\n`);
    for (const connection of ["sqlite", "postgres"]) {
      const migrated = [COMMAND, "migrate"];
      await execute(root, process.execPath, migrated, { DATABASE_CONNECTION: connection });
    }
    const copy = [COMMAND, "db:copy", "--from", "sqlite", "--to", "postgres"];
    const { output } = await execute(root, process.execPath, copy);
    const samples = await markdownSamples("docs/guides/databases.md");
    const shown = samples.find(({ code }) => code.startsWith("Copying from"))!.code;
    const withoutNumbers = (text: string) => text.trimEnd().replaceAll(/\d+ rows?/g, "n rows");
    expect(withoutNumbers(shown)).toBe(withoutNumbers(output));
  });
});

await onPostgres("an application on PostgreSQL moves to MariaDB", async () => {
  await onMariadb("with both", () => {
    test("following the refusal's advice works: each server's address has its own variable", async () => {
      const root = await generatedApplication();
      const addresses: string[] = [];
      for (const target of [postgres, mariadb]) {
        const name = `ashlar_copy_${randomBytes(6).toString("hex")}`;
        await target.administer(`create database ${name}`);
        onTestFinished(() => target.administer(`drop database if exists ${name}`));
        addresses.push(target.url(name));
      }
      await appendFile(join(root, ".env"), `\nDATABASE_URL=${addresses[0]}\n`);
      const migrate = async (connection: string) =>
        await execute(root, process.execPath, [COMMAND, "migrate"], { DATABASE_CONNECTION: connection });
      expect(await migrate("postgres")).toMatchObject({ code: 0 });
      const copy = [COMMAND, "db:copy", "--from", "postgres", "--to", "mariadb"];
      const refused = await execute(root, process.execPath, copy);
      expect(refused.code).toBe(1);
      const [, setting] = /(url: env\("MARIADB_URL", )"/.exec(refused.output)!;

      const file = join(root, "config/database.ts");
      const text = await readFile(file, "utf8");
      await writeFile(file, text.replace('url: env("DATABASE_URL", "mariadb:', `${setting}"mariadb:`));
      await appendFile(join(root, ".env"), `MARIADB_URL=${addresses[1]}\n`);
      expect(await migrate("mariadb")).toMatchObject({ code: 0 });
      expect(await execute(root, process.execPath, copy)).toMatchObject({
        code: 0,
        output: expect.stringMatching(/^Copied 0 rows of \d+ tables\.$/m),
      });
    });
  });
});

function defineFor(target: Target): void {
  /** Generates an application on SQLite whose `.env` also has the server's URL. */
  async function begun(): Promise<{ root: string; url: string }> {
    const root = await generatedApplication();
    const name = `ashlar_copy_${randomBytes(6).toString("hex")}`;
    await target.administer(`create database ${name}`);
    const force = target.connection === "postgres" ? " with (force)" : "";
    onTestFinished(() => target.administer(`drop database if exists ${name}${force}`));
    const url = target.url(name);
    await appendFile(join(root, ".env"), `\nDATABASE_URL=${url}\n`);
    await migrated(root, "sqlite");
    return { root, url };
  }

  async function migrated(root: string, connection: string): Promise<void> {
    const done = await execute(root, process.execPath, [COMMAND, "migrate"], { DATABASE_CONNECTION: connection });
    expect(done).toMatchObject({ code: 0, output: expect.stringContaining("create_users") });
  }

  const copying = ["db:copy", "--from", "sqlite", "--to", target.connection];

  test("with its users, logins, tokens and waiting mails, and changes only .env", async () => {
    const { root } = await begun();
    // A port that nothing else gets while the application moves.
    const port = await freePort();
    const before = await run(root, { smtpPort: 1, port });
    const visitor = await new PageVisitor(before.url).register();
    const browser = new PageVisitor(before.url);
    const login = { email: "ada@example.com", password: "a password of hers" };
    const remembered = { "Stay logged in on this device": true } as const;
    await browser.logIn(await browser.open("/login"), login.email, login.password, remembered);
    const token = await tokenFrom(before.url, login);
    // No mail server responds, so the mail waits.
    const { NewDeviceMail } = (await import(join(root, "app/mailables/new-device-mail.ts"))) as {
      NewDeviceMail: { preview(): Mailable };
    };
    await before.application.container.make("mail").queue(NewDeviceMail.preview(), "waiting@example.com");
    await before.end();

    await migrated(root, target.connection);
    const { code, output } = await execute(root, process.execPath, [COMMAND, ...copying]);
    expect(output).toMatch(/^Copying users: 1 row$/m);
    expect(output).toMatch(/^Copying logins: [23] rows$/m);
    expect(output).toMatch(/^Copying mail_outbox: [1-9]\d* rows?$/m);
    expect(output).toContain(`DATABASE_CONNECTION=${target.connection}\n`);
    expect(code).toBe(0);
    const file = await readFile(join(root, ".env"), "utf8");
    await writeFile(
      join(root, ".env"),
      file.replace("DATABASE_CONNECTION=sqlite", `DATABASE_CONNECTION=${target.connection}`),
    );

    const recipients: string[] = [];
    const after = await run(root, { smtpPort: await mailServer(recipients), port });
    expect(after.application.container.make("database").dialect.name).toBe(target.connection);
    for (const one of [visitor, browser]) expect((await one.open("/home")).path).toBe("/home");
    const renewed = await fetch(`${after.url}api/reauth`, { method: "POST", body: new URLSearchParams({ token }) });
    expect(renewed.status).toBe(200);
    const newcomer = new PageVisitor(after.url);
    expect((await newcomer.logIn(await newcomer.open("/login"), login.email, login.password)).path).toBe("/home");
    const { kysely } = after.application.container.make("database");
    const bob = {
      name: "Bob",
      email: "bob@example.com",
      password: "-",
      created_at: new Date(),
      updated_at: new Date(),
    };
    await kysely.insertInto("users").values(bob).execute();
    expect(await kysely.selectFrom("users").select(["id", "email"]).orderBy("id").execute()).toEqual([
      { id: 1, email: "ada@example.com" },
      { id: 2, email: "bob@example.com" },
    ]);
    await expect.poll(() => recipients).toContain("waiting@example.com");
    await after.end();
    await checkTypes(root);
  });

  test("an interrupted copy leaves the target empty, and can be repeated", async () => {
    const { root, url } = await begun();
    await migrated(root, target.connection);
    const own = new Database(
      { default: "a", a: { driver: "sqlite", path: "database/app.sqlite" }, b: { driver: target.connection, url } },
      root,
    );
    onTestFinished(() => own.close());
    const now = new Date();
    await own.kysely.insertInto("maintenance").values({ task: "prune", due_at: now }).execute();
    const link = { guard: "web", email: "ada@example.com", token: "a digest", created_at: now, expires_at: null };
    await own.kysely.insertInto("password_resets").values(link).execute();
    const { kysely } = own.connection("b");
    const done = own.connection("b").transaction(async () => {
      // The copy's own row has to wait for this one.
      await kysely.insertInto("password_resets").values(link).execute();
      const { child, output } = started(root, copying);
      await expect.poll(output).toContain("Copying maintenance: 1 row");
      child.kill("SIGINT");
      await expect.poll(() => child.exitCode ?? child.signalCode).not.toBe(null);
      throw new Error(output());
    });
    await expect(done).rejects.not.toThrow(/^(?:Copied|Copying password_resets)/m);
    for (const table of ["maintenance", "password_resets"]) {
      expect(await kysely.selectFrom(table).selectAll().execute()).toEqual([]);
    }
    expect(await execute(root, process.execPath, [COMMAND, ...copying])).toMatchObject({ code: 0 });
    expect(await kysely.selectFrom("password_resets").select("token").execute()).toEqual([{ token: "a digest" }]);
  });
}

test("a copy that can't begin is refused before one is announced", async () => {
  const root = await generatedApplication();
  const refused = async (...args: string[]) => {
    const { code, output, errors } = await ashlar(root, "db:copy", ...args);
    expect([code, output]).toEqual([1, ""]);
    return errors;
  };
  expect(await refused("--to", "nosuch")).toContain('There is no connection "nosuch" in config/database.ts.');
  expect(await refused("--from", "nosuch", "--to", "sqlite")).toContain('There is no connection "nosuch"');
  expect(await refused("--to", "sqlite")).toContain('"sqlite" can\'t be copied to itself.');
});

/** Starts a command, and ends it after the test. */
function started(root: string, args: readonly string[]): { child: ChildProcess; output: () => string } {
  const child = spawn(process.execPath, [COMMAND, ...args], { cwd: root, env: shellEnvironment() });
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  return { child, output: () => output };
}

/** Serves the application in this process, in production, with its `.env`. */
async function run(root: string, { smtpPort, port }: { readonly smtpPort: number; readonly port: number }) {
  const { Kernel } = (await import(join(root, "app/kernel.ts"))) as { Kernel: KernelClass };
  const application = await createApplication({
    root,
    kernel: Kernel,
    environment: {
      APP_ENV: "production",
      APP_URL: "https://shop.example",
      MAIL_FROM: "shop@shop.example",
      SMTP_HOST: "127.0.0.1",
      SMTP_PORT: String(smtpPort),
    },
  });
  let isRunning = true;
  const end = async (): Promise<void> => {
    if (isRunning) await application.shutdown();
    isRunning = false;
  };
  onTestFinished(end);
  const { url } = await application.listen({ port, hostname: "127.0.0.1", handleSignals: false });
  return { application, url, end };
}

async function tokenFrom(url: string, { email, password }: { readonly email: string; readonly password: string }) {
  const body = new URLSearchParams({ username: email, password });
  const response = await fetch(`${url}api/auth`, { method: "POST", body });
  expect(response.status).toBe(200);
  return ((await response.json()) as { data: string }).data;
}

/** Starts a mail server that records the recipients. @returns its port */
async function mailServer(recipients: string[]): Promise<number> {
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    onData(stream, { envelope }, done) {
      recipients.push(...envelope.rcptTo.map(({ address }) => address));
      stream.resume().on("end", done);
    },
  });
  server.listen(0, "127.0.0.1");
  onTestFinished(() => new Promise((resolve) => server.close(() => resolve())));
  await once(server.server, "listening");
  return (server.server.address() as AddressInfo).port;
}
