import { describe, expect, test } from "vitest";
import { plain } from "../../../test/support/field-errors.ts";
import "../../public/api.ts";
import "../../public/mail.ts";
import "../../public/session.ts";
import "../../public/views.ts";
import { AshlarError, ERRORS, type ErrorCode, ValidationError } from "../../support/index.ts";
import { statusTitle } from "./messages.ts";
import { problemOf } from "./problem.ts";

describe("problemOf", () => {
  test("an error below 500 keeps its code and message (RFC 9457 §3.1)", () => {
    expect(problemOf(new AshlarError("E_NOT_FOUND", "There is no order 7."))).toEqual({
      type: "about:blank",
      title: "Not Found",
      status: 404,
      detail: "There is no order 7.",
      code: "E_NOT_FOUND",
    });
  });

  test("extensions become members, and cannot replace the others", () => {
    const error = new AshlarError("E_FORBIDDEN", "No.", {
      extensions: { plan: "free", status: 200, code: "OK", type: "x" },
    });
    expect(problemOf(error)).toEqual({
      type: "about:blank",
      title: "Forbidden",
      status: 403,
      detail: "No.",
      code: "E_FORBIDDEN",
      plan: "free",
    });
  });

  test("a validation error has its problems by field", () => {
    expect(problemOf(new ValidationError({ email: ["Required."], "items.0": ["Too small."] }))).toEqual({
      type: "about:blank",
      title: "Unprocessable Entity",
      status: 422,
      detail: "Some of the input is not valid.",
      code: "E_INVALID_INPUT",
      errors: plain({ email: ["Required."], "items.0": ["Too small."] }),
    });
  });

  test("S48 every error with status 500 becomes the same general problem, without its message and extensions", () => {
    const internal = {
      type: "about:blank",
      title: "Internal Server Error",
      status: 500,
      detail: "Something went wrong.",
      code: "E_INTERNAL",
    };
    for (const code of Object.keys(ERRORS) as ErrorCode[]) {
      if (ERRORS[code][0] !== 500) continue;
      expect(problemOf(new AshlarError(code, "s3cret", { extensions: { hint: "s3cret" } }))).toEqual(internal);
    }
  });

  test("a 503 keeps its code, with a general message", () => {
    expect(problemOf(new AshlarError("E_OVERLOADED", "pool of 7 exhausted"))).toEqual({
      type: "about:blank",
      title: "Service Unavailable",
      status: 503,
      detail: "The server is too busy; try again in a moment.",
      code: "E_OVERLOADED",
    });
  });
});

test("every status in the error registry has a title", () => {
  for (const [status] of Object.values(ERRORS)) expect(statusTitle(status).message).not.toBe("Error");
  expect(statusTitle(419).message).toBe("Page Expired");
  expect(statusTitle(599).message).toBe("Error");
});
