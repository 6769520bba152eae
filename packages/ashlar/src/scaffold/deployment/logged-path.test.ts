import { describe, expect, test } from "vitest";
import { loggedPath } from "./logged-path.ts";

const TOKEN = "Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4";

/** The logged part of a request target. */
function shown(target: string, secretPaths: readonly string[] = []): string {
  return target.replace(new RegExp(loggedPath(secretPaths)), "$1");
}

test.each([
  ["/", "/"],
  ["/login", "/login"],
  ["/login/", "/login/"],
  ["/orders/17/edit", "/orders/17/edit"],
  ["/assets/app-3f2a.css", "/assets/app-3f2a.css"],
  ["/.well-known/change-password", "/.well-known/change-password"],
])("a path without secrets is shown: %s", (path, expected) => {
  expect(shown(path)).toBe(expected);
});

test.each([
  ["/login?code=s3cret", "/login?"],
  ["/?s3cret", "/?"],
  ["/orders/?s3cret", "/orders/?"],
  [`/password_reset?token=${TOKEN}`, "/password_reset?"],
  [`/login/device/${TOKEN}`, "/login/device/"],
  [`/login/device/${TOKEN.toLowerCase()}/more`, "/login/device/"],
  [`/x/${"a".repeat(25)}`, "/x/"],
  ["/x/0123456789abc", "/x/"],
  ["/x/%73ecret", "/x/"],
  ["//x/secret", "/"],
])("S153 a query is never shown, nor anything that could be a token, or comes after one: %s", (target, expected) => {
  expect(shown(target)).toBe(expected);
});

describe("paths that are known to have a secret", () => {
  const known = ["/door/", "/orders/@id/", "/files.d/", "/Caf\u00e9/"];

  test.each([
    ["/door/open", "/door/"],
    ["/door/open/sesame", "/door/"],
    ["/orders/17/open", "/orders/17/"],
    [`/orders/${TOKEN}/open`, "/orders/"],
    ["/files.d/open", "/files.d/"],
    ["/filesxd/open", "/filesxd/open"],
    ["/doors/open", "/doors/open"],
    ["/Caf\u00e9/open", "/"],
  ])("S153 are shown only up to the secret, even if it looks like a word: %s", (path, expected) => {
    expect(shown(path, known)).toBe(expected);
  });

  test("S153 nothing is shown if the secret is the first segment", () => {
    expect(shown("/open", ["/"])).toBe("/");
  });
});
