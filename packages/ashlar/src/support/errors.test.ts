import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, test } from "vitest";
import { outputOf } from "../../test/support/own-process.ts";
import { folderWith } from "../../test/support/temporary-folder.ts";
import { AshlarError, declareErrors, declareErrorsOf, ERRORS, type ErrorCode } from "./errors.ts";

declare module "./errors.ts" {
  interface ErrorCodes {
    E_ORDER_CLOSED: 409;
    E_BAD_STATUS: 200;
  }
}

const ERRORS_MODULE = join(import.meta.dirname, "errors.ts");

/** The output of a separate process that loads modules that declare errors, one after another. */
async function declared(modules: Readonly<Record<string, string>>): Promise<string> {
  const imports = `import { declareErrors } from ${JSON.stringify(ERRORS_MODULE)};\n`;
  const files = Object.entries(modules).map(([name, text]) => [name, `${imports}declareErrors(${text});\n`]);
  const cwd = folderWith(Object.fromEntries(files));
  const program = `
    try {
      for (const name of ${JSON.stringify(Object.keys(modules))}) await import(${JSON.stringify(cwd)} + "/" + name);
      await import(${JSON.stringify(cwd)} + "/" + ${JSON.stringify(Object.keys(modules)[0])} + "?again");
      console.log("declared");
    } catch (error) {
      console.log(error.code + " " + error.message);
    }`;
  return (await outputOf(program, { cwd })).trim();
}

describe("declareErrors", () => {
  test("gives an application's errors their status and message", () => {
    declareErrors({ E_ORDER_CLOSED: [409, "The order is closed."] });
    const error = new AshlarError("E_ORDER_CLOSED");
    expect([error.code, error.status, error.message]).toEqual(["E_ORDER_CLOSED", 409, "The order is closed."]);
    expect(new AshlarError("E_ORDER_CLOSED", "Order 7 is closed.").message).toBe("Order 7 is closed.");
    expect(ERRORS.E_ORDER_CLOSED).toEqual([409, "The order is closed."]);
  });

  test("refuses an invalid status, code or message, with its location", () => {
    const place =
      /errors\.test\.ts:\d+: E_\w+ is not the declaration of an error code\. Write it as E_ORDER_CLOSED: \[409/i;
    for (const status of [200, 399, 600, 404.5]) {
      expect(() => declareErrors({ E_BAD_STATUS: [status, "Fine."] } as never)).toThrow(place);
    }
    expect(() => declareErrors({ E_ORDER_CLOSED: [409, ""] })).toThrow(place);
    expect(() => declareErrors({ e_lower: [409, "Lower."] } as never)).toThrow(place);
  });

  test("accepts the same code from a copy of its module, and a changed one from an edited file", async () => {
    const one = '{ E_ORDER_CLOSED: [409, "The order is closed."] }';
    expect(await declared({ "one.mjs": one, "copy.mjs": one })).toBe("declared");
    const other = '{ E_ORDER_CLOSED: [import.meta.url.includes("?") ? 410 : 409, "The order is closed."] }';
    expect(await declared({ "one.mjs": other })).toBe("declared");
  });

  test("refuses a code with another meaning, naming both locations", async () => {
    expect(
      await declared({
        "orders.mjs": '{ E_CLOSED: [409, "The order is closed."] }',
        "shop.mjs": '{ E_CLOSED: [403, "The shop is closed."] }',
      }),
    ).toBe(
      "E_INVALID_CONFIGURATION shop.mjs:2: the error code E_CLOSED already has another meaning, from orders.mjs. " +
        "Give one of them another name.",
    );
  });

  test("refuses another meaning for a code of the framework", async () => {
    expect(await declared({ "shop.mjs": '{ E_INVALID_INPUT: [410, "It is gone."] }' })).toBe(
      "E_INVALID_CONFIGURATION shop.mjs:2: the error code E_INVALID_INPUT already has another meaning, from the framework. " +
        "Give one of them another name.",
    );
  });

  test("refuses another meaning for a code of the framework, even from code that is in no file", async () => {
    const text = `import { declareErrors } from ${JSON.stringify(pathToFileURL(ERRORS_MODULE))};
      declareErrors({ E_INVALID_INPUT: [410, "It is gone."] });`;
    const url = JSON.stringify(`data:text/javascript,${encodeURIComponent(text)}`);
    const cwd = folderWith({ "app.mjs": `import(${url}).catch((error) => console.log(error.message));\n` });
    expect(await outputOf('await import("./app.mjs");', { cwd })).toBe(
      "unknown: the error code E_INVALID_INPUT already has another meaning, from the framework. " +
        "Give one of them another name.\n",
    );
  });
});

test("an error with an undeclared code becomes an internal error with advice and its cause", () => {
  const cause = new Error("the first");
  const make = () => new AshlarError("E_UNDECLARED" as ErrorCode, "s3cret", { cause });
  expect(make).toThrow(
    "The error code E_UNDECLARED has not been declared. " +
      "Import the module that declares it with declareErrors() into the module that throws it.",
  );
  expect(make).toThrow(expect.objectContaining({ code: "E_INTERNAL", status: 500, cause }));
});

test("an error's detail is not enumerable, because each log line already has it as its message", () => {
  const error = new AshlarError("E_INVALID_INPUT", "It was moved.");
  expect(error.detail.message).toBe("It was moved.");
  expect(Object.keys(error)).not.toContain("detail");
});

describe("declareErrorsOf", () => {
  test("lets a provider change its own codes, and no other provider or file", () => {
    declareErrorsOf("BadgeProvider", { E_BADGE_LOST: [409, "The badge is lost."] });
    declareErrorsOf("BadgeProvider", { E_BADGE_LOST: [410, "The badge is gone."] });
    declareErrorsOf("OtherProvider", { E_BADGE_LOST: [410, "The badge is gone."] });
    const problem = "the error code E_BADGE_LOST already has another meaning, from BadgeProvider.";
    const other = { E_BADGE_LOST: [404, "There is no badge."] } as const;
    expect(() => declareErrorsOf("OtherProvider", other)).toThrow(`OtherProvider: ${problem}`);
    expect(() => declareErrors(other as never)).toThrow(problem);
    expect(ERRORS["E_BADGE_LOST" as ErrorCode]).toEqual([410, "The badge is gone."]);
  });
});
