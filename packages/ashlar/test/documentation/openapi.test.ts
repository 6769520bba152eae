import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { CompiledRoute } from "../../src/routing/index.ts";
import { createTestClient, type TestClient, type TestResponse, travelBack } from "../../src/testing/index.ts";
import { type ClientApi, startClientApi } from "../support/client-api.ts";
import { FRAMEWORK_FEATURES } from "../support/framework-features.ts";
import { mailedLogin } from "../support/login-link-shop.ts";
import { ORIGIN, PasskeyDevice } from "../support/passkey-device.ts";
import { App } from "../support/two-factor-shop.ts";

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
  api = await startClientApi({ tokens: "many", personal: true, factors: true, environment: { APP_URL: ORIGIN } });
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

const STEP = "/login/two_factor";
const APP = "/account/two_factor/app";

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

/** What makes routes for JSON, by the features' manifests; those that are not for accounts, and why. */
const MAKERS = FRAMEWORK_FEATURES.flatMap(({ feature }) => feature.routes ?? []);
const OTHERS: Readonly<Record<string, string>> = {
  "Api.keys": "these keys exist only if tokens are signed with a private key",
  "Metrics.routes": "its text is for Prometheus",
};

test("lists all routes that features make for accounts and tokens, and no others", () => {
  const makers = MAKERS.filter((one) => OTHERS[one] === undefined);
  const isOwn = ({ mark, name }: CompiledRoute) => makers.includes(mark?.madeBy ?? "") || name === "csrf";
  const made = new Set(api.application.router.routes.map(({ mark }) => mark?.madeBy));
  expect(makers.filter((one) => !made.has(one))).toEqual([]);
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
    expect(refused.json).toMatchObject({
      code: "E_PASSWORD_NOT_CONFIRMED",
      flows: [{ id: "password" }, { id: "mail" }],
    });
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

  "two-factor authentication": async () => {
    const { client, email } = await registered();
    described(APP, "get", await client.getJson(APP), 403);
    await client.postJson("/confirm_password", { password: PASSWORD });
    const enrolment = dataOf(described(APP, "get", await client.getJson(APP), 200));
    const app = new App(String(enrolment.secret));
    onTestFinished(travelBack);
    described(APP, "post", await client.postJson(APP, { code: "no" }), 422);
    const codes = dataOf(described(APP, "post", await client.postJson(APP, { code: app.shown }), 201));
    const [recoveryCode] = codes.recoveryCodes as readonly string[];

    const credentials = { email, password: PASSWORD };
    const half = visitor();
    expect(dataOf(described("/login", "post", await half.postJson("/login", credentials), 200)).status).toBe("pending");
    described(STEP, "get", await half.getJson(STEP), 200);
    described(STEP, "post", await half.postJson(STEP, { code: "000000" }), 200);
    described(STEP, "post", await half.postJson(STEP, { recovery_code: recoveryCode }), 200);
    described(STEP, "get", await visitor().getJson(STEP), 401);
    const other = visitor();
    await other.postJson("/login", credentials);
    described(STEP, "post", await other.postJson(STEP, { code: app.next() }), 200);

    const page = "/account/two_factor";
    described(page, "get", await other.getJson(page), 200);
    const again = dataOf(await other.getJson(APP));
    const newer = new App(String(again.secret));
    described(APP, "post", await other.postJson(APP, { code: newer.shown }), 200);
    described(`${page}/codes`, "post", await other.postJson(`${page}/codes`), 201);
    described(`${page}/devices/{id}`, "delete", await other.deleteJson(`${page}/devices/none`), 200);
    described(page, "delete", await other.deleteJson(page), 200);
    described(page, "get", await visitor().getJson(page), 401);
  },

  "two-factor authentication that is required": async () => {
    // Registered by another name, because a login without a factor waits.
    const { client, email } = await registered("Hedy");
    const setup = "/login/two_factor/setup";
    await api.application.container
      .make("database")
      .kysely.updateTable("users")
      .set({ name: "Frieda" })
      .where("email", "=", email)
      .execute();
    await client.postJson("/logout");
    const frieda = visitor();
    const { step, flows } = dataOf(await frieda.postJson("/login", { email, password: PASSWORD }));
    expect({ step, flows }).toEqual({ step: "two_factor_setup", flows: [{ id: "totp", field: "code", url: setup }] });
    const { secret } = dataOf(described(setup, "get", await frieda.getJson(setup), 200));
    described(setup, "post", await frieda.postJson(setup, { code: "no" }), 422);
    described(setup, "post", await frieda.postJson(setup, { code: new App(String(secret)).shown }), 201);
  },

  passkeys: async () => {
    const { client } = await registered();
    described("/account/passkeys", "get", await client.getJson("/account/passkeys"), 403);
    await client.postJson("/confirm_password", { password: PASSWORD });
    const device = new PasskeyDevice();
    const page = "/account/passkeys";
    const options = async (one: TestClient, path: string) =>
      dataOf(described(path, "post", await one.postJson(path), 200)).options as object;
    const credential = device.create(await options(client, `${page}/options`));
    const added = dataOf(described(page, "post", await client.postJson(page, { credential, name: "Phone" }), 201));
    described(page, "post", await client.postJson(page, { credential }), 422);
    described(page, "get", await client.getJson(page), 200);
    const own = `${page}/${(added.passkey as Json).id}`;
    described(`${page}/{id}`, "patch", await client.patchJson(own, { name: "Old phone" }), 200);
    described(`${page}/{id}`, "patch", await client.patchJson(own, { name: "" }), 422);
    described(`${page}/signals`, "post", await client.postJson(`${page}/signals`), 200);

    const guest = visitor();
    const assertion = device.get(await options(guest, "/login/passkey/options"));
    described("/login/passkey", "post", await guest.postJson("/login/passkey", { assertion }), 200);
    described("/login/passkey", "post", await visitor().postJson("/login/passkey", { assertion }), 422);
    const again = device.get(await options(guest, "/confirm_passkey/options"));
    described("/confirm_passkey", "post", await guest.postJson("/confirm_passkey", { assertion: again }), 200);
    described("/confirm_passkey", "post", await guest.postJson("/confirm_passkey", { assertion: again }), 422);

    const app = createTestClient(api.application);
    const path = "/api/passkey/options";
    const asked = dataOf(described(path, "post", await app.postJson(path), 200));
    const use = { assertion: device.get(asked) };
    described("/api/passkey", "post", await app.postJson("/api/passkey", use), 200);
    described("/api/passkey", "post", await app.postJson("/api/passkey", use), 401);
    for (const known of ["/.well-known/webauthn", "/.well-known/passkey-endpoints"]) {
      described(known, "get", await app.getJson(known), 200);
    }
    described(`${page}/{id}`, "delete", await client.deleteJson(own), 200);
    described(page, "get", await visitor().getJson(page), 401);
  },

  "accounts with passkeys only": async () => {
    const email = `newcomer-${++count}@example.com`;
    const newcomer = visitor();
    const path = "/register/passkey";
    described(path, "post", await newcomer.postJson(path, { email, name: "Ida" }), 202);
    described(path, "post", await newcomer.postJson(path, { email: "no" }), 422);
    const link = (await api.linkTo(email)).pathname;
    expect(dataOf(described(`${path}/{token}`, "get", await newcomer.getJson(link), 200)).newcomer).toEqual({
      email,
      name: "Ida",
    });
    const made = dataOf(described(`${path}/{token}/options`, "post", await newcomer.postJson(`${link}/options`), 200));
    const device = new PasskeyDevice();
    const credential = device.create(made.options);
    described(`${path}/{token}`, "post", await newcomer.postJson(link, { credential }), 201);
    described(`${path}/{token}`, "get", await visitor().getJson(link), 410);
    described("/home", "get", await newcomer.getJson("/home"), 200);
  },

  "logins by mail": async () => {
    const email = `newcomer-${++count}@example.com`;
    const client = visitor();
    const ask = async (one: TestClient, path: string, body: object) => {
      await api.mail.clear();
      const answer = described(path, "post", await one.postJson(path, body), 202);
      await api.application.background.settled();
      return { answer, mailed: mailedLogin((await api.mail.all()).at(-1)!) };
    };
    await ask(client, "/login/mail", { email });
    described("/login/mail", "post", await client.postJson("/login/mail", { email: "no" }), 422);
    const registration = (await api.linkTo(email)).pathname;
    const register = "/register/mail/{token}";
    described(register, "get", await client.getJson(registration), 200);
    described(register, "post", await client.postJson(registration, {}), 422);
    described(register, "post", await client.postJson(registration, { name: "Ida" }), 201);
    described(register, "get", await visitor().getJson(registration), 410);

    const confirming = await ask(client, "/confirm_mail/send", {});
    const code = { mailed_code: confirming.mailed.code };
    described("/confirm_mail", "post", await client.postJson("/confirm_mail", { mailed_code: "no" }), 422);
    described("/confirm_mail", "post", await client.postJson("/confirm_mail", code), 200);

    const guest = visitor();
    const { mailed } = await ask(guest, "/login/mail", { email });
    const link = "/login/mail/link/{token}";
    described(link, "get", await guest.getJson(mailed.link), 200);
    described(link, "post", await visitor().postJson(mailed.link, {}), 422);
    described("/login/mail/code", "post", await guest.postJson("/login/mail/code", { mailed_code: "no" }), 422);
    const right = { mailed_code: mailed.code };
    described("/login/mail/code", "post", await guest.postJson("/login/mail/code", right), 200);
    described(link, "get", await visitor().getJson(mailed.link), 410);
    const other = visitor();
    const second = await ask(other, "/login/mail", { email });
    described(link, "post", await other.postJson(second.mailed.link, {}), 200);
    described(link, "post", await other.postJson(second.mailed.link, {}), 410);

    const app = createTestClient(api.application);
    const asked = await ask(app, "/api/login-mail", { email });
    const token = { ...dataOf(asked.answer), mailed_code: asked.mailed.code };
    described("/api/login-mail/token", "post", await app.postJson("/api/login-mail/token", token), 200);
    described("/api/login-mail/token", "post", await app.postJson("/api/login-mail/token", token), 401);
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
