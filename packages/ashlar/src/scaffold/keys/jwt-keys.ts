import { createPublicKey } from "node:crypto";
import { parseEnv } from "node:util";
import {
  generatePrivateKey,
  type JwtAlgorithm,
  type KeyAlgorithm,
  pemBlocks,
  pemText,
  SigningKey,
} from "../../security/jwt/index.ts";
import { AshlarError, readEnvFile } from "../../support/index.ts";
import { replaceEnvFile, withEnvFile, withVariables } from "../files/env-file.ts";
import type { JwtKeyNames } from "./jwt-key-names.ts";

const MAX_PREVIOUS_KEYS = 5;

/** A change to a driver's keys. */
export type KeyChange = "fill" | "rotate" | "stage" | "promote";

/** The keys in a `.env` file, in PEM; empty if one is not set. */
interface Keys {
  readonly current: string;
  readonly next: string;
  readonly previous: string;
}

/**
 * Changes a driver's private keys in a `.env` file, which is created if it is missing. All other lines stay unchanged,
 * and the file is replaced in one step.
 *
 * - `fill` writes a key if there isn't one.
 * - `rotate` replaces the key. The old key's public key still verifies.
 * - `stage` writes the next key, which verifies and is published, but doesn't sign yet.
 * - `promote` starts signing with the next key, and keeps the old key's public key.
 *
 * The newest 5 public keys are kept. The private part of a key that no longer signs is deleted.
 *
 * @returns `false`, without writing anything, if there already is a key for `fill`, or no key for another change
 * @throws `E_COMMAND` without writing anything, if the change cannot be made; the message doesn't contain a key
 */
export function changeJwtKeys(
  path: string,
  algorithm: KeyAlgorithm,
  { current, next, previous }: JwtKeyNames,
  change: KeyChange,
): Promise<boolean> {
  return withEnvFile(path, async () => {
    const text = readEnvFile(path) ?? "";
    const values = parseEnv(text);
    const keys = { current: values[current] ?? "", next: values[next] ?? "", previous: values[previous] ?? "" };
    if ((keys.current === "") !== (change === "fill")) return false;
    const names = { current, next, previous };
    const changed = await afterChange(keys, algorithm, change, names);
    const variables = Object.fromEntries(
      Object.entries(changed).map(([key, value]) => [names[key as keyof Keys], value]),
    );
    const after = withVariables(text, variables);
    // The result is parsed again to be sure: a variable may be set twice or on several lines.
    if (after === null) {
      const problem = `${Object.values(names).join(", ")}: one of them is set twice, or spans several lines.`;
      throw refusal(problem, "Edit these lines by hand.");
    }
    await replaceEnvFile(path, after);
    return true;
  });
}

async function afterChange(
  keys: Keys,
  algorithm: KeyAlgorithm,
  change: KeyChange,
  names: Readonly<Record<keyof Keys, string>>,
): Promise<Partial<Keys>> {
  if (change === "fill") return { current: await generatePrivateKey(algorithm) };
  requireFit(keys.current, algorithm, names.current);
  if (change === "promote") {
    if (keys.next === "") {
      throw refusal(`${names.next} is empty: no key is staged.`, `Run: ${command(algorithm)} --rotate --stage`);
    }
    requireFit(keys.next, algorithm, names.next);
    return { current: keys.next, next: "", previous: retired(keys) };
  }
  if (keys.next !== "") {
    throw refusal(
      `${names.next} already holds a staged key.`,
      `Once every process runs with it, run: ${command(algorithm)} --promote. If the keys have leaked, so has this one: ` +
        `empty ${names.next}, and run this again.`,
    );
  }
  const fresh = await generatePrivateKey(algorithm);
  return change === "stage" ? { next: fresh } : { current: fresh, previous: retired(keys) };
}

/** The public keys of the current key, which is being replaced, and of those before it. */
function retired({ current, previous }: Keys): string {
  const old = publicPem(current);
  const earlier = pemBlocks(previous).filter((pem) => pem !== old);
  return [old, ...earlier].slice(0, MAX_PREVIOUS_KEYS).join("");
}

function publicPem(privateKey: string): string {
  return createPublicKey(pemText(privateKey)).export({ type: "spki", format: "pem" }).toString();
}

function requireFit(pem: string, algorithm: JwtAlgorithm, name: string): void {
  try {
    new SigningKey(algorithm, pem);
  } catch {
    // The original error is dropped, because it is about the key.
    throw refusal(
      `${name} is not a private key for ${algorithm}, in PEM without a passphrase.`,
      `Name the algorithm in config/api.ts. To change it, empty ${name}: all tokens end then.`,
    );
  }
}

function command(algorithm: KeyAlgorithm): string {
  return `npx ashlar key:generate --jwt ${algorithm}`;
}

function refusal(problem: string, remedy: string): AshlarError {
  return new AshlarError("E_COMMAND", `.env was not changed. ${problem} ${remedy}`);
}
