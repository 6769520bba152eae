import assert from "node:assert/strict";
import { asAuthenticatable, type Door } from "../../auth/index.ts";
import type { Application } from "../../boot/index.ts";
import type { MaybePromise, RegisteredUser } from "../../support/index.ts";
import { resetDatabase } from "../application/test-database.ts";
import { createTestClient } from "../client/test-client.ts";
import type { TestResponse } from "../client/test-response.ts";
import { type DoorWalk, holdLogins, recognizedBy, type WalkThrough } from "./doors/door-bench.ts";
import { WALKS } from "./doors/walks.ts";
import type { SuiteTest } from "./suite-test.ts";

/** The options of {@link doorSuite}. */
export interface DoorSuiteOptions {
  /**
   * Creates an account that can log in, with a verified address. It is called once for each test.
   *
   * @param password the account's password
   */
  readonly account: (password: string) => MaybePromise<RegisteredUser>;
  /**
   * Functions that get through your own doors, by name. Each sends what a user would send, and returns the last
   * response. For one of the framework's doors, it replaces the suite's own function; `false` omits the door.
   */
  readonly doors?: Readonly<Record<string, WalkThrough | false>>;
}

const PASSWORD = "a password for the test of doors";
const ROUTE = /^(?:POST|PUT|PATCH|GET)$/;

/** A door, and one way through it. */
interface Passage {
  readonly title: string;
  readonly opens: Door["opens"];
  readonly path: string;
  readonly go: WalkThrough;
}

/**
 * Tests that no way into an application bypasses its login steps: second factors, terms, and whatever else features and
 * `GUARDS` require. It goes through your own doors, and through every door declared by the application's features that
 * the application has routes for. It sends credentials to all other routes.
 *
 * ```ts
 * const application = await createTestApplication({ root, kernel: Kernel });
 * const account = async (password: string) => {
 *   const user = new User().fill({ name: "Ada", email: "ada@example.com", verified_at: new Date() });
 *   await user.setPassword(password);
 *   return user.save();
 * };
 * for (const { title, run } of doorSuite(application, { account })) test(title, run);
 * ```
 *
 * The database is emptied before each test.
 *
 * @param application a booted test application
 */
export function doorSuite(application: Application, options: DoorSuiteOptions): readonly SuiteTest[] {
  const passages = passagesOf(application, options);
  const bench = (go: (walk: Omit<DoorWalk, "path">) => Promise<void>) => async (): Promise<void> => {
    await resetDatabase(application);
    const user = await options.account(PASSWORD);
    const { identifierColumn } = user.constructor as unknown as { readonly identifierColumn: string };
    const identifier = String((user as unknown as Record<string, unknown>)[identifierColumn]);
    await go({ client: createTestClient(application), user, identifier, password: PASSWORD });
  };
  const opening = passages.filter(({ opens }) => opens === "login" || opens === "token");
  return [
    ...opening.map(({ title, path, go }) => ({
      title: `${title}: lets in a user whom nothing holds back`,
      run: bench(async (walk) => {
        const response = await go({ ...walk, path });
        assert.notDeepEqual(await recognizedBy(application, walk.client, response), [], explain(response));
      }),
    })),
    ...opening.map(({ title, path, go }) => ({
      title: `${title}: a login that waits for a step proves nothing`,
      run: bench(async (walk) => {
        await whileHeld(application, async () => {
          const response = await go({ ...walk, path });
          assert.deepEqual(await recognizedBy(application, walk.client, response), [], explain(response));
        });
      }),
    })),
    {
      title: "every other route: credentials sent to it log no one in past a step",
      run: bench((walk) => whileHeld(application, () => tryOtherRoutes(application, walk, passages))),
    },
  ];
}

function passagesOf(application: Application, { doors: own = {} }: DoorSuiteOptions): readonly Passage[] {
  const declared = application.features.flatMap(({ feature }) => Object.entries(feature.doors ?? {}));
  const passages: Passage[] = [];
  for (const [name, { opens, routes }] of declared) {
    const path = pathOf(application, routes);
    const walk = own[name];
    if (path === null || walk === false) continue;
    const ways = walk === undefined ? (WALKS[name] ?? {}) : { "your own way": walk };
    for (const [how, go] of Object.entries(ways)) passages.push({ title: `${name}, by ${how}`, opens, path, go });
  }
  const known = new Set(declared.map(([name]) => name));
  for (const [name, go] of Object.entries(own)) {
    if (go !== false && !known.has(name)) passages.push({ title: name, opens: "login", path: "/", go });
  }
  return passages;
}

/** The pattern, including parameters, of the first of these routes that the application has. */
function pathOf({ router }: Application, names: readonly string[]): string | null {
  const route = names.flatMap((name) => router.routes.filter((one) => one.name === name))[0];
  return route === undefined ? null : route.pattern;
}

/** Sends credentials to every route that doesn't belong to a door, as a visitor who guesses its fields. */
async function tryOtherRoutes(
  application: Application,
  { client, user, identifier, password }: Omit<DoorWalk, "path">,
  passages: readonly Passage[],
): Promise<void> {
  const known = new Set(passages.map(({ path }) => path));
  const key = String(asAuthenticatable(user).authId());
  const fields = {
    email: identifier,
    username: identifier,
    name: identifier,
    id: key,
    user: key,
    user_id: key,
    password,
  };
  for (const { methods, pattern } of application.router.routes) {
    if (known.has(pattern)) continue;
    const path = pattern.replace(/@[\w:.]+\??/g, encodeURIComponent(key));
    for (const method of methods.filter((one) => ROUTE.test(one))) {
      const visitor = client.asGuest();
      const query = method === "GET" ? `?${new URLSearchParams(fields)}` : "";
      const headers = { accept: "application/json", "content-type": "application/json" };
      const body = method === "GET" ? null : JSON.stringify(fields);
      const response = await visitor.withCsrfToken().send(method, path + query, { headers, body });
      const found = await recognizedBy(application, visitor, response);
      assert.deepEqual(found, [], `${method} ${pattern} logs in past a step. ${explain(response)}`);
    }
  }
}

async function whileHeld(application: Application, work: () => Promise<void>): Promise<void> {
  const release = holdLogins(application);
  try {
    await work();
  } finally {
    release();
  }
}

function explain(response: TestResponse): string {
  return `The last response:\n${response}`;
}
