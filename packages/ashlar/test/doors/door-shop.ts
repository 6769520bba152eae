import { randomUUID } from "node:crypto";
import { readdir } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect } from "vitest";
import { type Application, createApplication } from "../../src/boot/index.ts";
import type { Database } from "../../src/database/index.ts";
import type { KernelClass } from "../../src/kernel/index.ts";
import type { CapturedMail } from "../../src/mail/index.ts";
import { redisSessions } from "../../src/session/index.ts";
import { captureMail, linksIn, type MailCapture } from "../../src/testing/index.ts";
import { redisStore } from "../../src/throttle/index.ts";
import { ashlar } from "../support/command-line.ts";
import {
  COMMAND,
  edit,
  execute,
  generateApplication,
  type ServedProcess,
  startServing,
} from "../support/generated-application.ts";
import { installPersonalTokens } from "../support/install-personal-tokens.ts";
import type { TestEngine } from "../support/services.ts";
import { RemoteBrowser } from "./remote-browser.ts";

/** What the application runs on. */
export interface Deployment {
  readonly engine: TestEngine;
  /** The URL of the Redis server that has the sessions and the limits; `null`: cookies and the database have them. */
  readonly redis: string | null;
  /** Whether the door is tried at another process than the one through which the account came into its state. */
  readonly hasTwoProcesses: boolean;
}

const ROUTES = `  ...Csrf.routes(),
  Route.get("/fresh", () => "fresh").name("fresh").middleware("auth", "password.confirm"),
  Route.post("/become/@id", async ({ auth, request }) => {
    const isIn = await auth.loginAs(await User.findOrFail(Number(request.param("id"))));
    return isIn ? auth.answer({ status: "complete" }, () => auth.redirectToIntended("home")) : auth.answerStep();
  }),
  Route.post("/switch/@id", async ({ auth, request }) => {
    const isIn = await auth.attemptById(Number(request.param("id")));
    return isIn ? auth.answer({ status: "complete" }, () => auth.redirectToIntended("home")) : auth.answerStep();
  }),
  Route.post("/enter/@id", async ({ auth, request }) => {
    const login = await auth.enter(await User.findOrFail(Number(request.param("id"))), { by: "password" });
    return login.status === "complete" ? { data: { status: "complete" } } : auth.answerStep();
  }),
  Route.post("/end/@id", async ({ request }) => {
    await (await User.findOrFail(Number(request.param("id")))).endAccess();
    return { data: { status: "ended" } };
  }).withoutMiddleware("web"),`;

/** The unique index of open accounts, as the guide has it for each database. */
const INDEX = `  if (process.env.DATABASE_CONNECTION !== "mariadb") {
    await sql\`create unique index users_email on users (email) where deleted_at is null\`.execute(database);
    return;
  }
  const open = sql\`alter table users add column open_email varchar(254) as (if(deleted_at is null, email, null)) stored unique\`;
  await open.execute(database);
`;

/**
 * Generates the application that the doors belong to: pages, tokens, second factors, passkeys and logins by mail, as
 * `create-ashlar` and the commands write them. Its author has added routes that log users in, a page that wants a confirmation,
 * accounts without an address, closed accounts, users who need a second factor, and mailed links to new accounts.
 */
export async function generateDoorShop(): Promise<{ readonly root: string; readonly remove: () => Promise<void> }> {
  const { root, remove } = await generateApplication();
  for (const command of ["api:install --many", "auth --two-factor", "auth --passkeys", "auth --login-links"]) {
    const { code, errors } = await ashlar(root, ...command.split(" "));
    expect([command, code, errors]).toEqual([command, 0, ""]);
  }
  expect((await installPersonalTokens(root)).code).toBe(0);
  const folder = join(root, "database/migrations");
  const users = (await readdir(folder)).find((file) => file.endsWith("create_users.ts"))!;
  await edit(
    root,
    `database/migrations/${users}`,
    ["import { type Kysely, primaryKey,", "import { type Kysely, primaryKey, sql,"],
    [", (column) => column.notNull().unique())", ')\n    .addColumn("deleted_at", timestamp(database))'],
    ["    .execute();\n", `    .execute();\n${INDEX}`],
  );
  await edit(root, "app/models/user.ts", [
    "  declare id: number;",
    '  static override closedColumn = "deleted_at";\n\n  declare id: number;',
  ]);
  await edit(
    root,
    "routes/web.ts",
    ["import { AuthControllers }", 'import { User } from "../app/models/user.ts";\nimport { AuthControllers }'],
    ["  ...Csrf.routes(),", ROUTES],
  );
  await edit(
    root,
    "config/two-factor.ts",
    ["required: false", 'required: (user: { name: string }) => user.name.startsWith("Needs")'],
    ["graceDays: 0", "graceDays: 3"],
    ["trustDays: null", "trustDays: 30"],
  );
  await edit(
    root,
    "config/auth.ts",
    ["import { User }", 'import { quickHasher } from "ashlar/testing";\nimport { User }'],
    ["// Passwords are hashed", "export const PASSWORDS = { hasher: quickHasher() };\n\n// Passwords are hashed"],
  );
  await edit(root, "config/login-links.ts", ["registers: false", "registers: true"]);
  const redis = '{ url: env("REDIS_URL"), prefix: env("REDIS_PREFIX") }';
  await edit(
    root,
    "config/session.ts",
    ["import { cookieSessions,", 'import { env } from "ashlar";\nimport { cookieSessions, redisSessions,'],
    ["store: cookieSessions()", `store: env("REDIS_URL", "") === "" ? cookieSessions() : redisSessions(${redis})`],
  );
  await edit(
    root,
    "config/throttle.ts",
    [
      'import type { ThrottleSettings } from "ashlar/throttle";',
      'import { env } from "ashlar";\nimport { databaseStore, redisStore, type ThrottleSettings } from "ashlar/throttle";',
    ],
    ["  limits: {", `  store: env("REDIS_URL", "") === "" ? databaseStore() : redisStore(${redis}),\n  limits: {`],
  );
  return { root, remove };
}

/** The generated application, deployed. */
export class DoorShop {
  readonly application: Application;
  readonly deployment: Deployment;
  /** The process of the test, through which accounts come into their states. */
  readonly first: string;
  /** The process at which doors are tried. */
  readonly second: string;
  /** A server of another framework, which asks `application.authenticate`. */
  readonly host: string;
  readonly #mail: MailCapture;
  readonly #ends: readonly (() => Promise<void>)[];
  readonly #browsers = new Set<RemoteBrowser>();

  private constructor(
    application: Application,
    deployment: Deployment,
    urls: readonly [first: string, second: string, host: string],
    mail: MailCapture,
    ends: readonly (() => Promise<void>)[],
  ) {
    this.application = application;
    this.deployment = deployment;
    [this.first, this.second, this.host] = urls;
    this.#mail = mail;
    this.#ends = ends;
  }

  static async deploy(root: string, deployment: Deployment): Promise<DoorShop> {
    const { engine, hasTwoProcesses, redis } = deployment;
    const database = await engine.open();
    const { path, host, port, user, database: name } = database.configuration as Record<string, unknown>;
    const environment: Record<string, string> = {
      ...{ APP_ENV: "test", APP_URL: "http://localhost:3000", DATABASE_CONNECTION: engine.name },
      ...(engine.name === "sqlite"
        ? { DATABASE_PATH: String(path) }
        : { DATABASE_URL: `${engine.name}://${user}@${host}:${port}/${name}` }),
      ...(redis !== null && { REDIS_URL: redis, REDIS_PREFIX: `doors-${randomUUID()}:` }),
    };
    const { code, output } = await execute(root, process.execPath, [COMMAND, "migrate"], environment);
    expect([code, code === 0 ? "" : output]).toEqual([0, ""]);
    const { Kernel } = (await import(join(root, "app/kernel.ts"))) as { Kernel: KernelClass };
    // The files of the configuration are loaded once in this process, for all deployments.
    const config = {
      database: { DATABASES: { default: "main", main: database.configuration } },
      ...storesIn(environment),
    };
    const application = await createApplication({ root, kernel: Kernel, environment, config });
    const { url } = await application.listen({ port: 0, hostname: "127.0.0.1", handleSignals: false });
    const other: ServedProcess | null = hasTwoProcesses ? await startServing(root, environment) : null;
    const foreign = await startHost(application);
    const { port: foreignPort } = foreign.address() as AddressInfo;
    const second = (other?.url ?? url).replace("localhost", "127.0.0.1");
    const mail = await captureMail(application);
    return new DoorShop(application, deployment, [url, second, `http://127.0.0.1:${foreignPort}`], mail, [
      async () => void foreign.close(),
      async () => void other?.child.kill("SIGKILL"),
      () => application.shutdown(),
      () => database.drop(),
    ]);
  }

  async end(): Promise<void> {
    for (const browser of this.#browsers) browser.close();
    for (const end of this.#ends) await end();
  }

  /** A browser without cookies, or an API client. */
  visitor(address: string): RemoteBrowser {
    const browser = new RemoteBrowser(this.application, this.first, address);
    this.#browsers.add(browser);
    return browser;
  }

  /** The database's query builder. */
  get kysely(): Database["kysely"] {
    return this.application.container.make("database").kysely;
  }

  /** The path of the last link that was mailed to an address. */
  async linkTo(email: string, pattern: RegExp): Promise<string> {
    const link = (await this.#mailsTo(email)).flatMap((mail) => linksIn(mail)).findLast((one) => pattern.test(one));
    if (link === undefined) throw new Error(`No link like ${pattern} was mailed to ${email}.`);
    const { pathname, search } = new URL(link);
    return pathname + search;
  }

  /** The last code that was mailed to an address. */
  async codeTo(email: string): Promise<string> {
    const codes = (await this.#mailsTo(email)).flatMap(({ text }) => text.match(/^[A-Z]{4}-[A-Z]{4}$/m) ?? []);
    if (codes.length === 0) throw new Error(`No code was mailed to ${email}.`);
    return codes.at(-1)!;
  }

  async #mailsTo(email: string): Promise<readonly CapturedMail[]> {
    return (await this.#mail.all()).filter(({ to }) => to === email);
  }
}

function storesIn({ REDIS_URL: url, REDIS_PREFIX: prefix }: Readonly<Record<string, string>>): Record<string, object> {
  if (url === undefined || prefix === undefined) return {};
  const redis = { url, prefix };
  return {
    session: { SESSION: { store: redisSessions(redis) } },
    throttle: { THROTTLE: { store: redisStore(redis) } },
  };
}

/** Serves a page by `node:http` alone, which asks the application who the visitor is. */
async function startHost(application: Application): Promise<Server> {
  const server = createServer(async ({ headers, url = "/" }, response) => {
    const sent = new Request(new URL(url, application.url), { headers: headers as Record<string, string> });
    const guard = sent.headers.has("authorization") ? "jwt" : "web";
    const { user } = await application.authenticate(sent, { guard, readOnly: true, address: "127.0.0.1" });
    response.writeHead(user === null ? 401 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify({ data: { email: (user as { email?: string } | null)?.email ?? null } }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}
