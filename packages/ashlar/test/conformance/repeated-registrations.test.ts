// Sends the same registration twice to a generated application, with its CSRF tokens, sessions and limits.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Application } from "../../src/boot/index.ts";
import { captureMail, createTestClient, type MailCapture } from "../../src/testing/index.ts";
import { bootApplication } from "../support/booted-application.ts";
import { generateApplication } from "../support/generated-application.ts";

const PASSWORD = "a password of hers";

describe.for([
  { flavor: "pages", sessions: "cookies" },
  { flavor: "json", sessions: "cookies" },
  { flavor: "pages", sessions: "the database" },
  { flavor: "json", sessions: "the database" },
] as const)("a registration that arrives twice, with $flavor and sessions in $sessions", ({ flavor, sessions }) => {
  let application: Application;
  let mail: MailCapture;
  let end: () => Promise<void>;
  let count = 0;
  beforeAll(async () => {
    const { root, remove } = await generateApplication({ pages: flavor === "pages", json: flavor === "json" });
    if (sessions === "the database") {
      const file = join(root, "config/session.ts");
      await writeFile(file, (await readFile(file, "utf8")).replaceAll("cookieSessions", "databaseSessions"));
      await writeFile(
        join(root, "database/migrations/2030_01_01_000000_create_session_data.ts"),
        'export { createSessionDataTable as up } from "ashlar/session";\n',
      );
    }
    const booted = await bootApplication(root);
    application = booted.application;
    mail = await captureMail(application);
    end = async () => {
      await booted.end();
      await remove();
    };
  });
  afterAll(() => end?.());

  const person = () => ({
    name: "Eve",
    email: `eve${++count}@example.com`,
    password: PASSWORD,
    password_confirmation: PASSWORD,
  });
  const subjects = async () => (await mail.all()).map(({ subject }) => subject);

  if (flavor === "pages") {
    test("S182 double-clicking the form leaves the visitor logged in, with one mail", async () => {
      await mail.clear();
      const client = createTestClient(application);
      const page = await client.get("/register");
      const fields = person();
      const answers = await Promise.all([1, 2].map(() => client.submit(page, '[action="/register"]', fields)));
      expect(answers.map(({ status, redirectsTo }) => [status, redirectsTo])).toEqual([
        [302, "/email/verify/notice"],
        [302, "/email/verify/notice"],
      ]);
      (await client.get("/home")).assertSee("Hello, Eve");
      expect(await subjects()).toEqual(["Verify your email address"]);
    });

    test("S182 the form sent again after the response leaves the visitor logged in, with one mail", async () => {
      await mail.clear();
      const client = createTestClient(application);
      const page = await client.get("/register");
      const fields = person();
      for (let click = 0; click < 2; click++) await client.submit(page, '[action="/register"]', fields);
      (await client.get("/home")).assertSee("Hello, Eve");
      expect(await subjects()).toEqual(["Verify your email address"]);
    });
    return;
  }

  test("S182 two requests, at once or one after the other, leave the visitor logged in, with one mail", async () => {
    for (const isAtOnce of [true, false]) {
      await mail.clear();
      const client = createTestClient(application);
      const { token } = (await client.getJson("/csrf")).json as { token: string };
      const fields = person();
      const send = () => client.postJson("/register", fields, { headers: { "x-csrf-token": token } });
      const first = send();
      const other = isAtOnce ? send() : null;
      const complete = { status: "complete", verificationSent: true };
      expect(((await first).json as { data: unknown }).data).toEqual(complete);
      // Once the response has arrived, the API client has another session, and requests its token.
      const second = other ?? client.withCsrfToken().postJson("/register", fields);
      expect(((await second).json as { data: unknown }).data).toEqual(complete);
      expect((await client.getJson("/home")).status).toBe(200);
      expect(await subjects()).toEqual(["Verify your email address"]);
    }
  });
});
