import type { ChildProcess } from "node:child_process";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { expect } from "vitest";
import { type Application, createApplication } from "../../src/boot/index.ts";
import type { Row } from "../../src/database/index.ts";
import type { KernelClass } from "../../src/kernel/index.ts";
import { generateSecret } from "../../src/security/index.ts";
import { createTestClient, quickHasher, type TestClient } from "../../src/testing/index.ts";
import type { FullUser } from "./account-application.ts";
import { userClass } from "./booted-application.ts";
import { ashlar } from "./command-line.ts";
import { COMMAND, edit, execute, generateApplication, startServing } from "./generated-application.ts";
import type { TestDatabase, TestEngine } from "./services.ts";
import { PASSWORD } from "./two-factor-shop.ts";

const APP_URL = "http://localhost:3000";

/** So that every one of many proofs of a user is looked at. */
const WIDE = `...(process.env.WIDE_LIMITS === "1"
      ? Object.fromEntries(
          ["login", "login.step", "login.step.total", "two_factor", "two_factor.recovery", "passkeys"].map((name) => [
            name,
            { ...(name === "login" ? { account: "email" } : {}), buckets: [{ by: ["account" as const], attempts: 10_000, windowSeconds: 60 }] },
          ]),
        )
      : {}),
  },
} satisfies`;

/** A generated application with two-factor authentication and passkeys, served by processes that share a database. */
export class FactorProcesses {
  /** The same application in this process, which sends no requests. */
  readonly application: Application;
  readonly User: typeof FullUser;
  readonly #root: string;
  readonly #environment: Record<string, string>;
  readonly #end: () => Promise<void>;
  readonly #children: ChildProcess[] = [];

  private constructor(
    application: Application,
    User: typeof FullUser,
    root: string,
    environment: Record<string, string>,
    end: () => Promise<void>,
  ) {
    this.application = application;
    this.User = User;
    this.#root = root;
    this.#environment = environment;
    this.#end = end;
  }

  static async install(engine: TestEngine): Promise<FactorProcesses> {
    const { root, remove } = await generateApplication({ database: engine.name });
    const { code, errors } = await ashlar(root, "auth", "--two-factor", "--passkeys");
    expect([code, errors]).toEqual([0, ""]);
    await edit(root, "config/two-factor.ts", ["trustDays: null", "trustDays: 30"]);
    await edit(root, "config/throttle.ts", ["  },\n} satisfies", `    ${WIDE}`]);
    await edit(root, "config/auth.ts", [
      "// export const PASSWORDS = { hasher: argon2id({ memoryKiB: 65_536, passes: 3 }) };",
      'import { quickHasher } from "ashlar/testing";\nexport const PASSWORDS = { hasher: quickHasher() };',
    ]);
    const database = await engine.open();
    const environment = {
      ...{ APP_ENV: "test", APP_URL, APP_KEY: generateSecret(), JWT_SECRET: generateSecret(), WIDE_LIMITS: "1" },
      ...{ TRUSTED_PROXIES: "127.0.0.1, ::1", ...connectionTo(engine, database) },
    };
    const migrated = await execute(root, process.execPath, [COMMAND, "migrate"], environment);
    expect(migrated).toMatchObject({ code: 0 });
    const { Kernel } = (await import(join(root, "app/kernel.ts"))) as { Kernel: KernelClass };
    const config = {
      auth: { PASSWORDS: { hasher: quickHasher() } },
      database: { DATABASES: { default: "main", main: database.configuration } },
    };
    const application = await createApplication({ root, kernel: Kernel, environment, config });
    return new FactorProcesses(application, await userClass(root), root, environment, async () => {
      await application.shutdown();
      await database.drop();
      await remove();
    });
  }

  /**
   * Starts two processes.
   *
   * @param limits whether they have the limits of a generated application, or wide ones
   */
  async start(limits: "wide" | "generated" = "wide"): Promise<Crowd> {
    const environment = { ...this.#environment, WIDE_LIMITS: limits === "wide" ? "1" : "0" };
    const started = await Promise.all([startServing(this.#root, environment), startServing(this.#root, environment)]);
    this.#children.push(...started.map(({ child }) => child));
    const [one, other] = started.map(({ url }) => servedAt(url, this.application));
    return { one: one!, other: other! };
  }

  async end(): Promise<void> {
    for (const child of this.#children) child.kill("SIGKILL");
    await this.#end();
  }

  async addUser(email: string): Promise<FullUser> {
    const user = new this.User().fill({ name: "Ada", email });
    await user.setPassword(PASSWORD);
    return await user.save();
  }

  /** The authenticators of a user, of one kind. */
  async rows(kind: string, { id }: FullUser): Promise<readonly Row[]> {
    const { kysely } = this.application.container.make("database");
    const all: readonly Row[] = await kysely.selectFrom("authenticators").selectAll().execute();
    return all.filter((row) => row.kind === kind && String(row.user_id) === String(id));
  }
}

/** Two processes, whose clients are of the same browsers. */
export interface Crowd {
  readonly one: Application;
  readonly other: Application;
}

/** Twenty clients with an address each, half of them of each process. */
export function twenty({ one, other }: Crowd): readonly TestClient[] {
  return Array.from({ length: 20 }, (_, index) => {
    return createTestClient(index % 2 === 0 ? one : other, { address: `203.0.113.${index + 1}` });
  });
}

/** The client's browser, whose requests now go to the other process. */
export function sharing(client: TestClient, application: Application, address: string): TestClient {
  const twin = createTestClient(application, { address });
  const url = new URL(APP_URL);
  for (const pair of client.cookies.header(url)?.split("; ") ?? []) twin.cookies.store(`${pair}; Path=/`, url);
  return twin;
}

/** The tables and services of an application, whose requests are sent over a socket to a process. */
function servedAt(url: string, application: Application): Application {
  const { port } = new URL(url);
  const fetch = async (sent: Request): Promise<Response> => {
    // Test clients look at the context of such a request.
    if (new URL(sent.url).pathname === "/.testing") return application.fetch(sent);
    return await exchange(Number(port), sent);
  };
  return new Proxy(application, {
    get(target, name) {
      if (name === "fetch") return fetch;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? (value.bind(target) as unknown) : value;
    },
  });
}

/** Sends a request as a proxy of the application would. */
async function exchange(port: number, sent: Request & { readonly ip?: string }): Promise<Response> {
  const { host, pathname, search } = new URL(sent.url);
  const body = Buffer.from(await sent.arrayBuffer());
  const headers = {
    ...Object.fromEntries(sent.headers),
    ...{ host, "x-forwarded-for": sent.ip ?? "127.0.0.1" },
    ...(sent.body === null ? {} : { "content-length": String(body.length) }),
  };
  const { promise, resolve, reject } = Promise.withResolvers<Response>();
  const options = { host: "127.0.0.1", port, method: sent.method, path: pathname + search, headers, agent: false };
  const asked = httpRequest(options, (answer) => {
    const pairs = Object.entries(answer.headersDistinct).flatMap(([name, values = []]) =>
      values.map((value): [string, string] => [name, value]),
    );
    const status = answer.statusCode ?? 0;
    const made = (bytes: Buffer) =>
      resolve(new Response(bytes.length === 0 ? null : new Uint8Array(bytes), { status, headers: pairs }));
    buffer(answer).then(made, reject);
  });
  asked.on("error", reject).end(body);
  return promise;
}

function connectionTo({ name }: TestEngine, { configuration }: TestDatabase): Record<string, string> {
  if (name === "sqlite") return { DATABASE_PATH: String(configuration.path) };
  const { user, password = "", host, port, database } = configuration;
  const who = password === "" ? String(user) : `${String(user)}:${encodeURIComponent(String(password))}`;
  return { DATABASE_URL: `${name}://${who}@${String(host)}:${String(port)}/${String(database)}` };
}
