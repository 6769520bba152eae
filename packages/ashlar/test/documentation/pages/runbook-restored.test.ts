// The runbook about a restored database, with the real thing: its commands restore a backup of a served application, and nothing
// that was issued before or after the backup gives access, or is sent, a second time.
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { generateSecret } from "../../../src/security/index.ts";
import { COMMAND, edit, execute, freePort, generatedApplication, serve } from "../../support/generated-application.ts";
import { linkIn, openMailServer } from "../../support/mail-server.ts";
import { administer, POSTGRES } from "../../support/postgres-databases.ts";
import { markdownSamples } from "../../support/samples.ts";
import { onEachDatabase } from "../../support/services.ts";
import { SocketVisitor } from "../../support/socket-visitor.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const PAGE = "docs/runbooks/database-restored.md";
const ADA = { email: "ada@example.com", password: "the password on the day of the backup" };
const NEW_PASSWORD = "the password that replaced it";
const BOB = { email: "bob@example.com", password: "someone who registered later" };
const CAROL = { email: "carol@example.com", password: "someone who registered after that" };

/** A served application, its folder, and what its commands need. */
interface Restored {
  readonly root: string;
  readonly visitor: () => SocketVisitor;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Runs the page's commands that contain a text, and returns what they print. */
  follow(text: string): Promise<string>;
  startMail(): Promise<Awaited<ReturnType<typeof openMailServer>>["mail"]>;
}

async function open(database: "sqlite" | "postgres"): Promise<Restored> {
  const root = await generatedApplication({ database });
  const backups = await temporaryFolder();
  const [smtpPort, name] = [await freePort(), `restored_${process.pid}`];
  // The same after a restart, for visitors who come back.
  const port = String(await freePort());
  const server = `postgres://${POSTGRES.user}@${POSTGRES.host}:${POSTGRES.port}`;
  const databaseUrl = `${server}/${name}`;
  if (database === "postgres") {
    const drop = async () => {
      for (const one of [name, `${name}_broken`]) await administer(`drop database if exists ${one} with (force)`);
    };
    await drop();
    onTestFinished(drop);
    await administer(`create database ${name}`);
  }
  const variables = {
    ...{ APP_ENV: "production", APP_URL: "http://shop.example", APP_KEY: generateSecret(), HOST: "127.0.0.1" },
    ...{ JWT_SECRET: generateSecret(), TRUSTED_PROXIES: "loopback", MAIL_FROM: "shop@shop.example" },
    ...{ SMTP_HOST: "127.0.0.1", SMTP_PORT: smtpPort },
    ...(database === "postgres" ? { DATABASE_URL: databaseUrl } : { DATABASE_PATH: join(root, "database/app.sqlite") }),
  };
  const text = Object.entries(variables).map(([key, value]) => `${key}=${value}\n`);
  await writeFile(join(root, ".env"), text.join(""), { mode: 0o600 });
  // What failed is tried again soon.
  await edit(root, "config/mail.ts", [
    "export const MAIL = {",
    "export const MAIL = {\n  retry: { delaySeconds: 0.5 },",
  ]);
  const shell = async (code: string): Promise<string> => {
    const script = code
      .replaceAll(/^sudo systemctl .*$/gm, "")
      .replaceAll("/srv/shop/database/", `${join(root, "database")}/`)
      .replaceAll("/srv/shop", backups)
      .replaceAll("/var/backups", backups)
      .replaceAll("owner shop", `owner ${POSTGRES.user}`)
      .replaceAll(/database shop(?=[_" ])/g, `database ${name}`)
      .replaceAll("to shop_broken", `to ${name}_broken`)
      .replaceAll("npx ashlar", `${process.execPath} ${COMMAND}`);
    const addresses = { DATABASE_URL: databaseUrl, ADMIN_URL: `${server}/${POSTGRES.database}` };
    const ran = await execute(root, "bash", ["-ec", script], database === "postgres" ? addresses : {});
    expect([ran.code, ran.output]).toEqual([0, expect.not.stringContaining("FATAL")]);
    return ran.output;
  };
  await shell("npx ashlar migrate");
  let served: Awaited<ReturnType<typeof serve>> | null = null;
  return {
    root,
    visitor: () =>
      new SocketVisitor(served!.url, { headers: { host: "shop.example", "x-forwarded-for": "203.0.113.9" } }),
    async start() {
      served = await serve(root, { PORT: port });
    },
    async stop() {
      const ended = once(served!.child, "close");
      served!.child.kill("SIGTERM");
      await ended;
    },
    async follow(text) {
      const { code } = (await markdownSamples(PAGE)).find((one) => one.language === "sh" && one.code.includes(text))!;
      return shell(code);
    },
    async startMail() {
      const { mail, close } = await openMailServer(smtpPort);
      onTestFinished(close);
      return mail;
    },
  };
}

async function register({ visitor }: Restored, { email, password }: typeof ADA): Promise<SocketVisitor> {
  const browser = visitor();
  const fields = { name: "Someone", email, password, password_confirmation: password };
  expect((await browser.submit("/register", fields)).status).toBeLessThan(400);
  return browser;
}

async function logIn({ visitor }: Restored, email: string, password: string): Promise<SocketVisitor> {
  const browser = visitor();
  await browser.submit("/login", { email, password });
  return browser;
}

const isIn = async (browser: SocketVisitor) => (await browser.get("/logins")).status === 200;

async function tokenOf({ visitor }: Restored, email: string, password: string): Promise<string> {
  const { body } = await visitor().post("/api/auth", { username: email, password });
  return (JSON.parse(body) as { data: string }).data;
}

/** The key of a token's user; `null` if the token is refused. */
async function ownerOf({ visitor }: Restored, token: string): Promise<number | null> {
  const { status, body } = await visitor().post("/api/whose", { token });
  return status === 200 ? (JSON.parse(body) as { id: number }).id : null;
}

await onEachDatabase("S203 a backup that was restored as the runbook says", (engine) => {
  test.skipIf(engine.name === "mariadb")("gives no access and sends nothing twice", async () => {
    const database = engine.name as "sqlite" | "postgres";
    const shop = await open(database);
    await edit(shop.root, "routes/api.ts", [
      "export const ROUTES: RouteEntry[] = [",
      `export const ROUTES: RouteEntry[] = [
  Route.post("/whose", async ({ request }) => ({ id: (await request.user()).id })).middleware("guard:jwt"),`,
    ]);
    await shop.start();
    // The day of the backup: the mail server is down, so two mails wait.
    const before = await register(shop, ADA);
    const tokens = [await tokenOf(shop, ADA.email, ADA.password)];
    await shop.visitor().submit("/change_password", { email: ADA.email });
    expect([await isIn(before), await ownerOf(shop, tokens[0]!)]).toEqual([true, 1]);
    await shop.follow(database === "sqlite" ? ".backup" : "pg_dump");

    // Since: the mails arrive, Ada has another password and logs in, and Bob registers.
    const mail = await shop.startMail();
    await mail.next(ADA.email, /erif/);
    const reset = new URL(linkIn(await mail.next(ADA.email, /assword/)));
    const fields = {
      token: reset.searchParams.get("token")!,
      password: NEW_PASSWORD,
      password_confirmation: NEW_PASSWORD,
    };
    const changed = await shop.visitor().submit("/password_reset", fields, reset.pathname + reset.search);
    expect(changed.status).toBeLessThan(400);
    const browsers = [before, await logIn(shop, ADA.email, NEW_PASSWORD), await register(shop, BOB)];
    tokens.push(await tokenOf(shop, ADA.email, NEW_PASSWORD), await tokenOf(shop, BOB.email, BOB.password));
    expect(await Promise.all(browsers.map(isIn))).toEqual([false, true, true]);
    expect(await Promise.all(tokens.map((one) => ownerOf(shop, one)))).toEqual([null, 1, 2]);
    await mail.next(BOB.email, /erif/);
    await shop.visitor().submit("/change_password", { email: ADA.email });
    const unused = new URL(linkIn(await mail.next(ADA.email, /assword/)));
    await shop.stop();
    mail.mails.length = 0;

    if (database === "sqlite") expect(await shop.follow("integrity_check")).toContain("ok");
    else await shop.follow("pg_restore");
    const output = await shop.follow("access:end-all");
    expect(output).toContain("2 mails deleted, unsent.");
    expect(output).toContain("web: access to 1 account has ended.");
    await shop.start();
    // Carol gets Bob's former key, and nothing else of Bob's.
    const carol = await register(shop, CAROL);
    expect(await ownerOf(shop, await tokenOf(shop, CAROL.email, CAROL.password))).toBe(2);
    expect(await isIn(carol)).toBe(true);
    expect(await Promise.all(browsers.map(isIn))).toEqual([false, false, false]);
    expect(await Promise.all(tokens.map((one) => ownerOf(shop, one)))).toEqual([null, null, null]);
    for (const link of [reset, unused]) {
      const form = { ...fields, token: link.searchParams.get("token")! };
      await shop.visitor().submit("/password_reset", form, link.pathname + link.search);
    }
    // As the page says: passwords are those of the day of the backup, and who came later is gone.
    const passwords = [
      [ADA.email, NEW_PASSWORD],
      [BOB.email, BOB.password],
      [ADA.email, ADA.password],
    ] as const;
    const logins = [];
    for (const [email, password] of passwords) logins.push(await isIn(await logIn(shop, email, password)));
    expect(logins).toEqual([false, false, true]);
    // What waited on that day is not sent again; what is new is.
    await mail.next(CAROL.email, /erif/);
    expect(mail.mails.filter(({ to }) => to === ADA.email).map(({ subject }) => subject)).toEqual([]);
    await shop.stop();
  });
});
