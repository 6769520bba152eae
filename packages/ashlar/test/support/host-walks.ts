import { expect } from "vitest";
import { PageVisitor } from "./page-visitor.ts";
import { exchange } from "./raw-socket.ts";

const EMAIL = "ada@example.com";
const PASSWORD = "a password of hers";
/** The account's final password. */
const LAST_PASSWORD = "another password of hers";

/** Waits for a mail with a link like this, and returns the link's path: mails are sent after the responses. */
async function mailedPath(url: string, pattern: RegExp): Promise<string> {
  const link = async (): Promise<string | undefined> => {
    const mails = (await (await fetch(`${url}dev/mailbox.json`)).json()) as { text: string }[];
    return mails.map(({ text }) => pattern.exec(text)?.[0]).find((one) => one !== undefined);
  };
  await expect.poll(link).toBeDefined();
  return (await link())!;
}

/**
 * Goes through the life of an account on a new generated application: registration, the mailed link, normal and
 * remembered logins, a changed and a forgotten password, a form without a CSRF token, and the API.
 *
 * @param headers the headers that the host expects with every request
 */
export async function walkAccount(url: string, headers: Readonly<Record<string, string>> = {}): Promise<void> {
  const ada = await new PageVisitor(url, headers).register();
  expect((await ada.open("/email/verify/notice")).html).toContain(EMAIL);
  expect((await ada.open(await mailedPath(url, /\/email\/verify\/\S+/))).status).toBe(200);
  const home = await ada.open("/home");
  expect([home.path, home.status]).toEqual(["/home", 200]);
  expect(home.html).toContain("Ada &lt;b&gt;");

  const forged = await ada.open("/logout", { method: "POST", body: new URLSearchParams() });
  expect([forged.status, (await ada.open("/home")).path]).toEqual([419, "/home"]);
  expect((await ada.press(home, "Log out")).path).toBe("/login");
  expect((await ada.open("/home")).path).toBe("/login");

  expect((await ada.logIn(await ada.open("/login"), EMAIL, "wrong")).path).toBe("/login");
  expect((await ada.logIn(await ada.open("/login"), EMAIL, PASSWORD)).path).toBe("/home");
  expect(ada.lifetimeOf("token")).toBe(null);

  const phone = new PageVisitor(url, headers);
  await phone.logIn(await phone.open("/login"), EMAIL, PASSWORD, { "Stay logged in on this device": true });
  expect(phone.lifetimeOf("token")).toBeGreaterThan(29 * 86_400);

  const changed = "a changed password of hers";
  const change = { "Current password": PASSWORD, "New password": changed, "Confirm new password": changed };
  await ada.press(await ada.open("/account/password"), "Change password", change);
  expect([(await ada.open("/home")).path, (await phone.open("/home")).path]).toEqual(["/home", "/login"]);

  const other = new PageVisitor(url, headers);
  await other.press(await other.open("/change_password"), "Send link", { "Email address": EMAIL });
  const form = await other.open(await mailedPath(url, /\/password_reset\?token=\S+/));
  const password = LAST_PASSWORD;
  await other.press(form, "Set password", { "New password": password, "Confirm new password": password });
  expect((await ada.open("/home")).path).toBe("/login");
  expect((await other.logIn(await other.open("/login"), EMAIL, password)).path).toBe("/home");

  const body = new URLSearchParams({ username: EMAIL, password });
  const authenticated = await fetch(`${url}api/auth`, { method: "POST", body, headers });
  const { data } = (await authenticated.json()) as { data: string };
  const me = await fetch(`${url}api/me`, { headers: { ...headers, authorization: `Bearer ${data}` } });
  expect(await me.json()).toMatchObject({ email: EMAIL });
}

/**
 * Tests the host's own page `/whoami`: as a guest, as a user, and with requests that change something. Uses the account
 * from {@link walkAccount}.
 *
 * @param address the address that the application gets from the socket
 */
export async function walkAuthentication(url: string, address: string | null): Promise<void> {
  const guest = await fetch(`${url}whoami`, { headers: { accept: "application/json" } });
  expect([guest.status, await guest.json()]).toMatchObject([401, { code: "E_UNAUTHENTICATED" }]);

  const visitor = new PageVisitor(url);
  expect((await visitor.open("/whoami")).path).toBe("/login");
  const page = await visitor.logIn(await visitor.open("/login"), EMAIL, LAST_PASSWORD);
  expect([page.path, page.headers.get("cache-control")]).toEqual(["/whoami", expect.stringContaining("no-store")]);
  const { csrfToken, ...known } = JSON.parse(page.html) as { csrfToken: string };
  expect(known).toEqual({ email: EMAIL, address });

  const post = async (headers: Record<string, string>): Promise<number> => {
    const { status } = await visitor.open("/whoami", { method: "POST", body: "item=tea" }, headers);
    return status;
  };
  expect(await post({})).toBe(419);
  expect(await post({ "x-csrf-token": csrfToken })).toBe(200);
  expect(await post({ "x-csrf-token": csrfToken, "sec-fetch-site": "cross-site" })).toBe(419);
}

/**
 * Tests files, streams, large bodies, HEAD and errors.
 *
 * @param address the address that the application gets from the socket
 */
export async function walkResponses(
  { url, port }: { url: string; port: number },
  address: string | null,
): Promise<void> {
  const get = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(new URL(path, url), init);
    const text = await response.text();
    return [response.status, response.headers.get("content-type"), text.length > 100 ? text.length : text] as const;
  };
  for (let round = 0; round < 3; round++) {
    expect(await get("/favicon.svg")).toEqual([200, "image/svg+xml", expect.any(Number)]);
    expect(await get("/large.txt")).toEqual([200, "text/plain; charset=utf-8", 300_000]);
    expect(await get("/large.txt", { headers: { range: "bytes=10-19" } })).toEqual([
      206,
      "text/plain; charset=utf-8",
      "x".repeat(10),
    ]);
    expect(await get("/large.txt", { method: "HEAD" })).toEqual([200, "text/plain; charset=utf-8", ""]);
  }
  const { headers } = await fetch(`${url}large.txt`);
  const etag = headers.get("etag") ?? "";
  expect((await get("/large.txt", { headers: { "if-none-match": etag } })).slice(0, 1)).toEqual([304]);
  expect((await get("/..%2fpackage.json"))[0]).toBe(400);
  expect(await get("/stream")).toEqual([200, "text/plain", 64 * 65536]);
  expect(await get("/stream", { method: "HEAD" })).toEqual([200, "text/plain", ""]);
  expect(await get("/platform")).toEqual([201, "text/plain;charset=UTF-8", "from the platform"]);
  expect((await get("/failing", { headers: { accept: "application/json" } })).slice(0, 2)).toEqual([
    500,
    "application/problem+json",
  ]);
  expect((await get("/nowhere"))[0]).toBe(404);
  expect(await (await fetch(`${url}address`)).json()).toEqual({ address });
  expect((await get("/", { method: "OPTIONS" }))[0]).toBe(204);
  // S118: a page whose host name resolves to this machine sends that name.
  for (const host of ["evil.example", `evil.example:${port}`, "localhost.evil.example", "127.0.0.1.evil.example"]) {
    expect(await exchange(port, "GET /dev/mailbox.json", `Host: ${host}`)).toMatch(/^HTTP\/1\.1 404 /);
  }
  expect((await get("/dev/mailbox.json"))[0]).toBe(200);
  // HEAD has the same length as GET, and its connection can be used for the next request.
  expect(await exchange(port, "HEAD /large.txt", "Host: a")).toMatch(
    /^HTTP\/1\.1 200 [^\n]*\n(?=.*content-length: 300000\n)/is,
  );

  const visitor = new PageVisitor(url);
  const large = await visitor.send("/echo", await visitor.open("/login"), { text: "x".repeat(900_000) });
  expect(JSON.parse(large.html)).toEqual({ length: 900_000 });
  const tooLarge = await visitor.send("/echo", await visitor.open("/login"), { text: "x".repeat(1_200_000) });
  expect(tooLarge.status).toBe(413);
}

/**
 * Sends forms with files that are too large for memory, and one whose files are streamed.
 *
 * @param isWritten whether the runtime writes them to disk
 */
export async function walkUploads(url: string, isWritten = true): Promise<void> {
  const visitor = new PageVisitor(url);
  const page = await visitor.open("/login");
  const token = /name="__token" value="([^"]+)"/.exec(page.html)![1]!;
  const send = async (path: string): Promise<unknown> => {
    const body = new FormData();
    body.append("__token", token);
    body.append("title", "Sea");
    for (const size of [3_000_000, 10]) body.append("photo", new File([Buffer.alloc(size, "x")], "photo.jpg"));
    const form = new Response(body);
    const headers = { accept: "application/json", "content-type": form.headers.get("content-type")! };
    return JSON.parse((await visitor.open(path, { method: "POST", body: await form.text() }, headers)).html);
  };
  for (let round = 0; round < 2; round++) {
    expect(await send("/photos")).toEqual({ size: 3_000_000, saved: 3_000_000, written: isWritten ? 1 : 0 });
    expect(await send("/films")).toEqual({ title: "Sea", sizes: [3_000_000, 10] });
  }
  await expect.poll(async () => (await fetch(`${url}left`)).json()).toEqual({ left: 0 });
}
