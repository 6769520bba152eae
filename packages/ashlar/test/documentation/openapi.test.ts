import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { CompiledRoute } from "../../src/routing/index.ts";
import { createTestClient, type TestClient, type TestResponse } from "../../src/testing/index.ts";
import { type ClientApi, startClientApi } from "../support/client-api.ts";

const PACKAGE = join(import.meta.dirname, "..", "..");
const PASSWORD = "a password of hers";
const OTHER = "another password of hers";

type Json = Readonly<Record<string, unknown>>;
interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, Json>>;
}
interface Document extends Json {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: Json & { readonly responses: Readonly<Record<string, Json>> };
}

let document: Document;
let api: ClientApi;
const seen = new Set<string>();

beforeAll(async () => {
  document = JSON.parse(await readFile(join(PACKAGE, "data/openapi.json"), "utf8")) as Document;
  api = await startClientApi({ tokens: "many", personal: true });
});
afterAll(() => api?.end());

/** A JSON pointer's part (RFC 6901). */
const part = (text: string): string => text.replaceAll("~", "~0").replaceAll("/", "~1");

/** The document, whose answers may have no members but those that it describes. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== "object" || value === null) return value;
  const own = Object.fromEntries(Object.entries(value).map(([name, one]) => [name, closed(one)]));
  const isObject = own.type === "object" && own.properties !== undefined;
  return isObject && own.additionalProperties === undefined && !("code" in (own.properties as object))
    ? { ...own, additionalProperties: false }
    : own;
}

const validators = new Map<string, ValidateFunction>();

function validatorOf(path: string, method: string, status: string): ValidateFunction {
  const key = `${method} ${path} ${status}`;
  let validate = validators.get(key);
  if (validate !== undefined) return validate;
  const operation = document.paths[path]![method]!;
  const name = operation.responses[status] === undefined ? "default" : status;
  const given = operation.responses[name]!;
  const shared = typeof given.$ref === "string" ? given.$ref.split("/").at(-1)! : null;
  const response = shared === null ? given : document.components.responses[shared]!;
  const [type] = Object.keys(response.content as object);
  const pointer =
    shared === null ? `paths/${part(path)}/${method}/responses/${name}` : `components/responses/${shared}`;
  validate = compiled(`${pointer}/content/${part(type!)}/schema`);
  validators.set(key, validate);
  return validate;
}

function compiled(pointer: string): ValidateFunction {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema({ $id: "openapi", ...(closed(document) as object) });
  return ajv.compile({ $ref: `openapi#/${pointer.replaceAll("{", "%7B").replaceAll("}", "%7D")}` });
}

/** The schemas of errors with further members. */
const ERRORS: Readonly<Record<string, string>> = {
  E_LOGIN_PENDING: "LoginPending",
  E_UNAUTHENTICATED: "Unauthenticated",
  E_PASSWORD_NOT_CONFIRMED: "NotConfirmed",
  E_INSUFFICIENT_AUTHENTICATION: "InsufficientAuthentication",
  E_INVALID_INPUT: "InvalidInput",
};

/** Checks a response against the document, and returns it. */
function described(path: string, method: string, response: TestResponse, status: number): TestResponse {
  expect([response.status, path], response.text).toEqual([status, path]);
  seen.add(`${method} ${path} ${status}`);
  if (status === 204) return response;
  const validate = validatorOf(path, method, String(status));
  expect([path, validate(response.json), validate.errors]).toEqual([path, true, null]);
  const error = ERRORS[String((response.json as Json).code)];
  if (error !== undefined) expect([path, compiled(`components/schemas/${error}`)(response.json)]).toEqual([path, true]);
  return response;
}

const visitor = (): TestClient => createTestClient(api.application).withCsrfToken();

let count = 0;

/** Registers someone. */
async function registered(name = "Ada"): Promise<{ readonly client: TestClient; readonly email: string }> {
  const client = visitor();
  const email = `${name.toLowerCase()}-${++count}@example.com`;
  const fields = { name, email, password: PASSWORD, password_confirmation: PASSWORD };
  described("/register", "post", await client.postJson("/register", fields), 201);
  return { client, email };
}

/** The token of the newest link that was mailed to an address. */
async function verificationOf(email: string): Promise<string> {
  return (await api.linkTo(email)).pathname.split("/").at(-1)!;
}

const dataOf = (response: TestResponse): Record<string, unknown> =>
  (response.json as { readonly data: Record<string, unknown> }).data;

test("lists the routes of accounts and tokens, and no others", () => {
  const MARKS = ["Auth.routes", "Api.routes", "Api.personalTokens", "Csrf.routes"];
  const isOwn = ({ mark, name }: CompiledRoute) => MARKS.includes(mark?.madeBy ?? "") || name === "csrf";
  const routes = api.application.router.routes.filter(isOwn).flatMap(({ methods, pattern }) => {
    return methods
      .filter((method) => method !== "HEAD")
      .map((method) => `${method} ${pattern.replace(/@(\w+)/g, "{$1}")}`);
  });
  const listed = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  );
  // These keys exist only if tokens are signed with a private key.
  expect(listed.filter((one) => one !== "GET /.well-known/jwks.json").sort()).toEqual([...new Set(routes)].sort());
  const ids = Object.values(document.paths).flatMap((operations) =>
    Object.values(operations).map((one) => one.operationId),
  );
  expect(new Set(ids).size).toBe(ids.length);
});

test("is a document that refers to nothing that is missing", () => {
  const references = [...JSON.stringify(document).matchAll(/"\$ref":"#\/components\/(\w+)\/(\w+)"/g)];
  const components = document.components as Readonly<Record<string, Json>>;
  for (const [, kind, name] of references) expect(components[kind!]).toHaveProperty(name!);
  expect(document.openapi).toMatch(/^3\.1\./);
});

/** Requests to a generated application, whose responses are compared with the document. */
const WALKS: Readonly<Record<string, () => Promise<void>>> = {
  accounts: async () => {
    const { client, email } = await registered();
    described("/csrf", "get", await client.getJson("/csrf"), 200);
    described("/home", "get", await client.getJson("/home"), 200);
    described("/account/security", "get", await client.getJson("/account/security"), 200);
    described("/register", "post", await visitor().postJson("/register", { email }), 422);
    described("/email/resend", "post", await client.postJson("/email/resend"), 202);
    const link = `/email/verify/${await verificationOf(email)}`;
    described("/email/verify/{token}", "get", await visitor().getJson(link), 200);
    described("/email/verify/{token}", "post", await visitor().postJson(link), 200);
    described("/email/verify/{token}", "post", await visitor().postJson("/email/verify/none"), 410);
    described("/email/resend", "post", await client.postJson("/email/resend"), 200);
    described("/logins", "get", await client.getJson("/logins"), 200);
    described("/logins/{id}", "delete", await client.deleteJson("/logins/none"), 200);
    described("/confirm_password", "post", await client.postJson("/confirm_password", { password: PASSWORD }), 200);
    described("/confirm_password", "post", await client.postJson("/confirm_password", { password: "no" }), 422);
    const fields = { current_password: PASSWORD, password: OTHER, password_confirmation: OTHER };
    described("/account/password", "post", await client.withCsrfToken().postJson("/account/password", fields), 200);
    const moved = { email: `moved-${email}`, password: OTHER };
    described("/account/email", "post", await client.withCsrfToken().postJson("/account/email", moved), 202);
    const other = await registered("Eve");
    described("/account/close", "post", await other.client.postJson("/account/close"), 403);
    await other.client.postJson("/confirm_password", { password: PASSWORD });
    described("/account/close", "post", await other.client.withCsrfToken().postJson("/account/close"), 200);
    described("/account/close", "post", await other.client.withCsrfToken().postJson("/account/close"), 401);
    described("/logout", "post", await client.withCsrfToken().postJson("/logout"), 200);
    described("/home", "get", await client.getJson("/home"), 401);
    described("/login", "post", await visitor().postJson("/login", { email, password: OTHER }), 200);
    described("/login", "post", await visitor().postJson("/login", { email, password: "no" }), 422);
  },

  "new passwords": async () => {
    const { email } = await registered();
    described("/change_password", "post", await visitor().postJson("/change_password", { email }), 202);
    const link = await api.linkTo(email);
    const token = link.searchParams.get("token") ?? link.pathname.split("/").at(-1)!;
    described("/password_reset", "get", await visitor().getJson(`/password_reset?token=${token}`), 200);
    const fields = { token, password: OTHER, password_confirmation: OTHER };
    described(
      "/password_reset",
      "post",
      await visitor().postJson("/password_reset", { ...fields, password: "x" }),
      422,
    );
    described("/password_reset", "post", await visitor().postJson("/password_reset", fields), 200);
    described("/password_reset", "get", await visitor().getJson(`/password_reset?token=${token}`), 410);
    described("/email/undo/{token}", "get", await visitor().getJson("/email/undo/none"), 410);
    described("/login/device/{token}", "get", await visitor().getJson("/login/device/none"), 410);
  },

  "logins that wait, and refused ones": async () => {
    const { client, email } = await registered("Penny");
    const credentials = { email, password: PASSWORD };
    expect(dataOf(described("/login", "post", await client.postJson("/login", credentials), 200)).status).toBe(
      "pending",
    );
    const refusal = described("/home", "get", await client.getJson("/home"), 401);
    expect(refusal.json).toMatchObject({
      flows: [{ id: "code", isPending: true }, { id: "login" }, { id: "register" }],
    });
    const fields = { name: "Mallory", email: "m@example.com", password: PASSWORD, password_confirmation: PASSWORD };
    described("/register", "post", await visitor().postJson("/register", fields), 403);
  },

  tokens: async () => {
    const { email: username } = await registered("Penny");
    const client = createTestClient(api.application);
    const pending = described(
      "/api/auth",
      "post",
      await client.postJson("/api/auth", { username, password: PASSWORD }),
      401,
    );
    const { pending: text } = pending.json as { readonly pending: string };
    const bearer = createTestClient(api.application).withToken(text);
    const { json } = described("/api/auth", "post", await bearer.postJson("/api/auth", { code: "123456" }), 200);
    const { refresh } = json as { readonly refresh: string };
    described("/api/auth", "post", await bearer.postJson("/api/auth", { code: "123456" }), 401);
    described("/api/auth", "post", await client.postJson("/api/auth", { username, password: "no" }), 401);
    described("/api/auth", "post", await client.postJson("/api/auth", {}), 422);
    // The application's step asks renewals, too.
    described("/api/reauth", "post", await client.postJson("/api/reauth", { token: refresh }), 401);
    const renewed = await client.postJson("/api/reauth", { token: refresh, code: "123456" });
    described("/api/reauth", "post", renewed, 200);
    described("/api/logout", "post", await client.postJson("/api/logout", { token: refresh }), 204);
  },

  "personal tokens, and confirmations": async () => {
    const { client, email } = await registered();
    await client.postJson(`/email/verify/${await verificationOf(email)}`);
    const refused = described("/account/tokens", "get", await client.getJson("/account/tokens"), 403);
    expect(refused.json).toMatchObject({ code: "E_PASSWORD_NOT_CONFIRMED", flows: [{ id: "password" }] });
    described("/confirm_password", "post", await client.postJson("/confirm_password", { password: PASSWORD }), 200);
    const page = dataOf(described("/account/tokens", "get", await client.getJson("/account/tokens"), 200));
    const fields = { name: "A script", days: 7, form: page.form };
    const made = described("/account/tokens", "post", await client.postJson("/account/tokens", fields), 201);
    described("/account/tokens", "post", await client.postJson("/account/tokens", fields), 200);
    described("/account/tokens", "post", await client.postJson("/account/tokens", { days: "x" }), 422);
    described("/account/tokens", "get", await client.getJson("/account/tokens"), 200);
    const path = `/account/tokens/${dataOf(made).id}`;
    described("/account/tokens/{id}", "delete", await client.deleteJson(path), 200);
    described("/account/tokens/{id}", "delete", await client.deleteJson(path), 200);
    described("/account/tokens", "get", await visitor().getJson("/account/tokens"), 401);
    described("/logins", "delete", await client.deleteJson("/logins"), 200);
    described("/logins", "get", await visitor().getJson("/logins"), 401);
  },

  "an address that changes, and changes back": async () => {
    const { client, email } = await registered();
    await client.postJson(`/email/verify/${await verificationOf(email)}`);
    const moved = `moved-${email}`;
    described(
      "/account/email",
      "post",
      await client.postJson("/account/email", { email: moved, password: PASSWORD }),
      202,
    );
    described(
      "/email/verify/{token}",
      "post",
      await client.postJson(`/email/verify/${await verificationOf(moved)}`),
      200,
    );
    const path = (await api.linkTo(email)).pathname;
    described("/email/undo/{token}", "get", await visitor().getJson(path), 200);
    described("/email/undo/{token}", "post", await visitor().postJson(path), 200);
    described("/email/undo/{token}", "post", await visitor().postJson(path), 410);
  },
};

test("describes the responses of a generated application, and a successful one of each operation", async () => {
  for (const walk of Object.values(WALKS)) await walk();
  const succeeded = new Set([...seen].filter((one) => / 2\d\d$/.test(one)).map((one) => one.replace(/ \d+$/, "")));
  const all = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method} ${path}`),
  );
  // A link for a device is mailed after many guesses only; its answers are compared in the tests of the clients.
  const missing = all.filter((one) => !succeeded.has(one) && !one.includes("/login/device/") && !one.includes("jwks"));
  expect(missing).toEqual([]);
});
