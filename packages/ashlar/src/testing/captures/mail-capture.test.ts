import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { failureOf } from "../../../test/support/failure-of.ts";
import { type TestShop, testShop, WelcomeMail } from "../../../test/support/test-shop.ts";
import { createApplication } from "../../boot/index.ts";
import { Mailable, type MailContent } from "../../mail/index.ts";
import { captureMail, linksIn, type MailCapture } from "../index.ts";

declare module "../../events/event-map.ts" {
  interface EventMap {
    "kit.mailed": { readonly to: string };
  }
}

class Farewell extends Mailable {
  override subject(): string {
    return "Farewell";
  }

  override content(): MailContent {
    return { text: "welcome", data: { link: "" } };
  }
}

let shop: TestShop;
let mail: MailCapture;

beforeAll(async () => {
  shop = await testShop();
});

afterAll(() => shop.close());

beforeEach(async () => {
  mail = await captureMail(shop.application);
});

function queue(to = "ada@example.com"): void {
  shop.application.container.make("mail").queue(new WelcomeMail(), to);
}

describe("sent mails", () => {
  test("queued ones are awaited, and selected by class or by a function", async () => {
    queue();
    queue("bob@example.com");
    expect(await mail.assertSent(WelcomeMail)).toMatchObject({ to: "ada@example.com", subject: "Welcome" });
    expect((await mail.assertSent(({ to }) => to.startsWith("bob"))).to).toBe("bob@example.com");
    expect((await mail.all()).map(({ to }) => to)).toEqual(["ada@example.com", "bob@example.com"]);
  });

  test("those that event listeners send are awaited too", async () => {
    const events = shop.application.container.make("events");
    const off = events.on("kit.mailed", async ({ to }) => {
      await sleep(20);
      queue(to);
    });
    void events.emit("kit.mailed", { to: "eve@example.com" });
    expect((await mail.assertSent(WelcomeMail)).to).toBe("eve@example.com");
    off();
  });

  test("those that listeners send for background jobs are awaited too", async () => {
    const { background, container } = shop.application;
    const events = container.make("events");
    const off = events.on("kit.mailed", async ({ to }) => {
      await sleep(20);
      queue(to);
    });
    background.run("a mail", async () => void events.emit("kit.mailed", { to: "eve@example.com" }));
    expect((await mail.assertSent(WelcomeMail)).to).toBe("eve@example.com");
    off();
  });

  test("mails from before the capture are forgotten, and so are those from before clear()", async () => {
    queue();
    await mail.all();
    mail = await captureMail(shop.application);
    await mail.assertNothingSent();
    queue();
    await mail.all();
    await mail.clear();
    await mail.assertNothingSent();
  });

  test("those that are still being sent are forgotten too", async () => {
    const { background } = shop.application;
    const sendLater = () => background.run("a mail", async () => queue("late@example.com"));
    sendLater();
    mail = await captureMail(shop.application);
    await mail.assertNothingSent();
    sendLater();
    await mail.clear();
    await mail.assertNothingSent();
  });
});

describe("failures", () => {
  test("the failure of assertSent lists the sent mails", async () => {
    expect(await failureOf(mail.assertSent(WelcomeMail))).toBe("No WelcomeMail was sent. No mails were sent.");
    queue();
    expect(await failureOf(mail.assertSent(Farewell))).toBe(
      "No Farewell was sent. Sent mails:\n  WelcomeMail to ada@example.com: Welcome",
    );
  });

  test("the failures of assertNotSent and assertNothingSent list the sent mails", async () => {
    queue();
    await mail.assertNotSent(Farewell);
    await mail.assertNotSent(({ to }) => to === "bob@example.com");
    expect(await failureOf(mail.assertNotSent(WelcomeMail))).toBe(
      "A mail was sent to ada@example.com that should not have been: Welcome",
    );
    expect(await failureOf(mail.assertNothingSent())).toContain("WelcomeMail to ada@example.com");
  });

  test("an application without mail causes an error that says so", async () => {
    const bare = await createApplication({ environment: { APP_ENV: "test" } });
    await expect(captureMail(bare)).rejects.toMatchObject({ code: "E_UNKNOWN_SERVICE" });
    await bare.shutdown();
  });
});

test("the links in a mail, without the punctuation around them", async () => {
  queue();
  const sent = await mail.assertSent(WelcomeMail);
  expect(linksIn(sent)).toEqual(["http://localhost:3000/welcome/7", "https://shop.example/terms"]);
  expect(linksIn({ ...sent, text: "no link, http:// neither" })).toEqual([]);
  expect(linksIn({ ...sent, text: "<https://a.example/?x=1&y=(2)#z>; http://b.example:8080." })).toEqual([
    "https://a.example/?x=1&y=(2)#z",
    "http://b.example:8080",
  ]);
});
