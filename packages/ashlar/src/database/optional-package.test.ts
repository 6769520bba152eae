import { expect, test } from "vitest";
import { optionalPackage } from "./optional-package.ts";

test("an installed package is returned", async () => {
  expect(await optionalPackage("pg", "This", () => import("pg"))).toHaveProperty("default.Pool");
});

test("a missing one is an error with the command that installs it", async () => {
  const name = "no-such-package-anywhere";
  const loading = optionalPackage(name, "A connection to PostgreSQL", () => import(/* @vite-ignore */ name));
  await expect(loading).rejects.toMatchObject({
    code: "E_MISSING_PACKAGE",
    message: `A connection to PostgreSQL needs the package "${name}". Run: npm install ${name}`,
    cause: { code: "ERR_MODULE_NOT_FOUND" },
  });
});

test("another failure to load it is a separate error, even if it mentions the package", async () => {
  const broken = new Error("'pg' cannot be used with this version of Node.");
  await expect(optionalPackage("pg", "This", () => Promise.reject(broken))).rejects.toBe(broken);
});

test("a package that is installed but broken is a separate error", async () => {
  const broken = new Error("Cannot find package 'pg-protocol' imported from pg");
  Object.assign(broken, { code: "ERR_MODULE_NOT_FOUND" });
  await expect(optionalPackage("pg", "This", () => Promise.reject(broken))).rejects.toBe(broken);
});
