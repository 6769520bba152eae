import * as crypto from "node:crypto";
import type * as Argon2Package from "@node-rs/argon2";
import { AshlarError, RUNTIME } from "../../support/index.ts";
import type { Argon2Parameters } from "./argon2-hash.ts";

/** Computes an Argon2 tag (RFC 9106, version 1.3). It is slow: never call it on the event loop. */
export type Argon2 = (message: string, salt: Buffer, parameters: Argon2Parameters) => Buffer;

/** The package declares these as a `const enum`, which can't be imported when types are only stripped. */
const PACKAGE_VARIANTS = { argon2d: 0, argon2i: 1, argon2id: 2 } as const;
const PACKAGE_VERSION_13 = 1;

function ofPackage({ hashRawSync }: typeof Argon2Package): Argon2 {
  return (message, salt, { variant, memory, passes, parallelism, tagBytes }) =>
    hashRawSync(message, {
      algorithm: PACKAGE_VARIANTS[variant],
      version: PACKAGE_VERSION_13,
      memoryCost: memory,
      timeCost: passes,
      parallelism,
      outputLen: tagBytes,
      salt,
    });
}

const ofNode: Argon2 = (message, nonce, { variant, memory, passes, parallelism, tagBytes }) =>
  crypto.argon2Sync(variant, { message, nonce, memory, passes, parallelism, tagLength: tagBytes });

/**
 * Loads Argon2: the native package, or Node's own if the package has no binary for this machine. Both produce the same
 * hashes, but Node's takes more than twice as long.
 *
 * @param importPackage loads the package
 * @throws `E_MISSING_PACKAGE` if neither is available
 */
export async function loadArgon2(
  importPackage: () => Promise<typeof Argon2Package> = () => import("@node-rs/argon2"),
): Promise<Argon2> {
  try {
    return ofPackage(await importPackage());
  } catch (cause) {
    // Node may be built with an OpenSSL older than 3.2, which lacks Argon2.
    if (typeof crypto.argon2Sync === "function") return ofNode;
    // Deno can't sandbox a native package.
    const remedy = RUNTIME === "deno" ? "Run Deno with --allow-ffi." : "Run `npm install @node-rs/argon2`.";
    throw new AshlarError("E_MISSING_PACKAGE", `Passwords need Argon2. ${remedy}`, { cause });
  }
}
