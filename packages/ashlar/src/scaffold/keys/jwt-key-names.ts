import type { Node } from "@babel/types";
import { bare, Code } from "../edits/code.ts";
import { initialValueOf, propertyOf } from "../edits/declarations.ts";
import { javaScriptOf, readIfThere } from "../files/existing-files.ts";

/** The variables that hold the keys of one driver of `config/api.ts`. */
export interface JwtKeyNames {
  /** The private key that signs tokens. */
  readonly current: string;
  /** The private key that will sign tokens next. Until then, it only verifies them. */
  readonly next: string;
  /** The public keys of earlier private keys. */
  readonly previous: string;
}

/** The variables from which a driver reads its keys; `null` for a setting that isn't read from a variable. */
export interface KeyVariables {
  readonly secret: string | null;
  readonly nextSecret: string | null;
  readonly previousSecrets: string | null;
}

/** The variables of a driver that doesn't exist yet. */
const NONE: KeyVariables = { secret: null, nextSecret: null, previousSecrets: null };

/**
 * The variable for an HMAC secret. The secret is never replaced with a private key, because both may be needed while
 * the algorithm changes.
 */
const HMAC_SECRET = "JWT_SECRET";

/**
 * The names of the variables for a driver's keys: those that the driver reads, and the usual names for the others. With
 * `JWT_PRIVATE_KEY`, these are `JWT_NEXT_KEY` and `JWT_PREVIOUS_KEYS`.
 *
 * @param driver the driver's name in `DRIVERS`
 * @param read the variables that it reads; default: none
 */
export function jwtKeyNames(driver: string, read: KeyVariables = NONE): JwtKeyNames {
  const { secret, nextSecret: next, previousSecrets: previous } = read.secret === HMAC_SECRET ? NONE : read;
  const current = secret ?? `${variablePrefix(driver)}_PRIVATE_KEY`;
  const base = current.replace(/_(?:PRIVATE_KEY|SIGNING_KEY|KEY|SECRET)$/, "");
  return { current, next: next ?? `${base}_NEXT_KEY`, previous: previous ?? `${base}_PREVIOUS_KEYS` };
}

/** The usual prefix of a driver's variables: `BACK_OFFICE` for `back-office`. */
export function variablePrefix(driver: string): string {
  return driver.toUpperCase().replaceAll(/\W/g, "_");
}

/**
 * The variables that a driver reads its keys from, according to the text of `config/api.ts`, if the file can't be
 * loaded. Only `secret: env("…")` in the driver's own entry is recognized.
 *
 * @returns `null` if the text doesn't show them
 */
export async function writtenKeyVariables(root: string, driver: string): Promise<KeyVariables | null> {
  const path = (await javaScriptOf(root, "config/api.ts")) ?? "config/api.ts";
  const code = await Code.of((await readIfThere(root, path)) ?? "", path).catch(() => null);
  const drivers = code === null ? null : initialValueOf(code, "DRIVERS");
  const entry = drivers === null ? null : memberIn(drivers, driver);
  if (entry === null) return null;
  const [secret, nextSecret, previousSecrets] = (["secret", "nextSecret", "previousSecrets"] as const).map((setting) =>
    variableIn(memberIn(entry, setting)),
  );
  return { secret: secret!, nextSecret: nextSecret!, previousSecrets: previousSecrets! };
}

/** The value of a member of an object; `null` if it isn't written there. */
function memberIn(object: Node, key: string): Node | null {
  const property = object.type === "ObjectExpression" ? propertyOf(object, key) : null;
  return property === null ? null : bare(property.value);
}

/** The variable in `env("…")`; `null` for any other expression. */
function variableIn(value: Node | null): string | null {
  if (value?.type !== "CallExpression" || value.callee.type !== "Identifier" || value.callee.name !== "env")
    return null;
  const [name] = value.arguments;
  return name?.type === "StringLiteral" ? name.value : null;
}
