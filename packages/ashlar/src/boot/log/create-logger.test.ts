import { Writable } from "node:stream";
import type { Logger as PinoLogger } from "pino";
import { describe, expect, test } from "vitest";
import { REDACTED } from "../../kernel/log/redaction.ts";
import { createLogger } from "./create-logger.ts";
import { prettyLines } from "./log-lines.ts";

function memory(): { lines: Record<string, unknown>[]; write(line: string): void } {
  const lines: Record<string, unknown>[] = [];
  return { lines, write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) };
}

const SETTINGS = { name: "Shop", environment: "production", log: { level: "info", requests: true } } as const;

describe("createLogger", () => {
  test("a line is JSON with the time, the name of the level, the application and the data", () => {
    const output = memory();
    createLogger(SETTINGS, output).info({ order: 7 }, "An order came in.");
    expect(output.lines).toEqual([
      {
        level: "info",
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        app: "Shop",
        order: 7,
        msg: "An order came in.",
      },
    ]);
  });

  test("lines below the level are left out", () => {
    const output = memory();
    const logger = createLogger({ ...SETTINGS, log: { level: "warn", requests: true } }, output);
    logger.info("no");
    logger.warn("yes");
    expect(output.lines.map((line) => line.msg)).toEqual(["yes"]);
  });

  test("silent writes nothing", () => {
    const output = memory();
    createLogger({ ...SETTINGS, log: { level: "silent", requests: false } }, output).fatal("no");
    expect(output.lines).toEqual([]);
  });

  test("S15 secrets in logged data are redacted, in child loggers too", () => {
    const output = memory();
    const logger = createLogger(SETTINGS, output);
    logger.info({ body: { email: "a@b.c", password: "s3cret" }, headers: { Authorization: "Bearer s3cret" } });
    logger.child({ part: "auth" }).info({ user: { api_token: "s3cret" } });
    expect(output.lines).toMatchObject([
      { body: { email: "a@b.c", password: REDACTED }, headers: { Authorization: REDACTED } },
      { part: "auth", user: { api_token: REDACTED } },
    ]);
  });

  test("S15 secrets in the bindings of child loggers are redacted, at any depth and in any generation", () => {
    const output = memory();
    const error = Object.assign(new Error("boom"), { token: "s3cret" });
    const logger = createLogger(SETTINGS, output).child({ password: "s3cret", part: "auth" }) as PinoLogger;
    const child = logger.child({ request: { headers: { Cookie: "a=s3cret" }, path: "/" } }, { level: "warn" });
    child.setBindings({ api_token: "s3cret", list: [{ secret: "s3cret", name: "a" }], cause: error });
    child.info("no");
    child.child({ authorization: "s3cret" }).warn({ token: "s3cret" }, "yes");
    expect(output.lines).toEqual([
      {
        level: "warn",
        time: expect.any(String),
        app: "Shop",
        password: REDACTED,
        part: "auth",
        request: { headers: { Cookie: REDACTED }, path: "/" },
        api_token: REDACTED,
        list: [{ secret: REDACTED, name: "a" }],
        cause: { type: "Error", message: "boom", stack: expect.any(String), token: REDACTED },
        authorization: REDACTED,
        token: REDACTED,
        msg: "yes",
      },
    ]);
    expect(JSON.stringify(child.bindings())).not.toContain("s3cret");
  });

  test("S15 secrets in an error's properties are redacted, however it is logged", () => {
    const output = memory();
    const logger = createLogger(SETTINGS, output);
    const error = Object.assign(new Error("boom"), { config: { headers: { authorization: "Bearer s3cret" } } });
    logger.error(error);
    logger.error({ err: error }, "Failed.");
    logger.error({ reason: error }, "Failed.");
    const carried = { type: "Error", message: "boom", config: { headers: { authorization: REDACTED } } };
    expect(output.lines).toMatchObject([{ err: carried, msg: "boom" }, { err: carried }, { reason: carried }]);
    expect(JSON.stringify(output.lines)).not.toContain("s3cret");
  });

  test("an error keeps its stack and its cause", () => {
    const output = memory();
    createLogger(SETTINGS, output).error({ err: new Error("outer", { cause: new TypeError("inner") }) }, "Failed.");
    const [line] = output.lines as [{ err: { type: string; message: string; stack: string } }];
    expect(line.err.type).toBe("Error");
    expect(line.err.message).toBe("outer: inner");
    expect(line.err.stack).toContain("caused by: TypeError: inner");
  });
});

test("a cause's message is not repeated if the error's message already contains it", () => {
  const output = memory();
  const logger = createLogger(SETTINGS, output);
  const cause = new Error("boom", { cause: new Error("disk full") });
  logger.error({ err: new Error("PostgreSQL: boom (SQLSTATE P0001).", { cause }) }, "Failed.");
  cause.cause = cause;
  logger.error({ err: new Error("outer", { cause }) }, "Failed.");
  expect(output.lines).toMatchObject([
    { err: { message: "PostgreSQL: boom (SQLSTATE P0001): disk full", stack: expect.stringContaining("caused by") } },
    { err: { message: "outer: boom" } },
  ]);
});

describe("prettyLines", () => {
  function pretty(entry: Record<string, unknown>): string {
    let text = "";
    const output = new Writable({
      write: (part, _encoding, done) => {
        text += String(part);
        done();
      },
    });
    prettyLines(output).write(
      JSON.stringify({ level: "info", time: "2026-11-20T12:34:56.789Z", app: "Shop", ...entry }),
    );
    return text;
  }

  test("shows time, level, message and data", () => {
    expect(pretty({ msg: "request", method: "GET", path: "/", status: 200, list: [1] })).toBe(
      "12:34:56 info request method=GET path=/ status=200 list=[1]\n",
    );
  });

  test("shows an error's stack below", () => {
    expect(pretty({ level: "error", msg: "It failed.", err: { stack: "Error: boom\n    at here" } })).toBe(
      "12:34:56 error It failed.\n  Error: boom\n      at here\n",
    );
  });

  test("control characters in logged input are escaped, so that they cannot affect the terminal", () => {
    expect(pretty({ msg: "a\u001b[2J", path: "/\u001b]0;x\u0007\r\nforged", note: "é" })).toBe(
      '12:34:56 info a\\x1b[2J path="/\\u001b]0;x\\u0007\\r\\nforged" note=é\n',
    );
  });

  test("S204 a value that could be read as several, or as a different one, is quoted", () => {
    const values = {
      by: "grace event=auth.login userId=2",
      reason: 'a"b',
      path: "a\\b",
      note: "",
      rest: "a=b",
      at: "a\u2028b",
    };
    expect(pretty({ msg: "audit", ...values, list: ["\u009b2J"] })).toBe(
      `12:34:56 info audit by="grace event=auth.login userId=2" reason="a\\"b" path="a\\\\b" note="" rest="a=b" at="a\u2028b" list=["\\x9b2J"]\n`,
    );
  });

  test("an entry with an unknown level or without a message is shown", () => {
    expect(pretty({ level: "notice", a: "b" })).toBe("12:34:56 notice a=b\n");
  });
});
