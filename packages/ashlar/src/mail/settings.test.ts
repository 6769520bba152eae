import { describe, expect, test } from "vitest";
import type { EnvironmentName } from "../boot/index.ts";
import { AshlarError, ConfigurationError } from "../support/index.ts";
import { type CompleteMailSettings, readMailSettings } from "./settings.ts";

const WHERE = "config/mail.ts: MAIL";
const COMPLETE = { from: { address: "shop@shop.example" }, smtp: { host: "smtp.shop.example" } };

function read(
  mail: unknown,
  environment: EnvironmentName = "development",
  url: string | null = null,
): CompleteMailSettings {
  return readMailSettings(mail, { environment, name: "Shop", url });
}

function problem(mail: unknown, environment: EnvironmentName = "development"): string {
  try {
    read(mail, environment);
  } catch (error) {
    if (error instanceof ConfigurationError) return error.message;
    throw error;
  }
  return "none";
}

describe("the transport", () => {
  test("the default is the mailbox in development and memory in tests", () => {
    expect(read(undefined, "development").transport).toBe("mailbox");
    expect(read(undefined, "test").transport).toBe("memory");
  });

  test("the default is SMTP in production", () => {
    expect(read(COMPLETE, "production").transport).toBe("smtp");
  });

  test.each(["development", "test"] as const)("%s can use SMTP", (environment) => {
    expect(read({ ...COMPLETE, transport: "smtp" }, environment).transport).toBe("smtp");
  });

  test.each(["production", "test"] as const)("S48 the mailbox cannot be used in %s", (environment) => {
    expect(problem({ ...COMPLETE, transport: "mailbox" }, environment)).toBe(
      `${WHERE}.transport: is "mailbox", in ${environment}. The mailbox is for development only.`,
    );
  });

  test("S48 the memory transport cannot be used in production", () => {
    expect(problem({ ...COMPLETE, transport: "memory" }, "production")).toBe(
      `${WHERE}.transport: is "memory", which sends no mail, in production. Set it to "smtp".`,
    );
  });

  test("S48 production does not start without a server and a sender, and the error names all missing settings", () => {
    const example =
      'Write: export const MAIL = { from: { address: "shop@shop.example" }, smtp: { host: env("SMTP_HOST"), … } }.';
    for (const mail of [undefined, {}, { smtp: {}, from: {} }]) {
      expect(problem(mail, "production")).toBe(
        `${WHERE}: needs smtp.host and from.address to send mails by SMTP. ${example}`,
      );
    }
    expect(problem({ smtp: COMPLETE.smtp }, "production")).toMatch("needs from.address to");
    expect(problem({ from: COMPLETE.from }, "production")).toMatch("needs smtp.host to");
  });

  test("SMTP in development needs a server, but no sender", () => {
    expect(problem({ transport: "smtp" })).toMatch("needs smtp.host to");
    expect(read({ transport: "smtp", smtp: COMPLETE.smtp }).from.address).toBe("no-reply@localhost");
  });

  test("an unknown name is refused with a suggestion", () => {
    expect(problem({ transport: "mailbax" })).toMatch(
      `${WHERE}.transport: is "mailbax". Did you mean "mailbox"? Write `,
    );
  });

  test.each([
    [7, "7"],
    [{}, "an object"],
    [{ deliver() {} }, "an object"],
    [{ close() {} }, "an object"],
    [["smtp"], '["smtp"]'],
    [true, "true"],
  ])("%j is not a transport", (transport, shown) => {
    expect(problem({ transport })).toBe(
      `${WHERE}.transport: is ${shown}. Write "smtp", "mailbox" or "memory", smtp({ … }), or an object with the methods of MailTransport, or leave it out.`,
    );
  });

  test("an application's own transport needs a sender in production, but no server", () => {
    const transport = { deliver: async () => {}, close() {} };
    expect(read({ transport }, "development").transport).toBe(transport);
    expect(read({ transport, from: COMPLETE.from }, "production").transport).toBe(transport);
    expect(problem({ transport }, "production")).toMatch("needs from.address to send mails. ");
  });
});

describe("the sender", () => {
  test("defaults to the application's name and host", () => {
    expect(read({}).from).toEqual({ address: "no-reply@localhost", name: "Shop" });
    expect(read({}, "development", "https://shop.example:8443").from).toEqual({
      address: "no-reply@shop.example",
      name: "Shop",
    });
    expect(read({}, "development", "http://[::1]:3000").from.address).toBe("no-reply@localhost");
  });

  test("can be configured", () => {
    const from = { address: "Shop@Shop.example", name: "The shop" };
    expect(read({ from }).from).toEqual({ address: "shop@shop.example", name: "The shop" });
  });

  test.each([
    [{ address: "Shop <shop@shop.example>" }, "The sender is not an email address."],
    [{ address: "a@b.example", name: "Shop\r\nBcc: x@y.z" }, "The name of the sender contains a line break"],
  ])("%j is refused", (from, message) => {
    expect(problem({ from })).toContain(`${WHERE}.from: ${message}`);
  });
});

test("the error for empty settings names all of their environment variables at once", () => {
  const written = { from: { address: null }, smtp: { host: "", port: 587 } };
  expect(problem(written, "production")).toBe(
    `${WHERE}: needs smtp.host and from.address to send mails by SMTP. Set SMTP_HOST and MAIL_FROM in the environment.`,
  );
});

describe("the server", () => {
  test("only needs a host: the defaults are port 587 and required encryption", () => {
    expect(read(COMPLETE, "production").smtp).toEqual({
      host: "smtp.shop.example",
      port: 587,
      secure: false,
      requireTls: true,
      ca: null,
      servername: null,
      user: null,
      password: null,
      poolSize: 5,
      timeouts: { connectSeconds: 10, idleSeconds: 60 },
    });
  });

  test.each([
    [{ secure: true }, { port: 465, secure: true }],
    [{ port: 465 }, { port: 465, secure: true }],
    [
      { port: 465, secure: false },
      { port: 465, secure: false },
    ],
    [{ port: 25 }, { port: 25, secure: false }],
  ])("%j is read as %j", (given, expected) => {
    expect(read({ ...COMPLETE, smtp: { host: "smtp.shop.example", ...given } }).smtp).toMatchObject(expected);
  });

  test("encryption is not required for a server on this machine by default", () => {
    for (const host of ["localhost", "127.0.0.1", "127.1.2.3", "::1"]) {
      expect(read({ smtp: { host } }).smtp!.requireTls).toBe(false);
      expect(read({ smtp: { host, requireTls: true } }).smtp!.requireTls).toBe(true);
    }
    expect(read({ smtp: { host: "127.evil.example" } }).smtp!.requireTls).toBe(true);
    expect(read({ smtp: { host: "localhost.evil.example" } }).smtp!.requireTls).toBe(true);
    expect(read({ smtp: { host: "relay.internal", requireTls: false } }).smtp!.requireTls).toBe(false);
  });

  test("everything is frozen", () => {
    const settings = read({ ...COMPLETE, retry: {} });
    for (const part of [settings, settings.from, settings.smtp, settings.smtp!.timeouts, settings.retry]) {
      expect(Object.isFrozen(part)).toBe(true);
    }
  });

  test.each([
    [
      { host: 7 },
      'host: is a number. Write the name of a host, without scheme and port: "smtp.shop.example", or leave it out.',
    ],
    [
      { host: "smtp://shop.example" },
      'host: is not valid. Write the name of a host, without scheme and port: "smtp.shop.example", or leave it out.',
    ],
    [{ host: "shop.example/x" }, "host: is not valid. Write the name of a host"],
    [{ host: "h", port: "587" }, 'port: is "587". Write a whole number from 1 to 65535, or leave it out.'],
    [{ host: "h", port: 0 }, "port: is 0. Write a whole number from 1 to 65535, or leave it out."],
    [{ host: "h", port: 25.5 }, "port: is 25.5. Write a whole number from 1 to 65535, or leave it out."],
    [{ host: "h", port: Number.NaN }, "port: is NaN. Write a whole number from 1 to 65535, or leave it out."],
    [{ host: "h", secure: "yes" }, 'secure: is "yes". Write true or false, or leave it out.'],
    [{ host: "h", requireTls: 1 }, "requireTls: is 1. Write true or false, or leave it out."],
    [{ host: "h", user: "shop" }, "password: is missing. Set both, user and password, or neither."],
    [{ host: "h", password: "x" }, "user: is missing. Set both, user and password, or neither."],
    [{ host: "h", poolSize: 0 }, "poolSize: is 0. Write a whole number from 1 to 100, or leave it out for 5."],
    [
      { host: "h", timeouts: { connectSeconds: 0 } },
      "timeouts.connectSeconds: is 0. Write a number of seconds from 0.1 to 600, or leave it out for 10.",
    ],
    [
      { host: "h", timeouts: { idleSeconds: Number.POSITIVE_INFINITY } },
      "timeouts.idleSeconds: is Infinity. Write a number of seconds",
    ],
    [{ host: "h", timeouts: { idle: 3 } }, "timeouts.idle: is not a known setting."],
    [{ hots: "h" }, 'hots: is not a known setting. Did you mean "host"'],
    ["smtp://h", "is text. Write an object: { host: … }."],
  ])("%j is refused", (smtp, message) => {
    expect(problem({ smtp }).replace(/^config\/mail\.ts: MAIL\.smtp[.:] ?/, "")).toContain(message);
  });

  test("a password is never part of a message", () => {
    expect(problem({ smtp: { host: "smtp://shop:hunter2@shop.example" } })).not.toContain("hunter2");
    expect(problem({ smtp: { host: "h", password: "hunter2" } })).not.toContain("hunter2");
    expect(problem({ smtp: { host: "h", user: "u", password: ["hunter2"] } })).not.toContain("hunter2");
  });
});

describe("the rest", () => {
  test("a mail is tried eight times by default, with a first delay of two seconds", () => {
    expect(read({}).retry).toEqual({ attempts: 8, delaySeconds: 2 });
    expect(read({ retry: { attempts: 1, delaySeconds: 0.5 } }).retry).toEqual({ attempts: 1, delaySeconds: 0.5 });
  });

  test.each([
    [
      { retry: { attempts: 0 } },
      `${WHERE}.retry.attempts: is 0. Write a whole number from 1 to 100, or leave it out for 8.`,
    ],
    [
      { retry: { attempts: 1.5 } },
      `${WHERE}.retry.attempts: is 1.5. Write a whole number from 1 to 100, or leave it out for 8.`,
    ],
    [
      { retry: { delaySeconds: -1 } },
      `${WHERE}.retry.delaySeconds: is -1. Write a number of seconds from 0.01 to 60, or leave it out for 2.`,
    ],
    [{ form: {} }, `${WHERE}.form: is not a known setting. Did you mean "from"?`],
    [[], `${WHERE}: is a list. Write an object: { transport: … }.`],
  ])("%j is refused", (mail, message) => {
    expect(problem(mail)).toContain(message);
  });

  test("every refusal is an E_INVALID_CONFIGURATION error", () => {
    expect(() => read({ form: 1 })).toThrow(AshlarError);
    expect(() => read({ form: 1 })).toThrow(expect.objectContaining({ code: "E_INVALID_CONFIGURATION" }));
  });
});
