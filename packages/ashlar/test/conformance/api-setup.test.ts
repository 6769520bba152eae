import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Application } from "../../src/public/index.ts";
import { hashPassword } from "../../src/security/index.ts";
import { API_FILES, apiOfFiles } from "../support/api-setup.ts";
import { ashlar } from "../support/command-line.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const PASSWORD = "correct horse battery staple";

/** A change to one file, which removes or replaces a part of it. */
function without(path: string, part: string, replacement = ""): Record<string, string> {
  const text = API_FILES[path]!;
  expect(text).toContain(part);
  return { [path]: text.replace(part, replacement) };
}

/** Creates the users table, with this name for the token column, and the user Ada. */
async function createUsers(application: Application, tokenColumn: string | null = "api_token"): Promise<void> {
  const { kysely } = application.container.make("database");
  await kysely.schema
    .createTable("users")
    .addColumn("id", "integer", (column) => column.primaryKey())
    .addColumn("email", "text")
    .addColumn("password", "text")
    .execute();
  if (tokenColumn !== null) await kysely.schema.alterTable("users").addColumn(tokenColumn, "text").execute();
  await kysely
    .insertInto("users")
    .values({ id: 1, email: "ada@example.com", password: await hashPassword(PASSWORD) })
    .execute();
}

/** The body of a response, parsed if it is JSON. */
async function send(application: Application, method: string, path: string, fields?: object, token?: string) {
  const response = await application.fetch(
    new Request(`http://localhost${path}`, {
      method,
      ...(fields === undefined ? {} : { body: new URLSearchParams({ ...fields }) }),
      ...(token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } }),
    }),
  );
  const isJson = response.headers.get("content-type")?.includes("json") ?? false;
  return { status: response.status, body: (isJson ? await response.json() : null) as { readonly data: string } };
}

const credentials = { username: "ada@example.com", password: PASSWORD };

describe("API setup steps (all required)", () => {
  test("with all of them, credentials get a token, the token loads a user, and the old token gets a new one", async () => {
    const application = await apiOfFiles();
    await createUsers(application);
    const { status, body } = await send(application, "POST", "/api/auth", credentials);
    expect([status, body]).toEqual([200, { data: expect.any(String) }]);
    expect(await send(application, "GET", "/me", undefined, body.data)).toMatchObject({ status: 200, body: { id: 1 } });
    expect(await send(application, "POST", "/api/reauth", { token: body.data })).toMatchObject({ status: 200 });
    expect(await send(application, "GET", "/me")).toMatchObject({ status: 401 });
  });

  test("1. Add ApiProvider to the project's PROVIDERS list", async () => {
    const booting = apiOfFiles(without("config/providers.ts", ", ApiProvider"));
    await expect(booting).rejects.toThrow(
      /routes\/web\.ts:\d+: POST \/api\/auth: The application has no API tokens\. Add ApiProvider to PROVIDERS in config\/providers\.ts\./,
    );
  });

  test("2. Create an API route file routes/api holding a ROUTES list", async () => {
    await expect(apiOfFiles({ "routes/api.ts": null })).rejects.toThrow(
      "routes/api.ts: does not exist, but the container key routes.api.location names it. Add the file with: export const ROUTES = [];",
    );
    await expect(apiOfFiles({ "routes/api.ts": "export const routes = [];" })).rejects.toThrow(
      "routes/api.ts: does not export ROUTES.",
    );
  });

  test("3. In registerRoutes, bind the container key routes.api.location to routes/api", async () => {
    const bind = 'this.container.bind("routes.api.location", "routes/api");';
    const unbound = await apiOfFiles(without("app/kernel.ts", bind));
    expect(await send(unbound, "GET", "/me")).toMatchObject({ status: 404 });
    expect(await send(await apiOfFiles(), "GET", "/me")).toMatchObject({ status: 401 });
  });

  test("4. Make the token-bearing model inherit AuthenticatesTokens", async () => {
    await expect(apiOfFiles(without("app/models/user.ts", ", AuthenticatesTokens"))).rejects.toThrow(
      "config/api.ts: DRIVERS.jwt.model: User lacks what the mixin AuthenticatesTokens adds. " +
        "Declare it as class User extends compose(Model, Authenticates, AuthenticatesTokens).",
    );
  });

  test("5. Add a nullable string column to that model's table: api_token, or what tokenColumn names", async () => {
    const without5 = await apiOfFiles();
    await createUsers(without5, null);
    expect(await send(without5, "POST", "/api/auth", credentials)).toMatchObject({
      status: 500,
      body: { detail: expect.stringContaining("api_token") },
    });
    const renamed = await apiOfFiles(
      without("app/models/user.ts", "static timestamps", 'static tokenColumn = "key";\n      static timestamps'),
    );
    await createUsers(renamed, "key");
    const { body } = await send(renamed, "POST", "/api/auth", credentials);
    expect(await send(renamed, "GET", "/me", undefined, body.data)).toMatchObject({ status: 200 });
    expect(await send(renamed, "POST", "/api/reauth", { token: body.data })).toMatchObject({ status: 200 });
  });

  test("6. Run the api:install command: the configuration file, and a secret in JWT_SECRET", async () => {
    await expect(apiOfFiles({ "config/api.ts": null })).rejects.toThrow(
      "config/api.ts: DRIVERS.jwt: is missing. Run npx ashlar api:install, which writes config/api.ts.",
    );
    await expect(apiOfFiles({ ".env": null })).rejects.toThrow(
      'config/api.ts: DRIVERS.jwt.secret: is missing. If it is env("JWT_SECRET"), this environment variable is not set or empty. Run: npx ashlar key:generate',
    );
    const root = await temporaryFolder();
    await writeFile(join(root, "package.json"), "{}");
    expect(await ashlar(root, "api:install")).toMatchObject({ code: 0 });
    expect(await readFile(join(root, ".env"), "utf8")).toMatch(/^JWT_SECRET="?[\w-]{86}"?$/m);
    const generated = await readFile(join(root, "config/api.ts"), "utf8");
    const booted = await apiOfFiles({ "config/api.ts": generated });
    expect(booted.container.make("api").settings).toMatchObject({
      signingKey: { algorithm: "HS512" },
      expiresInMinutes: 60,
      authenticates: true,
      version: null,
    });
  });

  test("7. Add Api.routes(authRoute, reauthRoute) to the web routes list", async () => {
    const none = await apiOfFiles(without("routes/web.ts", "ROUTES.push(...Api.routes());"));
    expect(await send(none, "POST", "/api/auth", credentials)).toMatchObject({ status: 404 });
    const own = await apiOfFiles(
      without("routes/web.ts", "Api.routes()", 'Api.routes({ authRoute: "/in", reauthRoute: "/again" })'),
    );
    await createUsers(own);
    const { status, body } = await send(own, "POST", "/in", credentials);
    expect([status, (await send(own, "POST", "/again", { token: body.data })).status]).toEqual([200, 200]);
  });

  test("8. In routeMiddleware, define the stack api as [JWTAuthenticationMiddleware]", async () => {
    await expect(apiOfFiles(without("app/kernel.ts", "api: [JWTAuthenticationMiddleware], "))).rejects.toThrow(
      /routes\/api\.ts:\d+: GET \/me: the kernel's routeMiddleware has no stack "api".*Add it to app\/kernel\.ts: api: \[JWTAuthenticationMiddleware\]$/,
    );
  });

  test("the URL prefix of API routes: none unless the container key routes.api.prefix is bound", async () => {
    const bind = 'this.container.bind("routes.api.location", "routes/api");';
    const prefixed = await apiOfFiles(
      without("app/kernel.ts", bind, `${bind} this.container.bind("routes.api.prefix", "/v1");`),
    );
    expect(await send(prefixed, "GET", "/v1/me")).toMatchObject({ status: 401 });
    expect(await send(prefixed, "GET", "/me")).toMatchObject({ status: 404 });
  });

  test("unknown paths under that prefix return JSON as well, whatever the caller accepts", async () => {
    const bind = 'this.container.bind("routes.api.location", "routes/api");';
    const prefixed = await apiOfFiles(
      without("app/kernel.ts", bind, `${bind} this.container.bind("routes.api.prefix", "/v1");`),
    );
    const headers = { accept: "text/html" };
    const types = ["/v1/nowhere", "/v1", "/v1x", "/nowhere"].map(async (path) => {
      const response = await prefixed.fetch(new Request(`http://localhost${path}`, { headers }));
      return [response.status, response.headers.get("content-type")];
    });
    expect(await Promise.all(types)).toEqual([
      [404, "application/problem+json"],
      [404, "application/problem+json"],
      [404, "text/html; charset=utf-8"],
      [404, "text/html; charset=utf-8"],
    ]);
  });
});

describe("User model (token-bearing)", () => {
  test("api_token: string column, nullable; stores the digest of the user's active token", async () => {
    const application = await apiOfFiles();
    await createUsers(application);
    const { kysely } = application.container.make("database");
    const stored = async () =>
      (await kysely.selectFrom("users").select("api_token").executeTakeFirstOrThrow()).api_token;
    expect(await stored()).toBeNull();
    const first = (await send(application, "POST", "/api/auth", credentials)).body.data;
    const digest = await stored();
    expect([digest, digest === first]).toEqual([expect.stringMatching(/^[\w-]{43}$/), false]);
    await send(application, "POST", "/api/reauth", { token: first });
    expect(await stored()).not.toBe(digest);
  });
});
