import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { KeyPurpose } from "../../src/security/index.ts";

const SOURCE = join(import.meta.dirname, "../../src");

/** The purposes that the sources derive keys for, once per occurrence. */
export const FRAMEWORK_PURPOSES: readonly string[] = readdirSync(SOURCE, { recursive: true, encoding: "utf8" })
  // That file creates purposes from the names that features declare.
  .filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts") && name !== join("security", "keys.ts"))
  .flatMap((name) => [...readFileSync(join(SOURCE, name), "utf8").matchAll(/new KeyPurpose\(([^)]*)\)/g)])
  .map(([, name]) => JSON.parse(name!) as string);

/** Every purpose of the framework, and an application's purposes with the same names or labels. */
export const KEY_PURPOSES: readonly (KeyPurpose | string)[] = [
  ...FRAMEWORK_PURPOSES.map((name) => new KeyPurpose(name)),
  "session",
  "password-reset",
  "/session",
  "../session",
  "application/session",
  "invitation",
];
