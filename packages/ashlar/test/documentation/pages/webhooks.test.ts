import { createHmac, randomBytes } from "node:crypto";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import type { Application } from "../../../src/boot/index.ts";
import { bootApplication } from "../../support/booted-application.ts";
import {
  COMMAND,
  checkTypes,
  execute,
  generateApplication,
  generatedApplication,
} from "../../support/generated-application.ts";
import { followPage } from "../../support/page-files.ts";
import { followSection } from "../../support/page-sections.ts";

const PAGE = "docs/guides/webhooks.md";

let root: string;
let remove: () => Promise<void>;
let application: Application;
let end: () => Promise<void>;
let secrets: Record<"payments" | "repository" | "mail", string>;
let signatures: Signatures;

interface Signatures {
  isSignedLikeStripe(body: Uint8Array, header: string | null, secret: string): boolean;
  isSignedLikeGitHub(body: Uint8Array, header: string | null, secret: string): boolean;
  isStandardWebhook(body: Uint8Array, headers: Record<string, string | null>, secret: string): boolean;
}

beforeAll(async () => {
  ({ root, remove } = await generateApplication({ api: false }));
  await followPage(root, PAGE);
  for (const section of ["The secrets", "The routes"]) await followSection(root, PAGE, section);
  await checkTypes(root);
  const load = (path: string) => import(pathToFileURL(join(root, path)).href);
  ({ WEBHOOKS: secrets } = await load("config/webhooks.ts"));
  signatures = await load("app/webhooks/signatures.ts");
  ({ application, end } = await bootApplication(root));
  Object.assign(secrets, { payments: "a", repository: "b", mail: `whsec_${Buffer.from("c").toString("base64")}` });
}, 120_000);
afterAll(async () => {
  await end?.();
  await remove?.();
});
afterEach(() => vi.useRealTimers());

async function respond(
  path: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string>,
): Promise<Response> {
  const init = { method: "POST", body, headers: { "content-type": "application/json", ...headers } };
  return await application.fetch(new Request(`http://localhost${path}`, init));
}

async function send(path: string, body: string, headers: Record<string, string>): Promise<number> {
  return (await respond(path, body, headers)).status;
}

const now = () => Math.floor(Date.now() / 1000);
const hmac = (key: string, text: string) => createHmac("sha256", key).update(text);

function likeStripe(body: string, time = now(), key = "a"): Record<string, string> {
  return { "stripe-signature": `t=${time},v1=${hmac(key, `${time}.${body}`).digest("hex")}` };
}

function likeGitHub(body: string): Record<string, string> {
  return { "x-hub-signature-256": `sha256=${hmac("b", body).digest("hex")}` };
}

function standard(id: string, body: string, time = now()): Record<string, string> {
  const signature = `v1,${hmac("c", `${id}.${time}.${body}`).digest("base64")}`;
  return { "webhook-id": id, "webhook-timestamp": String(time), "webhook-signature": signature };
}

async function handled(): Promise<string[]> {
  const rows = await application.container
    .make("database")
    .kysely.selectFrom("webhooks" as never)
    .selectAll()
    .execute();
  return (rows as { id: string }[]).map(({ id }) => id).sort();
}

describe("the services' own examples", () => {
  test("GitHub's is accepted, but not with another text or secret", () => {
    const header = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    const verify = (text: string, secret: string, given: string | null = header) =>
      signatures.isSignedLikeGitHub(Buffer.from(text), given, secret);
    expect(verify("Hello, World!", "It's a Secret to Everybody")).toBe(true);
    expect(verify("Hello, World", "It's a Secret to Everybody")).toBe(false);
    expect(verify("Hello, World!", "it's a secret to everybody")).toBe(false);
    for (const wrong of [null, "", "sha256=", "sha1=757107ea", header.slice(0, -1), `${header}0`, header.slice(7)]) {
      expect(verify("Hello, World!", "It's a Secret to Everybody", wrong)).toBe(false);
    }
  });

  test("a Standard Webhooks request is accepted within five minutes, with any of its signatures", () => {
    const body = Buffer.from('{"test": 2432232314}');
    const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const key = Buffer.from(secret.slice(6), "base64");
    const signed = createHmac("sha256", key).update('msg_1.1614265330.{"test": 2432232314}').digest("base64");
    const headers = { id: "msg_1", timestamp: "1614265330", signature: `v1,bm90IHRoaXM= v2,x v1,${signed}` };
    const at = (seconds: number, changes: object = {}) => {
      vi.useFakeTimers({ now: (1_614_265_330 + seconds) * 1000, toFake: ["Date"] });
      return signatures.isStandardWebhook(body, { ...headers, ...changes }, secret);
    };
    expect([0, 300, -300, 301, -301].map((seconds) => at(seconds))).toEqual([true, true, true, false, false]);
    for (const changes of [
      { id: "msg_2" },
      { timestamp: "1614265331" },
      { timestamp: "1614265330.0" },
      { id: null },
      { timestamp: null },
      { signature: null },
      { signature: signed },
      { signature: `v1a,${signed}` },
    ]) {
      expect(at(0, changes)).toBe(false);
    }
  });

  test("an empty secret verifies nothing", () => {
    const body = Buffer.from("x");
    const hex = createHmac("sha256", "").update(body).digest("hex");
    expect(() => signatures.isSignedLikeGitHub(body, `sha256=${hex}`, "")).toThrow("secret is not set");
  });
});

describe("the page's routes", () => {
  test("handle a signed webhook once, without a CSRF token, even if it arrives many times at once", async () => {
    const body = '{"id": "evt_1", "type": "payment.succeeded"}';
    const headers = likeStripe(body);
    expect(await send("/webhooks/payments", body, headers)).toBe(204);
    const again = await Promise.all(Array.from({ length: 10 }, () => send("/webhooks/payments", body, headers)));
    expect(again).toEqual(Array(10).fill(204));
    expect(await handled()).toEqual(["payments:evt_1"]);
    const push = '{"ref":"refs/heads/main"}';
    const signature = `sha256=${hmac("b", push).digest("hex")}`;
    expect(await send("/webhooks/repository", push, { "x-hub-signature-256": signature })).toBe(204);
    const bounced = '{"type":"bounced"}';
    expect(await send("/webhooks/mail", bounced, standard("msg_1", bounced))).toBe(204);
    expect(await handled()).toEqual(["mail:msg_1", "payments:evt_1", `repository:${signature}`]);
  });

  test("refuse webhooks that are altered, signed with another secret, too old, or unsigned", async () => {
    const before = await handled();
    const body = '{"id":"evt_2","type":"payment.succeeded"}';
    for (const headers of [
      {},
      likeStripe(body, now() - 301),
      likeStripe(body, now() + 310),
      likeStripe(body, now(), "another"),
      { "stripe-signature": likeStripe(body)["stripe-signature"]!.replace("v1=", "v0=") },
      likeStripe(body.replaceAll('"', ' "')),
    ]) {
      expect(await send("/webhooks/payments", body, headers)).toBe(403);
    }
    expect(await send("/webhooks/mail", "{}", { ...standard("msg_2", "{}"), "webhook-id": "msg_3" })).toBe(403);
    expect(await send("/webhooks/repository", body, { "x-hub-signature-256": "sha256=00" })).toBe(403);
    expect(await handled()).toEqual(before);
  });
});

/** What was logged as handled while a task ran. */
async function logged(task: () => Promise<unknown>): Promise<unknown[]> {
  const info = vi.spyOn(application.container.make("logger"), "info").mockImplementation(() => {});
  const calls: readonly unknown[][] = info.mock.calls;
  await task();
  const events = calls.filter(([, message]) => message === "A webhook was handled.").map(([fields]) => fields);
  info.mockRestore();
  return events;
}

describe("only the signed bytes identify a webhook", () => {
  const forgery = "?id=evt_forged&type=payment.succeeded&ref=refs/heads/forged";
  const types = ["text/plain", "application/x-www-form-urlencoded", "application/octet-stream", "application/json"];

  test.for(types)("a recorded webhook that is sent again with a query and as %s counts as the same", async (type) => {
    const [payment, push, bounced] = [
      `{"id":"evt_${type}","type":"payment.failed"}`,
      `{"ref":"refs/heads/${type}"}`,
      `{"type":"bounced","id":"${type}"}`,
    ];
    const sent = [
      ["payments", payment, likeStripe(payment)],
      ["repository", push, likeGitHub(push)],
      ["mail", bounced, standard(`msg_${type}`, bounced)],
    ] as const;
    const before = await handled();
    const events = await logged(async () => {
      for (const [service, body, headers] of [...sent, ...sent]) {
        const { status } = await respond(`/webhooks/${service}${forgery}`, body, { ...headers, "content-type": type });
        expect(status).toBe(204);
      }
    });
    expect(events).toEqual([{ event: "payment.failed" }, { event: `push refs/heads/${type}` }, { event: "bounced" }]);
    const { "x-hub-signature-256": signature } = likeGitHub(push);
    const rows = [`mail:msg_${type}`, `payments:evt_${type}`, `repository:${signature}`];
    expect((await handled()).filter((id) => !before.includes(id))).toEqual(rows);
  });

  test.for([
    '{"type":"x"}',
    '{"id":"","type":"x"}',
    '{"id":7,"type":"x"}',
    '{"id":"evt_9"}',
    "[]",
    "null",
    "id=evt_9",
    "",
  ])("a payment without an id, a type or JSON is refused without storing anything: %s", async (body) => {
    const before = await handled();
    for (const type of types) {
      const path = `/webhooks/payments${forgery}`;
      const response = await respond(path, body, {
        ...likeStripe(body),
        "content-type": type,
        accept: "application/json",
      });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ code: "E_INVALID_BODY" });
    }
    expect(await handled()).toEqual(before);
  });

  test("a repository's ping is acknowledged, and isn't a push", async () => {
    const ping = '{"zen":"Keep it logically awesome."}';
    expect(
      await logged(async () => expect(await send("/webhooks/repository", ping, likeGitHub(ping))).toBe(204)),
    ).toEqual([]);
  });

  test("the text signed by Standard Webhooks can't be split elsewhere", async () => {
    const time = now();
    const inner = '{"type":"paid"}';
    const signed = standard("msg_7", `{"type":"note.${time}.${inner}"}`, time);
    // The same text, with what the outer one quotes as its body.
    const id = `msg_7.${time}.{"type":"note`;
    const forged = `${inner}"}`;
    const headers = { ...signed, "webhook-id": id };
    expect(await send("/webhooks/mail", forged, headers)).toBe(403);
    expect(signatures.isStandardWebhook(Buffer.from(forged), standardHeaders(headers), secrets.mail)).toBe(false);
  });
});

function standardHeaders(headers: Record<string, string>): Record<string, string | null> {
  return {
    id: headers["webhook-id"]!,
    timestamp: headers["webhook-timestamp"]!,
    signature: headers["webhook-signature"]!,
  };
}

test("without its secrets, the application doesn't start in production, and the error names the missing variable", async () => {
  const environment = {
    ...{
      APP_ENV: "production",
      APP_URL: "https://shop.example",
      APP_KEY: randomBytes(64).toString("base64url"),
      DATABASE_PATH: ":memory:",
    },
    ...{
      MAIL_FROM: "shop@shop.example",
      SMTP_HOST: "127.0.0.1",
      PAYMENTS_WEBHOOK_SECRET: "a",
      MAIL_WEBHOOK_SECRET: "",
    },
  };
  const { code, output } = await execute(root, process.execPath, [COMMAND, "routes"], environment);
  expect(output).toContain(
    "config/webhooks.ts: WEBHOOKS.repository: is missing. Set REPOSITORY_WEBHOOK_SECRET in .env.",
  );
  expect(code).not.toBe(0);
});

test.for([
  { json: true, pages: false },
  { pages: false, api: true },
])("the page's changes fit an application created with %j", async (options) => {
  const other = await generatedApplication({ api: false, ...options });
  await followPage(other, PAGE);
  await followSection(other, PAGE, "The secrets");
  if ("json" in options) await followSection(other, PAGE, "The routes");
  await checkTypes(other);
});

test("the page's test passes in the application", async () => {
  const { code, output } = await execute(root, process.execPath, ["--test", "tests/webhooks.test.ts"]);
  expect(code, output).toBe(0);
});

test("a route that is not named as an exception still needs a CSRF token", async () => {
  expect(await send("/login", "{}", {})).toBe(419);
});
