import assert from "node:assert/strict";
import type { Choices } from "./combinations.ts";

/** A visitor's browser: it keeps cookies, and sends forms with the token of their page. */
class Visitor {
  readonly #base: string;
  readonly #cookies = new Map<string, string>();

  constructor(base: string) {
    this.#base = base;
  }

  async request(
    path: string,
    init: RequestInit = {},
  ): Promise<{ status: number; text: string; location: string | null }> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const headers = { ...(init.headers as Record<string, string>), ...(cookie === "" ? {} : { cookie }) };
    const response = await fetch(new URL(path, this.#base), { ...init, headers, redirect: "manual" });
    for (const line of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      if (name !== undefined) this.#cookies.set(name, value ?? "");
    }
    const location = response.headers.get("location");
    return { status: response.status, text: await response.text(), location };
  }

  async get(path: string): Promise<string> {
    const { status, text } = await this.request(path);
    assert.equal(status, 200, `GET ${path}: ${status}\n${text}`);
    return text;
  }

  /** Sends a page's form, and returns the path that the response leads to. */
  async send(page: string, action: string, fields: Readonly<Record<string, string>>): Promise<string> {
    const [, name, token] = /<input type="hidden" name="([^"]*)" value="([^"]+)"/.exec(await this.get(page)) ?? [];
    assert.ok(name && token, `GET ${page}: the form has no token.`);
    const body = new URLSearchParams({ ...fields, [name]: token });
    const { status, location, text } = await this.request(action, { method: "POST", body });
    assert.equal(status, 302, `POST ${action}: ${status}\n${text}`);
    return new URL(location!, this.#base).pathname;
  }

  /** Sends JSON with a CSRF token, and returns the `data` of the response. */
  async sendJson(path: string, fields: object, status: number): Promise<Readonly<Record<string, unknown>>> {
    const { token } = JSON.parse(await this.get("/csrf")) as { token: string };
    const headers = { "content-type": "application/json", "x-csrf-token": token };
    const response = await this.request(path, { method: "POST", headers, body: JSON.stringify(fields) });
    assert.equal(response.status, status, `POST ${path}: ${response.status}\n${response.text}`);
    return (JSON.parse(response.text) as { data: Readonly<Record<string, unknown>> }).data;
  }
}

/** The pages' texts, by language. */
const SENTENCES = {
  en: { hello: "Hello, Ada", verified: "Your email address is verified.", on: "What's included" },
  de: { hello: "Guten Tag, Ada", verified: "Ihre E-Mail-Adresse ist bestätigt.", on: "Das ist dabei" },
} as const;

const EMAIL = "ada@example.com";

/**
 * Walks through an application from its front page to a token, skipping the parts that it lacks: registers, verifies the
 * address with a mail from the mailbox, logs in, and asks the API who the user is.
 *
 * @param base where it is served
 * @param addUser runs the application's script that adds accounts, and returns its output
 */
export async function walk(base: string, choices: Choices, addUser: AddUser): Promise<void> {
  const visitor = new Visitor(base);
  const password = choices.json
    ? await walkJson(visitor, choices, addUser)
    : await walkPages(visitor, choices, addUser, new Visitor(base));
  const token = { method: "POST", body: new URLSearchParams({ username: EMAIL, password }) };
  const issued = await visitor.request("/api/auth", token);
  if (!choices.api) return assert.equal(issued.status, 404, issued.text);
  // Without accounts there are no users: the token endpoint says so, and the API refuses every request.
  if (!choices.pages && !choices.json) {
    assert.ok([401, 422].includes(issued.status), `${issued.status} ${issued.text}`);
    return assert.equal((await visitor.request("/api/me")).status, 401);
  }
  assert.equal(issued.status, 200, issued.text);
  const { data } = JSON.parse(issued.text) as { data: string };
  const me = await visitor.request("/api/me", { headers: { authorization: `Bearer ${data}` } });
  assert.equal(me.status, 200, me.text);
  assert.equal((JSON.parse(me.text) as { email: string }).email, EMAIL);
}

type AddUser = (args: string) => Promise<string>;

/**
 * Registers, verifies the address and logs in using the pages, and returns the password.
 *
 * @param other another browser, which logs in
 */
async function walkPages(visitor: Visitor, choices: Choices, addUser: AddUser, other: Visitor): Promise<string> {
  const sentences = SENTENCES[choices.language];
  const front = unescaped(await visitor.get("/"));
  assert.ok(front.includes(`<html lang="${choices.language}">`), front);
  assert.ok(front.includes(sentences.on), front);
  let password = "a password of hers";

  if (choices.pages && choices.registration) {
    const fields = { name: "Ada", email: EMAIL, password, password_confirmation: password };
    const place = await visitor.send("/register", "/register", fields);
    assert.equal(place, choices.verification ? "/email/verify/notice" : "/home");
  } else if (choices.pages) {
    assert.equal((await visitor.request("/register")).status, 404);
    const printed = await addUser(`Ada ${EMAIL}`);
    password = /can log in with the password (\S+)/.exec(printed)?.[1] ?? assert.fail(printed);
    assert.equal(await visitor.send("/login", "/login", { email: EMAIL, password }), "/home");
  }
  if (choices.pages) {
    if (choices.verification) {
      if (!choices.registration) await visitor.send("/email/verify/notice", "/email/resend", {});
      const link = await mailedLink(visitor);
      assert.equal((await visitor.request(link)).status, 302, `GET ${link}`);
      assert.ok(unescaped(await visitor.get("/home")).includes(sentences.verified));
    }
    assert.equal(await other.send("/login", "/login", { email: EMAIL, password }), "/home");
    assert.ok(unescaped(await other.get("/home")).includes(sentences.hello));
  } else {
    assert.equal((await visitor.request("/login")).status, 404);
  }
  return password;
}

/** Does the same without pages, as a front end would, and returns the password. */
async function walkJson(visitor: Visitor, choices: Choices, addUser: AddUser): Promise<string> {
  assert.equal((await visitor.request("/")).status, 200);
  assert.equal((await visitor.request("/login")).status, 405);
  let password = "a password of hers";
  if (choices.registration) {
    const fields = { name: "Ada", email: EMAIL, password, password_confirmation: password };
    const { status, verificationSent } = await visitor.sendJson("/register", fields, 201);
    assert.deepEqual([status, verificationSent], ["complete", choices.verification]);
  } else {
    const printed = await addUser(`Ada ${EMAIL}`);
    password = /can log in with the password (\S+)/.exec(printed)?.[1] ?? assert.fail(printed);
    assert.equal((await visitor.sendJson("/login", { email: EMAIL, password }, 200)).status, "complete");
  }
  if (choices.verification) {
    if (!choices.registration) await visitor.sendJson("/email/resend", {}, 202);
    const { email, status } = await visitor.sendJson(await mailedLink(visitor), {}, 200);
    assert.deepEqual([email, status], [EMAIL, "verified"]);
  }
  assert.equal((await visitor.sendJson("/logout", {}, 200)).status, "logged_out");
  assert.equal((await visitor.sendJson("/login", { email: EMAIL, password }, 200)).status, "complete");
  const home = await visitor.request("/home");
  assert.equal((JSON.parse(home.text) as { data: { user: { email: string } } }).data.user.email, EMAIL);
  return password;
}

/** The link in the newest mail of the development mailbox. */
async function mailedLink(visitor: Visitor): Promise<string> {
  const list = await visitor.get("/dev/mailbox");
  const [, mail] = /href="(\/dev\/mailbox\/\d+)"/.exec(list) ?? [];
  const text = unescaped(mail === undefined ? list : await visitor.get(`${mail}/text`));
  const [link] = /https?:\/\/[^\s"<]+\/email\/verify\/[^\s"<]+/.exec(text) ?? [];
  assert.ok(link, `The newest mail has no link:\n${text}`);
  return new URL(link).pathname;
}

function unescaped(html: string): string {
  return html.replaceAll("&#39;", "'").replaceAll("&#x27;", "'").replaceAll("&amp;", "&").replaceAll("&#x2F;", "/");
}
