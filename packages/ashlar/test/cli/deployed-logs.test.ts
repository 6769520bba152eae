// The logs of the proxies from `ashlar make:deploy` while users follow mailed links, even while no instance responds.
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { generateSecret } from "../../src/security/index.ts";
import { ashlar } from "../support/command-line.ts";
import { type DeployedProxy, HOST, type ProxyName, startProxy } from "../support/deployed-proxies.ts";
import { freePort } from "../support/free-port.ts";
import { edit, generateApplication, startServing } from "../support/generated-application.ts";
import { HttpsVisitor, plainly } from "../support/https-visitor.ts";
import { linkIn, type MailServer, startMailServer } from "../support/mail-server.ts";
import { type Filling, fillIn } from "../support/page-form.ts";
import { withProgram } from "../support/system-programs.ts";

const PROXIES = { nginx: "nginx.conf", caddy: "Caddyfile", haproxy: "haproxy.cfg" } as const;
const ADDRESS = "jane@shop.example";
const PASSWORD = "correct horse battery staple";
/** Short enough to look like a word in a path. */
const PIN = "sesame";

let root: string;
let remove: () => Promise<void>;
let port: number;

beforeAll(async () => {
  ({ root, remove } = await generateApplication());
  port = await freePort(1);
  await edit(root, ".env", ["PORT=3000", `PORT=${port}`], ["APP_URL=", `APP_URL=https://${HOST}`]);
  await edit(root, "routes/web.ts", [
    "...Auth.routes(AuthControllers),",
    `...Auth.routes(AuthControllers),
  Route.get("/coupons", async () => {
    const { router } = (await import("../app.ts")).default;
    return [router.signed("unsubscribe", {}, { query: { who: "jane-of-the-shop" } }), router.to("coupon", { value: "summer" })];
  }),
  Route.get("/coupons/@value:signed", ({ params }) => params.value).name("coupon"),
  Route.get("/unsubscribe", () => "").name("unsubscribe").middleware("signed"),
  Route.get("/door/@pin", ({ params }) => params.pin),`,
  ]);
  expect(await ashlar(root, "migrate")).toMatchObject({ code: 0 });
  expect(await ashlar(root, "make:deploy")).toMatchObject({ code: 0, errors: "" });
});
afterAll(() => remove());

function variables(mail: MailServer): Record<string, string> {
  return {
    ...{ APP_ENV: "production", NODE_ENV: "production", APP_KEY: generateSecret(), JWT_SECRET: generateSecret() },
    ...{ PORT: String(port), HOST: "127.0.0.1", TRUSTED_PROXIES: "127.0.0.1" },
    ...{ MAIL_FROM: "shop@shop.example", SMTP_HOST: "127.0.0.1", SMTP_PORT: String(mail.port) },
  };
}

function visitorOf({ secure }: DeployedProxy): HttpsVisitor {
  const visitor = new HttpsVisitor(secure, HOST, "127.0.0.2");
  onTestFinished(() => visitor.leave());
  return visitor;
}

/** A mail's link, without the host. */
function targetOf(link: string): string {
  const { pathname, search, host } = new URL(link);
  expect(host).toBe(HOST);
  return pathname + search;
}

/** Fills in a form of a page, and sends it. */
async function send(visitor: HttpsVisitor, page: string, filling: Filling, button: string): Promise<void> {
  const { text } = await visitor.ask(page);
  const { action, entries } = fillIn(text, filling, button);
  const fields = Object.fromEntries(entries.map(([name, value]) => [name, String(value)]));
  expect((await visitor.ask(action || page, fields)).status).toBe(302);
}

/** The parts of a target that must not be logged. */
function secretsIn(target: string): string[] {
  const { pathname, searchParams } = new URL(target, `https://${HOST}`);
  return [...pathname.split("/").filter((segment) => segment.length > 24), ...searchParams.values()].flatMap((one) => [
    one,
    decodeURIComponent(one),
  ]);
}

describe.each(Object.keys(PROXIES) as ProxyName[])("behind %s", (name) => {
  withProgram(name, () => {
    test("S153 no log contains a token from a mailed or signed link, even while no instance responds", async () => {
      const mail = await startMailServer();
      const served = await startServing(root, variables(mail));
      onTestFinished(() => void served.child.kill("SIGKILL"));
      const text = await readFile(join(root, "deploy", PROXIES[name]), "utf8");
      // By default, Caddy only logs failures.
      const proxy = await startProxy(name, name === "caddy" ? text.replace(`${HOST} {`, `${HOST} {\n\tlog`) : text);
      const visitor = visitorOf(proxy);
      await expect.poll(() => visitor.ask("/login").then(({ status }) => status, String)).toBe(200);

      const address = `${name}-${ADDRESS}`;
      const newcomer = { Name: "Jane", "Email address": address, Password: PASSWORD, "Confirm password": PASSWORD };
      await send(visitor, "/register", newcomer, "Register");
      const verification = targetOf(linkIn(await mail.next(address, /./)));
      expect((await visitor.ask(verification)).status).toBeLessThan(400);
      await send(visitorOf(proxy), "/change_password", { "Email address": address }, "Send link");
      const reset = targetOf(linkIn(await mail.next(address, /password/i)));
      const renewed = { "New password": `${PASSWORD}!`, "Confirm new password": `${PASSWORD}!` };
      await send(visitorOf(proxy), reset, renewed, "Set password");
      const [unsubscribe, coupon] = JSON.parse((await visitor.ask("/coupons")).text) as [string, string];

      const random = (): string => randomBytes(32).toString("base64url");
      const targets = [
        ...[verification, reset, unsubscribe, coupon, `/door/${PIN}`, `/login/device/${random()}`],
        ...[
          `/email/undo/${random()}`,
          `/unsubscribed?token=${random()}`,
          `/x/${random()}/y`,
          `//password_reset/${random()}`,
        ],
      ];
      const secrets = [PIN, ...targets.flatMap(secretsIn)];
      expect(secrets.length).toBeGreaterThan(10);
      for (const target of targets) await visitor.ask(target, null, { referer: `https://${HOST}${target}` });
      if (name !== "caddy") for (const target of targets) await plainly(proxy.plain, HOST, target);
      served.child.kill("SIGKILL");
      const failed = await Promise.all(targets.map((target) => visitorOf(proxy).ask(target)));
      expect(failed.filter(({ status }) => status !== 502 && status !== 503)).toEqual([]);

      await expect.poll(proxy.written).toMatch(/\/login\/device\/.*50[23]|50[23].*\/login\/device\//);
      const written = await proxy.written();
      expect(secrets.filter((secret) => written.includes(secret))).toEqual([]);
      expect(served.output().length).toBeGreaterThan(0);
      expect(secrets.filter((secret) => secret !== PIN && served.output().includes(secret))).toEqual([]);
      // The log still shows what happened.
      for (const path of ["/register", "/password_reset", "/unsubscribe", "/coupons/", "/door/"]) {
        expect(written).toContain(path);
      }
    }, 120_000);
  });
});
