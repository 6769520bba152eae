import { randomInt } from "node:crypto";
import { once } from "node:events";
import { readdir, rm } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { SMTPServer } from "smtp-server";
import { expect, onTestFinished, test } from "vitest";
import { ashlar } from "../support/command-line.ts";
import {
  COMMAND,
  edit,
  execute,
  generatedApplication,
  type ServedProcess,
  serve,
  startServing,
} from "../support/generated-application.ts";
import { startProcess } from "../support/long-process.ts";

const PASSWORD = "a password of theirs";
const KILLS = 6;

/** A slow mail server, which can be down, or hang before it receives a mail. */
async function slowMailServer(delayMs: () => number) {
  const received: { readonly to: string; readonly subject: string; readonly id: string }[] = [];
  const state = { isDown: false, isSilent: false, refused: 0 };
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS"],
    onMailFrom(_address, _session, done) {
      if (state.isSilent) return;
      if (!state.isDown) return done();
      state.refused++;
      done(Object.assign(new Error("Try again later"), { responseCode: 421 }));
    },
    onData(stream, session, done) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", async () => {
        const source = Buffer.concat(chunks).toString("utf8");
        const header = (name: string) => new RegExp(`^${name}: (.*)`, "im").exec(source)?.[1] ?? "";
        await sleep(delayMs());
        for (const { address } of session.envelope.rcptTo) {
          received.push({ to: address, subject: header("Subject"), id: header("Message-ID") });
        }
        done();
      });
    },
  });
  server.on("error", () => {});
  server.listen(0, "127.0.0.1");
  await once(server.server, "listening");
  onTestFinished(() => new Promise<void>((resolve) => server.close(() => resolve())));
  return { received, state, port: (server.server.address() as AddressInfo).port };
}

/** A generated application that mails by SMTP, with two routes without forms. */
async function mailingApplication(smtpPort: number, outbox: string): Promise<string> {
  const root = await generatedApplication();
  await edit(
    root,
    "config/mail.ts",
    ['import type { MailSettings } from "ashlar/mail";', 'import { type MailSettings, smtp } from "ashlar/mail";'],
    [
      "export const MAIL = {",
      `export const MAIL = {\n  transport: smtp({ host: "127.0.0.1", port: ${smtpPort} }),\n  ${outbox}`,
    ],
  );
  await edit(root, "routes/api.ts", [
    "export const ROUTES: RouteEntry[] = [",
    `export const ROUTES: RouteEntry[] = [
  Route.post("/join", async ({ accounts, request }) => {
    const { name, email, password } = request.all();
    await accounts.register({ name, email, password }, async (user) => void (await accounts.sendVerification(user)));
    return { ok: true };
  }).withoutMiddleware("api"),
  Route.post("/forgot", async ({ accounts, request }) => {
    await accounts.requestPasswordReset(request.input("email"));
    return { ok: true };
  }).withoutMiddleware("api"),`,
  ]);
  expect((await ashlar(root, "migrate")).code).toBe(0);
  return root;
}

/** Runs a command of mail, which loads the application. */
function command(root: string, ...args: string[]): ReturnType<typeof execute> {
  return execute(root, process.execPath, [COMMAND, ...args]);
}

/** Sends a request, and returns whether the response acknowledged it. A killed server doesn't. */
async function acknowledged(url: string, path: string, body: object): Promise<boolean> {
  const headers = { "content-type": "application/json" };
  try {
    const response = await fetch(new URL(path, url), { method: "POST", headers, body: JSON.stringify(body) });
    await response.text();
    return response.status === 200;
  } catch {
    return false;
  }
}

const FAST = `retry: { delaySeconds: 0.2 },\n  outbox: { pollSeconds: 0.3, claimSeconds: 1 },`;
const VERIFY = "verify";
const RESET = "reset";

function kindOf({ subject }: { readonly subject: string }): string {
  return /password/i.test(subject) ? RESET : VERIFY;
}

test("S50 kill -9 at random times loses no mail that a response has promised, and repeated mails have the same id", async () => {
  const mails = await slowMailServer(() => randomInt(60));
  const root = await mailingApplication(mails.port, FAST);
  const steady = await serve(root);
  let shaky: ServedProcess = await startServing(root);
  onTestFinished(() => void shaky.child.kill("SIGKILL"));
  const promised: string[] = [];
  let count = 0;
  let isOver = false;
  const visitor = async () => {
    while (!isOver) {
      const email = `visitor-${++count}@example.com`;
      const url = randomInt(4) === 0 ? steady.url : shaky.url;
      if (!(await acknowledged(url, "/api/join", { name: "Visitor", email, password: PASSWORD }))) continue;
      promised.push(`${email} ${VERIFY}`);
      if (await acknowledged(shaky.url, "/api/forgot", { email })) promised.push(`${email} ${RESET}`);
    }
  };
  const visitors = Array.from({ length: 6 }, visitor);
  for (let kill = 0; kill < KILLS; kill++) {
    const before = promised.length;
    // Wait for some work first, even on a slow machine, and then kill it at a random moment.
    await expect.poll(() => promised.length - before).toBeGreaterThan(10);
    await sleep(randomInt(150));
    shaky.child.kill("SIGKILL");
    await once(shaky.child, "close");
    shaky = await startServing(root);
  }
  isOver = true;
  await Promise.all(visitors);
  const arrived = () => new Set(mails.received.map((mail) => `${mail.to} ${kindOf(mail)}`));
  await expect
    .poll(() => promised.filter((one) => !arrived().has(one)), { timeout: 60_000, interval: 200 })
    .toEqual([]);
  // A mail that was sent twice, because the process was killed before it could record that, has the same id.
  for (const same of Map.groupBy(mails.received, (mail) => `${mail.to} ${kindOf(mail)}`).values()) {
    expect(new Set(same.map(({ id }) => id)).size).toBe(1);
  }
  expect(promised.length).toBeGreaterThan(KILLS * 10);
});

test("S50 a mail server that is down loses no mail, and a separate worker sends mails that servers have left", async () => {
  const mails = await slowMailServer(() => 0);
  const root = await mailingApplication(mails.port, FAST);
  const server = await serve(root);
  mails.state.isDown = true;
  const people = Array.from({ length: 10 }, (_, index) => `visitor-${index}@example.com`);
  for (const email of people) {
    expect(await acknowledged(server.url, "/api/join", { name: "Visitor", email, password: PASSWORD })).toBe(true);
  }
  await expect.poll(() => mails.state.refused).toBeGreaterThan(15);
  expect(mails.received).toEqual([]);
  server.child.kill("SIGTERM");
  await once(server.child, "close");
  mails.state.isDown = false;

  const worker = startProcess(root, process.execPath, [COMMAND, "mail:work"]);
  await worker.printed(/Sending mails, 10 of them waiting/);
  await expect.poll(() => mails.received.map(({ to }) => to).sort()).toEqual(people.sort());
  worker.child.kill("SIGTERM");
  expect(await worker.ended).toEqual({ code: 0, signal: null });
  expect(worker.output()).toContain("Stopped. 0 mails waiting.");
});

test("S50 at SIGTERM, mails that a slow server does not take in time stay in the outbox", async () => {
  const mails = await slowMailServer(() => 0);
  mails.state.isSilent = true;
  const root = await mailingApplication(mails.port, FAST);
  await edit(root, "config/app.ts", [
    "export const APP = {",
    "export const APP = {\n  server: { shutdownTimeoutSeconds: 1 },",
  ]);
  const server = await serve(root);
  const people = Array.from({ length: 8 }, (_, index) => `visitor-${index}@example.com`);
  for (const email of people) {
    expect(await acknowledged(server.url, "/api/join", { name: "Visitor", email, password: PASSWORD })).toBe(true);
  }
  server.child.kill("SIGTERM");
  await once(server.child, "close");
  mails.state.isSilent = false;
  await serve(root);
  // Each once: the mail server hadn't received any of them.
  await expect.poll(() => mails.received.map(({ to }) => to).sort()).toEqual(people.sort());
});

test("abandoned mails are listed and sent again by commands", async () => {
  const mails = await slowMailServer(() => 0);
  mails.state.isDown = true;
  const root = await mailingApplication(mails.port, "outbox: { retryHours: 0.0001, pollSeconds: 0.3 },");
  const server = await serve(root);
  const body = { name: "Ada", email: "ada@example.com", password: PASSWORD };
  expect(await acknowledged(server.url, "/api/join", body)).toBe(true);
  const listed = async () => (await command(root, "mail:failed")).output;
  await expect.poll(listed).toMatch(/VerifyEmailMail to ada@example\.com/);
  const [, id] = /^(\d+) /m.exec(await listed())!;
  expect(await listed()).toMatch(/1 mail could not be sent, 0 mails waiting\./);
  mails.state.isDown = false;
  expect(await command(root, "mail:retry", "0")).toMatchObject({
    code: 1,
    output: expect.stringContaining("No mail with the number 0 was abandoned."),
  });
  expect(await command(root, "mail:retry")).toMatchObject({
    code: 1,
    output: expect.stringContaining("mail:failed shows"),
  });
  expect(await command(root, "mail:retry", id!)).toMatchObject({
    output: expect.stringMatching(/^1 mail will be sent again/m),
  });
  await expect.poll(() => mails.received.map(({ to }) => to)).toEqual(["ada@example.com"]);
  // The mail server receives the mail before this process has deleted its row.
  await expect.poll(listed).toMatch(/^0 mails could not be sent, 0 mails waiting\./m);
});

test("an application without the table gets a startup message, and mail:install adds its migration", async () => {
  const root = await generatedApplication();
  const folder = `${root}/database/migrations`;
  const outbox = async () => (await readdir(folder)).filter((name) => name.endsWith("_create_mail_outbox.ts"));
  await rm(`${folder}/${(await outbox())[0]}`);
  expect((await ashlar(root, "migrate")).code).toBe(0);
  const failed = await command(root, "mail:failed");
  expect([failed.code, failed.output]).toEqual([1, expect.stringContaining("npx ashlar mail:install")]);
  const { output } = await command(root, "mail:install");
  expect(output).toMatch(/Created database\/migrations\/\S+_create_mail_outbox\.ts/);
  expect(output.split("Run the migrations")).toHaveLength(2);
  expect(await outbox()).toHaveLength(1);
  expect((await command(root, "mail:install")).output).not.toContain("Run the migrations");
  expect((await command(root, "mail:retry", "--help")).output).toMatch(/^ {2}--all {2}/m);
  expect(await outbox()).toHaveLength(1);
  expect((await ashlar(root, "migrate")).output).toContain("_create_mail_outbox");
  expect((await command(root, "mail:failed")).output).toContain("0 mails could not be sent, 0 mails waiting.");
});
