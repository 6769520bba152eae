import { createHmac } from "node:crypto";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import type { Application } from "../../../src/boot/index.ts";
import { bootApplication } from "../../support/booted-application.ts";
import { checkTypes, execute, generateApplication } from "../../support/generated-application.ts";
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
  await followSection(root, PAGE, "The routes");
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

async function send(path: string, body: string, headers: Record<string, string>): Promise<number> {
  const init = { method: "POST", body, headers: { "content-type": "application/json", ...headers } };
  return (await application.fetch(new Request(`http://localhost${path}`, init))).status;
}

const now = () => Math.floor(Date.now() / 1000);
const hmac = (key: string, text: string) => createHmac("sha256", key).update(text);

function likeStripe(body: string, time = now(), key = "a"): Record<string, string> {
  return { "stripe-signature": `t=${time},v1=${hmac(key, `${time}.${body}`).digest("hex")}` };
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
  test("GitHub's is accepted, and not with another text or secret", () => {
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

  test("one in the form of Standard Webhooks is accepted within five minutes, with any of its signatures", () => {
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

describe("the routes of the page", () => {
  test("handle a signed webhook once, without a CSRF token, also if it arrives many times at once", async () => {
    const body = '{"id": "evt_1", "type": "payment.succeeded"}';
    const headers = likeStripe(body);
    expect(await send("/webhooks/payments", body, headers)).toBe(204);
    const again = await Promise.all(Array.from({ length: 10 }, () => send("/webhooks/payments", body, headers)));
    expect(again).toEqual(Array(10).fill(204));
    expect(await handled()).toEqual(["payments:evt_1"]);
    const push = '{"ref":"refs/heads/main"}';
    const signature = `sha256=${hmac("b", push).digest("hex")}`;
    expect(await send("/webhooks/repository", push, { "x-hub-signature-256": signature })).toBe(204);
    expect(await send("/webhooks/mail", "{}", standard("msg_1", "{}"))).toBe(204);
    expect(await handled()).toEqual(["mail:msg_1", "payments:evt_1", `repository:${signature}`]);
  });

  test("refuse what is altered, signed with another secret, too old, or without a signature", async () => {
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

test("the page's test passes in the application", async () => {
  const { code, output } = await execute(root, process.execPath, ["--test", "tests/webhooks.test.ts"]);
  expect(code, output).toBe(0);
});

test("a route that is not named as an exception still needs a CSRF token", async () => {
  expect(await send("/login", "{}", {})).toBe(419);
});
