import { describe, expect, test } from "vitest";
import { DEFAULT_PARAMETERS, differsFrom } from "./argon2-hash.ts";

describe("differsFrom the default", () => {
  const salt = Buffer.alloc(16).toString("base64").replace(/=+$/, "");
  const tag = Buffer.alloc(32).toString("base64").replace(/=+$/, "");

  test.each([
    ["today's parameters", `$argon2id$v=19$m=19456,t=2,p=1$${salt}$${tag}`, false],
    ["another variant", `$argon2i$v=19$m=19456,t=2,p=1$${salt}$${tag}`, true],
    ["less memory", `$argon2id$v=19$m=19455,t=2,p=1$${salt}$${tag}`, true],
    ["more memory", `$argon2id$v=19$m=65536,t=2,p=1$${salt}$${tag}`, true],
    ["other passes", `$argon2id$v=19$m=19456,t=3,p=1$${salt}$${tag}`, true],
    ["other lanes", `$argon2id$v=19$m=19456,t=2,p=4$${salt}$${tag}`, true],
    ["a shorter salt", `$argon2id$v=19$m=19456,t=2,p=1$c29tZXNhbHQ$${tag}`, true],
    ["a shorter tag", `$argon2id$v=19$m=19456,t=2,p=1$${salt}$${salt}`, true],
    ["bcrypt", "$2b$12$DCq7YPn5Rq63x1Lad4cll.TV4S6ytwfsfvkgY8jIucDrjc8deX1s.", true],
    ["no hash", "!", true],
  ])("%s: %s → %s", (_, hash, expected) => {
    expect(differsFrom(DEFAULT_PARAMETERS, hash)).toBe(expected);
  });
});
