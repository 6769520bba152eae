import { splitSecrets } from "../../security/index.ts";
import { pemBlocks } from "../../security/jwt/index.ts";
import { type EnvironmentVariables, isPlainObject } from "../../support/index.ts";
import { isHmac, usualVariable } from "../secrets/driver-secrets.ts";
import { featuresOf } from "./features.ts";
import type { Subject } from "./subject.ts";

/** One of an application's secrets. */
export interface Secret {
  /** The variable with the secret, or else its location in the configuration. */
  readonly name: string;
  /** The secret's value, which is never printed. */
  readonly value: string;
  /** Whether the framework's commands generate it. */
  readonly isGenerated: boolean;
  /** The driver that signs tokens with it, if there is one. */
  readonly driver?: string;
}

/** The variables with secrets that don't belong to a driver. */
const OTHERS: readonly string[] = ["APP_KEY", "APP_NEXT_KEY", "SMTP_PASSWORD"];
/** Shorter text may occur anywhere by chance. */
const MIN_SEARCHED_LENGTH = 12;

/** An application's secrets that are set. */
export function secretsOf(subject: Subject): Secret[] {
  const secrets = [
    { name: "APP_KEY", value: appKeyOf(subject), isGenerated: true },
    ...tokenSecretsOf(subject),
    ...previousKeysOf(subject).map((value) => ({ name: "APP_PREVIOUS_KEYS", value, isGenerated: false })),
    { name: "APP_NEXT_KEY", value: nextKeyOf(subject), isGenerated: false },
    ...privateKeysOf(subject),
    { name: "SMTP_PASSWORD", value: subject.variables.SMTP_PASSWORD ?? "", isGenerated: false },
    { name: "DATABASE_URL", value: passwordIn(subject.variables.DATABASE_URL ?? ""), isGenerated: false },
  ];
  const own = featureSecretsOf(subject).filter(({ name }) => secrets.every((one) => one.name !== name));
  return [...secrets, ...own].filter(({ value }) => value !== "");
}

/** The variables declared as secrets by the application's features. */
function featureSecretsOf(subject: Subject): Secret[] {
  const { variables } = subject;
  const declared = featuresOf(subject).flatMap(({ feature }) => Object.entries(feature.variables ?? {}));
  const names = new Set(declared.flatMap(([name, { isSecret }]) => (isSecret === true ? [name] : [])));
  return [...names].map((name) => ({ name, value: variables[name] ?? "", isGenerated: false }));
}

/** The secrets that are long enough to be looked for in files. */
export function searchedSecretsOf(subject: Subject): Secret[] {
  return secretsOf(subject).filter(({ value }) => value.length >= MIN_SEARCHED_LENGTH && !/[\r\n]/.test(value));
}

/** The value of `APP_KEY`, as the configuration reads it; empty if it isn't set. */
export function appKeyOf({ app, variables }: Subject): string {
  const { key } = app;
  return typeof key === "string" && key !== "" ? key : (variables.APP_KEY ?? "");
}

/** The secrets that drivers sign tokens with, and JWT_SECRET, as the configuration reads them. */
function tokenSecretsOf(subject: Subject): Secret[] {
  const secrets = hmacSecretsOf(subject);
  const value = subject.variables.JWT_SECRET ?? "";
  return secrets.some(({ name }) => name === "JWT_SECRET")
    ? secrets
    : [{ name: "JWT_SECRET", value, isGenerated: true }, ...secrets];
}

/** The secrets that drivers sign tokens with, as the configuration reads them: no private keys, and each variable once. */
export function hmacSecretsOf(subject: Subject): Secret[] {
  const secrets = Object.entries(subject.settings("api", "DRIVERS")).flatMap(([driver, entry]): Secret[] => {
    if (!isPlainObject(entry) || Object.hasOwn(entry, "jwks") || !isHmac(entry.algorithm)) return [];
    const { secret: value } = entry;
    if (typeof value !== "string" || value === "") return [];
    return [{ name: nameOf(subject, driver, value), value, isGenerated: true, driver }];
  });
  return secrets.filter(({ name }, index) => secrets.findIndex((one) => one.name === name) === index);
}

/** The variable with a driver's secret, or its location in the configuration if it has no separate variable. */
function nameOf({ driverSecrets, variables }: Subject, driver: string, value: string): string {
  // For settings from app.ts, or read by another module, only the value is known.
  const read = driverSecrets?.drivers.get(driver)?.variables.secret ?? variableWith(variables, value);
  return read === null || OTHERS.includes(read) ? placeOf(driver) : read;
}

function variableWith(variables: EnvironmentVariables, value: string): string | null {
  return Object.keys(variables).find((name) => !OTHERS.includes(name) && variables[name] === value) ?? null;
}

function placeOf(driver: string): string {
  return `DRIVERS.${driver}.secret`;
}

/**
 * The PEM private keys in `.env`. Each is identified by a line that is unique to it, because the other lines may be the
 * same for all keys of its kind.
 */
function privateKeysOf({ variables }: Subject): Secret[] {
  return Object.entries(variables).flatMap(([name, value]) => {
    const lines = pemBlocks(value ?? "").flatMap((pem) => (pem.includes("PRIVATE KEY-----") ? [pem.split("\n")] : []));
    return lines.map((pem) => ({ name, value: pem.at(pem.length > 5 ? 2 : 1)!, isGenerated: false }));
  });
}

/** The previous keys, as the configuration reads them. */
export function previousKeysOf(subject: Subject): string[] {
  const { previousKeys } = subject.app;
  const listed = Array.isArray(previousKeys)
    ? previousKeys.filter((one) => typeof one === "string")
    : splitSecrets(subject.variables.APP_PREVIOUS_KEYS ?? "");
  return listed.filter((one) => one !== "");
}

/** The staged key, as the configuration reads it; empty if there isn't one. */
export function nextKeyOf({ app, variables }: Subject): string {
  const { nextKey } = app;
  return typeof nextKey === "string" && nextKey !== "" ? nextKey : (variables.APP_NEXT_KEY ?? "");
}

function passwordIn(url: string): string {
  return decoded(URL.parse(url)?.password ?? "");
}

/** Decodes a percent-encoded part of an address; returns it unchanged if it isn't encoded. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** A remedy's edits, and its final command. */
interface Replacement {
  readonly in: string;
  readonly lines: string[];
  readonly run: string;
  readonly note?: string;
}

/** The remedy that replaces a generated secret: emptying its line, and running the command that fills it in. */
export function replacing(subject: Subject, { name, driver }: Pick<Secret, "name" | "driver">): Replacement {
  if (driver !== undefined && name === placeOf(driver)) return reading(driver, undefined);
  const made = { in: ".env", lines: [`${name}=`], run: "npx ashlar key:generate" };
  if (!subject.isSetOutside(name)) return made;
  return { ...made, note: `${name} is set outside of .env, which wins: change it there, or remove it there.` };
}

/** The remedy for a driver to read its secret from a variable. */
export function reading(driver: string, algorithm: unknown): Replacement {
  const lines = [`// in DRIVERS.${driver}:`, `secret: env("${usualVariable(driver, algorithm)}"),`];
  return { in: "config/api.ts", lines, run: "npx ashlar key:generate" };
}
