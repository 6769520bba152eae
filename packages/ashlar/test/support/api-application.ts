import { randomBytes } from "node:crypto";
import { Api, ApiProvider, JWTAuthenticationMiddleware } from "../../src/api/index.ts";
import { AuthProvider } from "../../src/auth/index.ts";
import type { Application, ProviderClass } from "../../src/boot/index.ts";
import { DatabaseProvider } from "../../src/database/index.ts";
import { EventProvider } from "../../src/events/index.ts";
import type { MiddlewareEntry } from "../../src/kernel/index.ts";
import { Route, type RouteEntry } from "../../src/routing/index.ts";
import {
  ADA,
  BOB,
  createUserTable,
  insertUsers,
  ObservedApplication,
  PASSWORD,
  UserWithToken,
} from "./application-parts.ts";
import {
  type BuildOptions,
  buildApplication,
  type DatabaseOptions,
  databasesOf,
  ownDatabases,
} from "./build-application.ts";
import type { Contents } from "./services.ts";

/** `ADA` and `BOB` are what `GET /api/me` returns for the two users. */
export { ADA, BOB, PASSWORD };

/** A secret long enough for every HMAC algorithm. */
export const SECRET: string = randomBytes(64).toString("base64url");

class TestUser extends UserWithToken {
  static override table = "users";
  static override hidden: readonly string[] = ["password", "api_token"];
  static override timestamps = false;
}

/** How a test's application differs from the default. */
export interface TestApiOptions
  extends Pick<BuildOptions, "environment" | "hasher" | "logger" | "middleware">,
    Pick<DatabaseOptions, "engine" | "settings"> {
  /** Options of `DRIVERS.jwt` in addition to secret and model. */
  readonly driver?: object;
  /** Drivers in addition to `jwt`, by name. Without a model, they have the same users. */
  readonly drivers?: Readonly<Record<string, object>>;
  /** `GUARDS`. */
  readonly guards?: object;
  /** `ABILITIES`. */
  readonly abilities?: unknown;
  /** Routes on the `api` stack in addition to the default ones. */
  readonly routes?: readonly RouteEntry[];
  /** The stack `api`, if it is not the default one. */
  readonly stack?: readonly MiddlewareEntry[];
  /** Routes on the `web` stack; default: the token endpoints. */
  readonly web?: readonly RouteEntry[];
  /** Another application whose database and users this one shares. */
  readonly sharing?: TestApi;
  /** Features in addition to the default ones. */
  readonly providers?: readonly ProviderClass[];
}

/** A response. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

/** A request's options. */
export interface Sent {
  readonly headers?: Record<string, string>;
  /** Sent as JSON, unless it is a form or text. */
  readonly body?: unknown;
  readonly token?: string;
  /** The address of the socket. */
  readonly ip?: string;
}

/** An application with API tokens on its own database, with the users Ada (1) and Bob (2). */
export class TestApi extends ObservedApplication {
  readonly User: typeof TestUser;

  constructor(application: Application, User: typeof TestUser) {
    super(application, EVENTS);
    this.User = User;
  }

  async send(method: string, path: string, { headers = {}, body, token, ip }: Sent = {}): Promise<Answer> {
    const isRaw = typeof body === "string" || body instanceof URLSearchParams || body instanceof FormData;
    const request = new Request(new URL(path, "http://localhost"), {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined || isRaw ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isRaw ? (body as string) : JSON.stringify(body) }),
    });
    if (ip !== undefined) Object.defineProperty(request, "ip", { value: ip });
    const response = await this.application.fetch(request);
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.includes("json") ?? false;
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
  }

  get(path: string, sent: Sent = {}): Promise<Answer> {
    return this.send("GET", path, sent);
  }

  post(path: string, body?: unknown, sent: Sent = {}): Promise<Answer> {
    return this.send("POST", path, { ...sent, body });
  }

  /** The token that `POST /api/auth` returns for a user. */
  async token(username = "ada@example.com"): Promise<string> {
    const { body } = await this.post("/api/auth", { username, password: PASSWORD });
    return (body as { readonly data: string }).data;
  }

  /** The stored digest of a user's token. */
  async storedDigest(id: number): Promise<string | null> {
    return (await this.User.find(id))?.api_token ?? null;
  }
}

const EVENTS = [
  "auth.login",
  "auth.failed",
  "auth.logout",
  "api.token_issued",
  "api.token_renewed",
  "api.token_refused",
  "api.token_revoked",
  "api.token_reused",
  "api.personal_token_issued",
  "api.personal_token_revoked",
] as const;

const ROUTES: readonly RouteEntry[] = [
  Route.get("/open", () => ({ open: true })),
  Route.post("/open", () => ({ open: true })),
  Route.get("/claims", ({ apiToken }) => apiToken.claims),
  Route.get("/me", ({ request }) => request.user()).middleware("guard:jwt"),
  Route.get("/user", async ({ auth }) => auth.user()),
  Route.get("/mine", ({ request }) => request.user()).middleware("auth"),
];

/**
 * Creates an application with API tokens and its own database; both are removed when the test is finished.
 *
 * Its API has `/api/open`, `/api/claims`, `/api/me` (behind `guard:jwt`), `/api/user` and `/api/mine` (behind `auth`).
 */
export async function testApi(options: TestApiOptions = {}): Promise<TestApi> {
  const { sharing } = options;
  const User = class User extends TestUser {};
  const routes = [...ROUTES, ...(options.routes ?? [])];
  const others = Object.fromEntries(
    Object.entries(options.drivers ?? {}).map(([name, driver]) => [name, { model: User, ...driver }]),
  );
  const application = await buildApplication({
    ...options,
    routes: [
      ...(options.web ?? Api.routes()),
      Route.group({ prefix: "/api", middleware: ["api"], withoutMiddleware: ["web"] }, routes).respondsWithJson(),
    ],
    middleware: { web: [], api: options.stack ?? [JWTAuthenticationMiddleware], ...options.middleware },
    providers: [EventProvider, DatabaseProvider, AuthProvider, ...(options.providers ?? []), ApiProvider],
    config: {
      api: {
        DRIVERS: { jwt: { secret: SECRET, model: User, ...options.driver }, ...others },
        ...(options.abilities === undefined ? {} : { ABILITIES: options.abilities }),
      },
      ...(options.guards === undefined ? {} : { auth: { GUARDS: options.guards } }),
    },
    databases:
      sharing === undefined ? await ownDatabases({ ...options, contents: USERS }) : databasesOf(sharing.application),
    models: [User],
  });
  return new TestApi(application, User);
}

const USERS: Contents = {
  name: "api",
  async fill(database) {
    await createUserTable(database, "users");
    await insertUsers(database, "users", [ADA, BOB]);
  },
};
