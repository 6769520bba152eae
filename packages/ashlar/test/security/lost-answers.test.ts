import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { generateSecret } from "../../src/security/index.ts";
import { createUserTable, insertUsers, PASSWORD } from "../support/application-parts.ts";
import { ownDatabases } from "../support/build-application.ts";
import { killableApplication } from "../support/killable-application.ts";
import { migrationOfStub } from "../support/migration-folder.ts";
import { onEachDatabase } from "../support/services.ts";
import { shellEnvironment } from "../support/shell-environment.ts";

const KILLS = 6;
const SECRETS = [generateSecret(), generateSecret(), generateSecret()];
const OWNERS = Array.from({ length: KILLS }, (_, index) => ({ name: "Owner", email: `owner${index}@example.com` }));

/** The parts of responses that the test checks. */
interface Body {
  readonly data: string;
  readonly refresh: string;
  readonly user: string | null;
  readonly done: boolean;
}

/** A JSON request with additional headers. */
type Sent = readonly [path: string, inputs: object | null, headers?: Readonly<Record<string, string>>];

function initOf([, inputs, headers = {}]: Sent): RequestInit {
  const all = { "content-type": "application/json", ...headers };
  return inputs === null ? { headers: all } : { method: "POST", headers: all, body: JSON.stringify(inputs) };
}

/** Sends requests to a separate process, which is killed before it responds to any of them. */
async function lose(databases: object, requests: readonly Sent[]): Promise<void> {
  const own = { DATABASES: JSON.stringify(databases), SECRETS: JSON.stringify(SECRETS), LOST: String(requests.length) };
  const child = fork(join(import.meta.dirname, "../support/killed-server.ts"), [], {
    env: { ...shellEnvironment(), ...own },
  });
  const ended = once(child, "exit");
  const [url] = await Promise.race([once(child, "message"), ended.then(() => [null])]);
  if (url === null) throw new Error("The process has ended before it served.");
  const answers = await Promise.allSettled(
    requests.map((sent) => fetch(new URL(sent[0], url as string), initOf(sent))),
  );
  expect(answers.map(({ status }) => status)).toEqual(requests.map(() => "rejected"));
  expect(await ended).toEqual([null, "SIGKILL"]);
}

await onEachDatabase("an answer that kill -9 has cut off after the commit", (engine) => {
  test("S120 locks out none of six owners, of logins, single tokens or one of many tokens", async () => {
    const databases = await ownDatabases({ engine });
    const application = await killableApplication(databases, SECRETS);
    onTestFinished(() => application.shutdown());
    const database = application.container.make("database");
    await createUserTable(database, "users");
    await insertUsers(database, "users", OWNERS);
    for (const stub of ["auth/migrations/create_logins.ts.stub", "api/create_api_tokens.ts.stub"]) {
      await (await migrationOfStub(stub)).up(database.kysely);
    }

    /** A response's body and login cookie. */
    async function answered(...sent: Sent) {
      const response = await application.fetch(new Request(new URL(sent[0], "http://localhost"), initOf(sent)));
      const cookie = response.headers.getSetCookie().find((one) => one.startsWith("token="));
      return { status: response.status, body: (await response.json()) as Body, cookie: cookie?.split(";")[0] ?? null };
    }

    const outcomes = OWNERS.map(async ({ email }) => {
      const credentials = { username: email, password: PASSWORD };
      const single = (await answered("/api/auth", credentials)).body.data;
      const many = (await answered("/api/many/auth", credentials)).body.refresh;
      const { cookie } = await answered("/login", { email, password: PASSWORD });
      await lose(databases, [
        ["/api/reauth", { token: single }],
        ["/api/many/reauth", { token: many }],
        ["/confirm", { password: PASSWORD }, { cookie: cookie! }],
      ]);
      const me = await answered("/me", null, { cookie: cookie! });
      const [one, several] = [
        await answered("/api/reauth", { token: single }),
        await answered("/api/many/reauth", { token: many }),
      ];
      const renewed = { cookie: me.cookie! };
      return {
        // All of them had been renewed.
        areNew: me.cookie !== null && me.cookie !== cookie && one.body.data !== single && several.body.refresh !== many,
        user: me.body.user === email && (await answered("/me", null, renewed)).body.user === email,
        // The owner sends the form again.
        confirmed: (await answered("/confirm", { password: PASSWORD }, renewed)).body.done,
        single: (await answered("/open", null, { authorization: `Bearer ${one.body.data}` })).status,
        many: (await answered("/many/open", null, { authorization: `Bearer ${several.body.data}` })).status,
      };
    });
    const none = { areNew: true, user: true, confirmed: true, single: 200, many: 200 };
    expect(await Promise.all(outcomes)).toEqual(OWNERS.map(() => none));
  });
});
